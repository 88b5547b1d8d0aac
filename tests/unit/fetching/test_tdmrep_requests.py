"""The tdmrep.json of hosts that returned a page is requested over real sockets, once in 24
hours."""

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
from fixtures.web_of_hosts import (
    HostRequest,
    Pieces,
    Web,
    build_redirect,
    build_response,
    build_story_page,
)
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
from unit.fetching.fetch_step import PACES, Desk, get_capture, get_outcome, make_desk

HOST, PATH = "a.example", "/.well-known/tdmrep.json"
JSON = {"Content-Type": "application/json"}
RESERVATION = b'[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/policy"}]'
STATEMENTS = ("tdm-reservation=1", "tdm-policy")
STEPS = count()
BOMB = gzip.compress(bytes(60_000_000))


@dataclass
class Library:
    """Several desks on the stores of a bench; `clock_offset` is added to their clock."""

    bench: Bench
    web: Web
    clock_offset: timedelta = timedelta(0)
    desks: list[Desk] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.clock_offset

    def start_process(self, records: Any = None, **options: Any) -> Desk:
        """Start another process on the same stores."""
        process_name = f"process {len(self.desks)}"
        desk = make_desk(
            self.web, self.bench.home, process_name, self._make_host_steps(records), **options
        )
        self.desks.append(desk)
        return desk

    def _make_host_steps(
        self, records: Any
    ) -> Callable[[Fetcher, Spool], tuple[HostFileKeeper, TdmrepRequests]]:
        def build_host_steps(
            fetcher: Fetcher, spool: Spool
        ) -> tuple[HostFileKeeper, TdmrepRequests]:
            bench, records_of_desk = self.bench, records or self.bench.records
            stores: Any = (_SpoolAndArchive(bench), records_of_desk, bench.table, bench.blobs)
            write = create_archive_body(*stores, JOURNAL, self.now)
            keep = HostFileKeeper(
                spool, records_of_desk, self.identify, self.persist, write, self.now
            )
            return keep, TdmrepRequests(fetcher, records_of_desk, keep.save, self.now)

        return build_host_steps

    def identify(self, page: Capture) -> Result:
        archive: Any = _SpoolAndArchive(self.bench)
        return IdentifyStep(archive, describe, 10**6, 10**6)(page)

    def persist(self, items: Any) -> Any:
        return PersistFileStep(self.bench.table, self.bench.records, JOURNAL, True, self.now)(items)

    def store(self, result: Result | Exception) -> Rights:
        """Store the page of a result and return its rights."""
        assert isinstance(result, Result)
        pages = tuple(item for item in result.items if not isinstance(item, UnindexedFile))
        page = get_capture(replace(result, items=pages))
        self.persist(
            [item for item in self.identify(page).items if isinstance(item, IdentifiedCapture)]
        )
        return self.load_rights(page)

    def load_rights(self, page: Capture) -> Rights:
        return load_capture_rights(self.bench.records, {page.id: "0" * 40})[page.id]

    def get_answer(self, host: str = HOST) -> str:
        (row,) = self.bench.records.get(TdmrepAnswerRow, [self.web.build_url(host, "")])
        assert [row.capture_id] == ([row.capture_id for row in self.list_rows()] or [None])
        return row.answer

    def pass_a_day(self) -> None:
        """Make all answers 25 hours older."""
        rows = list(self.bench.records.find(TdmrepAnswerRow))
        day = timedelta(hours=25)
        self.bench.records.put([replace(row, requested_at=row.requested_at - day) for row in rows])

    def list_rows(self, kind: type[Row] = CdxRow) -> list[Any]:
        """Return the rows of a tdmrep.json."""
        return [row for row in self.bench.records.find(kind) if PATH in getattr(row, "url", PATH)]

    def list_requests(self, host: str = HOST) -> list[str]:
        return [request.target for request in self.web.list_requests(host)]


class _SpoolAndArchive:
    """Reads from the spool, writes to the archive."""

    def __init__(self, bench: Bench) -> None:
        spooled: Any = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 10**6)
        self.read, self.write = spooled.read, bench.archive.write


@pytest.fixture
def library(bench: Bench, web: Web) -> Iterator[Library]:
    new_library = Library(bench, web)
    set_responses(web, lambda: build_response(RESERVATION, headers=JSON))
    yield new_library
    for desk in new_library.desks:
        desk.fetch.close()
        desk.records.close()


