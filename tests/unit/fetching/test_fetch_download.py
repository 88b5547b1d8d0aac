"""Step `fetch_download`: which version of an object it selects and what happens to its bytes."""

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

WRITTEN_AT = datetime(2012, 3, 4, 5, 6, 7, tzinfo=UTC)
IN_B = datetime(2021, 10, 1, 12, 0, 0, 250000, tzinfo=UTC)
IN_D = datetime(2022, 1, 2, tzinfo=UTC)
PAGE = b"<html><p>The harbour froze over.</p></html>"


@dataclass
class Bucket:
    """Downloads in a bucket: the versions of each address, oldest first."""

    objects: dict[str, list[tuple[str, datetime, bytes]]] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    is_down: bool = False

    def read_dated(
        self, url: str, max_bytes: int, version: str | None = None
    ) -> tuple[bytes, datetime]:
        self.requests.append((url, version))
        if self.is_down:
            raise TransientError("unavailable")
        versions = [stored for stored in self.objects.get(url, []) if version in (None, stored[0])]
        if not versions:
            raise PermanentError(Reason.MISSING_SOURCE, "no such object")
        return versions[-1][2], versions[-1][1]

    def list_versions(self, url: str) -> list[tuple[str, datetime]]:
        return [(version[0], version[1]) for version in self.objects.get(url, [])]


@dataclass
class Desk:
    bucket: Bucket
    step: FetchDownloadStep
    archive: SpooledBodies

    def fetch(self, number: int, **changes: object) -> Result:
        return self.step(make_link(number, **changes))

    def fetch_capture(self, number: int, **changes: object) -> Capture:
        result = self.fetch(number, **changes)
        assert result.disposition is DONE
        (capture,) = result.items
        assert isinstance(capture, Capture)
        return capture


def make_address(number: int) -> str:
    return f"s3://old/downloads/{number}"


def make_link(number: int, **changes: object) -> Link:
    new_link = build_link(
        make_address(number), "poll", RssEntry(link=str(number), via="s3://csv/a.csv")
    )
    return replace(new_link, **changes)  # type: ignore[arg-type]


@pytest.fixture
def desk(bench: Bench) -> Desk:
    bucket = Bucket({make_address(5): [("v", WRITTEN_AT, gzip.compress(PAGE))]})
    archive = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 100_000)
    step = FetchDownloadStep(bucket, Spool(bench.blobs, bench.records, bench.archive), 10_000)
    return Desk(bucket, step, archive)


def test_a_download_becomes_a_capture_with_the_url_and_time_of_the_table(desk: Desk) -> None:
    changes = {"final_url": "http://a.example/story", "fetch_timestamp": IN_B.timestamp()}
    capture = desk.fetch_capture(5, **changes)
    assert (capture.url, capture.captured_at) == ("http://a.example/story", IN_B)
    assert (capture.status, capture.place.kind) == (200, PlaceKind.SPOOL)
    assert capture.rss_entry == RssEntry(link="5", via="s3://csv/a.csv")
    payload = desk.archive.read(capture.place)
    assert payload.body == PAGE
    assert payload.http is not None
    assert (payload.http.status, payload.http.headers, payload.http.charset) == (200, (), None)


def test_an_unknown_url_becomes_the_address_and_time_of_the_object(desk: Desk) -> None:
    capture = desk.fetch_capture(5, final_url=NEED_CANONICAL_URL)
    assert (capture.url, capture.captured_at) == (make_address(5), WRITTEN_AT)


def test_an_uncompressed_download_is_stored_unchanged(desk: Desk) -> None:
    desk.bucket.objects[make_address(6)] = [("v", WRITTEN_AT, PAGE)]
    assert desk.archive.read(desk.fetch_capture(6).place).body == PAGE


def test_a_reused_id_selects_the_version_of_its_epoch(desk: Desk) -> None:
    number = FIRST_ID
    desk.bucket.objects[make_address(number)] = [("b", IN_B, b"<p>B"), ("d", IN_D, b"<p>D")]
    for moment, body in ((IN_B, b"<p>B"), (IN_D, b"<p>D")):
        changes = {"id": f"x-{body!r}", "fetch_timestamp": moment.timestamp()}
        assert desk.archive.read(desk.fetch_capture(number, **changes).place).body == body
    assert desk.bucket.requests == [(make_address(number), "b"), (make_address(number), "d")]
    blind = desk.fetch(number, id="x-blind").disposition
    between_epochs = datetime(2021, 12, 1, tzinfo=UTC).timestamp()
    other = desk.fetch(number, id="x-other", fetch_timestamp=between_epochs).disposition
    assert (blind.reason, other.reason) == (Reason.NO_SUCH_VERSION, Reason.NO_SUCH_VERSION)


def test_the_epoch_is_not_part_of_the_object_name(desk: Desk) -> None:
    assert desk.fetch_capture(5, url=f"{make_address(5)}#epoch-B").url == make_address(5)


def test_a_repeated_link_is_fetched_once(desk: Desk) -> None:
    assert desk.fetch_capture(5) == desk.fetch_capture(5)
    assert len(desk.bucket.requests) == 1


def test_a_placeholder_for_a_redundant_feed_is_skipped(desk: Desk) -> None:
    desk.bucket.objects[make_address(7)] = [("v", WRITTEN_AT, gzip.compress(b"(redundant feed)"))]
    assert desk.fetch(7).disposition.reason is Reason.REDUNDANT_FEED


def test_a_missing_object_is_permanent_and_an_unavailable_bucket_is_transient(desk: Desk) -> None:
    with pytest.raises(PermanentError) as raised:
        desk.fetch(404)
    assert raised.value.reason is Reason.MISSING_SOURCE
    desk.bucket.is_down = True
    with pytest.raises(TransientError):
        desk.fetch(5)


def test_a_decompression_bomb_is_rejected(desk: Desk) -> None:
    desk.bucket.objects[make_address(8)] = [("v", WRITTEN_AT, gzip.compress(bytes(5_000_000)))]
    with pytest.raises(LimitError):
        desk.fetch(8)


@pytest.mark.parametrize("entry_link", ["", "x", "9" * 19, "https://a.example/"])
def test_a_link_without_a_download_id_is_rejected(entry_link: str, desk: Desk) -> None:
    with pytest.raises(PermanentError) as raised:
        desk.fetch(5, rss_entry=RssEntry(link=entry_link))
    assert raised.value.reason is Reason.BAD_URL
