"""The payload of one record by its offset: all kinds of heads, decoded codings, and limits."""

from __future__ import annotations

import hashlib
import io

import pytest

from fixtures import warcs
from fonds.archive.warc.reader import RecordReader, read_record
from fonds.archive.warc.scanner import read_heads
from fonds.model.archive import Payload
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError
from fonds.model.record_offset import format_offset


def read(data: bytes, offset: int = 0, *, body_max_bytes: int = 1_000_000) -> Payload:
    return read_record(io.BytesIO(data), offset, body_max_bytes=body_max_bytes)


def read_with_head(head: bytes) -> Payload:
    return read(warcs.http_response(b"the body", head=head))


def test_a_response_is_split_into_head_and_body() -> None:
    payload = read(warcs.http_response())
    assert payload.body == warcs.PAGE
    assert payload.http is not None
    assert payload.http.status == 200
    assert payload.http.status_line == "HTTP/1.1 200 OK"
    assert payload.http.get("content-type") == "text/html; charset=utf-8"
    assert payload.size_bytes == len(warcs.http_response()) - 4


def test_warc_header_names_are_spelled_as_in_the_standard() -> None:
    record = warcs.revisit().replace(b"WARC-Refers-To-Target-URI", b"warc-refers-to-target-uri")
    payload = read(record)
    assert payload.body == b""
    assert payload.warc_headers["WARC-Refers-To-Target-URI"] == warcs.URL
    assert payload.warc_headers["WARC-Type"] == "revisit"


def test_a_revisit_has_no_body_even_with_an_http_head() -> None:
    payload = read(
        warcs.http_response(b"", record_type="revisit", status_line="HTTP/1.1 304 Not Modified")
    )
    assert payload.body == b""
    assert payload.http is not None
    assert payload.http.status == 304


@pytest.mark.parametrize(
    "record_type", ["resource", "conversion", "metadata", "warcinfo", "request"]
)
def test_other_records_are_returned_as_bodies(record_type: str) -> None:
    body = b"GET / HTTP/1.1\r\n\r\n"
    assert read(warcs.warc_record(body, record_type=record_type)).body == body
    assert read(warcs.warc_record(body, record_type=record_type)).http is None


@pytest.mark.parametrize(
    ("url", "content_type"),
    [
        ("dns:example.org", "text/dns"),
        ("ftp://example.org/a", "application/octet-stream"),
        ("urn:uuid:1", "text/plain"),
    ],
)
def test_a_response_of_another_protocol_is_a_body(url: str, content_type: str) -> None:
    body = b"20240305060708\nexample.org. 300 IN A 192.0.2.1\n"
    record = warcs.warc_record(body, record_type="response", url=url, content_type=content_type)
    assert read(record).body == body
    assert read(record).http is None


@pytest.mark.parametrize(
    ("status_line", "status"),
    [
        ("HTTP/1.1 200 OK", 200),
        ("HTTP/1.1 200", 200),
        ("HTTP/2 200", 200),
        ("http/1.0  404  Not Found", 404),
        ("ICY 200 OK", 200),
        ("HTTP/1.1 OK", 0),
        ("HTTP/1.1 99999 what", 0),
        ("HTTP/1.1", 0),
        ("HTTP", 0),
    ],
)
def test_malformed_status_lines_are_read(status_line: str, status: int) -> None:
    payload = read(warcs.http_response(b"the body", status_line=status_line))
    assert payload.http is not None
    assert payload.http.status == status
    assert payload.body == b"the body"


def test_hundreds_of_headers_are_read() -> None:
    headers = [(f"X-Header-{number}", "v" * 50) for number in range(500)]
    payload = read(warcs.http_response(b"the body", headers=headers))
    assert payload.body == b"the body"
    assert payload.http is not None
    assert len(payload.http.headers) == 500


def test_lines_may_end_with_line_feeds_only() -> None:
    payload = read_with_head(b"HTTP/1.1 200 OK\nContent-Type: text/plain\n\n")
    assert payload.body == b"the body"
    assert payload.http is not None
    assert payload.http.get("Content-Type") == "text/plain"


def test_folded_headers_are_joined_and_invalid_lines_skipped() -> None:
    payload = read_with_head(
        b"HTTP/1.1 200 OK\r\nno colon here\r\nA: one\r\n\t two\r\n: no name\r\n\r\n"
    )
    assert payload.http is not None
    assert payload.http.headers == (("A", "one two"),)


