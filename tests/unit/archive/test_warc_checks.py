"""Every record is read to its last byte, and wrong digests or framing are reported."""

from __future__ import annotations

import gzip
import hashlib
import io
from base64 import b32encode
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.archives import build_entry, build_metadata
from fonds.archive.warc.reader import iter_record_bytes
from fonds.archive.warc.scanner import Damage
from fonds.archive.warc.validator import CheckedRecord, check_records
from fonds.archive.warc.writer import RecordWriter
from fonds.model.errors import DamagedInputError

BODY_MAX_BYTES = 1_000_000


def make_record(block: bytes, *lines: str, kind: str = "response") -> bytes:
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


def check(data: bytes) -> list[CheckedRecord | Damage]:
    return list(check_records(io.BytesIO(data), body_max_bytes=BODY_MAX_BYTES))


def compute_digest(data: bytes, algorithm: str = "sha1", *, form: str = "base32") -> str:
    raw = hashlib.new(algorithm, data).digest()
    return f"{algorithm}:{b32encode(raw).decode() if form == 'base32' else raw.hex()}"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
PACKED_BODY = gzip.compress(b"<html>", mtime=0)
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PACKED_BODY), PACKED_BODY)


@pytest.mark.parametrize(
    ("block", "lines", "n_matching"),
    [
        (HEAD + b"body", (f"WARC-Payload-Digest: {compute_digest(b'body')}",), 1),
        (HEAD + b"body", (f"WARC-Block-Digest: {compute_digest(HEAD + b'body')}",), 1),
        (
            HEAD + b"body",
            (f"WARC-Payload-Digest: {compute_digest(b'body', 'sha256', form='hex')}",),
            1,
        ),
        (HEAD + b"body", (f"WARC-Payload-Digest: {compute_digest(b'body', 'md5').lower()}",), 1),
        (HEAD + b"body", ("WARC-Payload-Digest: blake9:AAAA",), 0),
        (CHUNKED_HEAD + CHUNKS, (f"WARC-Payload-Digest: {compute_digest(CHUNKS)}",), 1),
        (CHUNKED_HEAD + CHUNKS, (f"WARC-Payload-Digest: {compute_digest(PACKED_BODY)}",), 1),
        (CHUNKED_HEAD + CHUNKS, (f"WARC-Payload-Digest: {compute_digest(b'<html>')}",), 1),
    ],
)
def test_a_digest_matches_in_every_spelling_and_for_every_coding(
    block: bytes, lines: Sequence[str], n_matching: int
) -> None:
    for pack in (gzip.compress, bytes):
        (first, second) = check(pack(make_record(block, *lines)) * 2)
        assert isinstance(first, CheckedRecord)
        assert isinstance(second, CheckedRecord)
        assert (first.matching_digests, first.wrong_digests, len(first.unknown)) == (
            n_matching,
            (),
            1 - n_matching,
        )
        assert (second.matching_digests, second.wrong_digests) == (n_matching, ())


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_of_a_body_is_reported(position: int, change: int) -> None:
    body = bytes(range(256)) * 40
    lines = (
        f"WARC-Block-Digest: {compute_digest(HEAD + body)}",
        f"WARC-Payload-Digest: {compute_digest(body)}",
    )
    data = bytearray(make_record(HEAD + body, *lines))
    data[data.index(HEAD) + len(HEAD) + position] ^= change
    (checked_record,) = check(bytes(data))
    assert isinstance(checked_record, CheckedRecord)
    assert checked_record.matching_digests == 0
    assert [message.partition(" is ")[0] for message in checked_record.wrong_digests] == [
        "WARC-Block-Digest",
        "WARC-Payload-Digest",
    ]


def test_the_digest_of_a_revisit_is_not_checked() -> None:
    lines = (f"WARC-Payload-Digest: {compute_digest(b'elsewhere')}",)
    (checked_record,) = check(make_record(HEAD, *lines, kind="revisit"))
    assert isinstance(checked_record, CheckedRecord)
    assert (checked_record.matching_digests, checked_record.wrong_digests) == (0, ())


def test_a_truncated_record_is_damage_and_earlier_records_are_read() -> None:
    warc = gzip.compress(make_record(HEAD + b"one")) + gzip.compress(
        make_record(HEAD + b"two" * 100)
    )
    for data in (warc[:-20], gzip.decompress(warc)[:-20]):
        first, second = check(data)
        assert isinstance(first, CheckedRecord)
        assert isinstance(second, Damage)


def test_every_record_we_write_is_valid() -> None:
    for version in ("WARC/1.0", "WARC/1.1"):
        out = io.BytesIO()
        writer = RecordWriter(out, version=version)
        writer.write_warcinfo("a.warc.gz", build_entry().captured_at)
        for number in range(3):
            writer.write_entry(build_entry(number, metadata_json=build_metadata(number)))
        checked_records = check(out.getvalue())
        assert len(checked_records) == 7
        assert all(
            isinstance(record_or_damage, CheckedRecord)
            and record_or_damage.matching_digests
            and not record_or_damage.wrong_digests
            for record_or_damage in checked_records
        )


@pytest.mark.parametrize("packed", [gzip.compress, bytes])
def test_the_bytes_of_a_record_are_its_header_and_block(packed: object) -> None:
    texts = [make_record(HEAD + b"body %d" % n) for n in range(3)]
    pack = gzip.compress if packed is gzip.compress else bytes
    data = io.BytesIO(b"".join(pack(text) for text in texts))
    offsets = [checked_record.offset for checked_record in check(data.getvalue())]
    for offset, text in zip(offsets, texts, strict=True):
        assert b"".join(iter_record_bytes(data, offset)) == text[:-4]
    shared = io.BytesIO(gzip.compress(b"".join(texts)))
    for checked_record, text in zip(check(shared.getvalue()), texts, strict=True):
        assert b"".join(iter_record_bytes(shared, checked_record.offset)) == text[:-4]


def test_the_bytes_of_a_truncated_record_raise_at_the_end() -> None:
    data = io.BytesIO(make_record(HEAD + b"body" * 10)[:-20])
    pieces = iter_record_bytes(data, 0)
    assert next(pieces).startswith(b"WARC/1.1")
    with pytest.raises(DamagedInputError, match="16 bytes before its declared length"):
        list(pieces)
