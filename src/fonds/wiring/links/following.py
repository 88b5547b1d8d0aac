"""What follows sources: asks over the web, reads in an isolated process, enters through the intake."""

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

from fonds.address import split_address
from fonds.config import Settings
from fonds.crawl.request_url import request_url
from fonds.fetching.asker import Asker
from fonds.fetching.chain import Arrived, End, Wanted
from fonds.formats.coding import codings_of, decode_body
from fonds.formats.listings.listing import Listing
from fonds.formats.listings.reading import read_listing
from fonds.isolation import ChildLimits, ChildPool
from fonds.model.archive import HttpHead
from fonds.model.disposition import Verdict
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.exchange import Hop
from fonds.model.link import TlsCheck
from fonds.model.rows import SourceRow
from fonds.model.secrets import credentials
from fonds.ports import Records, Source, Stores
from fonds.process_identity import is_gone, this_process
from fonds.runtime.intake import Entered
from fonds.sources.following.polls.answers import BODY_MAX_BYTES, Answer, Get, Read
from fonds.sources.following.polls.looking import look
from fonds.sources.following.polls.polling import Polling, poll_each
from fonds.sources.following.rhythm import Bounds
from fonds.timetable import RecurringTask, Runner, Timetable
from fonds.wiring.backends import backend, now
from fonds.wiring.links.fetching import asker_of
from fonds.wiring.links.link_inputs import link_rules
from fonds.wiring.pipelines import make_intake

ANSWER_MAX_S = 600.0
"""Chains of redirects end long before."""
READ_S = 60.0
FOR_GOOD = frozenset({301, 308})
LOOK_EVERY_S = 10
LEASE_S = 15.0
"""Another process polls when whoever did was not heard of for so long."""
DUE_MAX = 500
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5"
)

logger = logging.getLogger("fonds.sources")


def bounds(settings: Settings) -> Bounds:
    """Seconds between two polls, at least and at most, and those of an API."""
    told = settings.sources
    return Bounds(told.poll_shortest_s, told.poll_longest_s, told.poll_api_s)


def make_get(asker: Asker, settings: Settings) -> Get:
    """Asks for a source over the web, at the pace and by the rules links are fetched with."""
    logins = credentials(settings.sources.logins.split())

    def get(url: str, headers: Mapping[str, str], tls: TlsCheck) -> Answer:
        asked = request_url(url)
        wanted = Wanted(
            f"{url} {secrets.token_hex(8)}",
            asked,
            BODY_MAX_BYTES,
            settings.fetch.redirects_max,
            ACCEPT,
            tuple(headers.items()),
            asked.url,
            tls,
            logins,
            urgent=True,
        )
        return answer_of(_end_of(asker, wanted))

    return get


def _end_of(asker: Asker, wanted: Wanted) -> Arrived:
    """What came of it. Raises PostponedError, TransientError and PermanentError."""
    ends: SimpleQueue[End] = SimpleQueue()
    asker.ask(wanted, ends.put)
    try:
        end = ends.get(timeout=ANSWER_MAX_S)
    except Empty:
        asker.forget([wanted.key])
        raise TransientError(f"no answer in {ANSWER_MAX_S:.0f} s") from None
    if isinstance(end, Exception):
        raise end
    if isinstance(end, Arrived):
        return end
    if end.verdict is Verdict.DEFERRED:
        raise PostponedError(end.detail, end.after_s)
    if end.verdict is Verdict.RETRIED or end.reason is None:
        raise TransientError(end.detail)
    raise PermanentError(end.reason, end.detail)


def answer_of(end: Arrived) -> Answer:
    """What came in the end, its codings undone. Raises LimitError and DamagedInputError."""
    last, body = end.hops[-1], end.body
    headers = {name.lower(): value for name, value in reversed(last.headers)}
    if last.status != 200:
        return Answer(last.status, headers, b"", last.url, _moved_to(end.hops))
    coding = headers.get("content-encoding", "")
    if codings := codings_of(HttpHead(200, "", (("content-encoding", coding),))):
        body = decode_body(lambda: iter((body,)), codings, body_max_bytes=BODY_MAX_BYTES)
    return Answer(200, headers, body, last.url, _moved_to(end.hops))


def _moved_to(hops: Sequence[Hop]) -> str:
    """Where redirects led that are all meant for good, as far as they are; "" for nowhere."""
    moved_to = ""
    for before, after in pairwise(hops):
        if before.status not in FOR_GOOD:
            break
        moved_to = after.url
    return moved_to


