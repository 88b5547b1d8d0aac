"""Scans of WARC and ARC files: intact, oddly packed and damaged ones."""

from __future__ import annotations

import io
import time
import tracemalloc
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures import warcs
from fixtures.scans import RECORDS, list_heads, read_body, scan
from fonds.archive.warc.fields import UNDATED
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError

DICTIONARY = warcs.train_dictionary()
PACKINGS = {
    "plain": warcs.join_records,
    "gzip": warcs.gzip_records,
    "gzip, one member": warcs.gzip_as_one_member,
    "gzip in blocks": warcs.gzip_in_blocks,
    "zstd": warcs.zstd_records,
    "zstd with dictionary": lambda records: warcs.zstd_records(records, dictionary=DICTIONARY),
    "zstd with packed dictionary": lambda records: warcs.zstd_records(
        records, dictionary=DICTIONARY, has_packed_dictionary=True
    ),
    "zstd, one frame": lambda records: warcs.zstd_records([b"".join(records)]),
    **{name: partial(warcs.pack_records, packing=name) for name in warcs.PACKERS},
    "bzip2, one stream": lambda records: warcs.pack_records([b"".join(records)], "bzip2"),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_packing_returns_the_same_records(packing: str) -> None:
    things = scan(PACKINGS[packing](RECORDS))
    assert [thing.type for thing in things if isinstance(thing, RecordHead)] == [
        "warcinfo",
        "response",
        "request",
        "response",
        "resource",
        "revisit",
    ]
    assert len({thing.offset for thing in things}) == 6


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_record_is_read_by_its_offset(packing: str) -> None:
    data = PACKINGS[packing](RECORDS)
    bodies = [read_body(data, head.offset) for head in list_heads(data)]
    assert bodies == [
        b"software: a test\r\n",
        b"<html>one</html>",
        b"GET / HTTP/1.1\r\n\r\n",
        b"<html>two</html>" * 50,
        b"%PDF-1.4 three",
        b"",
    ]


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_scan_resumes_at_any_record(packing: str) -> None:
    data = PACKINGS[packing](RECORDS)
    things = scan(data)
    for number, thing in enumerate(things):
        assert scan(data, thing.offset) == things[number:]


@pytest.mark.parametrize("pack", [warcs.gzip_records, warcs.zstd_records])
def test_offset_and_size_are_those_of_the_members(pack) -> None:
    members = [pack([record]) for record in RECORDS]
    record_heads = list_heads(b"".join(members))
    assert [head.offset for head in record_heads] == warcs.list_offsets(members)
    assert [head.size_bytes for head in record_heads] == [len(member) for member in members]


def test_the_size_of_a_plain_record_excludes_the_blank_lines_after_it() -> None:
    record_heads = list_heads(warcs.join_records(RECORDS))
    assert [head.offset for head in record_heads] == warcs.list_offsets(RECORDS)
    assert [head.size_bytes for head in record_heads] == [len(record) - 4 for record in RECORDS]


def test_records_in_a_shared_member_have_no_size() -> None:
    record_heads = list_heads(warcs.gzip_as_one_member(RECORDS))
    assert {head.size_bytes for head in record_heads} == {None}


def test_a_record_head_has_the_fields_of_record_and_response() -> None:
    data = warcs.http_response(
        status_line="HTTP/1.1 404 Not Found",
        headers=(("content-TYPE", "Text/HTML; charset=latin-1"),),
        url="<http://example.org/a b>",
    )
    (head,) = list_heads(data)
    assert head.status == 404
    assert head.mime == "text/html"
    assert head.url == "http://example.org/a b"
    assert head.captured_at == datetime(2024, 3, 5, 6, 7, 8, 123456, UTC)
    assert head.payload_bytes == len(warcs.PAGE)
    assert not head.is_truncated


@pytest.mark.parametrize(
    ("declared", "digest"),
    [
        ("sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"),
        ("sha1:b2ltwwpuoyah7uipq7zupq4vmbsvc36a", "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"),
        ("sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        ("sha256:abcdef", None),
        ("md5:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", None),
        ("", None),
    ],
)
def test_a_digest_is_returned_in_base32_or_not_at_all(declared: str, digest: str | None) -> None:
    (head,) = list_heads(warcs.warc_record(b"x", headers={"WARC-Payload-Digest": declared}))
    assert head.digest == digest


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2024-03-05T06:07:08Z", datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)),
        ("2024-03-05T06:07:08.123456789Z", datetime(2024, 3, 5, 6, 7, 8, 123456, UTC)),
        ("2024-03-05T06:07:08.5Z", datetime(2024, 3, 5, 6, 7, 8, 500000, UTC)),
        ("2024-03-05T06:07:08+02:00", datetime(2024, 3, 5, 4, 7, 8, tzinfo=UTC)),
        ("2024-03-05", datetime(2024, 3, 5, tzinfo=UTC)),
        ("2024-03", datetime(2024, 3, 1, tzinfo=UTC)),
        ("20240305060708", datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2024-13-05T06:07:08Z", UNDATED),
        ("0001-01-01T00:00:00+14:00", UNDATED),
        ("yesterday", UNDATED),
    ],
)
def test_dates_of_every_version_are_parsed(date: str, expected: datetime) -> None:
    (head,) = list_heads(warcs.warc_record(b"x", date=date))
    assert head.captured_at == expected


@pytest.mark.parametrize("version", ["WARC/0.9", "WARC/0.17", "WARC/0.18", "WARC/1.0", "WARC/1.1"])
@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_every_version_and_line_end_is_read(version: str, newline: bytes) -> None:
    record = warcs.warc_record(b"body", version=version, newline=newline)
    assert [head.url for head in list_heads(record * 3)] == [warcs.URL] * 3


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records])
def test_both_versions_of_arc_are_read(version: int, pack) -> None:
    data = pack(
        [
            warcs.arc_header(version),
            warcs.arc_record(version=version, url="http://example.org/a b"),
            warcs.arc_record(version=version),
        ]
    )
    record_heads = list_heads(data)
    assert [head.type for head in record_heads] == ["warcinfo", "response", "response"]
    assert record_heads[1].url == "http://example.org/a b"
    assert record_heads[1].status == 200
    assert record_heads[1].mime == "text/html"
    assert record_heads[1].captured_at == datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
    assert [read_body(data, head.offset) for head in record_heads[1:]] == [warcs.PAGE] * 2


