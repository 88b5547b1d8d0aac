"""fetch_download: which object and version is meant, and what becomes of its bytes."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from fonds.archive.store.body_sources import (
    SpooledBodies,
)
from fonds.following.link_rules import build_link
from fonds.following.listings.csv_tables import FIRST_ID, NEED_CANONICAL_URL
from fonds.ingest.steps.fetch_download import FetchDownloadStep
from fonds.ingest.steps.spool import Spool
from fonds.model.capture import Capture, PlaceKind, RssEntry
from fonds.model.disposition import DONE, Reason
from fonds.model.entry import Link
from fonds.model.errors import LimitError, PermanentError, TransientError
from fonds.model.step import Result
from step_bench import Bench

WRITTEN = datetime(2012, 3, 4, 5, 6, 7, tzinfo=UTC)
IN_B = datetime(2021, 10, 1, 12, 0, 0, 250000, tzinfo=UTC)
IN_D = datetime(2022, 1, 2, tzinfo=UTC)
PAGE = b"<html><p>The harbour froze over.</p></html>"


@dataclass
class Bucket:
    """Downloads as they lie in a bucket: of each address its versions, the newest last."""

    objects: dict[str, list[tuple[str, datetime, bytes]]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    away: bool = False

    def read_dated(
        self, url: str, bytes_max: int, version: str | None = None
    ) -> tuple[bytes, datetime]:
        self.asked.append((url, version))
        if self.away:
            raise TransientError("away")
        found = [one for one in self.objects.get(url, []) if version in (None, one[0])]
        if not found:
            raise PermanentError(Reason.MISSING_SOURCE, "no such object")
        return found[-1][2], found[-1][1]

    def list_versions(self, url: str) -> list[tuple[str, datetime]]:
        return [(one[0], one[1]) for one in self.objects.get(url, [])]


@dataclass
class Desk:
    bucket: Bucket
    step: FetchDownloadStep
    archive: SpooledBodies

    def fetch(self, number: int, **told: object) -> Result:
        return self.step(link(number, **told))

    def capture(self, number: int, **told: object) -> Capture:
        result = self.fetch(number, **told)
        assert result.disposition is DONE
        (capture,) = result.items
        assert isinstance(capture, Capture)
        return capture


def address(number: int) -> str:
    return f"s3://old/downloads/{number}"


def link(number: int, **told: object) -> Link:
    made = build_link(address(number), "poll", RssEntry(link=str(number), via="s3://csv/a.csv"))
    return replace(made, **told)  # type: ignore[arg-type]


@pytest.fixture
def desk(bench: Bench) -> Desk:
    bucket = Bucket({address(5): [("v", WRITTEN, gzip.compress(PAGE))]})
    archive = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 100_000)
    step = FetchDownloadStep(bucket, Spool(bench.blobs, bench.records, bench.archive), 10_000)
    return Desk(bucket, step, archive)


def test_a_download_becomes_a_capture_where_and_when_the_table_says(desk: Desk) -> None:
    told = {"final_url": "http://a.example/story", "fetch_timestamp": IN_B.timestamp()}
    capture = desk.capture(5, **told)
    assert (capture.url, capture.captured_at) == ("http://a.example/story", IN_B)
    assert (capture.status, capture.place.kind) == (200, PlaceKind.SPOOL)
    assert capture.rss_entry == RssEntry(link="5", via="s3://csv/a.csv")
    payload = desk.archive.read(capture.place)
    assert payload.body == PAGE
    assert payload.http is not None
    assert (payload.http.status, payload.http.headers, payload.http.charset) == (200, (), None)


def test_fetched_blind_it_is_known_by_its_object_and_when_that_was_written(desk: Desk) -> None:
    capture = desk.capture(5, final_url=NEED_CANONICAL_URL)
    assert (capture.url, capture.captured_at) == (address(5), WRITTEN)


def test_what_is_not_packed_is_taken_as_it_is(desk: Desk) -> None:
    desk.bucket.objects[address(6)] = [("v", WRITTEN, PAGE)]
    assert desk.archive.read(desk.capture(6).place).body == PAGE


def test_an_id_given_out_twice_is_the_version_of_its_epoch(desk: Desk) -> None:
    number = FIRST_ID
    desk.bucket.objects[address(number)] = [("b", IN_B, b"<p>B"), ("d", IN_D, b"<p>D")]
    for moment, body in ((IN_B, b"<p>B"), (IN_D, b"<p>D")):
        told = {"id": f"x-{body!r}", "fetch_timestamp": moment.timestamp()}
        assert desk.archive.read(desk.capture(number, **told).place).body == body
    assert desk.bucket.asked == [(address(number), "b"), (address(number), "d")]
    blind = desk.fetch(number, id="x-blind").disposition
    between = datetime(2021, 12, 1, tzinfo=UTC).timestamp()
    other = desk.fetch(number, id="x-other", fetch_timestamp=between).disposition
    assert (blind.reason, other.reason) == (Reason.NO_SUCH_VERSION, Reason.NO_SUCH_VERSION)


def test_its_epoch_is_no_part_of_its_objects_name(desk: Desk) -> None:
    assert desk.capture(5, url=f"{address(5)}#epoch-B").url == address(5)


def test_done_again_it_is_fetched_once(desk: Desk) -> None:
    assert desk.capture(5) == desk.capture(5)
    assert len(desk.bucket.asked) == 1


def test_a_remark_instead_of_a_feed_is_set_aside(desk: Desk) -> None:
    desk.bucket.objects[address(7)] = [("v", WRITTEN, gzip.compress(b"(redundant feed)"))]
    assert desk.fetch(7).disposition.reason is Reason.REDUNDANT_FEED


def test_what_is_not_there_is_not_tried_for_ever_and_what_is_away_is(desk: Desk) -> None:
    with pytest.raises(PermanentError) as raised:
        desk.fetch(404)
    assert raised.value.reason is Reason.MISSING_SOURCE
    desk.bucket.away = True
    with pytest.raises(TransientError):
        desk.fetch(5)


def test_a_bomb_is_none_of_ours(desk: Desk) -> None:
    desk.bucket.objects[address(8)] = [("v", WRITTEN, gzip.compress(bytes(5_000_000)))]
    with pytest.raises(LimitError):
        desk.fetch(8)


@pytest.mark.parametrize("told", ["", "x", "9" * 19, "https://a.example/"])
def test_a_link_to_no_download_is_refused(told: str, desk: Desk) -> None:
    with pytest.raises(PermanentError) as raised:
        desk.fetch(5, rss_entry=RssEntry(link=told))
    assert raised.value.reason is Reason.BAD_URL
