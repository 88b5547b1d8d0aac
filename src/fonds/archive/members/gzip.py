"""Read the plain ranges and gzip members of a WARC file through the same interface.

Source: RFC 1952, section 2.3; WARC/1.1, annex D (one member per record).
Limits: 16 KiB of input are decompressed at a time. Output is at most 200 times the input plus 1
MiB.
"""

from __future__ import annotations

from zlib_ng import zlib_ng

from fonds.archive.members.raw_file import (
    INPUT_BYTES,
    RATIO_ALLOWANCE_BYTES,
    MemberError,
    RawFile,
    check_ratio,
)
from fonds.model.disposition import Reason
from fonds.text.coding import InflateError

_STEP_BYTES = 32
_SALVAGE_MAX_BYTES = 64 * 1024


class PlainRange:
    """Uncompressed bytes of a WARC file, from an offset to the end of the file."""

    def __init__(self, raw: RawFile, offset: int) -> None:
        self.offset = offset
        self.damage: MemberError | None = None
        self._raw = raw
        self._next = offset

    @property
    def end(self) -> int | None:
        """Offset of the end of the WARC file; None until the uncompressed bytes were read to that
        end.
        """
        return self._next if self._next >= self._raw.size_bytes else None

    @property
    def reach(self) -> int:
        """File offset just past the uncompressed bytes that were read so far."""
        return self._next

    def read(self, size_max: int) -> bytes:
        """Return the next bytes of the file, at most `size_max`, or b"" at the end of the file."""
        piece = self._raw.read_at(self._next, size_max)
        self._next += len(piece)
        return piece

    def skip(self, size_bytes: int) -> int:
        """Skip up to `size_bytes` bytes of the file without reading them. Return the number of
        bytes skipped.
        """
        skipped_bytes = min(size_bytes, max(0, self._raw.size_bytes - self._next))
        self._next += skipped_bytes
        return skipped_bytes


class GzipMember:
    """One gzip member in a WARC file, decompressed piece by piece.

    `offset`: file offset where the member begins.
    `end`: file offset just past the member; None until the member was read to its end.
    `damage`: the error that the next `read` raises; None while no damage was found. It is set
        before `read` returns the bytes in front of the damage.
    """

    def __init__(self, raw: RawFile, offset: int) -> None:
        self.offset = offset
        self.end: int | None = None
        self._raw = raw
        self._next = offset
        self._output_bytes = 0
        self._inflate = zlib_ng.decompressobj(31)
        self.damage: MemberError | None = None

    @property
    def reach(self) -> int:
        """File offset just past the compressed input that was read so far."""
        if self.end is not None:
            return self.end
        return self._next - len(self._inflate.unconsumed_tail)

    def read(self, size_max: int) -> bytes:
        """Return the next decompressed bytes, at most `size_max`; b"" at the end of the gzip
        member.

        Raises MemberError if the gzip member is damaged or truncated, or its output is too large
        for its input.
        """
        while self.end is None:
            if self.damage is not None:
                raise self.damage
            piece = self._unpack(size_max)
            self._output_bytes += len(piece)
            if self._output_bytes > RATIO_ALLOWANCE_BYTES:
                check_ratio(self._output_bytes, self.reach - self.offset)
            if piece:
                return piece
        return b""

    def _unpack(self, size_max: int) -> bytes:
        packed_piece = self._inflate.unconsumed_tail
        if not packed_piece:
            packed_piece = self._raw.read_at(self._next, INPUT_BYTES)
            self._next += len(packed_piece)
        try:
            piece = self._inflate.decompress(packed_piece, size_max)
        except InflateError as fault:
            self.damage = MemberError(
                Reason.DAMAGED_RECORD,
                f"the gzip member at offset {self.offset} is damaged: {fault}",
            )
            return self._salvage(packed_piece) if self._output_bytes == 0 else b""
        if self._inflate.eof:
            self.end = self._next - len(self._inflate.unused_data)
        elif not packed_piece and not piece:
            raise MemberError(
                Reason.TRUNCATED_RECORD,
                f"the file ends inside the gzip member at offset {self.offset}",
            )
        return piece

    def _salvage(self, packed_piece: bytes) -> bytes:
        """Decompress the start of a damaged gzip member in small steps, and return the output
        before the damage.

        The output usually contains the header of the WARC record.
        """
        inflate = zlib_ng.decompressobj(31)
        output = b""
        try:
            for start in range(0, len(packed_piece), _STEP_BYTES):
                output += inflate.decompress(packed_piece[start : start + _STEP_BYTES])
                if len(output) > _SALVAGE_MAX_BYTES:
                    break
        except InflateError:
            return output
        return output
