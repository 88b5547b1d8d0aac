"""Split the decompressed bytes of a WARC or ARC file into items: records, and junk between records.

The offset of an item is the file offset of its compressed member (gzip member, zstd frame or
similar). If several items share one member, the offset of each later one also encodes its number in
the member (`model/record_offset.py`). So each item has a unique offset by which it can be found
again.

Limits: linear in the decompressed size. After damage, at most the file's size plus 64 MiB of data
are read twice. A member holds at most 4,194,304 items.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO

from fonds.archive.members.framing import Framing, Member
from fonds.archive.members.gzip import PlainRange
from fonds.archive.members.raw_file import MemberError
from fonds.archive.members.record_line import (
    LINE_MAX_BYTES,
    find_record,
    starts_record,
)
from fonds.model.disposition import Reason
from fonds.model.record_offset import join_offset

_NUMBER_MAX = 1 << 22
_PIECE_BYTES = 64 * 1024
_OVERLAP_BYTES = 64 * 1024 * 1024
_NOT_BLANK = re.compile(rb"[^\r\n]")


@dataclass(slots=True)
class _MemberSegment:
    """Section of the decompressed bytes of a WARC or ARC file that comes from one compressed
    member.

    `start`: position in the decompressed bytes where the section begins.
    `member`: the compressed member, or the range of uncompressed bytes.
    `record_count`: number of records and junk sections that have begun in the member so far.
    """

    start: int
    member: Member
    record_count: int = 0


class RecordStream:
    """Reads the records and junk sections of a WARC or ARC file in order.

    For each item, call `begin`, then `peek`, `read` or `skip`, then `finish`.

    All methods but `begin`, `peek` and `resync` raise MemberError if decompression fails. After an
    error, only `resync`, which searches for the next record, can continue. Memory is constant: one
    piece of 64 KiB plus the bytes that were peeked at. After damage, at most the file's size plus
    64 MiB of data are read twice.
    """

    def __init__(self, stream: BinaryIO, offset: int) -> None:
        self._framing = Framing(stream)
        self.file_bytes = self._framing.raw.size_bytes
        self._overlap_budget_bytes = self.file_bytes + _OVERLAP_BYTES
        self._position = 0
        self._buffer = b""
        self._buffer_position = 0
        self._boundary = False
        self._fault: MemberError | None = None
        self._segments: list[_MemberSegment] = []
        self._number = 0
        self._record_start = 0
        self.is_plain = False
        """Whether the current bytes of the file are uncompressed, so that offsets count them
        directly.
        """
        self._enter(self._framing.open(offset))

    @property
    def offset(self) -> int:
        """Offset by which the current record or junk section can be found again.

        In a compressed member that several items share, it also encodes the item's number.
        """
        segment = self._segments[0]
        if self.is_plain:
            return segment.member.offset + self._record_start - segment.start
        return join_offset(segment.member.offset, self._number)

    @property
    def position(self) -> int:
        """Number of decompressed bytes of the WARC or ARC file that were read or skipped so far."""
        return self._position

    def begin(self) -> bool:
        """Move to the first byte of the next record or junk section, skipping blank lines.

        Returns False at the end of the file. Never raises MemberError: the next read raises it.
        """
        while self._segments:
            if self._skip_blanks():
                if not (self.is_plain and self._switch_to_packed()):
                    self._count_thing()
                    return True
            elif self._boundary:
                self._enter(self._framing.open(self._segments[-1].member.end or self.file_bytes))
            else:
                try:
                    self._fill(joining=False)
                except MemberError:
                    self._count_thing()
                    return True
        return False

    def peek(self, size_max: int, *, joining: bool = False) -> bytes:
        """Return up to `size_max` of the next decompressed bytes without consuming them.

        Returns fewer bytes if the compressed member or the file ends, or before damage. If
        `joining`, reading goes on into the next compressed members as long as they begin no record.
        Set it only for bytes that are known to belong to the current record.
        """
        while len(self._buffer) - self._buffer_position < size_max:
            try:
                if not self._fill(joining=joining):
                    break
            except MemberError:
                break
        return self._buffer[self._buffer_position : self._buffer_position + size_max]

    def read(self, size_max: int) -> bytes:
        """Return the next decompressed bytes, at most `size_max`, and consume them.

        Returns b"" at the end of the file. Also returns b"" at the end of a gzip member or zstd
        frame if the next one begins another record. Raises MemberError if decompression fails.
        """
        if self._buffer_position == len(self._buffer) and not self._fill(joining=True):
            return b""
        piece = self._buffer[self._buffer_position : self._buffer_position + size_max]
        self._advance(len(piece))
        return piece

    def skip(self, size_bytes: int) -> int:
        """Skip up to `size_bytes` decompressed bytes. Return the number of bytes skipped. Raises
        MemberError if decompression fails.
        """
        if 0 <= size_bytes <= len(self._buffer) - self._buffer_position:
            self._advance(size_bytes)
            return size_bytes
        remaining_bytes = size_bytes
        while remaining_bytes > 0:
            buffered_bytes = min(remaining_bytes, len(self._buffer) - self._buffer_position)
            self._advance(buffered_bytes)
            remaining_bytes -= buffered_bytes
            member = self._segments[-1].member
            if remaining_bytes and isinstance(member, PlainRange):
                skipped_bytes = member.skip(remaining_bytes)
                self._position += skipped_bytes
                return size_bytes - remaining_bytes + skipped_bytes
            if remaining_bytes and not self._fill(joining=True):
                break
        return size_bytes - remaining_bytes

    def finish(self) -> int | None:
        """End the current record or junk section at the current position.

        Returns its size on disk in bytes, or None if it shares its gzip member or zstd frame with
        other records. In compressed data, the blank lines after it are skipped. Raises MemberError
        if the compressed data is damaged.
        """
        end = self._position
        first = self._segments[0]
        if self.is_plain:
            return end - self._record_start
        for segment in self._segments:
            if segment.start < end:
                segment.record_count = max(segment.record_count, 1)
        last_segment = self._segments[-1]
        if last_segment.start < end and last_segment.member.damage is not None:
            self._fault = last_segment.member.damage
            raise self._fault
        while not self._skip_blanks():
            if self._fault is not None and self._segments[-1].start >= end:
                return None
            if not self._fill(joining=False):
                last = self._segments[-1].member
                return (last.end or last.reach) - first.member.offset if self._number == 0 else None
        return None

    def get_pending_fault(self) -> MemberError | None:
        """Return the decompression error that was found after the bytes in the buffer; None if
        there is none.
        """
        return self._fault

    def is_at_junk(self) -> bool:
        """Return whether junk follows the blank lines at the current position. Returns False before
        a record or compressed member, and at the end of the file.
        """
        while not self._skip_blanks():
            if not self._fill(joining=False):
                return False
        if self.is_plain and self._framing.is_packed(self._get_raw_offset()):
            return False
        return not starts_record(self.peek(LINE_MAX_BYTES))

    def step_back(self, position: int) -> bool:
        """Move the stream back to the first record that begins after `position` and before the
        current position.

        It is used in uncompressed files only. `position` counts decompressed bytes. Returns False,
        without moving, if there is no such record or the current bytes are compressed.
        """
        segment = self._segments[0]
        if not self.is_plain:
            return False
        base = segment.member.offset - segment.start
        record_offset = self._framing.find(base + position + 1, base + self._position)
        if record_offset is None:
            return False
        self._enter(self._framing.open(record_offset))
        return True

    def resync(self) -> None:
        """Move to the next plausible record after the first byte of the current record, or to the
        end of the file.

        The method is called after damage.
        """
        if not self.is_plain and self._fault is None and self._search_member():
            return
        member = self._segments[-1].member
        if isinstance(member, PlainRange):
            start = self.offset + 1
        else:
            self._overlap_budget_bytes -= member.reach - member.offset
            start = member.offset + 1 if self._overlap_budget_bytes > 0 else member.reach
        record_offset = self._framing.find(max(start, member.offset + 1), self.file_bytes)
        if record_offset is None:
            self._enter(None)
        elif not self._advance_in_buffer(record_offset):
            self._enter(self._framing.open(record_offset))

    def _advance_in_buffer(self, offset: int) -> bool:
        """Move to a file offset if its bytes are in the buffer, which avoids a second read.

        Returns False, without moving, if the bytes are not buffered, or the current bytes or those
        at the offset are compressed.
        """
        if not self.is_plain or self._framing.is_packed(offset):
            return False
        distance = offset - self._get_raw_offset()
        if not 0 <= distance < len(self._buffer) - self._buffer_position:
            return False
        self._advance(distance)
        return True

    def _search_member(self) -> bool:
        """Search the rest of the current compressed member (such as a gzip member) for the start of
        a record.

        Returns True if a record was found or the member ended intact, False if the member is
        damaged.
        """
        start = self._buffer_position + 1
        while True:
            record_start = find_record(self._buffer, start)
            if record_start is not None:
                self._assign_junk(record_start)
                self._advance(record_start - self._buffer_position)
                return True
            self._advance(max(0, len(self._buffer) - self._buffer_position - LINE_MAX_BYTES))
            try:
                if not self._fill(joining=False):
                    self._advance(len(self._buffer) - self._buffer_position)
                    return True
            except MemberError:
                return False
            start = 1

    def _assign_junk(self, stop: int) -> None:
        """Count the current junk as the first item of each later compressed member that contains a
        part of it.

        The junk ends before the buffer index `stop`. A scan that starts at such a member counts
        this junk as the first item of the member. So a scan from the beginning must count it too,
        or the two scans would give different numbers to the records of the member.
        """
        for segment in self._segments[1:]:
            start = segment.start - self._position + self._buffer_position
            if _NOT_BLANK.search(self._buffer, max(start, 0), stop):
                segment.record_count = max(segment.record_count, 1)

    def _enter(self, member: Member | None) -> None:
        self._segments = [] if member is None else [_MemberSegment(self._position, member)]
        self.is_plain = isinstance(member, PlainRange)
        self._buffer, self._buffer_position = b"", 0
        self._boundary, self._fault = False, None

    def _count_thing(self) -> None:
        while len(self._segments) > 1 and self._segments[1].start <= self._position:
            del self._segments[0]
        segment = self._segments[0]
        self._record_start = self._position
        self._number = segment.record_count
        segment.record_count += 1
        if self._number > _NUMBER_MAX:
            self._fault = MemberError(
                Reason.DAMAGED_RECORD,
                (
                    f"the member at offset {segment.member.offset} contains more than "
                    f"{_NUMBER_MAX} records"
                ),
            )
            self._buffer, self._buffer_position = b"", 0

    def _switch_to_packed(self) -> bool:
        offset = self._get_raw_offset()
        if not self._framing.is_packed(offset):
            return False
        self._enter(self._framing.open(offset))
        return True

    def _get_raw_offset(self) -> int:
        """Return the file offset of the next byte to be read. Valid only while the file is
        uncompressed.
        """
        return self._segments[0].member.offset + self._position - self._segments[0].start

    def _skip_blanks(self) -> bool:
        """Skip buffered line ends. Return True if another byte is buffered after them."""
        if self._buffer_position == len(self._buffer):
            return False
        if self._buffer[self._buffer_position] not in b"\r\n":
            return True
        match = _NOT_BLANK.search(self._buffer, self._buffer_position)
        self._advance((match.start() if match else len(self._buffer)) - self._buffer_position)
        return match is not None

    def _advance(self, size_bytes: int) -> None:
        self._buffer_position += size_bytes
        self._position += size_bytes

    def _fill(self, *, joining: bool) -> bool:
        """Load one more piece of decompressed bytes into the buffer.

        Returns False at the end of a compressed member (such as a gzip member) or of the file. If
        `joining`, loading goes on into the following members that begin no record. Raises
        MemberError if decompression fails.
        """
        if self._fault is not None:
            raise self._fault
        if self._boundary and not joining:
            return False
        try:
            piece = self._segments[-1].member.read(_PIECE_BYTES)
        except MemberError as fault:
            self._fault = fault
            raise
        if not piece and joining and not self.is_plain:
            piece = self._join()
        if not piece:
            self._boundary = True
            return False
        self._buffer = (
            self._buffer[self._buffer_position :] + piece
            if self._buffer_position < len(self._buffer)
            else piece
        )
        self._buffer_position = 0
        return True

    def _join(self) -> bytes:
        """Open the next compressed member if it continues the current record, and return its first
        decompressed bytes.

        Returns b"" if there is no next member, or if it is not compressed, is damaged, is empty or
        begins a record.
        """
        member = self._framing.open(self._segments[-1].member.end or self.file_bytes)
        if member is None or isinstance(member, PlainRange):
            return b""
        try:
            piece = member.read(_PIECE_BYTES)
        except MemberError:
            return b""
        if not piece or starts_record(piece):
            return b""
        buffer_end = self._position + len(self._buffer) - self._buffer_position
        self._segments.append(_MemberSegment(buffer_end, member))
        return piece
