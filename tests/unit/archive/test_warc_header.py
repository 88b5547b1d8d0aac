"""The header of a WARC record has the same fields as in warcio, whatever its lines contain."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeadersParser

from fonds.archive.warc.fields import parse_warc_header
from fonds.archive.warc.http_head import find_head_end, parse_head
from fonds.model.keys import normalize_sha1

DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
LINE_PARTS = (
    b"WARC-Type", b"X-Name", b":", b": ", b"value", b" ", b"\t", b"\r", b"\r\n", b"\n", b"\r\n ",
    b"\n\t", b"\xc2\xa0", b"\xc2\x85", b"\xff", b"\xe9", b"\x1c", b"\x00", b"\xe2\x80\xa8",
)  # fmt: skip


@given(st.lists(st.sampled_from(LINE_PARTS), max_size=30))
def test_fields_are_those_of_warcio(parts: Sequence[bytes]) -> None:
    lines = b"Content-Length: 5\r\nFirst: 1" + b"".join(parts)
    block = lines.replace(b"\r\r\n", b"\r\n") + b"\r\n\r\n"
    parsed = StatusAndHeadersParser(["WARC/"]).parse(io.BytesIO(b"WARC/1.1\r\n" + block))
    expected: dict[str, str] = {}
    for name, value in parsed.headers:
        expected.setdefault(name.strip().lower(), value.strip())
    fields = parse_warc_header(b"WARC/1.0\r\n" + block).fields
    assert {name.lower(): value for name, value in fields.items()} == expected


def test_a_folded_line_continues_the_first_field_of_its_name() -> None:
    header = (
        b"WARC/1.0\r\nX-Note: one\r\n two:\r\n\tthree\r\nno colon\r\n not: this\r\n"
        b"x-note: later\r\n and more\r\nContent-Length: 5\r\n\r\n"
    )
    fields = parse_warc_header(header).fields
    assert fields == {"X-Note": "one two:\tthree", "Content-Length": "5"}


def test_one_line_in_another_charset_leaves_the_others_in_utf_8() -> None:
    header = "WARC/1.0\r\nA: é\r\nB: ".encode() + b"\xe9\r\nContent-Length: 5\r\n\r\n"
    assert list(parse_warc_header(header).fields.values()) == ["é", "é", "5"]


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (f"sha1:{DIGEST}", DIGEST),
        (f" SHA1:{DIGEST.lower()} ", DIGEST),
        ("da39a3ee5e6b4b0d3255bfef95601890afd80709", DIGEST),
        ("sha1:" + DIGEST[:-1], None),
        ("sha256:" + DIGEST, None),
    ],
)
def test_a_digest_has_one_form(text: str, digest: str | None) -> None:
    assert normalize_sha1(text) == digest


@pytest.mark.parametrize(
    ("window", "end"),
    [
        (b"HTTP/1.1 200\r\nA: b\r\n\r\n<p>", 22),
        (b"HTTP/1.1 200\nA: b\n<p>\n\n", 18),
        (b"HTTP/1.1 200\nA: b\n%PDF-1.4\n<p>", 18),
        (b"HTTP/1.1 200\nA: b\n\n\n<p>", 19),
        (b"<p>\nA: b\n\n", 10),
        (b"HTTP/1.1 200\nA: b\n", None),
    ],
)
def test_a_head_ends_at_a_blank_line_or_where_the_body_begins(
    window: bytes, end: int | None
) -> None:
    assert find_head_end(window) == end
    assert find_head_end(b"HTTP/1.1 100\n\n" + window, 14) == (None if end is None else 14 + end)


def test_interim_responses_are_skipped_with_and_without_a_known_end() -> None:
    window = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n<p>"
    head = parse_head(window)
    assert head is not None
    assert head[0].status == 200
    assert head[1] == len(window) - 3
    assert parse_head(window, find_head_end(window)) == head