def set_responses(
    web: Web, tdmrep: Callable[[], bytes | Pieces], robots: str = "", page: Any = build_story_page
) -> None:
    """Let the host respond with this tdmrep.json, robots.txt and page."""

    def respond(request: HostRequest, nth: int) -> bytes | Pieces:
        if request.target == "/robots.txt":
            return build_response(
                robots, "200 OK" if robots else "404 Not Found", {"Content-Type": "text/plain"}
            )
        if request.target.startswith(PATH):
            return tdmrep()
        page_bytes: bytes | Pieces = page(request.host, request.target)
        return page_bytes

    web.hosts[HOST] = respond


def test_a_tdmrep_is_requested_once_a_day_and_applies_to_all_pages(
    library: Library,
) -> None:
    urls = [library.web.build_url(HOST, f"/{number}") for number in range(4)]
    first = library.start_process()
    results = first.run(*urls[:3])
    assert [library.store(results[url]).prefers for url in urls[:3]] == [STATEMENTS] * 3
    assert library.list_requests()[:2] == ["/robots.txt", "/0"]
    assert library.list_requests().count(PATH) == 1
    first.fetch.close()
    (result,) = library.start_process().run(urls[3]).values()
    assert library.store(result).prefers == STATEMENTS
    assert library.list_requests().count(PATH) == 1
    assert library.get_answer() == "200"
    (row,) = library.list_rows()
    assert (row.url, row.mimetype) == (library.web.build_url(HOST, PATH), "application/tdmrep+json")
    assert not any(row.in_spool for row in library.list_rows(FetchedPageRow))


def test_after_a_day_it_is_requested_again_and_stored_only_if_changed(library: Library) -> None:
    changed = RESERVATION.replace(b"1", b"0")
    ids = []
    for day, body in enumerate((RESERVATION, RESERVATION, changed, RESERVATION)):
        set_responses(library.web, lambda body=body: build_response(body, headers=JSON))  # type: ignore[misc]
        desk, url = library.start_process(), library.web.build_url(HOST, f"/{day}")
        library.store(desk.run(url)[url])
        assert library.list_requests().count(PATH) == 1 + day
        desk.fetch.close()
        library.pass_a_day()
        files = library.bench.records.find(HostFileRow, order=("captured_at",))
        ids = [row.capture_id for row in files]
    assert len(library.list_rows()) == len(set(ids)) == 3
    assert ids[0] == ids[1]


