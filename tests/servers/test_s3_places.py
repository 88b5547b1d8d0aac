"""Records and complete objects in buckets of a real S3 server, read by their places."""

from __future__ import annotations

import gzip
import secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import obstore
import pytest

from fixtures import warcs
from fonds.config import load_settings
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError
from fonds.ports import Archive
from fonds.stores.s3.client import open_store, parse_address
from fonds.wiring.archive import open_archive
from real_servers import run_private_server, url_of

pytestmark = pytest.mark.servers

LARGE = secrets.token_bytes(1_500_000)
RECORDS = [warcs.warcinfo(), warcs.http_response(LARGE), warcs.http_response()]
MEMBERS = [warcs.gzip_records([record]) for record in RECORDS]
OFFSETS = warcs.list_offsets(MEMBERS)


@dataclass(frozen=True)
class Bucket:
    """A unique folder of the bucket, and the setting for its server."""

    url: str
    folder: str
    s3_url: str

    def put_object(self, name: str, data: bytes) -> str:
        """Store an object; return its URL in the form of a place, without server and keys."""
        obstore.put(open_store(parse_address(self.url)), f"{self.folder}/{name}", data)
        return self.place_url(name)

    def place_url(self, name: str) -> str:
        return f"s3://{parse_address(self.url).bucket}/{self.folder}/{name}"


def create_bucket(url: str) -> Bucket:
    server = urlsplit(url)._replace(path="").geturl()
    return Bucket(url, f"places-{secrets.token_hex(6)}", server)


@pytest.fixture
def bucket() -> Bucket:
    return create_bucket(url_of("TEST_S3_URL"))


@pytest.fixture
def open_with(tmp_path: Path) -> Callable[[str], Archive]:
    """Return a function that opens the archive with an `s3_url`."""
    return lambda s3_url: open_archive(
        tmp_path, load_settings(tmp_path).replace_values(elsewhere_s3_url=s3_url)
    )


@pytest.fixture
def read(bucket: Bucket, open_with: Callable[[str], Archive]) -> Callable[..., Payload]:
    archive = open_with(bucket.s3_url)
    return lambda *place: archive.read(Place(*place))


def refused(read: Callable[..., Payload], *place: object) -> PermanentError:
    with pytest.raises(PermanentError) as raised:
        read(*place)
    assert str(place[1]) in str(raised.value)
    return raised.value


def test_each_record_of_a_warc_is_read_by_its_offset(bucket: Bucket, read) -> None:
    url = bucket.put_object("crawl.warc.gz", b"".join(MEMBERS))
    for offset, member, body in zip(
        OFFSETS, MEMBERS, [b"software: a test\r\n", LARGE, warcs.PAGE], strict=False
    ):
        for size_bytes in (len(member), None):
            payload = read(PlaceKind.WARC, url, offset, size_bytes)
            assert payload.body == body
            assert payload.size_bytes == len(member)


def test_an_offset_beyond_the_end_is_a_damaged_record(bucket: Bucket, read) -> None:
    url = bucket.put_object("crawl.warc.gz", b"".join(MEMBERS))
    for offset in (sum(map(len, MEMBERS)), 10**9):
        error = refused(read, PlaceKind.WARC, url, offset)
        assert error.reason is Reason.DAMAGED_RECORD


def test_a_truncated_record_is_reported(bucket: Bucket, read) -> None:
    url = bucket.put_object("cut.warc.gz", b"".join(MEMBERS)[: OFFSETS[1] + 1000])
    error = refused(read, PlaceKind.WARC, url, OFFSETS[1], len(MEMBERS[1]))
    assert error.reason in (Reason.TRUNCATED_RECORD, Reason.DAMAGED_RECORD)


@pytest.mark.parametrize("name", ["a.pdf", "a b+c%20d#e?f=ä.pdf"])
def test_an_object_with_any_key_is_read(name: str, bucket: Bucket, read) -> None:
    url = bucket.put_object(name, b"%PDF-1.4 " + LARGE)
    assert read(PlaceKind.FILE, url).body == b"%PDF-1.4 " + LARGE


def test_a_gzip_object_is_decompressed_and_an_empty_one_is_empty(bucket: Bucket, read) -> None:
    assert read(PlaceKind.FILE, bucket.put_object("a.html.gz", gzip.compress(warcs.PAGE))).body == (
        warcs.PAGE
    )
    assert read(PlaceKind.FILE, bucket.put_object("empty", b"")).body == b""


@pytest.mark.parametrize("kind", [PlaceKind.FILE, PlaceKind.WARC])
def test_a_missing_key_and_a_missing_bucket_are_missing_sources(
    kind: PlaceKind, bucket: Bucket, read
) -> None:
    for url in (bucket.place_url("none"), "s3://no-such-bucket/a.warc.gz"):
        assert refused(read, kind, url).reason is Reason.MISSING_SOURCE


@pytest.mark.parametrize("part", ["username", "password"])
def test_wrong_keys_are_an_unreadable_source_and_never_printed(
    part: str, bucket: Bucket, open_with
) -> None:
    url = bucket.put_object("a.pdf", b"%PDF-")
    right, wrong = str(getattr(urlsplit(bucket.s3_url), part)), "0123456789" * 4
    archive = open_with(bucket.s3_url.replace(right, wrong))
    with pytest.raises(PermanentError, match="check s3_url") as raised:
        archive.read(Place(PlaceKind.FILE, url))
    assert raised.value.reason is Reason.UNREADABLE_SOURCE
    output = "".join(traceback.format_exception(raised.value))
    assert wrong not in output
    assert str(urlsplit(bucket.s3_url).password) not in output


def test_a_stopped_server_is_a_transient_error_and_read_again(
    open_with,
) -> None:
    with run_private_server("s3") as server:
        bucket = create_bucket(server.url)
        url = bucket.put_object("crawl.warc.gz", b"".join(MEMBERS))
        archive = open_with(bucket.s3_url)
        place = Place(PlaceKind.WARC, url, OFFSETS[2])
        assert archive.read(place).body == warcs.PAGE
        server.stop()
        with pytest.raises(TransientError, match="does not answer"):
            archive.read(place)
        server.start()
        assert archive.read(place).body == warcs.PAGE
