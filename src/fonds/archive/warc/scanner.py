"""Scan all records of a WARC or ARC file. The result for each record is its description or its
damage.

Source: WARC/1.0 and 1.1, section 4; annex D (compression).
Limits: linear in the decompressed size, like `RecordStream`. Bodies are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from fonds.archive.members.raw_file import MemberError
from fonds.archive.members.record_stream import RecordStream
from fonds.archive.warc.fields import (
    UNDATED,
    NotARecordError,
    RecordFields,
    read_fields,
)
from fonds.archive.warc.http_head import (
    HEAD_MAX_BYTES,
    find_head_end,
    parse_head,
    parse_media_type,
)
from fonds.model.disposition import Reason
from fonds.model.exchange import HttpHead
from fonds.model.record_offset import FILE_MAX_BYTES, split_offset

__all__ = ["UNDATED", "Damage", "RecordHead", "read_heads"]

_WINDOW_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class RecordHead:
    """Description of one WARC or ARC record that a scan found, without its body.

    - `offset` is the offset by which the record can be found again.
    - `size_bytes` is its length on disk, or None if it is truncated or shares its gzip member or
      zstd frame with other records.
    - `type` is the WARC record type; for ARC, `warcinfo` or `response`.
    - `url` is the target URI, or "" if there is none.
    - `captured_at` is the date as aware UTC, or UNDATED if it cannot be parsed.
    - `status` is the HTTP status, or None.
    - `mime` is the HTTP Content-Type without parameters; without an HTTP head, that of the record.
    - `digest` is the declared SHA-1 of the payload in base32, or None.
    - `is_truncated` is whether the record ends before its declared length.
    - `payload_bytes` is the length of the payload as stored, before codings are decoded.
    - `record_id` is the WARC-Record-ID without angle brackets, or "".
    """

    offset: int
    size_bytes: int | None
    type: str
    url: str
    captured_at: datetime
    status: int | None
    mime: str | None
    digest: str | None
    is_truncated: bool
    payload_bytes: int
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class Damage:
    """Part of a WARC or ARC file that cannot be read as a record.

    `offset`: offset in the file at which the part begins.
    `detail`: a sentence that describes the damage.
    `reason`: reason code of the damage.
    `record`: head of the damaged record; None if its header cannot be read.
    """

    offset: int
    detail: str
    reason: Reason
    record: RecordHead | None = None


class LengthError(Exception):
    """Raised if the declared length of a WARC record is wrong.

    The stream that was read is then at the next record. `reason` is the reason code, `detail` the
    message.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def read_heads(stream: BinaryIO, start_offset: int = 0) -> Iterator[RecordHead | Damage]:
    """Iterate over the records of a seekable WARC or ARC file from `start_offset` on, in file
    order.

    Yields a RecordHead, or a Damage for data that is not a valid record. `start_offset` is 0 or an
    offset that an earlier scan returned. Bodies are skipped. Damaged content never raises an error;
    errors of `stream` are passed on.
    """
    records = RecordStream(stream, split_offset(start_offset)[0])
    # A record inside a member can be found only after reading what precedes it in the member.
    is_found = split_offset(start_offset)[1] == 0
    while records.begin():
        item = scan_record(records)
        is_before = item.offset < start_offset and _is_same_member(item.offset, start_offset)
        if not (is_found or is_before or item.offset == start_offset):
            yield _build_damage(start_offset)
        is_found = is_found or not is_before
        if not is_before:
            yield item
    if not is_found:
        yield _build_damage(start_offset)
    if records.file_bytes > FILE_MAX_BYTES:
        yield Damage(FILE_MAX_BYTES, "a file is read up to 1 TiB", Reason.TOO_LARGE)


def _build_damage(offset: int) -> Damage:
    return Damage(offset, "no valid record begins here", Reason.DAMAGED_RECORD)


def _is_same_member(offset: int, other_offset: int) -> bool:
    return split_offset(offset)[0] == split_offset(other_offset)[0]