def test_plain_records_gzip_members_and_zstd_frames_may_be_mixed() -> None:
    data = (
        RECORDS[0]
        + warcs.gzip_records(RECORDS[1:3])
        + warcs.zstd_records(RECORDS[3:5])
        + RECORDS[5]
    )
    assert len(list_heads(data)) == 6
    assert len(scan(data)) == 6


@pytest.mark.parametrize("bomb", [warcs.gzip_bomb, warcs.zstd_bomb])
def test_a_decompression_bomb_stops_early_and_the_next_record_is_read(bomb) -> None:
    data = bomb() + warcs.gzip_records([RECORDS[1]])
    tracemalloc.start()
    things = scan(data)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [type(thing) for thing in things] == [Damage, RecordHead]
    assert isinstance(things[0], Damage)
    assert things[0].reason is Reason.BOMB
    assert peak_bytes < 8_000_000


def test_a_small_record_of_blanks_is_no_bomb() -> None:
    data = warcs.gzip_records([warcs.warc_record(b" " * 900_000)])
    assert [type(thing) for thing in scan(data)] == [RecordHead]
    assert len(read_body(data, 0)) == 900_000


def test_memory_stays_constant_for_a_large_body() -> None:
    body = bytes(range(256)) * 4096 * 60
    data = warcs.gzip_records([warcs.warc_record(body), RECORDS[1]])
    tracemalloc.start()
    things = scan(data)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(things) == 2
    assert peak_bytes < 4_000_000


HOSTILE = {
    "nothing": b"",
    "blank lines": b"\r\n\r\n",
    "many blank lines": b"\n" * 300_000,
    "a cut magic": b"\x1f\x8b",
    "gzip magics": b"\x1f\x8b\x08" * 5000,
    "zstd magics": b"\x28\xb5\x2f\xfd" * 5000,
    "skippable frames": b"\x50\x2a\x4d\x18\x00\x00\x00\x00" * 5000,
    "a cut dictionary": b"\x5d\x2a\x4d\x18\xff\xff\xff\xff",
    "LZ4": b"\x04\x22\x4d\x18 not zstd",
    "ZIP": b"PK\x03\x04 a zip",
    "version lines": b"WARC/1.0\r\n" * 20_000,
    "empty headers": b"WARC/1.0\r\nContent-Length: 0\r\n\r\n" * 3000,
    "empty ARC records": b"http://a 1 20240101000000 a 0\n" * 3000,
    "an endless header": b"WARC/1.0\r\nX: " + b"y" * 2_000_000,
    "no line end": b"a" * 1_000_000,
    "an endless ARC line": b"a:" + b" 20240101000000" * 60_000,
    "version lines behind line ends": b"\nWARC/1.0" * 30_000,
    "empty gzip members": warcs.gzip_records([b""]) * 3000,
    "members of one byte": warcs.gzip_records([b"x"]) * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_limited_time(name: str) -> None:
    started_at = time.monotonic()
    for thing in read_heads(io.BytesIO(HOSTILE[name])):
        assert thing.offset >= 0
    assert time.monotonic() - started_at < 10


def test_nested_false_members_are_not_read_repeatedly() -> None:
    # A plausible member begins every 64 bytes, continues to the end of the file and fails there.
    first = warcs.gzip_records([warcs.warc_record(b"y" * 64)])[:-8]
    data = b"".join(first[:200] for _ in range(4000))
    started_at = time.monotonic()
    assert len(scan(data)) <= 8001
    assert time.monotonic() - started_at < 10


@given(st.data())
@settings(max_examples=examples(40), deadline=None)
def test_damaged_files_never_raise_and_offsets_are_unique(data: st.DataObject) -> None:
    packing = data.draw(st.sampled_from(sorted(PACKINGS)))
    data_bytes = bytearray(PACKINGS[packing](RECORDS))
    for _ in range(data.draw(st.integers(1, 6))):
        position = data.draw(st.integers(0, len(data_bytes) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut out", "put in", "cut off"]))
        if kind == "flip":
            data_bytes[position] ^= data.draw(st.integers(1, 255))
        elif kind == "cut out":
            del data_bytes[position : position + data.draw(st.integers(1, 300))]
        elif kind == "put in":
            data_bytes[position:position] = data.draw(st.binary(max_size=60))
        else:
            del data_bytes[max(position, 1) :]
        if not data_bytes:
            break
    things = scan(bytes(data_bytes))
    assert len({thing.offset for thing in things}) == len(things)
    for thing in things:
        try:
            read_body(bytes(data_bytes), thing.offset)
        except PermanentError:
            continue
        assert isinstance(thing, RecordHead)
        assert not thing.is_truncated


@given(st.binary(max_size=3000))
@settings(max_examples=examples(40), deadline=None)
def test_any_bytes_can_be_scanned(data: bytes) -> None:
    things = scan(data)
    assert len(things) <= len(data)
