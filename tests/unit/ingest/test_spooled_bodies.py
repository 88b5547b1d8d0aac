"""Spooled exchanges are read as captures, archived completely, and then read from the archive."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from archive_bodies import create_archive_body
from fixtures.archives import list_files
from fonds.archive.store.body_sources import (
    LayeredArchive,
    SpooledBodies,
)
from fonds.following.link_rules import build_link
from fonds.ingest.steps.spool import FetchedLink, Spool
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError, PermanentError
from fonds.model.exchange import Exchange, Hop
from fonds.model.rows import CdxRow, FetchedPageRow
from fonds.model.story import UnarchivedBody
from fonds.stores.journal_table.cells import F_C
from fonds.stores.journal_table.keys import build_row_key
from fonds.text.exchange import decode_exchange, encode_exchange
from step_bench import JOURNAL, LATER, PAGE, Bench, open_bench, page_file

MOMENT = datetime(2026, 11, 22, 1, 2, 3, 456789, tzinfo=UTC)
HOP = Hop(
    url="https://news.example/story",
    began_at=MOMENT,
    status=200,
    status_line="HTTP/2 200",
    headers=(("content-type", "text/html; charset=utf-8"), ("content-encoding", "gzip")),
    request_head="GET /story HTTP/2\r\nHost: news.example\r\n\r\n",
    address="93.184.216.34",
    protocol="HTTP/2",
    tls="TLSv1.3 TLS_AES_256_GCM_SHA384",
)
MOVED = replace(HOP, url="http://news.example/story", status=301, status_line="HTTP/1.1 301 Moved")
BODY_MAX_BYTES = 100_000


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened_bench = open_bench(tmp_path)
    yield opened_bench
    opened_bench.close()


def open_layered_archive(bench: Bench) -> LayeredArchive:
    def find_archived(capture_id: str) -> Place | None:
        row = next(bench.records.find(CdxRow, {"capture_id": capture_id}), None)
        return row and Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)

    spooled_bodies = SpooledBodies(bench.archive, bench.blobs, find_archived, BODY_MAX_BYTES)
    return LayeredArchive(bench.archive, spooled_bodies)


def spool_page(bench: Bench, body: bytes = PAGE, poll: str = "poll") -> Capture:
    link = build_link("http://news.example/story", poll)
    fetched_link = FetchedLink(link, Exchange((MOVED, HOP), "full"), gzip.compress(body, mtime=0))
    (capture,) = Spool(bench.blobs, bench.records, bench.archive).save([fetched_link])
    return capture


def archive_bodies(bench: Bench, *items: UnarchivedBody) -> None:
    stores = (bench.records, bench.table, bench.blobs)
    create_archive_body(open_layered_archive(bench), *stores, JOURNAL, lambda: LATER)(items)


def read_records(bench: Bench) -> list[tuple[str, dict[str, str], bytes]]:
    bench.archive.finish()
    records = []
    for path in list_files(bench.home, ".warc.gz"):
        for record in ArchiveIterator(BytesIO(path.read_bytes()), no_record_parse=True):
            headers = dict(record.rec_headers.headers)
            records.append((record.rec_type, headers, record.content_stream().read()))
    return records


def test_a_spooled_body_is_read_without_content_codings(bench: Bench) -> None:
    payload = open_layered_archive(bench).read(spool_page(bench).place)
    assert payload.body == PAGE
    assert payload.exchange == Exchange((MOVED, HOP), "full")
    assert payload.http is not None
    assert payload.http.charset == "utf-8"


def test_bytes_that_do_not_match_the_sha1_are_refused(bench: Bench) -> None:
    capture = spool_page(bench)
    assert open_layered_archive(bench).read(capture.place, page_file().sha1).body == PAGE
    with pytest.raises(DamagedInputError):
        open_layered_archive(bench).read(capture.place, "0" * 40)


def test_an_archived_exchange_is_complete_in_the_warc_and_deleted_from_the_spool(
    bench: Bench,
) -> None:
    capture = spool_page(bench)
    archive_bodies(bench, UnarchivedBody(capture, page_file()))
    assert bench.blobs.get(capture.place.path) is None
    (row,) = bench.records.get(FetchedPageRow, [capture.id])
    assert not row.in_spool
    payload = open_layered_archive(bench).read(capture.place, page_file().sha1)
    assert payload.body == PAGE
    kinds = [kind for kind, _, _ in read_records(bench)]
    assert kinds == ["warcinfo", "response", "metadata", "request"]
    _, response, metadata, request = read_records(bench)
    assert response[1]["WARC-Date"] == "2026-11-22T01:02:03.456789Z"
    assert response[1]["WARC-IP-Address"] == "93.184.216.34"
    assert response[1]["WARC-Cipher-Suite"] == "TLS_AES_256_GCM_SHA384"
    assert response[1]["WARC-Protocol"] == "h2"
    assert response[2].startswith(b"HTTP/1.1 200")
    assert request[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
    assert request[2] == HOP.request_head.encode()
    assert b'"status":301' in metadata[2]
    assert b'"link":"http://news.example/story"' in metadata[2]


def test_a_body_archived_before_a_crash_is_deleted_from_the_spool_afterwards(bench: Bench) -> None:
    """The process died after it recorded the place. The repeated message writes no second record."""
    capture = spool_page(bench)
    blob = bench.blobs.get(capture.place.path)
    archive_bodies(bench, UnarchivedBody(capture, page_file()))
    second = spool_page(bench)
    assert bench.blobs.get(second.place.path) == blob
    archive_bodies(bench, UnarchivedBody(capture, page_file()))
    assert bench.blobs.get(capture.place.path) is None
    assert [kind for kind, _, _ in read_records(bench)].count("response") == 1


def test_a_repeat_is_a_revisit_of_the_first_exchange(bench: Bench) -> None:
    first, second = spool_page(bench), spool_page(bench, poll="next")
    archive_bodies(bench, UnarchivedBody(first, page_file()))
    archive_bodies(bench, UnarchivedBody(second, page_file(), repeat_of=first.id))
    headers_by_type = {kind: headers for kind, headers, _ in read_records(bench)}
    revisit = headers_by_type["revisit"]
    assert revisit["WARC-Refers-To-Target-URI"] == HOP.url
    assert revisit["WARC-Refers-To-Date"] == "2026-11-22T01:02:03.456789Z"
    assert revisit["WARC-Refers-To"] == headers_by_type["response"]["WARC-Record-ID"]


@pytest.mark.parametrize("key", ["u", "d"])
def test_a_revisit_never_names_the_record_of_another_capture(bench: Bench, key: str) -> None:
    """Another program can write its own first capture into `f:c`."""
    first, second = spool_page(bench), spool_page(bench, poll="next")
    archive_bodies(bench, UnarchivedBody(first, page_file()))
    row = build_row_key(page_file().sha1)
    cell = json.loads(bench.table.get(JOURNAL, [row])[row][F_C])
    foreign_cell = (
        cell | {"u": "http://other.example/", "d": "2026-11-22T01:02:04Z"} | {key: cell[key]}
    )
    bench.table.put(JOURNAL, [(row, {F_C: json.dumps(foreign_cell).encode()})])
    archive_bodies(bench, UnarchivedBody(second, page_file(), repeat_of=first.id))
    revisit = next(headers for kind, headers, _ in read_records(bench) if kind == "revisit")
    assert revisit["WARC-Refers-To-Target-URI"] == HOP.url
    assert "WARC-Refers-To" not in revisit


def test_a_missing_spool_entry_is_reported(bench: Bench) -> None:
    with pytest.raises(PermanentError) as raised:
        open_layered_archive(bench).read(Place(PlaceKind.SPOOL, "spool/aa/bb/poll-aabb"))
    assert raised.value.reason is Reason.MISSING_SOURCE


def test_a_body_that_unpacks_to_too_much_is_refused(bench: Bench) -> None:
    with pytest.raises(LimitError):
        open_layered_archive(bench).read(spool_page(bench, bytes(BODY_MAX_BYTES + 1)).place)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(bytes(50 * 2**20)) + packer.flush()
    link = build_link("http://news.example/bomb", "poll")
    (capture,) = Spool(bench.blobs, bench.records, bench.archive).save(
        [FetchedLink(link, Exchange((HOP,)), bomb)]
    )
    large = SpooledBodies(bench.archive, bench.blobs, lambda _: None, 2**30)
    with pytest.raises(LimitError) as raised:
        large.read(capture.place)
    assert raised.value.reason is Reason.BOMB


@given(body=st.binary())
def test_any_body_is_encoded_and_decoded_unchanged(body: bytes) -> None:
    exchange = Exchange((MOVED, HOP), "old")
    assert decode_exchange(encode_exchange(exchange, body)) == (exchange, body)


@given(blob=st.binary())
def test_any_blob_that_is_not_an_exchange_is_refused(blob: bytes) -> None:
    with pytest.raises(DamagedInputError):
        decode_exchange(blob)