@pytest.mark.parametrize("start", [b"<html>", b"%PDF-1.4", b"<!DOCTYPE html>"])
def test_a_missing_blank_line_loses_no_body(start: bytes) -> None:
    body = start + b" and\n\nmore"
    record = warcs.http_response(body, head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
    assert read(record).body == body


def test_a_head_without_body_has_an_empty_body() -> None:
    payload = read(warcs.http_response(b"", head=b"HTTP/1.1 204 No Content\r\nServer: x"))
    assert payload.body == b""
    assert payload.http is not None
    assert payload.http.headers == (("Server", "x"),)


def test_headers_without_a_status_line_are_a_head() -> None:
    payload = read_with_head(b"Content-Type: text/html\r\nServer: x\r\n\r\n")
    assert payload.body == b"the body"
    assert payload.http is not None
    assert (payload.http.status, payload.http.status_line) == (0, "")


def test_a_response_without_a_head_is_a_body() -> None:
    payload = read(warcs.http_response(warcs.PAGE, head=b""))
    assert payload.body == warcs.PAGE
    assert payload.http is None


def test_interim_responses_are_skipped() -> None:
    payload = read_with_head(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n")
    assert payload.body == b"the body"
    assert payload.http is not None
    assert payload.http.status == 200


def test_a_long_chain_of_interim_responses_ends() -> None:
    payload = read_with_head(b"HTTP/1.1 100 Continue\r\n\r\n" * 5000)
    assert payload.body.endswith(b"the body")


def test_headers_in_latin_1_are_read() -> None:
    payload = read_with_head(b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\n\r\n")
    assert payload.http is not None
    assert payload.http.get("x-name") == "café"


CODINGS = ["gzip", "deflate", "raw-deflate", "br", "zstd"]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records, warcs.zstd_records])
def test_content_codings_are_decoded(coding: str, pack) -> None:
    body = warcs.PAGE * 300
    name = coding.removeprefix("raw-")
    record = warcs.coded_response(warcs.encode_body(body, coding), name)
    assert read(pack([record])).body == body


@pytest.mark.parametrize("coding", CODINGS)
def test_chunks_around_a_content_coding_are_decoded(coding: str) -> None:
    name = coding.removeprefix("raw-")
    body = warcs.chunk_body(warcs.encode_body(warcs.PAGE, coding), 13)
    headers = (("Transfer-Encoding", "chunked"), ("Content-Encoding", name))
    assert read(warcs.http_response(body, headers=headers)).body == warcs.PAGE


def test_several_content_codings_are_decoded_in_order() -> None:
    body = warcs.encode_body(warcs.encode_body(warcs.PAGE, "gzip"), "br")
    assert read(warcs.coded_response(body, "gzip, br")).body == warcs.PAGE


@pytest.mark.parametrize(
    "header", ["gzip", "x-gzip", "GZip", "br", "deflate", "zstd", "gzip, gzip", "gzip, br", "utf-8"]
)
@pytest.mark.parametrize("body", [warcs.PAGE, b"%PDF-1.4\n" + bytes(range(256)), b"", b"x"])
def test_a_declared_coding_that_is_not_used_keeps_the_bytes(header: str, body: bytes) -> None:
    assert read(warcs.coded_response(body, header)).body == body


@pytest.mark.parametrize("body", [warcs.PAGE, b"", b"x", b"12 monkeys\n", b"\r\n\r\n"])
def test_a_body_that_is_not_chunked_keeps_its_bytes(body: bytes) -> None:
    record = warcs.coded_response(body, "chunked", header="Transfer-Encoding")
    assert read(record).body == body


def test_chunk_extensions_trailers_and_a_missing_end_are_accepted() -> None:
    for body in (
        b"5;name=value\r\nHello\r\n0\r\nTrailer: x\r\n\r\n",
        b"5\nHello\n0\n\n",
        b"5\r\nHello\r\n",
        b"5\r\nHello",
        b"05 \r\nHello\r\n0",
    ):
        record = warcs.coded_response(body, "chunked", header="Transfer-Encoding")
        assert read(record).body == b"Hello"


def test_a_broken_chunk_in_the_middle_raises() -> None:
    record = warcs.coded_response(
        b"5\r\nHello\r\nxyz\r\nmore", "chunked", header="Transfer-Encoding"
    )
    with pytest.raises(DamagedInputError) as raised:
        read(record)
    assert raised.value.reason is Reason.BAD_ENCODING


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_truncated_coding_keeps_its_decoded_part(coding: str) -> None:
    body = bytes(range(256)) * 4000
    coded_body = warcs.encode_body(body, coding)
    part = read(
        warcs.coded_response(coded_body[: len(coded_body) - 5], coding), body_max_bytes=2_000_000
    ).body
    assert body.startswith(part)
    assert part


def test_a_coding_without_any_decoded_byte_raises() -> None:
    with pytest.raises(DamagedInputError) as raised:
        read(warcs.coded_response(warcs.encode_body(warcs.PAGE, "gzip")[:10], "gzip"))
    assert raised.value.reason is Reason.BAD_ENCODING


def test_a_corrupt_coding_raises() -> None:
    # Incompressible bytes are stored, so much can be unpacked before the damage.
    coded_body = warcs.encode_body(bytes((n * n * 31 + n) % 251 for n in range(200_000)), "gzip")
    with pytest.raises(DamagedInputError) as raised:
        read(warcs.coded_response(warcs.flip_byte(coded_body, len(coded_body) - 6), "gzip"))
    assert raised.value.reason is Reason.BAD_ENCODING


def test_junk_after_a_gzip_body_is_ignored() -> None:
    body = warcs.encode_body(b"one", "gzip") + warcs.encode_body(b"two", "gzip") + b"trailing junk"
    assert read(warcs.coded_response(body, "gzip")).body == b"onetwo"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_decompression_bomb_in_a_coding_raises(coding: str) -> None:
    body = warcs.encode_body(bytes(30_000_000), coding)
    with pytest.raises(LimitError) as raised:
        read(warcs.coded_response(body, coding), body_max_bytes=100_000_000)
    assert raised.value.reason is Reason.BOMB


def test_dozens_of_codings_raise() -> None:
    with pytest.raises(LimitError) as raised:
        read(warcs.coded_response(b"x", ", ".join(["gzip"] * 50)))
    assert raised.value.reason is Reason.BOMB


@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records, warcs.zstd_records])
def test_only_a_body_within_the_limit_is_read(pack) -> None:
    data = pack([warcs.http_response(b"0123456789")])
    assert read(data, body_max_bytes=10).body == b"0123456789"
    with pytest.raises(LimitError) as raised:
        read(data, body_max_bytes=9)
    assert raised.value.reason is Reason.TOO_LARGE


