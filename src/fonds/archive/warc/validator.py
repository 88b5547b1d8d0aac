"""Validate WARC files: read all bytes of every record, and check its length, compression and
digests.

Source: WARC/1.1, sections 5.8 and 5.9 (block and payload digests), 6 (record types).
Limits: linear in the decompressed size. A payload is kept in memory only if its digest may be that
of the decoded body, and then up to `body_max_bytes`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from fonds.archive.members.raw_file import MemberError
from fonds.archive.members.record_stream import RecordStream
from fonds.archive.warc.fields import RecordFields
from fonds.archive.warc.http_head import HEAD_MAX_BYTES, find_head_end
from fonds.archive.warc.reader import read_body
from fonds.archive.warc.scanner import (
    Damage,
    LengthError,
    close_record,
    peek_http,
    read_fields_or_resync,
)
from fonds.model.errors import PermanentError
from fonds.text.coding import decode_body, list_codings

if TYPE_CHECKING:
    from hashlib import _Hash

    from fonds.model.exchange import HttpHead

ALGORITHMS = frozenset({"md5", "sha1", "sha224", "sha256", "sha384", "sha512"})
BLOCK, PAYLOAD = "WARC-Block-Digest", "WARC-Payload-Digest"

_PIECE_BYTES = 256 * 1024
_TYPES_WITHOUT_PAYLOAD = frozenset({"revisit", "warcinfo"})
"""WARC record types without a payload digest to check.

