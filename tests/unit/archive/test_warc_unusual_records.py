"""Archives with odd headers and packings: readable records are read, and the rest is reported as
damage."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import warcs
from fonds.archive.members.record_line import split_arc_line
from fonds.archive.warc.fields import UNDATED
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.model.disposition import Reason

AT = datetime(2008, 4, 30, 20, 48, 25, tzinfo=UTC)
HTTP = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>x</html>"
ARC_HEAD = b"1 0 A crawler\nURL IP-address Archive-date Content-type Archive-length\n\n"


def scan(data: bytes) -> list[RecordHead | Damage]:
    return list(read_heads(io.BytesIO(data)))


def body_at(data: bytes, offset: int) -> bytes:
    return read_record(io.BytesIO(data), offset, body_max_bytes=10_000_000).body


def make_arc_record(line: str) -> bytes:
    return f"{line} {len(HTTP)}\n".encode() + HTTP + b"\n"


@pytest.mark.parametrize(
    ("line", "captured_at", "mime"),
    [
        ("http://a.example/ 192.0.2.7 20080430204825 text/html", AT, "text/html"),
        ("http://a.example/ 192.0.2.7 20080430204825", AT, "text/html"),
        ("http://a.example/ 192.0.2.7 20080430204825 ", AT, "text/html"),
        ("http://a.example/ 2001:db8::7 20080430204825 text/html", AT, "text/html"),
        ("http://a.example/ 192.0.2.7 20080430204825GMT text/html", AT, "text/html"),
        ("http://a.example/ 192.0.2.7 4818dc99 text/html", UNDATED, "text/html"),
        ("http://a.example/ 192.0.2.7 - text/html; charset=x", UNDATED, "text/html"),
        ("http://a.example/ - 20080430204825 no-type", AT, "text/html"),
    ],
)
def test_an_odd_arc_line_is_read(line: str, captured_at: datetime, mime: str) -> None:
    data = warcs.arc_header() + make_arc_record(line) + warcs.arc_record(url="http://b.example/")
    header, head, last = scan(data)
    assert isinstance(head, RecordHead)
    assert (head.url, head.captured_at, head.mime) == ("http://a.example/", captured_at, mime)
    assert body_at(data, head.offset) == b"<html>x</html>"
    assert isinstance(header, RecordHead)
    assert isinstance(last, RecordHead)
    assert last.url == "http://b.example/"


@pytest.mark.parametrize("line", ["filedesc:// - - -", "filedesc:", "filedesc://a.arc 0.0.0.0"])
def test_an_arc_file_header_may_be_incomplete(line: str) -> None:
    first = f"{line} {len(ARC_HEAD)}\n".encode() + ARC_HEAD
    header, head = scan(first + warcs.arc_record())
    assert isinstance(header, RecordHead)
    assert (header.type, header.captured_at) == ("warcinfo", UNDATED)
    assert isinstance(head, RecordHead)
    assert head.url == warcs.URL


@pytest.mark.parametrize("version", ["warc/1.0", "WARC/0.17", "WARC/2", "WARC/1.1.1", "Warc/1.0b"])
def test_any_warc_version_is_read(version: str) -> None:
    data = warcs.http_response() + warcs.http_response(version=version, url="http://b.example/")
    assert [thing.url for thing in scan(data) if isinstance(thing, RecordHead)] == [
        warcs.URL,
        "http://b.example/",
    ]
    assert body_at(data, scan(data)[1].offset) == warcs.PAGE


def test_header_lines_may_have_double_line_ends() -> None:
    data = warcs.warc_record(b"body", newline=b"\r\r\n") + warcs.http_response()
    first, second = scan(data)
    assert isinstance(first, RecordHead)
    assert (first.url, first.type, first.payload_bytes) == (warcs.URL, "resource", 4)
    assert body_at(data, first.offset) == b"body"
    assert isinstance(second, RecordHead)


@pytest.mark.parametrize(
    ("junk", "message"),
    [
        (b"filedesc: what follows is no header\n\n", "invalid length in the ARC line"),
        (b"WARC/one\r\nContent-Length: 0\r\n\r\n\r\n", "not a WARC or ARC record"),
        (b"WARC/1.0\r\nContent-Length: many\r\n\r\n", "invalid Content-Length"),
        (b"\x02\x21\x4c\x18legacy", "legacy LZ4 data"),
        (b"Rar!\x1a\x07", "RAR archive"),
    ],
)
def test_an_unreadable_start_is_damage_and_the_rest_is_read(junk: bytes, message: str) -> None:
    first, *rest = scan(junk + b"\r\n\r\n" + warcs.http_response())
    assert isinstance(first, Damage)
    assert first.reason is Reason.DAMAGED_RECORD
    assert message in first.detail
    assert [thing.url for thing in rest if isinstance(thing, RecordHead)] == [warcs.URL]


@pytest.mark.parametrize("packing", warcs.PACKERS)
def test_a_damaged_member_affects_only_itself(packing: str) -> None:
    members = [
        warcs.pack_records([warcs.http_response(url=f"http://{n}.example/")], packing)
        for n in "abc"
    ]
    middle = warcs.flip_byte(members[1], len(members[1]) // 2)
    things = scan(members[0] + middle + members[2])
    urls = [thing.url for thing in things if isinstance(thing, RecordHead)]
    assert urls[0] == "http://a.example/"
    assert urls[-1] == "http://c.example/"
    assert any(isinstance(thing, Damage) for thing in things)


@pytest.mark.parametrize("packing", warcs.PACKERS)
@pytest.mark.parametrize(
    "body",
    [
        b"<a>" * 200_000,
        Random(3).randbytes(3_000_000),
        b"".join(Random(n).randbytes(60) + b"x" * 940 for n in range(2_000)),
    ],
    ids=["packs very well", "does not pack", "packs well"],
)
def test_a_large_body_is_complete_in_every_packing(packing: str, body: bytes) -> None:
    data = warcs.pack_records([warcs.warc_record(body), warcs.http_response()], packing)
    first, second = scan(data)
    assert body_at(data, first.offset) == body
    assert isinstance(second, RecordHead)


@pytest.mark.parametrize("packing", warcs.PACKERS)
def test_a_cut_member_is_reported_as_truncated(packing: str) -> None:
    data = warcs.pack_records([warcs.http_response(), warcs.http_response()], packing)
    *_, last = scan(data[: -len(data) // 4])
    assert last.reason is Reason.TRUNCATED_RECORD if isinstance(last, Damage) else last.is_truncated


@pytest.mark.parametrize("packing", warcs.PACKERS)
def test_a_decompression_bomb_is_reported_in_every_packing(packing: str) -> None:
    zeros = warcs.warc_record(bytes(40_000_000))
    things = scan(warcs.pack_records([zeros], packing))
    assert [thing.reason for thing in things if isinstance(thing, Damage)] == [Reason.BOMB]


@given(st.binary(max_size=300))
def test_any_line_is_an_arc_line_or_none(line: bytes) -> None:
    arc_line = split_arc_line(line)
    assert (
        arc_line is None
        or arc_line.url + arc_line.length in line.replace(b" ", b"")
        or arc_line.middle
    )