def test_a_coded_body_over_the_limit_raises() -> None:
    record = warcs.coded_response(warcs.encode_body(warcs.PAGE * 50, "gzip"), "gzip")
    with pytest.raises(LimitError) as raised:
        read(record, body_max_bytes=4000)
    assert raised.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize("bomb", [warcs.gzip_bomb, warcs.zstd_bomb])
def test_a_decompression_bomb_in_a_member_raises(bomb) -> None:
    with pytest.raises(LimitError) as raised:
        read(bomb(), body_max_bytes=1_000_000_000)
    assert raised.value.reason is Reason.BOMB


@pytest.mark.parametrize("pack", [warcs.join_records, warcs.gzip_records, warcs.zstd_records])
def test_a_cut_record_raises_as_truncated(pack) -> None:
    data = pack([warcs.http_response(bytes(range(256)) * 50)])
    with pytest.raises(DamagedInputError) as raised:
        read(data[: len(data) // 2])
    assert raised.value.reason is Reason.TRUNCATED_RECORD


def test_a_wrong_checksum_raises() -> None:
    data = warcs.gzip_records([warcs.http_response()])
    with pytest.raises(DamagedInputError) as raised:
        read(warcs.flip_byte(data, len(data) - 7))
    assert raised.value.reason is Reason.DAMAGED_RECORD


@pytest.mark.parametrize("offset", [-1, 1, 50, 10**9, 10**15])
def test_an_offset_without_a_record_raises_with_the_offset(offset: int) -> None:
    with pytest.raises(DamagedInputError, match=f"at offset {format_offset(offset)}: ") as raised:
        read(warcs.gzip_records([warcs.http_response()]), offset)
    assert raised.value.reason is Reason.DAMAGED_RECORD


def test_records_of_a_shared_member_are_read_sequentially() -> None:
    bodies = [hashlib.sha512(b"%d" % number).digest() * 50 for number in range(300)]
    records = [warcs.http_response(body) for body in bodies]
    stream = CountingBytesIO(warcs.gzip_as_one_member(records))
    offsets = [head.offset for head in read_heads(stream)]
    reader = RecordReader(stream)
    stream.read_bytes = 0
    for offset, body in zip(offsets, bodies, strict=True):
        assert reader.can_continue_to(offset) is (offset != offsets[0])
        assert reader.read(offset, body_max_bytes=100_000).body == body
    assert stream.read_bytes < 2 * len(stream.getvalue()) + 300_000
    assert reader.read(offsets[3], body_max_bytes=100_000).body == bodies[3]


def test_a_reader_continues_after_a_rejected_record() -> None:
    records = [warcs.http_response(body) for body in (b"one", b"far too long", b"two")]
    stream = io.BytesIO(warcs.gzip_as_one_member(records))
    offsets = [head.offset for head in read_heads(stream)]
    reader = RecordReader(stream)
    assert reader.read(offsets[0], body_max_bytes=5).body == b"one"
    with pytest.raises(LimitError):
        reader.read(offsets[1], body_max_bytes=5)
    assert reader.read(offsets[2], body_max_bytes=5).body == b"two"


class CountingBytesIO(io.BytesIO):
    """Counts the bytes read from it."""

    read_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.read_bytes += len(data)
        return data
