"""The robots.txt that allowed a page is kept once, also when the process that kept it was killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fonds.crawl.request_url import request_url
from fonds.crawl.robots import Robots, as_answered, robots_of
from fonds.extract.file_meta import describe
from fonds.model.capture import Place, PlaceKind
from fonds.model.exchange import Exchange, Hop
from fonds.model.http_head import HttpHead
from fonds.model.link import Link
from fonds.model.rows import CdxRow, FetchedRow, TakedownRow
from fonds.steps.intake.archive_body import ArchiveBody
from fonds.steps.intake.identify import Identify
from fonds.steps.intake.persist_file import PersistFile
from fonds.steps.news.keep_host_files import KeepHostFiles
from fonds.steps.news.spool import Fetched, HostAnswer, Spool
from fonds.stores.archive.bodies.spooled import SpooledBodies
from step_bench import JOURNAL, LATER, MOMENT, PAGE, Bench

HOST = "http://news.example"
TEXT = b"User-agent: *\nAllow: /a\nDisallow: /\nContent-Usage: train-ai=n\n"


class Killed(Exception):
    """The process ends here."""


def made(bench: Bench, *, killed: bool = False) -> KeepHostFiles:
    archive = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 10**6)
    spool = Spool(bench.blobs, bench.records, archive)  # type: ignore[arg-type]
    identify = Identify(archive, describe, 10**6, 10**6)  # type: ignore[arg-type]
    persist = PersistFile(bench.table, bench.records, JOURNAL, True, lambda: LATER)
    stores = (_Both(bench, archive), bench.records, bench.table, bench.blobs)
    write = ArchiveBody(*stores, JOURNAL, lambda: LATER)  # type: ignore[arg-type]

    def die(_: Sequence[object]) -> None:
        raise Killed

    archive_body = die if killed else write
    return KeepHostFiles(spool, bench.records, identify, persist, archive_body, lambda: LATER)


class _Both:
    """Reads from the spool, writes to the archive."""

    def __init__(self, bench: Bench, spooled: SpooledBodies) -> None:
        self.read, self.write = spooled.read, bench.archive.write


def answered(body: bytes = TEXT, status: int = 200, hours: int = 0) -> Robots:
    head = HttpHead(status, f"HTTP/1.1 {status} X", (("Content-Type", "text/plain"),))
    began_at = MOMENT.replace(hour=MOMENT.hour + hours)
    hop = Hop(f"{HOST}/robots.txt", began_at, status, head.status_line, tuple(head.headers))
    return as_answered(robots_of(head, body, "fonds", 0.0), (hop,), body)


def fetched(robots: Robots, path: str = "/a/1") -> Fetched:
    url = request_url(HOST + path)
    link = Link("poll-1", "poll", url.url, "news.example")
    return Fetched(link, Exchange(robots.hops), PAGE, host=HostAnswer(url, robots))


def kept(keep: KeepHostFiles, robots: Robots) -> str | None:
    (one,) = keep([fetched(robots)])
    assert one.exchange.rights is not None
    assert one.exchange.rights.robots is not None
    assert one.exchange.rights.prefers == (("train-ai=n",) if robots.body == TEXT else ())
    return one.exchange.rights.robots.capture_id


def test_the_same_bytes_are_kept_once_and_others_again(bench: Bench) -> None:
    keep = made(bench)
    first = kept(keep, answered())
    assert first is not None
    assert kept(keep, answered(hours=1)) == first
    assert kept(made(bench), answered(hours=1)) == first
    second = kept(keep, answered(b"User-agent: *\nAllow: /\n", hours=2))
    third = kept(made(bench), answered(hours=3))
    assert len({first, second, third}) == 3
    rows = {row.capture_id: row.url for row in bench.records.find(CdxRow)}
    assert rows == dict.fromkeys([first, second, third], f"{HOST}/robots.txt")
    assert not any(row.in_spool for row in bench.records.find(FetchedRow))
    assert bench.archive.read(_place(bench, first)).body == TEXT


def _place(bench: Bench, capture_id: str | None) -> Place:
    (row,) = bench.records.find(CdxRow, {"capture_id": capture_id})
    return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def test_what_a_killed_process_left_is_kept_by_the_next(bench: Bench) -> None:
    with pytest.raises(Killed):
        kept(made(bench, killed=True), answered())
    (left,) = bench.records.find(FetchedRow)
    assert left.in_spool
    assert kept(made(bench), answered(hours=1)) == left.capture_id
    assert [row.capture_id for row in bench.records.find(CdxRow)] == [left.capture_id]


@pytest.mark.parametrize(
    ("body", "status"), [(PAGE, 200), (b"", 200), (b"gone", 404), (b"x" * 600_000, 200)]
)
def test_what_is_no_robots_txt_is_not_kept(bench: Bench, body: bytes, status: int) -> None:
    assert kept(made(bench), answered(body, status)) is None
    for kind in (FetchedRow, CdxRow):
        assert list(bench.records.find(kind)) == []


def test_what_was_taken_down_is_not_kept(bench: Bench) -> None:
    sha1hex = describe(TEXT, None).sha1
    bench.records.put([TakedownRow(sha1hex, "other", "", "me", LATER, {})])
    assert kept(made(bench), answered()) is None
    assert list(bench.records.find(FetchedRow)) == []


def test_a_page_without_an_answer_of_its_host_stays_as_it_is(bench: Bench) -> None:
    plain = replace(fetched(answered()), host=None)
    assert list(made(bench)([plain])) == [plain]
