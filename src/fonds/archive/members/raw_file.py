"""Bytes of a file by offset, and what every way of unpacking them shares: its fault and its limit.

Bound: one read for each stretch of 128 KiB that is asked for.
"""

from __future__ import annotations

import io
from typing import BinaryIO

from fonds.model.disposition import Reason

INPUT_BYTES = 16 * 1024
RATIO_MAX = 200
RATIO_ALLOWANCE_BYTES = 1024 * 1024
"""What a member may unpack to whatever its size: a short member of blanks is no bomb."""

CACHE_BYTES = 128 * 1024


class MemberError(Exception):
    """A member cannot be unpacked any further; `reason` is DAMAGED_RECORD, TRUNCATED_RECORD or BOMB."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class RawFile:
    """Bytes of a seekable file by offset, a stretch of them kept so that small steps cost no reading."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = 0
        self._buffer = b""
        self.size_bytes = stream.seek(0, io.SEEK_END)

    def read_at(self, offset: int, size_max: int) -> bytes:
        """Up to `size_max` bytes from `offset` on; b"" at the end, fewer only just before it."""
        within = offset - self._start
        if within < 0 or within + size_max > len(self._buffer):
            if (
                0 <= within <= len(self._buffer)
                and self._start + len(self._buffer) >= self.size_bytes
            ):
                return self._buffer[within : within + size_max]
            self._load(offset, max(size_max, CACHE_BYTES))
            within = 0
        return self._buffer[within : within + size_max]

    def _load(self, offset: int, size_bytes: int) -> None:
        self._stream.seek(offset)
        pieces = []
        while size_bytes > 0 and (piece := self._stream.read(size_bytes)):
            pieces.append(piece)
            size_bytes -= len(piece)
        self._start, self._buffer = offset, b"".join(pieces)


def check_ratio(output_bytes: int, input_bytes: int) -> None:
    """Raises MemberError (BOMB) when so little input must not make so much output."""
    if output_bytes > RATIO_ALLOWANCE_BYTES + RATIO_MAX * input_bytes:
        raise MemberError(
            Reason.BOMB,
            f"{input_bytes} bytes unpack to more than {output_bytes}, over {RATIO_MAX}:1",
        )