def make_read(pool: ChildPool) -> Read:
    """Reads a listing in a process with limits."""
    limited = pool.limited(ChildLimits(wall_s=READ_S, memory_bytes=pool.limits.memory_bytes))

    def read(body: bytes, url: str, charset: str | None) -> Listing:
        return limited(read_listing, body, url, charset)

    return read


def make_polling(
    stores: Stores,
    pool: ChildPool,
    settings: Settings,
    asker: Asker,
    stopping: Callable[[], bool],
) -> Polling:
    """What polls the sources of the pipeline of these settings."""
    intake = make_intake(stores, settings, stopping)

    def enter(source: Source) -> None:
        intake.run(source, Entered())

    return Polling(
        records=stores.records,
        pipeline=settings.pipeline,
        enter=enter,
        get=make_get(asker, settings),
        read=make_read(pool),
        rules=link_rules(settings),
        bounds=bounds(settings),
        clock=now,
        who=this_process(),
        is_gone=is_gone,
    )


@contextmanager
def following(stores: Stores, pool: ChildPool, settings: Settings) -> Iterator[None]:
    """Polls the sources of a pipeline as they become due, in threads, while the context lasts.

    Of several processes one looks what is due; each source is claimed by itself besides.
    """
    stopping = threading.Event()
    asker = asker_of(stores.records, settings).held()
    polling = make_polling(stores, pool, settings, asker, stopping.is_set)
    task = RecurringTask(f"poll-{settings.pipeline}", LOOK_EVERY_S, pipeline=settings.pipeline)
    clocks = (now, time.monotonic)
    timetable = Timetable(stores.records, [task], polling.who, *clocks, LEASE_S)

    def act() -> str:
        return poll_due(polling, settings.sources.poll_threads, stopping.is_set)

    with Runner(timetable, {task.name: act}):
        try:
            yield
        finally:
            stopping.set()
            asker.close()


def poll_due(polling: Polling, threads: int, stopping: Callable[[], bool]) -> str:
    """Poll whatever is due until nothing is, sources of one host one after the other; what came of it."""
    polls = new = failed = 0
    with ThreadPoolExecutor(threads, thread_name_prefix="poll") as pool:
        while not stopping() and (due := polling.due(DUE_MAX)):
            hosts: dict[str, list[SourceRow]] = defaultdict(list)
            for row in due:
                hosts[split_address(row.url).host.lower()].append(row)
            for done in pool.map(lambda rows: _polled(polling, rows, stopping), hosts.values()):
                polls += done[0]
                new += done[1]
                failed += done[2]
    return f"{polls} sources polled, {new} new links, {failed} failed" if polls else ""


def _polled(
    polling: Polling, rows: list[SourceRow], stopping: Callable[[], bool]
) -> tuple[int, int, int]:
    polls = new = failed = 0
    for done in poll_each(polling, rows):
        polls, new, failed = polls + 1, new + done.new, failed + bool(done.error)
        told = {"source": done.row.url, "new": done.new, "error": done.error, **done.told}
        logger.info("polled", extra={"poll": told})
        if stopping():
            break
    return polls, new, failed


@contextmanager
def passing_records() -> Iterator[Records]:
    """Records of nothing, for as long as this lasts: where there is no home, paces are kept in them."""
    with TemporaryDirectory() as folder:
        records: Any = backend("records", Settings().records, Path(folder))
        try:
            yield records
        finally:
            records.close()


def look_at(
    row: SourceRow, pool: ChildPool, settings: Settings, records: Records
) -> dict[str, object]:
    """What a source lists now, told and not entered. Raises TransientError and PermanentError."""
    asker = asker_of(records, settings).held()
    asked = replace(row, etag=None, last_modified=None, digest=None)
    try:
        seen = look(asked, make_get(asker, settings), make_read(pool), now)
    finally:
        asker.close()
    if seen.listing is None:
        raise TransientError(f"it answers {seen.answer.status}")
    rules = link_rules(settings)
    refused = [rules.refusal(entry.link) for entry in seen.listing.entries]
    hints = {name: value for name, value in asdict(seen.listing.hints).items() if value}
    return {
        "source": row.url,
        "url": seen.answer.url,
        "moved_to": seen.answer.moved_to,
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
