"""The robots.txt that allowed a page is stored once, even if the process was killed while it
stored it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from archive_bodies import create_archive_body
from fonds.archive.store.body_sources import (
    SpooledBodies,
)
from fonds.extract.mime import describe
from fonds.fetching.robots import Robots, attach_response, parse_robots_response
from fonds.ingest.steps.identify import IdentifyStep
from fonds.ingest.steps.keep_host_files import HostFileKeeper
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.spool import FetchedLink, RobotsResponse, Spool
from fonds.model.capture import Place, PlaceKind
from fonds.model.entry import Link
from fonds.model.exchange import Exchange, Hop, HttpHead
from fonds.model.rows import CdxRow, FetchedPageRow, TakedownRow
from fonds.urls.request_url import parse_request_url
from step_bench import JOURNAL, LATER, MOMENT, PAGE, Bench

HOST = "http://news.example"
TEXT = b"User-agent: *\nAllow: /a\nDisallow: /\nContent-Usage: train-ai=n\n"


class KilledError(Exception):
    """The process is killed at this point."""


def make_keeper(bench: Bench, *, killed: bool = False) -> HostFileKeeper:
    archive = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 10**6)
    spool = Spool(bench.blobs, bench.records, archive)  # type: ignore[arg-type]
    identify = IdentifyStep(archive, describe, 10**6, 10**6)  # type: ignore[arg-type]
    persist = PersistFileStep(bench.table, bench.records, JOURNAL, True, lambda: LATER)
    stores = (_SpoolAndArchive(bench, archive), bench.records, bench.table, bench.blobs)
    write = create_archive_body(*stores, JOURNAL, lambda: LATER)  # type: ignore[arg-type]

    def die(_: Sequence[object]) -> None:
        raise KilledError

    archive_body = die if killed else write
    return HostFileKeeper(spool, bench.records, identify, persist, archive_body, lambda: LATER)


class _SpoolAndArchive:
    """Reads from the spool, writes to the archive."""

    def __init__(self, bench: Bench, spooled: SpooledBodies) -> None:
        self.read, self.write = spooled.read, bench.archive.write


def make_robots(body: bytes = TEXT, status: int = 200, hours: int = 0) -> Robots:
    head = HttpHead(status, f"HTTP/1.1 {status} X", (("Content-Type", "text/plain"),))
    began_at = MOMENT.replace(hour=MOMENT.hour + hours)
    hop = Hop(f"{HOST}/robots.txt", began_at, status, head.status_line, tuple(head.headers))
    return attach_response(parse_robots_response(head, body, "fonds", 0.0), (hop,), body)


def make_fetched_link(robots: Robots, path: str = "/a/1") -> FetchedLink:
    url = parse_request_url(HOST + path)
    link = Link("poll-1", "poll", url.url, "news.example")
    return FetchedLink(link, Exchange(robots.hops), PAGE, host=RobotsResponse(url, robots))


def store_robots(keeper: HostFileKeeper, robots: Robots) -> str | None:
    (result,) = keeper([make_fetched_link(robots)])
    assert result.exchange.rights is not None
    assert result.exchange.rights.robots is not None
    assert result.exchange.rights.prefers == (("train-ai=n",) if robots.body == TEXT else ())
    return result.exchange.rights.robots.capture_id


def test_equal_bytes_are_stored_once_and_changed_bytes_again(bench: Bench) -> None:
    keeper = make_keeper(bench)
    first = store_robots(keeper, make_robots())
    assert first is not None
    assert store_robots(keeper, make_robots(hours=1)) == first
    assert store_robots(make_keeper(bench), make_robots(hours=1)) == first
    second = store_robots(keeper, make_robots(b"User-agent: *\nAllow: /\n", hours=2))
    third = store_robots(make_keeper(bench), make_robots(hours=3))
    assert len({first, second, third}) == 3
    rows = {row.capture_id: row.url for row in bench.records.find(CdxRow)}
    assert rows == dict.fromkeys([first, second, third], f"{HOST}/robots.txt")
    assert not any(row.in_spool for row in bench.records.find(FetchedPageRow))
    assert bench.archive.read(_get_place(bench, first)).body == TEXT


def _get_place(bench: Bench, capture_id: str | None) -> Place:
    (row,) = bench.records.find(CdxRow, {"capture_id": capture_id})
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def test_a_file_left_by_a_killed_process_is_stored_by_the_next(bench: Bench) -> None:
    with pytest.raises(KilledError):
        store_robots(make_keeper(bench, killed=True), make_robots())
    (row,) = bench.records.find(FetchedPageRow)
    assert row.in_spool
    assert store_robots(make_keeper(bench), make_robots(hours=1)) == row.capture_id
    assert [row.capture_id for row in bench.records.find(CdxRow)] == [row.capture_id]


@pytest.mark.parametrize(
    ("body", "status"), [(PAGE, 200), (b"", 200), (b"gone", 404), (b"x" * 600_000, 200)]
)
def test_a_response_that_is_no_robots_txt_is_not_stored(
    bench: Bench, body: bytes, status: int
) -> None:
    assert store_robots(make_keeper(bench), make_robots(body, status)) is None
    for kind in (FetchedPageRow, CdxRow):
        assert list(bench.records.find(kind)) == []


def test_a_file_that_was_taken_down_is_not_stored(bench: Bench) -> None:
    sha1hex = describe(TEXT, None).sha1
    bench.records.put([TakedownRow(sha1hex, "other", "", "me", LATER)])
    assert store_robots(make_keeper(bench), make_robots()) is None
    assert list(bench.records.find(FetchedPageRow)) == []


def test_a_page_without_a_robots_response_stays_unchanged(bench: Bench) -> None:
    plain = replace(make_fetched_link(make_robots()), host=None)
    assert list(make_keeper(bench)([plain])) == [plain]
