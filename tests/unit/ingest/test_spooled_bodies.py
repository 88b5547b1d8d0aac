"""Exchanges in the spool are read as captures anywhere, archived whole, and then read where they lie."""

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
from fixtures.archives import files
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
def desk(tmp_path: Path) -> Iterator[Bench]:
    ours = open_bench(tmp_path)
    yield ours
    ours.close()


def archive_of(bench: Bench) -> LayeredArchive:
    def archived_at(capture_id: str) -> Place | None:
        row = next(bench.records.find(CdxRow, {"capture_id": capture_id}), None)
        return row and Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)

    spooled = SpooledBodies(bench.archive, bench.blobs, archived_at, BODY_MAX_BYTES)
    return LayeredArchive(bench.archive, spooled)


def spooled(bench: Bench, body: bytes = PAGE, poll: str = "poll") -> Capture:
    link = build_link("http://news.example/story", poll)
    one = FetchedLink(link, Exchange((MOVED, HOP), "full"), gzip.compress(body, mtime=0))
    (capture,) = Spool(bench.blobs, bench.records, bench.archive).save([one])
    return capture


def archived(bench: Bench, *items: UnarchivedBody) -> None:
    books = (bench.records, bench.table, bench.blobs)
    create_archive_body(archive_of(bench), *books, JOURNAL, lambda: LATER)(items)


def records_of(bench: Bench) -> list[tuple[str, dict[str, str], bytes]]:
    bench.archive.finish()
    found = []
    for path in files(bench.home, ".warc.gz"):
        for record in ArchiveIterator(BytesIO(path.read_bytes()), no_record_parse=True):
            headers = dict(record.rec_headers.headers)
            found.append((record.rec_type, headers, record.content_stream().read()))
    return found


def test_a_body_in_the_spool_is_read_with_its_codings_undone(desk: Bench) -> None:
    payload = archive_of(desk).read(spooled(desk).place)
    assert payload.body == PAGE
    assert payload.exchange == Exchange((MOVED, HOP), "full")
    assert payload.http is not None
    assert payload.http.charset == "utf-8"


def test_other_bytes_than_were_asked_for_are_not_given(desk: Bench) -> None:
    capture = spooled(desk)
    assert archive_of(desk).read(capture.place, page_file().sha1).body == PAGE
    with pytest.raises(DamagedInputError):
        archive_of(desk).read(capture.place, "0" * 40)


def test_once_archived_the_exchange_is_whole_in_the_warc_and_the_spool_has_forgotten_it(
    desk: Bench,
) -> None:
    capture = spooled(desk)
    archived(desk, UnarchivedBody(capture, page_file()))
    assert desk.blobs.get(capture.place.path) is None
    (row,) = desk.records.get(FetchedPageRow, [capture.id])
    assert not row.in_spool
    payload = archive_of(desk).read(capture.place, page_file().sha1)
    assert payload.body == PAGE
    kinds = [kind for kind, _, _ in records_of(desk)]
    assert kinds == ["warcinfo", "response", "metadata", "request"]
    _, response, metadata, request = records_of(desk)
    assert response[1]["WARC-Date"] == "2026-11-22T01:02:03.456789Z"
    assert response[1]["WARC-IP-Address"] == "93.184.216.34"
    assert response[1]["WARC-Cipher-Suite"] == "TLS_AES_256_GCM_SHA384"
    assert response[1]["WARC-Protocol"] == "h2"
    assert response[2].startswith(b"HTTP/1.1 200")
    assert request[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
    assert request[2] == HOP.request_head.encode()
    assert b'"status":301' in metadata[2]
    assert b'"link":"http://news.example/story"' in metadata[2]


def test_what_was_archived_before_a_death_is_forgotten_after_it(desk: Bench) -> None:
    """The place was on the books and the process died: the message comes again, and nothing is written."""
    capture = spooled(desk)
    blob = desk.blobs.get(capture.place.path)
    archived(desk, UnarchivedBody(capture, page_file()))
    again = spooled(desk)
    assert desk.blobs.get(again.place.path) == blob
    archived(desk, UnarchivedBody(capture, page_file()))
    assert desk.blobs.get(capture.place.path) is None
    assert [kind for kind, _, _ in records_of(desk)].count("response") == 1


def test_the_same_bytes_again_are_a_revisit_of_what_was_fetched_first(desk: Bench) -> None:
    first, second = spooled(desk), spooled(desk, poll="next")
    archived(desk, UnarchivedBody(first, page_file()))
    archived(desk, UnarchivedBody(second, page_file(), repeat_of=first.id))
    told = {kind: headers for kind, headers, _ in records_of(desk)}
    revisit = told["revisit"]
    assert revisit["WARC-Refers-To-Target-URI"] == HOP.url
    assert revisit["WARC-Refers-To-Date"] == "2026-11-22T01:02:03.456789Z"
    assert revisit["WARC-Refers-To"] == told["response"]["WARC-Record-ID"]


@pytest.mark.parametrize("key", ["u", "d"])
def test_a_page_is_not_said_to_be_a_record_of_another_capture(desk: Bench, key: str) -> None:
    """As when others write their own first capture into `f:c`."""
    first, second = spooled(desk), spooled(desk, poll="next")
    archived(desk, UnarchivedBody(first, page_file()))
    row = build_row_key(page_file().sha1)
    seen = json.loads(desk.table.get(JOURNAL, [row])[row][F_C])
    theirs = seen | {"u": "http://other.example/", "d": "2026-11-22T01:02:04Z"} | {key: seen[key]}
    desk.table.put(JOURNAL, [(row, {F_C: json.dumps(theirs).encode()})])
    archived(desk, UnarchivedBody(second, page_file(), repeat_of=first.id))
    revisit = next(headers for kind, headers, _ in records_of(desk) if kind == "revisit")
    assert revisit["WARC-Refers-To-Target-URI"] == HOP.url
    assert "WARC-Refers-To" not in revisit


def test_what_is_nowhere_is_told(desk: Bench) -> None:
    with pytest.raises(PermanentError) as refused:
        archive_of(desk).read(Place(PlaceKind.SPOOL, "spool/aa/bb/poll-aabb"))
    assert refused.value.reason is Reason.MISSING_SOURCE


def test_a_body_that_unpacks_to_too_much_is_refused(desk: Bench) -> None:
    with pytest.raises(LimitError):
        archive_of(desk).read(spooled(desk, bytes(BODY_MAX_BYTES + 1)).place)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(bytes(50 * 2**20)) + packer.flush()
    link = build_link("http://news.example/bomb", "poll")
    (capture,) = Spool(desk.blobs, desk.records, desk.archive).save(
        [FetchedLink(link, Exchange((HOP,)), bomb)]
    )
    large = SpooledBodies(desk.archive, desk.blobs, lambda _: None, 2**30)
    with pytest.raises(LimitError) as refused:
        large.read(capture.place)
    assert refused.value.reason is Reason.BOMB


@given(body=st.binary())
def test_any_body_survives_the_spool(body: bytes) -> None:
    exchange = Exchange((MOVED, HOP), "old")
    assert decode_exchange(encode_exchange(exchange, body)) == (exchange, body)


@given(blob=st.binary())
def test_any_blob_is_an_exchange_or_told_to_be_none(blob: bytes) -> None:
    with pytest.raises(DamagedInputError):
        decode_exchange(blob)