async def send_endless() -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n["
    while True:
        yield b'{"location": "/", "tdm-reservation": 1},' * 1000


ANSWERS: dict[str, tuple[Callable[[], bytes | Pieces], str]] = {
    "none": (lambda: build_response("", "404 Not Found"), "404"),
    "gone": (lambda: build_response("", "410 Gone"), "410"),
    "forbidden": (lambda: build_response("", "403 Forbidden"), "403"),
    "broken": (lambda: build_response("", "500 Oops"), "500"),
    "busy": (lambda: build_response("", "429 Slow down", {"Retry-After": "7200"}), "429"),
    "empty": (lambda: build_response("", headers=JSON), "200"),
    "a page": (lambda: build_story_page(HOST, PATH), "200"),
    "a hundred megabytes": (
        lambda: build_response(b"[]", headers={**JSON, "Content-Length": "100000000"}),
        "too-large",
    ),
    "without end": (send_endless, "too-large"),
    "redirects without end": (lambda: build_redirect(f"{PATH}?{next(STEPS)}"), "bad-redirect"),
    "a circle": (lambda: build_redirect(PATH), "bad-redirect"),
    "to a file": (lambda: build_redirect("file:///etc/passwd"), "bad-redirect"),
    "to a private address": (lambda: build_redirect("http://private.example/"), "private-address"),
    "cut": (
        lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n[",
        "unreachable",
    ),
    "deep": (lambda: build_response(b"[" * 400_000, headers=JSON), "200"),
    "a bomb": (
        lambda: build_response(
            BOMB,
            headers=JSON | {"Content-Encoding": "gzip"},
        ),
        "200",
    ),
    "packed and too long": (
        lambda: build_response(
            gzip.compress(json.dumps([{"location": f"/{n}"} for n in range(40_000)]).encode()),
            headers=JSON | {"Content-Encoding": "gzip"},
        ),
        "200",
    ),
    "no array": (
        lambda: build_response(b'{"location": "/", "tdm-reservation": 1}', headers=JSON),
        "200",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_page_is_stored_without_statements_of_a_faulty_tdmrep(
    library: Library, name: str
) -> None:
    library.web.addresses["private.example"] = ["10.0.0.7"]
    set_responses(library.web, ANSWERS[name][0])
    url, second_url = library.web.build_url(HOST), library.web.build_url(HOST, "/2")
    desk = library.start_process()
    assert library.store(desk.run(url)[url]).prefers == ()
    assert library.get_answer() == ANSWERS[name][1]
    n_requests = len(library.list_requests())
    assert n_requests <= 3 + REDIRECTS_MAX
    if name == "busy":
        assert get_outcome(desk.run(second_url)[second_url])[0] is Verdict.DEFERRED
        return
    assert library.store(desk.run(second_url)[second_url]).prefers == ()
    assert library.list_requests()[n_requests:] == ["/2"]
    stored_counts = {"deep": 1, "no array": 1}
    assert len(library.list_rows()) == stored_counts.get(name, 0)
    assert len(
        [row for row in library.list_rows(FetchedPageRow) if row.url.endswith(PATH)]
    ) == stored_counts.get(name, 0)


def test_the_longest_of_the_first_ten_thousand_locations_applies(
    library: Library,
) -> None:
    locations = [{"location": f"/{n}", "tdm-reservation": 1} for n in range(11_000)]
    body = json.dumps([{"location": "/story", "tdm-reservation": 0}, *locations]).encode()
    assert len(body) < MAX_BYTES
    set_responses(library.web, lambda: build_response(body, headers=JSON))
    urls = [library.web.build_url(HOST, path) for path in ("/story", "/9998", "/10500/x")]
    results = library.start_process().run(*urls)
    assert [library.store(results[url]).prefers for url in urls] == [
        ("tdm-reservation=0",),
        ("tdm-reservation=1",),
        ("tdm-reservation=1",),
    ]


def test_a_host_without_a_page_or_with_a_denial_is_not_requested(library: Library) -> None:
    url = library.web.build_url(HOST)
    set_responses(library.web, send_endless, page=lambda *_: build_response("", "404 Not Found"))
    desk = library.start_process()
    assert get_outcome(desk.run(url)[url]) == (Verdict.DROPPED, Reason.HTTP_STATUS)
    assert library.list_requests() == ["/robots.txt", "/story"]
    desk.fetch.close()
    set_responses(library.web, send_endless, "User-agent: *\nDisallow: /.well-known\n")
    second_url = library.web.build_url(HOST, "/2")
    get_capture(library.start_process().run(second_url)[second_url])
    assert library.list_requests()[2:] == ["/robots.txt", "/2"]
    assert library.get_answer() == "robots-denied"


def test_a_page_in_the_spool_of_a_dead_process_is_not_requested_again(
    library: Library,
) -> None:
    url = library.web.build_url(HOST)
    is_requested = threading.Event()

    async def send_endless_head() -> Pieces:
        is_requested.set()
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            yield b"X: x\r\n"
            await _pause()

    set_responses(library.web, send_endless_head)
    first = library.start_process()
    first.fetch.begin([(0, build_link(url, "poll"))])
    while not is_requested.is_set():
        assert first.fetch.collect_finished(0.2) == []
    first.fetch.close()
    set_responses(library.web, lambda: build_response(RESERVATION, headers=JSON))
    (result,) = library.start_process().run(url).values()
    assert library.store(result).prefers == STATEMENTS
    assert library.list_requests().count("/story") == 1


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0.1)


def test_a_page_waits_for_the_tdmrep_of_a_slow_host(library: Library) -> None:
    set_responses(
        library.web,
        lambda: build_response(RESERVATION, headers=JSON),
        "User-agent: *\nCrawl-delay: 3\n",
    )
    paces = replace(PACES, host=PaceRules(0.1, busy_factor=0.0), patience_s=1.0)
    desk = library.start_process(paces=paces)
    url, verdicts = library.web.build_url(HOST), list[Verdict | None]()
    while not verdicts or verdicts[-1] is Verdict.DEFERRED:
        (result,) = desk.run(url).values()
        assert isinstance(result, Result)
        verdicts.append(result.disposition.verdict)
        threading.Event().wait(min(result.disposition.after_s, 4.0))
    assert Verdict.DEFERRED in verdicts
    assert library.store(result).prefers == STATEMENTS
    assert library.list_requests() == ["/robots.txt", "/story", PATH]


def test_a_page_does_not_wait_long_for_a_distant_request(library: Library) -> None:
    set_responses(
        library.web,
        lambda: build_response(RESERVATION, headers=JSON),
        "User-agent: *\nCrawl-delay: 3\n",
    )
    paces = replace(PACES, host=PaceRules(0.1, busy_factor=0.0), patience_s=1.0)
    url, results = library.web.build_url(HOST), list[Result | Exception]()
    desk = library.start_process(paces=paces)
    while not results or is_deferred(results[-1]):
        results += desk.run(url).values()
        is_spooled = bool(list(library.bench.records.find(FetchedPageRow)))
        library.clock_offset = timedelta(minutes=11) if is_spooled else timedelta(0)
        threading.Event().wait(0.5)
    get_capture(results[-1])
    assert PATH not in library.list_requests()
    assert list(library.bench.records.find(TdmrepAnswerRow)) == []


def is_deferred(result: Result | Exception) -> bool:
    return isinstance(result, Result) and result.disposition.verdict is Verdict.DEFERRED


def test_files_whose_captures_gain_statements_are_indexed_again(library: Library) -> None:
    """These pages come from a process without tdmrep requests, for example with another setting."""
    plain = make_desk(library.web, library.bench.home, "plain")
    url, second_url = library.web.build_url(HOST), library.web.build_url(HOST, "/2")
    first_result = plain.run(url)[url]
    plain.fetch.close()
    plain.records.close()
    assert library.store(first_result).prefers == ()
    (result,) = library.start_process().run(second_url).values()
    assert isinstance(result, Result)
    reindexed = [item.sha1hex for item in result.items if isinstance(item, UnindexedFile)]
    (row,) = library.bench.records.find(HostFileRow)
    assert library.load_rights(get_capture(first_result)).prefers == STATEMENTS
    assert reindexed == [_get_sha1hex(library, get_capture(first_result))]
    assert row.sha1hex not in reindexed


def _get_sha1hex(library: Library, page: Capture) -> str:
    (identified,) = library.identify(page).items
    assert isinstance(identified, IdentifiedCapture)
    assert identified.sha1hex is not None
    return identified.sha1hex


def test_a_tdmrep_that_was_taken_down_is_neither_stored_nor_applied(library: Library) -> None:
    url = library.web.build_url(HOST)
    desk = library.start_process()
    library.store(desk.run(url)[url])
    (row,) = library.list_rows()
    takedown = TakedownRow(row.sha1hex, "other", "", "me", library.now())
    library.bench.records.put([takedown])
    library.bench.records.delete(
        HostFileRow, [_get_key(row) for row in library.bench.records.find(HostFileRow)]
    )
    library.pass_a_day()
    desk.fetch.close()
    second_url = library.web.build_url(HOST, "/2")
    library.store(library.start_process().run(second_url)[second_url])
    assert library.list_requests().count(PATH) == 2
    assert list(library.bench.records.find(HostFileRow)) == []


def _get_key(row: HostFileRow) -> tuple[str, str, datetime, str]:
    return row.origin, row.name, row.captured_at, row.capture_id


class FailingRecords:
    """Records that reject the first answer of a host."""

    def __init__(self, records: SqlRecords) -> None:
        self._records, self._is_down = records, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def put(self, rows: Any, *, replace: bool = True) -> None:
        if self._is_down and any(isinstance(row, TdmrepAnswerRow) for row in rows):
            self._is_down = False
            raise StoreUnavailableError("the records are unavailable")
        self._records.put(rows, replace=replace)


def test_an_answer_that_cannot_be_stored_is_stored_the_next_time(library: Library) -> None:
    desk, url = (
        library.start_process(FailingRecords(library.bench.records)),
        library.web.build_url(HOST),
    )
    desk.fetch.begin([(0, build_link(url, "poll"))])
    results: list[tuple[int, Result | Exception]] = []
    n_failures = 0
    while not results:
        try:
            results += desk.fetch.collect_finished(0.5)
        except StoreUnavailableError:
            n_failures += 1
    assert n_failures == 1
    assert library.store(results[0][1]).prefers == STATEMENTS
    assert library.list_requests().count(PATH) == 1
    assert len(library.list_rows()) == 1
