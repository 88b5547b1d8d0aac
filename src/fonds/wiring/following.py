"""Polling of followed sources (feeds, sitemaps and pages).

A source is requested over the web, parsed in an isolated process, and its new links are entered
through the intake of the pipeline.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from fonds.config import Settings
from fonds.fetching.fetcher import Fetcher
from fonds.fetching.redirect_chain import FetchOutcome, FetchRequest, FetchResponse
from fonds.following.listings.listing import Listing
from fonds.following.listings.reader import read_listing
from fonds.following.poll_interval import PollIntervals
from fonds.following.poll_request import (
    BODY_MAX_BYTES,
    PollResponse,
    Read,
    SendRequest,
    request_listing,
)
from fonds.following.poller import LEASE_S, Poller, poll_in_turn
from fonds.following.source_check import ListedLink, SourceCheck
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseColumns
from fonds.leases.leases import Leases
from fonds.model.credentials import collect_credentials
from fonds.model.disposition import Verdict
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.exchange import Hop, HttpHead
from fonds.model.rows import SourceRow
from fonds.model.stored_json import encode_stored
from fonds.pipelines.runtime.intake import IntakeCounts
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Runner, Timetable
from fonds.ports import Records, Source, Stores
from fonds.text.coding import decode_body, list_codings
from fonds.urls.parts import split_address
from fonds.urls.request_url import parse_request_url
from fonds.wiring.backends import open_backend
from fonds.wiring.links import build_link_rules, get_fetcher
from fonds.wiring.pipelines import create_intake
from fonds.wiring.stores import get_utc_now

ANSWER_MAX_S = 600.0
"""Time limit for the response of a source, in seconds. Redirect chains end long before."""
READ_S = 60.0
PERMANENT_REDIRECTS = frozenset({301, 308})
CHECK_EVERY_S = 10
POLL_LEASE_S = 15.0
"""Duration in seconds of the lease of the task that looks for sources that are due."""
DUE_MAX = 500
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5"
)

logger = logging.getLogger("fonds.ingest.sources")


def build_bounds(settings: Settings) -> PollIntervals:
    """Return the configured polling intervals in seconds: minimum, maximum, and the interval for
    sources that are APIs.
    """
    sources = settings.sources
    return PollIntervals(sources.poll_shortest_s, sources.poll_longest_s, sources.poll_api_s)


def create_sender(fetcher: Fetcher, settings: Settings) -> SendRequest:
    """Return a function that requests a source over the web and returns the response.

    The requests have the same rate limits and rules as requests for links.
    """
    logins = collect_credentials(settings.sources.logins.split())

    def get(url: str, headers: Mapping[str, str], tls: TlsCheck) -> PollResponse:
        request_url = parse_request_url(url)
        request = FetchRequest(
            f"{url} {secrets.token_hex(8)}",
            request_url,
            BODY_MAX_BYTES,
            settings.fetch.redirects_max,
            ACCEPT,
            tuple(headers.items()),
            request_url.url,
            tls,
            logins,
            is_urgent=True,
        )
        return build_poll_response(_wait_for_response(fetcher, request))

    return get


def _wait_for_response(fetcher: Fetcher, request: FetchRequest) -> FetchResponse:
    """Send a request and return its response.

    Raises PostponedError if the request must wait, TransientError if a later attempt may succeed,
    and PermanentError otherwise.
    """
    outcomes: SimpleQueue[FetchOutcome] = SimpleQueue()
    fetcher.submit(request, outcomes.put)
    try:
        outcome = outcomes.get(timeout=ANSWER_MAX_S)
    except Empty:
        fetcher.forget([request.key])
        raise TransientError(f"no response within {ANSWER_MAX_S:.0f} s") from None
    if isinstance(outcome, Exception):
        raise outcome
    if isinstance(outcome, FetchResponse):
        return outcome
    if outcome.verdict is Verdict.DEFERRED:
        raise PostponedError(outcome.detail, outcome.after_s)
    if outcome.verdict is Verdict.RETRIED or outcome.reason is None:
        raise TransientError(outcome.detail)
    raise PermanentError(outcome.reason, outcome.detail)


def build_poll_response(end: FetchResponse) -> PollResponse:
    """Return the last response of a redirect chain, with its content encoding removed.

    The body is empty unless the status is 200. Raises LimitError if the body is too large, and
    DamagedInputError if it cannot be decoded.
    """
    last, body = end.hops[-1], end.body
    headers = {name.lower(): value for name, value in reversed(last.headers)}
    if last.status != 200:
        return PollResponse(last.status, headers, b"", last.url, _find_permanent_target(end.hops))
    coding = headers.get("content-encoding", "")
    if codings := list_codings(HttpHead(200, "", (("content-encoding", coding),))):
        body = decode_body(lambda: iter((body,)), codings, body_max_bytes=BODY_MAX_BYTES)
    return PollResponse(200, headers, body, last.url, _find_permanent_target(end.hops))


def _find_permanent_target(hops: Sequence[Hop]) -> str:
    """Return the URL to which permanent redirects (301, 308) at the start of a chain lead; "" if
    none.
    """
    moved_to = ""
    for hop, next_hop in pairwise(hops):
        if hop.status not in PERMANENT_REDIRECTS:
            break
        moved_to = next_hop.url
    return moved_to


def create_listing_reader(pool: ChildPool) -> Read:
    """Return a function that parses the listing of a source in an isolated process with limits."""
    limited_pool = pool.with_limits(
        ChildLimits(wall_s=READ_S, memory_bytes=pool.limits.memory_bytes)
    )

    def read(body: bytes, url: str, charset: str | None) -> Listing:
        return limited_pool(read_listing, body, url, charset)

    return read


def create_poller(
    stores: Stores,
    pool: ChildPool,
    settings: Settings,
    fetcher: Fetcher,
    should_stop: Callable[[], bool],
) -> Poller:
    """Create the poller of the sources of the configured pipeline.

    `pool`: isolated processes that parse listings.
    `should_stop`: returns whether entering links should stop.
    """
    intake = create_intake(stores, settings, should_stop)

    def enter(source: Source) -> None:
        intake.run(source, IntakeCounts())

    return Poller(
        records=stores.records,
        pipeline=settings.pipeline,
        enter=enter,
        get=create_sender(fetcher, settings),
        read=create_listing_reader(pool),
        rules=build_link_rules(settings),
        bounds=build_bounds(settings),
        clock=get_utc_now,
        leases=Leases(
            LeaseColumns(stores.records, SourceRow), create_worker_name(), time.monotonic, LEASE_S
        ),
    )


@contextmanager
def poll_sources(stores: Stores, pool: ChildPool, settings: Settings) -> Iterator[None]:
    """Poll the sources of a pipeline when they are due, in threads, until the `with` block ends.

    If several processes do this, one of them looks for due sources. In addition, each source has a
    lease, so that only one process polls it.
    """
    stopping = threading.Event()
    fetcher = get_fetcher(stores.records, settings).retain()
    poller = create_poller(stores, pool, settings, fetcher, stopping.is_set)
    task = RecurringTask(f"poll-{settings.pipeline}", CHECK_EVERY_S, pipeline=settings.pipeline)
    clocks = (get_utc_now, time.monotonic)
    timetable = Timetable(stores.records, [task], poller.leases.holder_name, *clocks, POLL_LEASE_S)

    def act() -> str:
        return poll_due(poller, settings.sources.poll_threads, stopping.is_set)

    with Runner(timetable, {task.name: act}):
        try:
            yield
        finally:
            stopping.set()
            fetcher.close()


def poll_due(polling: Poller, threads: int, should_stop: Callable[[], bool]) -> str:
    """Poll all sources that are due, until none is left. Return a summary sentence; "" without
    polls.

    The sources of one host are polled one after the other. Up to `threads` hosts are polled at the
    same time.
    """
    polls = new_links = failed_count = 0
    with ThreadPoolExecutor(threads, thread_name_prefix="poll") as pool:
        while not should_stop() and (due := polling.list_due(DUE_MAX)):
            hosts: dict[str, list[SourceRow]] = defaultdict(list)
            for row in due:
                hosts[split_address(row.url).host.lower()].append(row)
            for counts in pool.map(
                lambda rows: _poll_rows(polling, rows, should_stop), hosts.values()
            ):
                polls += counts[0]
                new_links += counts[1]
                failed_count += counts[2]
    return f"{polls} sources polled, {new_links} new links, {failed_count} failed" if polls else ""


def _poll_rows(
    polling: Poller, rows: list[SourceRow], should_stop: Callable[[], bool]
) -> tuple[int, int, int]:
    polls = new_links = failed_count = 0
    for poll in poll_in_turn(polling, rows):
        polls, new_links, failed_count = (
            polls + 1,
            new_links + poll.new,
            failed_count + bool(poll.error),
        )
        counts = {"source": poll.row.url, "new": poll.new, "error": poll.error}
        log_fields = {**counts, **encode_stored(poll.notes)}
        logger.info("polled", extra={"poll": log_fields})
        if should_stop():
            break
    return polls, new_links, failed_count


@contextmanager
def open_temporary_records() -> Iterator[Records]:
    """Provide an empty temporary database of records, deleted at the end.

    It stores the rate limits of hosts if there is no library folder.
    """
    with TemporaryDirectory() as folder:
        records: Any = open_backend("records", Settings().records, Path(folder))
        try:
            yield records
        finally:
            records.close()


def check_source(
    row: SourceRow, pool: ChildPool, settings: Settings, records: Records
) -> SourceCheck:
    """Request a source and return what it lists now, without entering any link.

    Raises TransientError if the request may succeed later, and PermanentError if it cannot.
    """
    fetcher = get_fetcher(records, settings).retain()
    unconditional_row = replace(row, etag=None, last_modified=None, digest=None)
    try:
        poll = request_listing(
            unconditional_row,
            create_sender(fetcher, settings),
            create_listing_reader(pool),
            get_utc_now,
        )
    finally:
        fetcher.close()
    if poll.listing is None:
        raise TransientError(f"the server responded with {poll.response.status}")
    rules = build_link_rules(settings)
    refusals = [rules.find_refusal(entry.link) for entry in poll.listing.entries]
    return SourceCheck(
        source=row.url,
        url=poll.response.url,
        moved_to=poll.response.permanent_url,
        kind=poll.listing.kind,
        title=poll.listing.title,
        listed=len(poll.listing.entries),
        cut=poll.listing.omitted_count,
        refused=dict(Counter(str(refusal[0]) for refusal in refusals if refusal)),
        links=[
            ListedLink(entry.link, entry.title, entry.pub_date)
            for entry, refusal in zip(poll.listing.entries, refusals, strict=True)
            if refusal is None
        ],
        problem=poll.listing.problem,
        hints=poll.listing.hints,
        older=poll.listing.older_url or None,
        sitemaps=poll.children,
    )
