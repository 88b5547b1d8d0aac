"""Read the payload of one WARC or ARC record by offset, within limits. The HTTP head is split off
and codings are decoded.

Source: WARC/1.0 and 1.1, section 6 (record types); RFC 9112 (the HTTP message).
Limits: reading takes time linear in the data of the compressed member up to the end of the record.
A body is read up to the body limit.
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
from fonds.model.record_offset import format_offset, split_offset
from fonds.text.coding import decode_body, list_codings

_PIECE_BYTES = 64 * 1024


def read_record(stream: BinaryIO, offset: int, *, body_max_bytes: int) -> Payload:
    """Return the payload of the record at `offset` of a seekable WARC or ARC file, with all codings
    decoded.

    `body_max_bytes` is the maximum size of the body. A revisit has an empty body and its
    `warc_headers`. The names in `warc_headers` have the spelling of the standard, and the first of
    repeated names counts. An ARC record has the headers of the equivalent WARC record. `size_bytes`
    is the record's length on disk, or None if it shares its compressed member with others.

    Raises DamagedInputError (DAMAGED_RECORD, TRUNCATED_RECORD, BAD_ENCODING) and LimitError (BOMB,
    TOO_LARGE). The error messages name no file.
    """
    return RecordReader(stream).read(offset, body_max_bytes=body_max_bytes)


class RecordReader:
    """Reads records of one seekable WARC or ARC file. For one thread at a time.

    If many records share a gzip member or zstd frame, reading them in order decompresses it only
    once.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._records: RecordStream | None = None
        self.offset = -1
        """Offset of the last record read from a compressed member that several records share; -1
        before the first such record.
        """

    def can_continue_to(self, offset: int) -> bool:
        """Return whether the reader can go on to the record at `offset` without starting at the
        member's first byte.

        This requires that the record is in the gzip member or zstd frame that the reader has open,
        after the current record.
        """
        is_same_member = split_offset(offset)[0] == split_offset(self.offset)[0]
        return self._records is not None and is_same_member and offset > self.offset

    def read(self, offset: int, *, body_max_bytes: int) -> Payload:
        """Return the payload of the record at `offset`, with all codings decoded.

        `body_max_bytes` is the maximum size of the body. `read_record` describes the result and the
        errors: DamagedInputError and LimitError.
        """
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
            raise kind(
                fault.reason, f"at offset {format_offset(offset)}: {fault.detail}"
            ) from fault
        except PermanentError as fault:
            raise type(fault)(
                fault.reason, f"at offset {format_offset(offset)}: {fault.detail}"
            ) from fault
        if payload.size_bytes is None:
            self._records, self.offset = block.records, offset
        return payload


def read_body(
    stream: BinaryIO, offset: int, codings: Sequence[str] | None, body_max_bytes: int
) -> bytes:
    """Return the body of the WARC record at `offset` after decoding `codings`, outermost first.

    If `codings` is None, all codings that the record names are decoded. Raises DamagedInputError,
    and LimitError if the body has more than `body_max_bytes` or is a decompression bomb. Damage
    after the body is not noticed.
    """
    try:
        return _read_body(_RecordBlock(stream, offset, None), body_max_bytes, codings)
    except (NotARecordError, MemberError, LengthError) as fault:
        kind = LimitError if fault.reason is Reason.BOMB else DamagedInputError
        raise kind(fault.reason, f"at offset {format_offset(offset)}: {fault.detail}") from fault


def iter_record_bytes(stream: BinaryIO, offset: int) -> Iterator[bytes]:
    """Yield the decompressed bytes of the WARC record at `offset`: header and block, without the
    blank lines after it.

    Raises DamagedInputError (DAMAGED_RECORD, TRUNCATED_RECORD) and LimitError (BOMB). An error in
    the block is raised after the bytes before it were yielded.
    """
    try:
        member_offset = split_offset(offset)[0]
        records = _seek_record(RecordStream(stream, member_offset), offset)
        record_start = records.position
        fields = read_fields(records)
        remaining_bytes = records.position - record_start + fields.length_bytes
        second_stream = _seek_record(RecordStream(stream, member_offset), offset)
        while remaining_bytes > 0 and (
            piece := second_stream.read(min(remaining_bytes, _PIECE_BYTES))
        ):
            remaining_bytes -= len(piece)
            yield piece
    except (NotARecordError, MemberError) as fault:
        kind = LimitError if fault.reason is Reason.BOMB else DamagedInputError
        raise kind(fault.reason, f"at offset {format_offset(offset)}: {fault.detail}") from fault
    if remaining_bytes:
        detail = (
            f"at offset {format_offset(offset)}:"
            f" the record ends {remaining_bytes} bytes before its declared length"
        )
        raise DamagedInputError(Reason.TRUNCATED_RECORD, detail)


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
            f"the body has {block.body_bytes} bytes; the limit is {body_max_bytes}",
        )
    return decode_body(block.iter_pieces, codings, body_max_bytes=body_max_bytes)


class _RecordBlock:
    """Block of a WARC record (the content after its header) while it is read.

    The HTTP head is split off. The bytes after it can be read more than once.
    """

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
        """Iterate over the bytes of the block after the HTTP head. A second call reads them from
        the file again.

        Raises MemberError if decompression fails.
        """
        if self.records.position > self._start:
            self._begin(None)
        remaining_bytes = self.body_bytes
        self.records.skip(self._http_bytes)
        while remaining_bytes > 0 and (
            piece := self.records.read(min(remaining_bytes, _PIECE_BYTES))
        ):
            remaining_bytes -= len(piece)
            yield piece

    def close(self) -> int | None:
        """Skip the rest of the record that was not read, and return the size of the record on disk
        in bytes.

        Returns None if the record shares its compressed member with other records. If blank lines
        before the record were read with it, they are included in the size. Raises LengthError if
        the declared length is wrong, and MemberError if decompression fails.
        """
        passed_bytes = self.records.position - self._start
        passed_bytes += self.records.skip(self.fields.length_bytes - passed_bytes)
        size_bytes = close_record(self.records, self.fields, self._start, passed_bytes)
        return None if size_bytes is None else size_bytes + self._header_bytes


def _seek_record(records: RecordStream, offset: int) -> RecordStream:
    """Move a stream to the record at `offset`, past other records in the same compressed member.

    Returns the stream. Raises NotARecordError if no record begins there.
    """
    member_offset, number = split_offset(offset)
    has_more = records.begin()
    while has_more and number > 0 and records.offset < offset:
        if split_offset(records.offset)[0] != member_offset:
            break
        scan_record(records)
        has_more = records.begin()
    if not has_more or (number > 0 and records.offset != offset):
        raise NotARecordError(
            Reason.DAMAGED_RECORD,
            f"no record at this offset; the file has {records.file_bytes} bytes",
        )
    return records
