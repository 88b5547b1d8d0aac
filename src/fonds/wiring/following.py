"""Poll followed sources: request them over the web, parse in isolated processes, enter through the
intake.
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
from dataclasses import asdict, replace
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
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseColumns
from fonds.leases.leases import Leases
from fonds.model.disposition import Verdict
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.exchange import Hop, HttpHead
from fonds.model.rows import SourceRow
from fonds.model.secrets import collect_credentials
from fonds.model.stored_json import encode_stored
from fonds.pipelines.runtime.intake import IntakeCounts
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Runner, Timetable
from fonds.ports import Records, Source, Stores
from fonds.text.coding import decode_body, list_codings
from fonds.urls.parts import split_address
from fonds.urls.request_url import parse_request_url
from fonds.wiring.links import build_link_rules, get_fetcher
from fonds.wiring.pipelines import create_intake
from fonds.wiring.stores import get_utc_now, open_backend

ANSWER_MAX_S = 600.0
"""Time limit for a response; redirect chains end long before."""
READ_S = 60.0
FOR_GOOD = frozenset({301, 308})
CHECK_EVERY_S = 10
LOOK_LEASE_S = 15.0
"""Lease duration of the task that looks for due sources."""
DUE_MAX = 500
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5"
)

logger = logging.getLogger("fonds.ingest.sources")


def build_bounds(settings: Settings) -> PollIntervals:
    """Return the configured polling intervals: minimum, maximum, and that of APIs, in seconds."""
    told = settings.sources
    return PollIntervals(told.poll_shortest_s, told.poll_longest_s, told.poll_api_s)


def create_sender(fetcher: Fetcher, settings: Settings) -> SendRequest:
    """Return a function that requests a source, under the same rate limits and rules as links."""
    logins = collect_credentials(settings.sources.logins.split())

    def get(url: str, headers: Mapping[str, str], tls: TlsCheck) -> PollResponse:
        request_url = parse_request_url(url)
        wanted = FetchRequest(
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
        return build_poll_response(_wait_for_response(fetcher, wanted))

    return get


def _wait_for_response(fetcher: Fetcher, request: FetchRequest) -> FetchResponse:
    """Return the response. Raises PostponedError, TransientError and PermanentError."""
    ends: SimpleQueue[FetchOutcome] = SimpleQueue()
    fetcher.submit(request, ends.put)
    try:
        end = ends.get(timeout=ANSWER_MAX_S)
    except Empty:
        fetcher.forget([request.key])
        raise TransientError(f"no response within {ANSWER_MAX_S:.0f} s") from None
    if isinstance(end, Exception):
        raise end
    if isinstance(end, FetchResponse):
        return end
    if end.verdict is Verdict.DEFERRED:
        raise PostponedError(end.detail, end.after_s)
    if end.verdict is Verdict.RETRIED or end.reason is None:
        raise TransientError(end.detail)
    raise PermanentError(end.reason, end.detail)


def build_poll_response(end: FetchResponse) -> PollResponse:
    """Return the final response, decoded. Raises LimitError and DamagedInputError."""
    last, body = end.hops[-1], end.body
    headers = {name.lower(): value for name, value in reversed(last.headers)}
    if last.status != 200:
        return PollResponse(last.status, headers, b"", last.url, _find_permanent_target(end.hops))
    coding = headers.get("content-encoding", "")
    if codings := list_codings(HttpHead(200, "", (("content-encoding", coding),))):
        body = decode_body(lambda: iter((body,)), codings, body_max_bytes=BODY_MAX_BYTES)
    return PollResponse(200, headers, body, last.url, _find_permanent_target(end.hops))


def _find_permanent_target(hops: Sequence[Hop]) -> str:
    """Return the target of the leading permanent redirects; "" if there are none."""
    moved_to = ""
    for before, after in pairwise(hops):
        if before.status not in FOR_GOOD:
            break
        moved_to = after.url
    return moved_to


def create_listing_reader(pool: ChildPool) -> Read:
    """Return a function that parses a listing in a process with limits."""
    limited = pool.with_limits(ChildLimits(wall_s=READ_S, memory_bytes=pool.limits.memory_bytes))

    def read(body: bytes, url: str, charset: str | None) -> Listing:
        return limited(read_listing, body, url, charset)

    return read


def create_poller(
    stores: Stores,
    pool: ChildPool,
    settings: Settings,
    fetcher: Fetcher,
    should_stop: Callable[[], bool],
) -> Poller:
    """Return the poller for the configured pipeline's sources."""
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
    """Polls the sources of a pipeline as they become due, in threads, while the context lasts.

    Of several processes one looks what is due; each source has a lease of its own besides.
    """
    stopping = threading.Event()
    asker = get_fetcher(stores.records, settings).retain()
    polling = create_poller(stores, pool, settings, asker, stopping.is_set)
    task = RecurringTask(f"poll-{settings.pipeline}", CHECK_EVERY_S, pipeline=settings.pipeline)
    clocks = (get_utc_now, time.monotonic)
    timetable = Timetable(stores.records, [task], polling.leases.holder_name, *clocks, LOOK_LEASE_S)

    def act() -> str:
        return poll_due(polling, settings.sources.poll_threads, stopping.is_set)

    with Runner(timetable, {task.name: act}):
        try:
            yield
        finally:
            stopping.set()
            asker.close()