A revisit declares the payload digest of another record.
"""


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """WARC record whose bytes were all read and checked.

    `offset`: file offset by which the record can be found again.
    `size_bytes`: length on disk; None if the record shares its compressed member with other
        records.
    `fields`: header of the record.
    `http`: head of the HTTP response; None without one.
    `matching_digests`: number of declared digests that match the bytes.
    `unknown`: declared digests whose hash is not supported.
    `wrong_digests`: a sentence for each declared digest that does not match the bytes.
    """

    offset: int
    size_bytes: int | None
    fields: RecordFields
    http: HttpHead | None
    matching_digests: int
    unknown: tuple[str, ...]
    wrong_digests: tuple[str, ...]


def check_records(stream: BinaryIO, *, body_max_bytes: int) -> Iterator[CheckedRecord | Damage]:
    """Iterate over all records of a seekable WARC or ARC file in order, and check each.

    Yields a CheckedRecord, or a Damage for data that is not a valid record. `body_max_bytes` limits
    decoded bodies. Damaged content never raises an error; errors of `stream` are passed on.
    """
    records = RecordStream(stream, 0)
    while records.begin():
        yield _check(records, stream, body_max_bytes)


def _check(records: RecordStream, stream: BinaryIO, body_max_bytes: int) -> CheckedRecord | Damage:
    offset = records.offset
    fields = read_fields_or_resync(records)
    if isinstance(fields, Damage):
        return fields
    body_start = records.position
    http, http_bytes = _find_payload_start(records, fields)
    digests = _RecordDigests(fields.fields, http_bytes)
    try:
        passed_bytes = digests.read_block(records, fields.length_bytes)
        size_bytes = close_record(records, fields, body_start, passed_bytes, strict=True)
    except LengthError as fault:
        return Damage(offset, fault.detail, fault.reason)
    except MemberError as fault:
        records.resync()
        return Damage(offset, fault.detail, fault.reason)
    mismatches = digests.find_mismatches()
    if PAYLOAD in mismatches and http is not None and list_codings(http):
        # Reading the decoded body moves the file position, so restore it for this walk.
        position = stream.tell()
        if _matches_decoded_digest(stream, offset, http, digests.declared[PAYLOAD], body_max_bytes):
            del mismatches[PAYLOAD]
            digests.right += 1
        stream.seek(position)
    wrong_digests = tuple(
        f"{name} is {declared_value}, but the bytes give {actual_value}"
        for name, (declared_value, actual_value) in mismatches.items()
    )
    return CheckedRecord(
        offset, size_bytes, fields, http, digests.right, tuple(digests.unknown), wrong_digests
    )


def _find_payload_start(records: RecordStream, fields: RecordFields) -> tuple[HttpHead | None, int]:
    """Return the HTTP response head of a record, and the number of bytes in its block before the
    payload.

    The head is None for a record without one, such as a request.
    """
    http, http_bytes = peek_http(records, fields)
    content_type = fields.fields.get("Content-Type", "").lower()
    if http is None and content_type.startswith("application/http") and fields.length_bytes:
        window = records.peek(min(fields.length_bytes, HEAD_MAX_BYTES), joining=True)
        return None, find_head_end(window) or len(window)
    return http, http_bytes


class _RecordDigests:
    """Digests that a WARC record declares, and the digests computed from its bytes, to compare
    them.
    """

    def __init__(self, fields: Mapping[str, str], http_bytes: int) -> None:
        self.declared: dict[str, tuple[str, str]] = {}
        self.unknown: list[str] = []
        self.right = 0
        self._skipped_bytes = http_bytes
        self._hashes: dict[str, _Hash] = {}
        has_payload = fields.get("WARC-Type", "").lower() not in _TYPES_WITHOUT_PAYLOAD
        for name in (BLOCK, PAYLOAD) if has_payload else (BLOCK,):
            algorithm, _, value = fields.get(name, "").partition(":")
            algorithm_name = algorithm.strip().lower().replace("-", "")
            if algorithm_name in ALGORITHMS and value.strip():
                self.declared[name] = algorithm_name, value.strip()
                self._hashes[name] = hashlib.new(algorithm_name, usedforsecurity=False)
            elif name in fields:
                self.unknown.append(f"{name}: {fields[name][:80]}")

    def read_block(self, records: RecordStream, size_bytes: int) -> int:
        """Read a record's block of `size_bytes` bytes and compute its digests.

        Returns the number of bytes read, which is smaller if the data ends early. Raises
        MemberError if decompression fails.
        """
        passed_bytes = 0
        while passed_bytes < size_bytes and (
            piece := records.read(min(_PIECE_BYTES, size_bytes - passed_bytes))
        ):
            if BLOCK in self._hashes:
                self._hashes[BLOCK].update(piece)
            if PAYLOAD in self._hashes:
                self._hashes[PAYLOAD].update(piece[max(0, self._skipped_bytes - passed_bytes) :])
            passed_bytes += len(piece)
        return passed_bytes

    def find_mismatches(self) -> dict[str, tuple[str, str]]:
        """Compare the declared digests of the record with the computed ones, and return those that
        differ.

        Returns the declared and the computed digest by WARC header field, as texts such as
        `sha1:BASE32`. Adds the number of equal digests to the attribute `right`.
        """
        mismatches: dict[str, tuple[str, str]] = {}
        for name, (algorithm, value) in self.declared.items():
            raw = self._hashes[name].digest()
            if _matches_digest(raw, value):
                self.right += 1
            else:
                mismatches[name] = (
                    f"{algorithm}:{value[:140]}",
                    f"{algorithm}:{_encode_base32(raw)}",
                )
        return mismatches


def _matches_digest(raw: bytes, declared_digest: str) -> bool:
    """Return whether a computed digest equals the declared text, in hex, base32 or base64."""
    spellings = {raw.hex(), _encode_base32(raw).lower()}
    if declared_digest.lower().rstrip("=") in spellings:
        return True
    encoded_digest = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return declared_digest.rstrip("=").replace("+", "-").replace("/", "_") == encoded_digest


def _encode_base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=")


def _matches_decoded_digest(
    stream: BinaryIO,
    offset: int,
    http: HttpHead,
    digest_field: tuple[str, str],
    body_max_bytes: int,
) -> bool:
    """Return whether a payload digest is that of the decoded body of the record at `offset`.

    Writers differ, so two bodies are tried: without the chunked transfer coding, and without any
    coding.
    """
    algorithm, value = digest_field
    codings = list_codings(http)
    outer = [coding for coding in codings if coding == "chunked"]
    try:
        stored_body = read_body(stream, offset, (), body_max_bytes)
        for codings_to_decode in (outer, codings):
            body = decode_body(
                lambda: iter([stored_body]), codings_to_decode, body_max_bytes=body_max_bytes
            )
            if _matches_digest(hashlib.new(algorithm, body, usedforsecurity=False).digest(), value):
                return True
    except PermanentError:
        return False
    return False
