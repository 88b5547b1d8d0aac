"""One record's payload, read by its offset: HTTP head apart, codings undone, within limits.

Source: WARC/1.0 and 1.1, section 6 (record types); RFC 9112 (the message inside).
Bound: linear in what lies in the member before the record and in the record itself, the body's limit
included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from fonds.archive.members.raw_file import MemberError
from fonds.archive.members.record_stream import RecordStream
from fonds.archive.warc.fields import NotARecordError, read_fields
from fonds.archive.warc.scanner import (
    LengthError,
    close_record,
    peek_http,
    scan_record,
)
from fonds.model.archive import Payload
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError, PermanentError
from fonds.model.record_offset import offset_text, split_offset
from fonds.text.coding import decode_body, list_codings

_PIECE_BYTES = 64 * 1024


def read_record(stream: BinaryIO, offset: int, *, body_max_bytes: int) -> Payload:
    """The payload of the record at `offset` of a seekable file, transfer and content codings undone.

    A revisit has an empty body and its `warc_headers`; names in these are spelled as in the standard,
    of several equal ones the first counts. An ARC record has the headers it would have as WARC.
    `size_bytes` is the record's length on disk, None when it shares its member with others.

    Raises DamagedInputError (DAMAGED_RECORD, TRUNCATED_RECORD, BAD_ENCODING) and LimitError (BOMB,
    TOO_LARGE); messages name no file.
    """
    return RecordReader(stream).read(offset, body_max_bytes=body_max_bytes)


class RecordReader:
    """Reads records of one seekable file, on from where it stands when it can.

    That matters where many records share one gzip member or zstd frame: read in their order, the
    member is unpacked once and not once for each. For one thread at a time.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._records: RecordStream | None = None
        self.offset = -1
        """The offset of the record read last."""

    def can_continue_to(self, offset: int) -> bool:
        """Whether `offset` lies further on in the shared member this reader stands in."""
        same = split_offset(offset)[0] == split_offset(self.offset)[0]
        return self._records is not None and same and offset > self.offset

    def read(self, offset: int, *, body_max_bytes: int) -> Payload:
        """As `read_record`."""
        records = self._records if self.can_continue_to(offset) else None
        self._records = None
        try:
            block = _RecordBlock(self._stream, offset, records)
            body = _read_body(block, body_max_bytes)
            payload = Payload(
                body=body,
                http=block.http,
                size_bytes=block.close(),
                warc_headers=block.fields.fields,
            )
        except (NotARecordError, MemberError, LengthError) as fault:
            kind = LimitError if fault.reason is Reason.BOMB else DamagedInputError
            raise kind(fault.reason, f"at offset {offset_text(offset)}: {fault.detail}") from fault
        except PermanentError as fault:
            raise type(fault)(
                fault.reason, f"at offset {offset_text(offset)}: {fault.detail}"
            ) from fault
        if payload.size_bytes is None:
            self._records, self.offset = block.records, offset
        return payload


def read_body(
    stream: BinaryIO, offset: int, codings: Sequence[str] | None, body_max_bytes: int
) -> bytes:
    """The body of the record at `offset` with these codings undone, outermost first; None: all it names.

    Raises as `read_record` does, but for faults behind the body.
    """
    try:
        return _read_body(_RecordBlock(stream, offset, None), body_max_bytes, codings)
    except (NotARecordError, MemberError, LengthError) as fault:
        kind = LimitError if fault.reason is Reason.BOMB else DamagedInputError
        raise kind(fault.reason, f"at offset {offset_text(offset)}: {fault.detail}") from fault


def iter_record_bytes(stream: BinaryIO, offset: int) -> Iterator[bytes]:
    """A whole record as it lies there, out of its packing: header and block, without what follows them.

    Raises DamagedInputError (DAMAGED_RECORD, TRUNCATED_RECORD) and LimitError (BOMB), the block's fault
    behind what was given of it already.
    """
    try:
        member_offset = split_offset(offset)[0]
        records = _seek_record(RecordStream(stream, member_offset), offset)
        begin = records.position
        fields = read_fields(records)
        left = records.position - begin + fields.length_bytes
        again = _seek_record(RecordStream(stream, member_offset), offset)
        while left > 0 and (piece := again.read(min(left, _PIECE_BYTES))):
            left -= len(piece)
            yield piece
    except (NotARecordError, MemberError) as fault:
        kind = LimitError if fault.reason is Reason.BOMB else DamagedInputError
        raise kind(fault.reason, f"at offset {offset_text(offset)}: {fault.detail}") from fault
    if left:
        told = f"at offset {offset_text(offset)}: the record ends {left} bytes before its declared length"
        raise DamagedInputError(Reason.TRUNCATED_RECORD, told)


def _read_body(
    block: _RecordBlock, body_max_bytes: int, codings: Sequence[str] | None = None
) -> bytes:
    if block.fields.type == "revisit":
        return b""
    if codings is None:
        codings = list_codings(block.http) if block.http else []
    if not codings and block.body_bytes > body_max_bytes:
        raise LimitError(
            Reason.TOO_LARGE,
            f"the body has {block.body_bytes} bytes; at most {body_max_bytes} are read",
        )
    return decode_body(block.iter_pieces, codings, body_max_bytes=body_max_bytes)


class _RecordBlock:
    """A record's block while it is read: the HTTP head apart, the rest in pieces, again if need be."""

    def __init__(self, stream: BinaryIO, offset: int, records: RecordStream | None) -> None:
        self._stream = stream
        self._offset = offset
        self._begin(records)
        self.http, self._http_bytes = peek_http(self.records, self.fields)
        self.body_bytes = self.fields.length_bytes - self._http_bytes

    def _begin(self, records: RecordStream | None) -> None:
        member_offset = split_offset(self._offset)[0]
        self.records = _seek_record(
            records or RecordStream(self._stream, member_offset), self._offset
        )
        self._header_bytes = self.records.offset - self._offset
        self.fields = read_fields(self.records)
        self._start = self.records.position

    def iter_pieces(self) -> Iterator[bytes]:
        """The bytes behind the HTTP head; asked for again, they are read from the file again."""
        if self.records.position > self._start:
            self._begin(None)
        left = self.body_bytes
        self.records.skip(self._http_bytes)
        while left > 0 and (piece := self.records.read(min(left, _PIECE_BYTES))):
            left -= len(piece)
            yield piece

    def close(self) -> int | None:
        """Pass over what was not read; the record's size on disk, with the blank lines of the record before
        it where it was asked for at their place. Raises LengthError, MemberError."""
        passed = self.records.position - self._start
        passed += self.records.skip(self.fields.length_bytes - passed)
        size_bytes = close_record(self.records, self.fields, self._start, passed)
        return None if size_bytes is None else size_bytes + self._header_bytes


def _seek_record(records: RecordStream, offset: int) -> RecordStream:
    """Bring a records to the thing at `offset`, over others in the same member. Raises NotARecordError."""
    member_offset, number = split_offset(offset)
    there = records.begin()
    while there and number > 0 and records.offset < offset:
        if split_offset(records.offset)[0] != member_offset:
            break
        scan_record(records)
        there = records.begin()
    if not there or (number > 0 and records.offset != offset):
        raise NotARecordError(
            Reason.DAMAGED_RECORD,
            f"no record is there; the file has {records.file_bytes} bytes",
        )
    return records
