"""Every record is read to its last byte: what does not fit its digests or its framing is told."""

from __future__ import annotations

import gzip
import hashlib
import io
from base64 import b32encode
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.archives import entry
from fonds.archive.warc.reader import iter_record_bytes
from fonds.archive.warc.scanner import Damage
from fonds.archive.warc.validator import CheckedRecord, check_records
from fonds.archive.warc.writer import RecordWriter
from fonds.model.errors import DamagedInputError

BODY_MAX_BYTES = 1_000_000


def record(block: bytes, *lines: str, kind: str = "response") -> bytes:
    content_type = "application/http; msgtype=response" if kind == "response" else "text/plain"
    head = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        "WARC-Target-URI: http://example.org/",
        "WARC-Date: 2024-01-01T00:00:00Z",
        f"Content-Type: {content_type}",
        *lines,
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def checked(data: bytes) -> list[CheckedRecord | Damage]:
    return list(check_records(io.BytesIO(data), body_max_bytes=BODY_MAX_BYTES))


def digest(data: bytes, algorithm: str = "sha1", *, form: str = "base32") -> str:
    raw = hashlib.new(algorithm, data).digest()
    return f"{algorithm}:{b32encode(raw).decode() if form == 'base32' else raw.hex()}"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
PACKED = gzip.compress(b"<html>", mtime=0)
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PACKED), PACKED)


@pytest.mark.parametrize(
    ("block", "lines", "right"),
    [
        (HEAD + b"body", (f"WARC-Payload-Digest: {digest(b'body')}",), 1),
        (HEAD + b"body", (f"WARC-Block-Digest: {digest(HEAD + b'body')}",), 1),
        (HEAD + b"body", (f"WARC-Payload-Digest: {digest(b'body', 'sha256', form='hex')}",), 1),
        (HEAD + b"body", (f"WARC-Payload-Digest: {digest(b'body', 'md5').lower()}",), 1),
        (HEAD + b"body", ("WARC-Payload-Digest: blake9:AAAA",), 0),
        (CHUNKED + CHUNKS, (f"WARC-Payload-Digest: {digest(CHUNKS)}",), 1),
        (CHUNKED + CHUNKS, (f"WARC-Payload-Digest: {digest(PACKED)}",), 1),
        (CHUNKED + CHUNKS, (f"WARC-Payload-Digest: {digest(b'<html>')}",), 1),
    ],
)
def test_a_digest_fits_however_it_is_spelled_and_whichever_codings_it_is_of(
    block: bytes, lines: Sequence[str], right: int
) -> None:
    for packed in (gzip.compress, bytes):
        (first, second) = checked(packed(record(block, *lines)) * 2)
        assert isinstance(first, CheckedRecord)
        assert isinstance(second, CheckedRecord)
        assert (first.matching_digests, first.wrong_digests, len(first.unknown)) == (
            right,
            (),
            1 - right,
        )
        assert (second.matching_digests, second.wrong_digests) == (right, ())


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_byte_of_a_body_that_changed_is_told(position: int, change: int) -> None:
    body = bytes(range(256)) * 40
    lines = (
        f"WARC-Block-Digest: {digest(HEAD + body)}",
        f"WARC-Payload-Digest: {digest(body)}",
    )
    data = bytearray(record(HEAD + body, *lines))
    data[data.index(HEAD) + len(HEAD) + position] ^= change
    (found,) = checked(bytes(data))
    assert isinstance(found, CheckedRecord)
    assert found.matching_digests == 0
    assert [told.partition(" is ")[0] for told in found.wrong_digests] == [
        "WARC-Block-Digest",
        "WARC-Payload-Digest",
    ]


def test_what_a_revisit_declares_is_not_held_against_it() -> None:
    lines = (f"WARC-Payload-Digest: {digest(b'elsewhere')}",)
    (found,) = checked(record(HEAD, *lines, kind="revisit"))
    assert isinstance(found, CheckedRecord)
    assert (found.matching_digests, found.wrong_digests) == (0, ())


def test_a_record_that_is_cut_is_damage_and_those_before_it_are_read() -> None:
    whole = gzip.compress(record(HEAD + b"one")) + gzip.compress(record(HEAD + b"two" * 100))
    for data in (whole[:-20], gzip.decompress(whole)[:-20]):
        first, second = checked(data)
        assert isinstance(first, CheckedRecord)
        assert isinstance(second, Damage)


def test_what_we_write_is_right_in_every_record() -> None:
    for version in ("WARC/1.0", "WARC/1.1"):
        out = io.BytesIO()
        writer = RecordWriter(out, version=version)
        writer.write_warcinfo("a.warc.gz", entry().captured_at)
        for number in range(3):
            writer.write_entry(entry(number, metadata_json=b"{}"))
        found = checked(out.getvalue())
        assert len(found) == 7
        assert all(
            isinstance(one, CheckedRecord) and one.matching_digests and not one.wrong_digests
            for one in found
        )


@pytest.mark.parametrize("packed", [gzip.compress, bytes])
def test_a_whole_record_is_its_header_and_block(packed: object) -> None:
    texts = [record(HEAD + b"body %d" % n) for n in range(3)]
    pack = gzip.compress if packed is gzip.compress else bytes
    data = io.BytesIO(b"".join(pack(text) for text in texts))
    offsets = [one.offset for one in checked(data.getvalue())]
    for offset, text in zip(offsets, texts, strict=True):
        assert b"".join(iter_record_bytes(data, offset)) == text[:-4]
    shared = io.BytesIO(gzip.compress(b"".join(texts)))
    for one, text in zip(checked(shared.getvalue()), texts, strict=True):
        assert b"".join(iter_record_bytes(shared, one.offset)) == text[:-4]


def test_a_whole_record_that_is_cut_is_refused_behind_what_there_is() -> None:
    data = io.BytesIO(record(HEAD + b"body" * 10)[:-20])
    pieces = iter_record_bytes(data, 0)
    assert next(pieces).startswith(b"WARC/1.1")
    with pytest.raises(DamagedInputError, match="16 bytes before its declared length"):
        list(pieces)
