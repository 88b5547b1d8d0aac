"""What follows sources: asks over the web, reads in an isolated process, enters through the intake."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from fonds.address import split_address
from fonds.config import Settings
from fonds.crawl.redirects import redirect_target
from fonds.crawl.request_url import request_url
from fonds.formats.coding import codings_of, decode_body
from fonds.formats.listings.listing import Listing
from fonds.formats.listings.reading import read_listing
from fonds.isolation import ChildLimits, ChildPool
from fonds.model.archive import HttpHead
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError, TransientError
from fonds.model.rows import SourceRow
from fonds.ports import Source, Stores
from fonds.runtime.intake import Entered
from fonds.sources.following.answers import BODY_MAX_BYTES, Answer, Get, Read
from fonds.sources.following.polling import Polling, look, poll_each
from fonds.sources.following.rhythm import Bounds
from fonds.timetable import RecurringTask, Runner, Timetable
from fonds.wiring.backends import open_web
from fonds.wiring.fetching import user_agent
from fonds.wiring.link_inputs import link_rules
from fonds.wiring.pipelines import make_intake
from fonds.wiring.steps import now

TOTAL_S = 120.0
READ_S = 60.0
REDIRECTS_MAX = 10
FOR_GOOD = frozenset({301, 308})
LOOK_EVERY_S = 10
DUE_MAX = 500
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5"
)

logger = logging.getLogger("fonds.sources")


def bounds(settings: Settings) -> Bounds:
    """Seconds between two polls, at least and at most."""
    return Bounds(settings.sources.poll_shortest_s, settings.sources.poll_longest_s)


def make_get(settings: Settings) -> Get:
    """Asks for a source over the web: redirects judged one by one, the body within its limits."""
    web, agent = open_web(settings), user_agent(settings.fetch)

    def get(url: str, headers: Mapping[str, str]) -> Answer:
        asked, moved_to, for_good = url, "", True
        for _ in range(REDIRECTS_MAX + 1):
            wanted = {"Accept": ACCEPT, "User-Agent": agent, **headers}
            with web.get(asked, wanted, total_s=TOTAL_S, follows=_none) as found:
                target = redirect_target(
                    request_url(asked), found.status, found.headers.get("location")
                )
                if target is None:
                    return _answer(found, asked, moved_to)
                for_good = for_good and found.status in FOR_GOOD
            asked = target.url
            moved_to = asked if for_good else moved_to
        raise PermanentError(Reason.BAD_REDIRECT, f"more than {REDIRECTS_MAX} redirects")

    return get


def _none(headers: Mapping[str, str], url: str) -> bool:
    """Follow no redirect unseen."""
    return False


def _answer(found: Any, url: str, moved_to: str) -> Answer:
    """What came in the end, its codings undone. Raises LimitError and DamagedInputError."""
    headers = {name.lower(): value for name, value in found.headers.items()}
    body = found.read(BODY_MAX_BYTES + 1) if found.status == 200 else b""
    if len(body) > BODY_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"it answers with more than {BODY_MAX_BYTES} bytes")
    coding = headers.get("content-encoding", "")
    if codings := codings_of(HttpHead(200, "", (("content-encoding", coding),))):
        body = decode_body(lambda: iter((body,)), codings, body_max_bytes=BODY_MAX_BYTES)
    return Answer(found.status, headers, body, url, moved_to)


def make_read(pool: ChildPool) -> Read:
    """Reads a listing in a process with limits."""
    limited = pool.limited(ChildLimits(wall_s=READ_S, memory_bytes=pool.limits.memory_bytes))

    def read(body: bytes, url: str, charset: str | None) -> Listing:
        return limited(read_listing, body, url, charset)

    return read


def make_polling(
    stores: Stores, pool: ChildPool, settings: Settings, stopping: Callable[[], bool]
) -> Polling:
    """What polls the sources of the pipeline of these settings."""
    intake = make_intake(stores, settings, stopping)

    def enter(source: Source) -> None:
        intake.run(source, Entered())

    return Polling(
        records=stores.records,
        pipeline=settings.pipeline,
        enter=enter,
        get=make_get(settings),
        read=make_read(pool),
        rules=link_rules(settings),
        bounds=bounds(settings),
        clock=now,
    )


@contextmanager
def following(stores: Stores, pool: ChildPool, settings: Settings) -> Iterator[None]:
    """Polls the sources of a pipeline as they become due, in threads, while the context lasts.

    Of several processes one looks what is due; each source is claimed by itself besides.
    """
    stopping = threading.Event()
    polling = make_polling(stores, pool, settings, stopping.is_set)
    task = RecurringTask(f"poll-{settings.pipeline}", LOOK_EVERY_S, pipeline=settings.pipeline)
    who = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    timetable = Timetable(stores.records, [task], who, now, time.monotonic)

    def act() -> str:
        return poll_due(polling, settings.sources.poll_threads, stopping.is_set)

    with Runner(timetable, {task.name: act}):
        try:
            yield
        finally:
            stopping.set()


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


def look_at(row: SourceRow, pool: ChildPool, settings: Settings) -> dict[str, object]:
    """What a source lists now, told and not entered. Raises TransientError and PermanentError."""
    seen = look(
        replace(row, etag=None, last_modified=None, digest=None),
        make_get(settings),
        make_read(pool),
    )
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
    }