def poll_due(polling: Poller, threads: int, should_stop: Callable[[], bool]) -> str:
    """Poll all due sources until none is left; sources of one host are polled in turn. Returns a
    summary.
    """
    polls = new = failed = 0
    with ThreadPoolExecutor(threads, thread_name_prefix="poll") as pool:
        while not should_stop() and (due := polling.list_due(DUE_MAX)):
            hosts: dict[str, list[SourceRow]] = defaultdict(list)
            for row in due:
                hosts[split_address(row.url).host.lower()].append(row)
            for done in pool.map(
                lambda rows: _poll_rows(polling, rows, should_stop), hosts.values()
            ):
                polls += done[0]
                new += done[1]
                failed += done[2]
    return f"{polls} sources polled, {new} new links, {failed} failed" if polls else ""


def _poll_rows(
    polling: Poller, rows: list[SourceRow], should_stop: Callable[[], bool]
) -> tuple[int, int, int]:
    polls = new = failed = 0
    for done in poll_in_turn(polling, rows):
        polls, new, failed = polls + 1, new + done.new, failed + bool(done.error)
        counts = {"source": done.row.url, "new": done.new, "error": done.error}
        log_fields = {**counts, **encode_stored(done.notes)}
        logger.info("polled", extra={"poll": log_fields})
        if should_stop():
            break
    return polls, new, failed


@contextmanager
def open_temporary_records() -> Iterator[Records]:
    """Provide temporary empty records, in which rate limits are kept where there is no home."""
    with TemporaryDirectory() as folder:
        records: Any = open_backend("records", Settings().records, Path(folder))
        try:
            yield records
        finally:
            records.close()


def check_source(
    row: SourceRow, pool: ChildPool, settings: Settings, records: Records
) -> dict[str, object]:
    """Return what a source lists now, without entering it. Raises TransientError and
    PermanentError.
    """
    asker = get_fetcher(records, settings).retain()
    asked = replace(row, etag=None, last_modified=None, digest=None)
    try:
        seen = request_listing(
            asked, create_sender(asker, settings), create_listing_reader(pool), get_utc_now
        )
    finally:
        asker.close()
    if seen.listing is None:
        raise TransientError(f"the server responded with {seen.answer.status}")
    rules = build_link_rules(settings)
    refused = [rules.find_refusal(entry.link) for entry in seen.listing.entries]
    hints = {name: value for name, value in asdict(seen.listing.hints).items() if value}
    return {
        "source": row.url,
        "url": seen.answer.url,
        "moved_to": seen.answer.permanent_url,
        "kind": seen.listing.kind,
        "title": seen.listing.title,
        "listed": len(seen.listing.entries),
        "cut": seen.listing.cut,
        "refused": dict(Counter(str(one[0]) for one in refused if one)),
        "links": [
            {"link": one.link, "title": one.title, "pub_date": one.pub_date}
            for one, why in zip(seen.listing.entries, refused, strict=True)
            if why is None
        ],
        "problem": seen.listing.problem,
        "hints": hints,
        "older": seen.listing.older or None,
        "sitemaps": seen.children,
    }
