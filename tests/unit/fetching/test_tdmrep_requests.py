"""Hosts that gave a page are asked for their tdmrep.json, over real sockets, once in 24 hours."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from archive_bodies import create_archive_body
from fixtures.web_of_hosts import Asked, Pieces, Web, answer, redirect, story
from fonds.archive.store.body_sources import (
    SpooledBodies,
)
from fonds.extract.mime import describe
from fonds.fetching.fetcher import Fetcher
from fonds.fetching.pace import PaceRules
from fonds.fetching.robots import MAX_BYTES, REDIRECTS_MAX
from fonds.following.link_rules import build_link
from fonds.ingest.steps.identify import IdentifyStep
from fonds.ingest.steps.keep_host_files import HostFileKeeper
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.spool import Spool
from fonds.ingest.steps.tdmrep_requests import TdmrepRequests
from fonds.model.capture import Capture
from fonds.model.disposition import Reason, Verdict
from fonds.model.errors import StoreUnavailableError
from fonds.model.file import IdentifiedCapture, UnindexedFile
from fonds.model.rights import Rights
from fonds.model.rows import (
    CdxRow,
    FetchedPageRow,
    HostFileRow,
    TakedownRow,
    TdmrepAnswerRow,
)
from fonds.model.rows.row import Row
from fonds.model.step import Result
from fonds.rights.capture_rights import load_capture_rights
from fonds.stores.records.sql import SqlRecords
from step_bench import JOURNAL, Bench
from unit.fetching.desk import PACES, Desk, capture, ended, make_desk

HOST, PATH = "a.example", "/.well-known/tdmrep.json"
JSON = {"Content-Type": "application/json"}
RESERVED = b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/policy"}]'
STATED = ("tdm-reservation=1", "tdm-policy")
STEPS = count()
BOMB = gzip.compress(bytes(60_000_000))


@dataclass
class Library:
    """A desk on the stores of a bench; `later` is what its clock is ahead."""

    bench: Bench
    web: Web
    later: timedelta = timedelta(0)
    desks: list[Desk] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.later

    def process(self, records: Any = None, **more: Any) -> Desk:
        """Another process, on the same stores."""
        who = f"process {len(self.desks)}"
        desk = make_desk(self.web, self.bench.home, who, self._hosts(records), **more)
        self.desks.append(desk)
        return desk

    def _hosts(
        self, records: Any
    ) -> Callable[[Fetcher, Spool], tuple[HostFileKeeper, TdmrepRequests]]:
        def hosts(asker: Fetcher, spool: Spool) -> tuple[HostFileKeeper, TdmrepRequests]:
            bench, ours = self.bench, records or self.bench.records
            stores: Any = (_Both(bench), ours, bench.table, bench.blobs)
            write = create_archive_body(*stores, JOURNAL, self.now)
            keep = HostFileKeeper(spool, ours, self.identify, self.persist, write, self.now)
            return keep, TdmrepRequests(asker, ours, keep.save, self.now)

        return hosts

    def identify(self, found: Capture) -> Result:
        archive: Any = _Both(self.bench)
        return IdentifyStep(archive, describe, 10**6, 10**6)(found)

    def persist(self, items: Any) -> Any:
        return PersistFileStep(self.bench.table, self.bench.records, JOURNAL, True, self.now)(items)

    def note(self, end: Result | Exception) -> Rights:
        """What is stated of a page, once its capture was noted."""
        assert isinstance(end, Result)
        pages = tuple(item for item in end.items if not isinstance(item, UnindexedFile))
        found = capture(replace(end, items=pages))
        self.persist(
            [item for item in self.identify(found).items if isinstance(item, IdentifiedCapture)]
        )
        return self.stated(found)

    def stated(self, found: Capture) -> Rights:
        return load_capture_rights(self.bench.records, {found.id: "0" * 40})[found.id]

    def answer(self, host: str = HOST) -> str:
        (row,) = self.bench.records.get(TdmrepAnswerRow, [self.web.url(host, "")])
        assert [row.capture_id] == ([one.capture_id for one in self.rows()] or [None])
        return row.answer

    def pass_a_day(self) -> None:
        """The answers are as old as if they had been given a day and an hour ago."""
        rows = list(self.bench.records.find(TdmrepAnswerRow))
        day = timedelta(hours=25)
        self.bench.records.put([replace(row, requested_at=row.requested_at - day) for row in rows])

    def rows(self, kind: type[Row] = CdxRow) -> list[Any]:
        """The rows of a tdmrep.json."""
        return [row for row in self.bench.records.find(kind) if PATH in getattr(row, "url", PATH)]

    def asked(self, host: str = HOST) -> list[str]:
        return [one.target for one in self.web.asked(host)]


class _Both:
    """Reads from the spool, writes to the archive."""

    def __init__(self, bench: Bench) -> None:
        spooled: Any = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 10**6)
        self.read, self.write = spooled.read, bench.archive.write


@pytest.fixture
def library(bench: Bench, web: Web) -> Iterator[Library]:
    ours = Library(bench, web)
    states(web, lambda: answer(RESERVED, headers=JSON))
    yield ours
    for desk in ours.desks:
        desk.fetch.close()
        desk.records.close()


def states(
    web: Web, tdmrep: Callable[[], bytes | Pieces], robots: str = "", page: Any = story
) -> None:
    """The host answers with this tdmrep.json, this robots.txt and pages."""

    def behave(asked: Asked, nth: int) -> bytes | Pieces:
        if asked.target == "/robots.txt":
            return answer(
                robots, "200 OK" if robots else "404 Not Found", {"Content-Type": "text/plain"}
            )
        if asked.target.startswith(PATH):
            return tdmrep()
        made: bytes | Pieces = page(asked.host, asked.target)
        return made

    web.hosts[HOST] = behave


def test_a_host_is_asked_once_in_a_day_by_all_processes_and_states_for_all_pages(
    library: Library,
) -> None:
    urls = [library.web.url(HOST, f"/{number}") for number in range(4)]
    first = library.process()
    found = first.run(*urls[:3])
    assert [library.note(found[url]).prefers for url in urls[:3]] == [STATED] * 3
    assert library.asked()[:2] == ["/robots.txt", "/0"]
    assert library.asked().count(PATH) == 1
    first.fetch.close()
    (again,) = library.process().run(urls[3]).values()
    assert library.note(again).prefers == STATED
    assert library.asked().count(PATH) == 1
    assert library.answer() == "200"
    (row,) = library.rows()
    assert (row.url, row.mimetype) == (library.web.url(HOST, PATH), "application/tdmrep+json")
    assert not any(row.in_spool for row in library.rows(FetchedPageRow))


def test_after_a_day_it_is_asked_again_and_kept_again_only_if_it_changed(library: Library) -> None:
    other = RESERVED.replace(b"1", b"0")
    ids = []
    for day, body in enumerate((RESERVED, RESERVED, other, RESERVED)):
        states(library.web, lambda body=body: answer(body, headers=JSON))  # type: ignore[misc]
        desk, url = library.process(), library.web.url(HOST, f"/{day}")
        library.note(desk.run(url)[url])
        assert library.asked().count(PATH) == 1 + day
        desk.fetch.close()
        library.pass_a_day()
        files = library.bench.records.find(HostFileRow, order=("captured_at",))
        ids = [row.capture_id for row in files]
    assert len(library.rows()) == len(set(ids)) == 3
    assert ids[0] == ids[1]


async def endless() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n["
    while True:
        yield b'{"location": "/", "tdm-reservation": 1},' * 1000


ANSWERS: dict[str, tuple[Callable[[], bytes | Pieces], str]] = {
    "none": (lambda: answer("", "404 Not Found"), "404"),
    "gone": (lambda: answer("", "410 Gone"), "410"),
    "forbidden": (lambda: answer("", "403 Forbidden"), "403"),
    "broken": (lambda: answer("", "500 Oops"), "500"),
    "busy": (lambda: answer("", "429 Slow down", {"Retry-After": "7200"}), "429"),
    "empty": (lambda: answer("", headers=JSON), "200"),
    "a page": (lambda: story(HOST, PATH), "200"),
    "a hundred megabytes": (
        lambda: answer(b"[]", headers={**JSON, "Content-Length": "100000000"}),
        "too-large",
    ),
    "without end": (endless, "too-large"),
    "redirects without end": (lambda: redirect(f"{PATH}?{next(STEPS)}"), "bad-redirect"),
    "a circle": (lambda: redirect(PATH), "bad-redirect"),
    "to a file": (lambda: redirect("file:///etc/passwd"), "bad-redirect"),
    "to a private address": (lambda: redirect("http://private.example/"), "private-address"),
    "cut": (
        lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n[",
        "unreachable",
    ),
    "deep": (lambda: answer(b"[" * 400_000, headers=JSON), "200"),
    "a bomb": (
        lambda: answer(
            BOMB,
            headers=JSON | {"Content-Encoding": "gzip"},
        ),
        "200",
    ),
    "packed and too long": (
        lambda: answer(
            gzip.compress(json.dumps([{"location": f"/{n}"} for n in range(40_000)]).encode()),
            headers=JSON | {"Content-Encoding": "gzip"},
        ),
        "200",
    ),
    "no array": (lambda: answer(b'{"location": "/", "tdm-reservation": 1}', headers=JSON), "200"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_a_host_answers_its_page_goes_on_and_nothing_is_stated(
    library: Library, name: str
) -> None:
    library.web.addresses["private.example"] = ["10.0.0.7"]
    states(library.web, ANSWERS[name][0])
    url, other = library.web.url(HOST), library.web.url(HOST, "/2")
    desk = library.process()
    assert library.note(desk.run(url)[url]).prefers == ()
    assert library.answer() == ANSWERS[name][1]
    before = len(library.asked())
    assert before <= 3 + REDIRECTS_MAX
    if name == "busy":
        assert ended(desk.run(other)[other])[0] is Verdict.DEFERRED
        return
    assert library.note(desk.run(other)[other]).prefers == ()
    assert library.asked()[before:] == ["/2"]
    kept = {"deep": 1, "no array": 1}
    assert len(library.rows()) == kept.get(name, 0)
    assert len([row for row in library.rows(FetchedPageRow) if row.url.endswith(PATH)]) == kept.get(
        name, 0
    )


def test_many_locations_state_what_the_longest_of_the_first_ten_thousand_says(
    library: Library,
) -> None:
    many = [{"location": f"/{n}", "tdm-reservation": 1} for n in range(11_000)]
    body = json.dumps([{"location": "/story", "tdm-reservation": 0}, *many]).encode()
    assert len(body) < MAX_BYTES
    states(library.web, lambda: answer(body, headers=JSON))
    urls = [library.web.url(HOST, path) for path in ("/story", "/9998", "/10500/x")]
    found = library.process().run(*urls)
    assert [library.note(found[url]).prefers for url in urls] == [
        ("tdm-reservation=0",),
        ("tdm-reservation=1",),
        ("tdm-reservation=1",),
    ]


def test_a_host_that_gave_no_page_or_forbids_it_is_not_asked(library: Library) -> None:
    url = library.web.url(HOST)
    states(library.web, endless, page=lambda *_: answer("", "404 Not Found"))
    desk = library.process()
    assert ended(desk.run(url)[url]) == (Verdict.DROPPED, Reason.HTTP_STATUS)
    assert library.asked() == ["/robots.txt", "/story"]
    desk.fetch.close()
    states(library.web, endless, "User-agent: *\nDisallow: /.well-known\n")
    other = library.web.url(HOST, "/2")
    capture(library.process().run(other)[other])
    assert library.asked()[2:] == ["/robots.txt", "/2"]
    assert library.answer() == "robots-denied"


def test_a_page_that_lay_in_the_spool_when_its_process_died_is_asked_for_no_more(
    library: Library,
) -> None:
    url = library.web.url(HOST)
    hung = threading.Event()

    async def never() -> Pieces:
        hung.set()
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            yield b"X: x\r\n"
            await _pause()

    states(library.web, never)
    first = library.process()
    first.fetch.begin([(0, build_link(url, "poll"))])
    while not hung.is_set():
        assert first.fetch.collect_finished(0.2) == []
    first.fetch.close()
    states(library.web, lambda: answer(RESERVED, headers=JSON))
    (found,) = library.process().run(url).values()
    assert library.note(found).prefers == STATED
    assert library.asked().count("/story") == 1


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0.1)


def test_while_a_host_asks_for_time_its_page_comes_back_for_the_answer(library: Library) -> None:
    states(library.web, lambda: answer(RESERVED, headers=JSON), "User-agent: *\nCrawl-delay: 3\n")
    paces = replace(PACES, host=PaceRules(0.1, busy_factor=0.0), patience_s=1.0)
    desk = library.process(paces=paces)
    url, ends = library.web.url(HOST), list[Verdict | None]()
    while not ends or ends[-1] is Verdict.DEFERRED:
        (found,) = desk.run(url).values()
        assert isinstance(found, Result)
        ends.append(found.disposition.verdict)
        threading.Event().wait(min(found.disposition.after_s, 4.0))
    assert Verdict.DEFERRED in ends
    assert library.note(found).prefers == STATED
    assert library.asked() == ["/robots.txt", "/story", PATH]


def test_a_page_does_not_wait_long_for_a_host_that_is_far_away(library: Library) -> None:
    states(library.web, lambda: answer(RESERVED, headers=JSON), "User-agent: *\nCrawl-delay: 3\n")
    paces = replace(PACES, host=PaceRules(0.1, busy_factor=0.0), patience_s=1.0)
    url, ends = library.web.url(HOST), list[Result | Exception]()
    desk = library.process(paces=paces)
    while not ends or ended_later(ends[-1]):
        ends += desk.run(url).values()
        is_spooled = bool(list(library.bench.records.find(FetchedPageRow)))
        library.later = timedelta(minutes=11) if is_spooled else timedelta(0)
        threading.Event().wait(0.5)
    capture(ends[-1])
    assert PATH not in library.asked()
    assert list(library.bench.records.find(TdmrepAnswerRow)) == []


def ended_later(end: Result | Exception) -> bool:
    return isinstance(end, Result) and end.disposition.verdict is Verdict.DEFERRED


def test_files_whose_captures_state_more_now_are_indexed_again(library: Library) -> None:
    """Pages of a process that did not ask, as those under another setting."""
    plain = make_desk(library.web, library.bench.home, "plain")
    url, other = library.web.url(HOST), library.web.url(HOST, "/2")
    early = plain.run(url)[url]
    plain.fetch.close()
    plain.records.close()
    assert library.note(early).prefers == ()
    (found,) = library.process().run(other).values()
    assert isinstance(found, Result)
    restated = [item.sha1hex for item in found.items if isinstance(item, UnindexedFile)]
    (row,) = library.bench.records.find(HostFileRow)
    assert library.stated(capture(early)).prefers == STATED
    assert restated == [_sha1hex(library, capture(early))]
    assert row.sha1hex not in restated


def _sha1hex(library: Library, found: Capture) -> str:
    (one,) = library.identify(found).items
    assert isinstance(one, IdentifiedCapture)
    assert one.sha1hex is not None
    return one.sha1hex


def test_what_was_taken_down_is_not_kept_and_not_in_force(library: Library) -> None:
    url = library.web.url(HOST)
    desk = library.process()
    library.note(desk.run(url)[url])
    (row,) = library.rows()
    taken = TakedownRow(row.sha1hex, "other", "", "me", library.now())
    library.bench.records.put([taken])
    library.bench.records.delete(
        HostFileRow, [_key(one) for one in library.bench.records.find(HostFileRow)]
    )
    library.pass_a_day()
    desk.fetch.close()
    other = library.web.url(HOST, "/2")
    library.note(library.process().run(other)[other])
    assert library.asked().count(PATH) == 2
    assert list(library.bench.records.find(HostFileRow)) == []


def _key(row: HostFileRow) -> tuple[str, str, datetime, str]:
    return row.origin, row.name, row.captured_at, row.capture_id


class Away:
    """The records, which do not take the first answer of a host."""

    def __init__(self, records: SqlRecords) -> None:
        self._records, self._is_away = records, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def put(self, rows: Any, *, replace: bool = True) -> None:
        if self._is_away and any(isinstance(row, TdmrepAnswerRow) for row in rows):
            self._is_away = False
            raise StoreUnavailableError("the records are away")
        self._records.put(rows, replace=replace)


def test_an_answer_that_cannot_be_noted_is_noted_the_next_time(library: Library) -> None:
    desk, url = library.process(Away(library.bench.records)), library.web.url(HOST)
    desk.fetch.begin([(0, build_link(url, "poll"))])
    found: list[tuple[int, Result | Exception]] = []
    failed = 0
    while not found:
        try:
            found += desk.fetch.collect_finished(0.5)
        except StoreUnavailableError:
            failed += 1
    assert failed == 1
    assert library.note(found[0][1]).prefers == STATED
    assert library.asked().count(PATH) == 1
    assert len(library.rows()) == 1
