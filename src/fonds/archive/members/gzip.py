"""Plain stretches and gzip members: one way of reading for both.

Source: RFC 1952, section 2.3; WARC/1.1, annex D (one member per record).
Bound: 16 KiB are unpacked at once, and at most 200 times the input beyond the first MiB.
"""

from __future__ import annotations

import zlib

from fonds.archive.members.raw_file import (
    INPUT_BYTES,
    MemberError,
    RawFile,
    check_ratio,
)
from fonds.model.disposition import Reason

_STEP_BYTES = 32
_SALVAGE_MAX_BYTES = 64 * 1024


class PlainRange:
    """Bytes that are not packed, from an offset to the end of the file."""

    def __init__(self, raw: RawFile, offset: int) -> None:
        self.offset = offset
        self.damage: MemberError | None = None
        self._raw = raw
        self._next = offset

    @property
    def end(self) -> int | None:
        """Where it ends, once it was read to its end."""
        return self._next if self._next >= self._raw.size_bytes else None

    @property
    def reach(self) -> int:
        """The offset just past the input looked at so far."""
        return self._next

    def read(self, size_max: int) -> bytes:
        """The next bytes; b"" at the end."""
        piece = self._raw.read_at(self._next, size_max)
        self._next += len(piece)
        return piece

    def skip(self, size_bytes: int) -> int:
        """Pass over bytes without reading them; how many there were."""
        passed = min(size_bytes, max(0, self._raw.size_bytes - self._next))
        self._next += passed
        return passed


class GzipMember:
    """One gzip member; `end` is the offset just past it, None until it was read to its end.

    `damage` is known before the bytes ahead of it are handed out.
    """

    def __init__(self, raw: RawFile, offset: int) -> None:
        self.offset = offset
        self.end: int | None = None
        self._raw = raw
        self._next = offset
        self._output_bytes = 0
        self._inflate = zlib.decompressobj(31)
        self.damage: MemberError | None = None

    @property
    def reach(self) -> int:
        """The offset just past the input looked at so far."""
        if self.end is not None:
            return self.end
        return self._next - len(self._inflate.unconsumed_tail)

    def read(self, size_max: int) -> bytes:
        """The next unpacked bytes; b"" at the end. Raises MemberError."""
        while self.end is None:
            if self.damage is not None:
                raise self.damage
            piece = self._unpack(size_max)
            self._output_bytes += len(piece)
            check_ratio(self._output_bytes, self.reach - self.offset)
            if piece:
                return piece
        return b""

    def _unpack(self, size_max: int) -> bytes:
        packed = self._inflate.unconsumed_tail
        if not packed:
            packed = self._raw.read_at(self._next, INPUT_BYTES)
            self._next += len(packed)
        try:
            piece = self._inflate.decompress(packed, size_max)
        except zlib.error as fault:
            self.damage = MemberError(
                Reason.DAMAGED_RECORD,
                f"the gzip member at offset {self.offset} is damaged: {fault}",
            )
            return self._salvage(packed) if self._output_bytes == 0 else b""
        if self._inflate.eof:
            self.end = self._next - len(self._inflate.unused_data)
        elif not packed and not piece:
            raise MemberError(
                Reason.TRUNCATED_RECORD,
                f"the file ends inside the gzip member at offset {self.offset}",
            )
        return piece

    def _salvage(self, packed: bytes) -> bytes:
        """What the first input unpacks to before its damage: most often the record's header."""
        inflate = zlib.decompressobj(31)
        made = b""
        try:
            for at in range(0, len(packed), _STEP_BYTES):
                made += inflate.decompress(packed[at : at + _STEP_BYTES])
                if len(made) > _SALVAGE_MAX_BYTES:
                    break
        except zlib.error:
            return made
        return made