def read_fields_or_resync(records: RecordStream) -> RecordFields | Damage:
    """Read the header of the WARC or ARC record at the stream's current position.

    If it cannot be read, move the stream to the next record and return the damage.
    """
    try:
        return read_fields(records)
    except (NotARecordError, MemberError) as fault:
        offset = records.offset
        records.resync()
        return Damage(offset, fault.detail, fault.reason)


def scan_record(records: RecordStream) -> RecordHead | Damage:
    """Describe the record or junk section that the stream has begun, and move the stream past it.

    Returns a RecordHead, or a Damage if it is not a valid record.
    """
    offset = records.offset
    fields = read_fields_or_resync(records)
    if isinstance(fields, Damage):
        return fields
    body_start = records.position
    http, http_bytes = peek_http(records, fields)
    size_bytes: int | None = None
    fault_found: MemberError | LengthError | None = None
    try:
        passed_bytes = records.skip(fields.length_bytes)
        size_bytes = close_record(records, fields, body_start, passed_bytes)
    except LengthError as fault:
        fault_found = fault
    except MemberError as fault:
        fault_found = fault
        records.resync()
    head = _describe(offset, size_bytes, fields, http, http_bytes, fault_found)
    if fault_found is None or head.is_truncated:
        return head
    return Damage(offset, fault_found.detail, fault_found.reason, head)


def _describe(
    offset: int,
    size_bytes: int | None,
    fields: RecordFields,
    http: HttpHead | None,
    http_bytes: int,
    fault: MemberError | LengthError | None,
) -> RecordHead:
    content_type = http.get("content-type") if http else fields.fields.get("Content-Type")
    return RecordHead(
        offset=offset,
        size_bytes=size_bytes,
        type=fields.type,
        url=fields.url,
        captured_at=fields.captured_at,
        status=http.status or None if http else None,
        mime=parse_media_type(content_type),
        digest=fields.digest,
        is_truncated=fault is not None and fault.reason is Reason.TRUNCATED_RECORD,
        payload_bytes=fields.length_bytes - http_bytes,
        record_id=fields.fields.get("WARC-Record-ID", "").strip("<>"),
    )


def peek_http(records: RecordStream, fields: RecordFields) -> tuple[HttpHead | None, int]:
    """Return the HTTP head at the start of a record's block and its length in bytes, or (None, 0).

    The stream is not moved.
    """
    if not fields.may_hold_http or fields.length_bytes == 0:
        return None, 0
    window = records.peek(min(fields.length_bytes, _WINDOW_BYTES), joining=True)
    head_end = find_head_end(window)
    if head_end is None or window.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
        window = records.peek(min(fields.length_bytes, HEAD_MAX_BYTES), joining=True)
        head_end = None
    return parse_head(window, head_end) or (None, 0)


def close_record(
    records: RecordStream,
    fields: RecordFields,
    body_start: int,
    passed_bytes: int,
    *,
    strict: bool = False,
) -> int | None:
    """End a record after its block (content) was passed, and return its size on disk in bytes.

    Returns None if the record shares its gzip member or zstd frame with others, or the file ends
    inside that member.

    `body_start` is the position of the block in the decompressed bytes. `passed_bytes` is the
    number of bytes that were passed. Raises LengthError if the block is shorter than declared, and
    MemberError if the compressed data after it is damaged. A member that is truncated after the
    complete block is not an error, unless `strict`.
    """
    declared_bytes = fields.length_bytes
    if passed_bytes < declared_bytes:
        if records.step_back(body_start):
            raise LengthError(
                Reason.DAMAGED_RECORD,
                f"the declared length, {declared_bytes}, extends over other records",
            )
        raise LengthError(
            Reason.TRUNCATED_RECORD,
            f"the record has only {passed_bytes} of {declared_bytes} declared bytes",
        )
    try:
        size_bytes = records.finish()
        if strict and (pending_fault := records.get_pending_fault()):
            raise pending_fault
    except MemberError as fault:
        if strict or fault.reason is not Reason.TRUNCATED_RECORD:
            raise
        records.resync()
        return None
    if records.is_plain and records.is_at_junk() and records.step_back(body_start):
        raise LengthError(
            Reason.DAMAGED_RECORD,
            f"the declared length, {declared_bytes}, ends inside another record",
        )
    return size_bytes
