"""Every record of a WARC file read to its last byte: its framing, and its digests against its bytes.

Source: WARC/1.1, sections 5.8 and 5.9 (block and payload digests), 6 (record types).
Bound: linear in what the file unpacks to; a payload is held in memory only where its digest may be that of
the body without its codings, and then as far as `body_max_bytes`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from fonds.formats.coding import codings_of, decode_body
from fonds.formats.members import MemberError, RecordStream
from fonds.formats.warc.fields import NotARecordError, RecordFields, read_fields
from fonds.formats.warc.http_head import HEAD_BYTES_MAX, head_length
from fonds.formats.warc.read import body_at
from fonds.formats.warc.scan import Damage, LengthError, close_record, peek_http
from fonds.model.errors import PermanentError

if TYPE_CHECKING:
    from hashlib import _Hash

    from fonds.model.archive import HttpHead

ALGORITHMS = frozenset({"md5", "sha1", "sha224", "sha256", "sha384", "sha512"})
BLOCK, PAYLOAD = "WARC-Block-Digest", "WARC-Payload-Digest"

_PIECE_BYTES = 256 * 1024
_NO_PAYLOAD = frozenset({"revisit", "warcinfo"})
"""What a revisit declares is the digest of another record's payload."""


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """A record whose bytes were all read.

    `offset` and `size_bytes` are as in RecordHead. `right` counts the digests that fit, `unknown` has those
    in a hash that is not computed here, `wrong` says in a sentence each which do not fit.
    """

    offset: int
    size_bytes: int | None
    fields: RecordFields
    http: HttpHead | None
    right: int
    unknown: tuple[str, ...]
    wrong: tuple[str, ...]


def check_records(stream: BinaryIO, *, body_max_bytes: int) -> Iterator[CheckedRecord | Damage]:
    """Every record of a seekable file, in its order; content never raises, what `stream` raises does."""
    records = RecordStream(stream, 0)
    while records.begin():
        yield _check(records, stream, body_max_bytes)


def _check(records: RecordStream, stream: BinaryIO, body_max_bytes: int) -> CheckedRecord | Damage:
    offset = records.offset
    try:
        fields = read_fields(records)
    except (NotARecordError, MemberError) as fault:
        records.resync()
        return Damage(offset, fault.detail, fault.reason)
    body_start = records.position
    http, http_bytes = _payload_start(records, fields)
    digests = _Digests(fields.fields, http_bytes)
    try:
        passed = digests.take(records, fields.length_bytes)
        size_bytes = close_record(records, fields, body_start, passed, strict=True)
    except LengthError as fault:
        return Damage(offset, fault.detail, fault.reason)
    except MemberError as fault:
        records.resync()
        return Damage(offset, fault.detail, fault.reason)
    wrong = digests.wrong()
    if PAYLOAD in wrong and http is not None and codings_of(http):
        # Where reading jumps to, this walk does not look: it goes on where it stands.
        here = stream.tell()
        if _fits_decoded(stream, offset, http, digests.declared[PAYLOAD], body_max_bytes):
            del wrong[PAYLOAD]
            digests.right += 1
        stream.seek(here)
    told = tuple(f"{name} says {said}, its bytes give {is_}" for name, (said, is_) in wrong.items())
    return CheckedRecord(
        offset, size_bytes, fields, http, digests.right, tuple(digests.unknown), told
    )


def _payload_start(records: RecordStream, fields: RecordFields) -> tuple[HttpHead | None, int]:
    """The HTTP head of a response, and how many bytes of the block come before the payload."""
    http, http_bytes = peek_http(records, fields)
    content_type = fields.fields.get("Content-Type", "").lower()
    if http is None and content_type.startswith("application/http") and fields.length_bytes:
        window = records.peek(min(fields.length_bytes, HEAD_BYTES_MAX), joining=True)
        return None, head_length(window) or len(window)
    return http, http_bytes


class _Digests:
    """The digests a record declares, and those its bytes give as they pass."""

    def __init__(self, fields: Mapping[str, str], http_bytes: int) -> None:
        self.declared: dict[str, tuple[str, str]] = {}
        self.unknown: list[str] = []
        self.right = 0
        self._before = http_bytes
        self._hashes: dict[str, _Hash] = {}
        has_payload = fields.get("WARC-Type", "").lower() not in _NO_PAYLOAD
        for name in (BLOCK, PAYLOAD) if has_payload else (BLOCK,):
            algorithm, _, value = fields.get(name, "").partition(":")
            plain = algorithm.strip().lower().replace("-", "")
            if plain in ALGORITHMS and value.strip():
                self.declared[name] = plain, value.strip()
                self._hashes[name] = hashlib.new(plain, usedforsecurity=False)
            elif name in fields:
                self.unknown.append(f"{name}: {fields[name][:80]}")

    def take(self, records: RecordStream, size_bytes: int) -> int:
        """Read a block of so many bytes; how many there were. Raises MemberError."""
        passed = 0
        while passed < size_bytes and (
            piece := records.read(min(_PIECE_BYTES, size_bytes - passed))
        ):
            if BLOCK in self._hashes:
                self._hashes[BLOCK].update(piece)
            if PAYLOAD in self._hashes:
                self._hashes[PAYLOAD].update(piece[max(0, self._before - passed) :])
            passed += len(piece)
        return passed

    def wrong(self) -> dict[str, tuple[str, str]]:
        """What was declared and what the bytes give, by the field's name; counts those that fit."""
        found: dict[str, tuple[str, str]] = {}
        for name, (algorithm, value) in self.declared.items():
            raw = self._hashes[name].digest()
            if _fits(raw, value):
                self.right += 1
            else:
                found[name] = f"{algorithm}:{value[:140]}", f"{algorithm}:{_base32(raw)}"
        return found


def _fits(raw: bytes, declared: str) -> bool:
    """Whether a digest is the declared one, in hex, base32 or base64."""
    spelled = {raw.hex(), _base32(raw).lower()}
    if declared.lower().rstrip("=") in spelled:
        return True
    encoded = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return declared.rstrip("=").replace("+", "-").replace("/", "_") == encoded


def _base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=")


def _fits_decoded(
    stream: BinaryIO, offset: int, http: HttpHead, declared: tuple[str, str], body_max_bytes: int
) -> bool:
    """Whether it is the digest of the body without its transfer codings, or without any: makers differ."""
    algorithm, value = declared
    codings = codings_of(http)
    outer = [one for one in codings if one == "chunked"]
    try:
        stored = body_at(stream, offset, (), body_max_bytes)
        for undone in (outer, codings):
            body = decode_body(lambda: iter([stored]), undone, body_max_bytes=body_max_bytes)
            if _fits(hashlib.new(algorithm, body, usedforsecurity=False).digest(), value):
                return True
    except PermanentError:
        return False
    return False
