"""Read bytes of a file by offset. Also the error and output limit shared by all decompressors of
WARC members.

Limits: the first read of the file loads at least 16 KiB, each later one at least twice as much as the
one before, up to 128 KiB. So one record costs little, and a scan needs few reads.
"""

from __future__ import annotations

import io
from typing import BinaryIO

from fonds.model.disposition import Reason

INPUT_BYTES = 16 * 1024
RATIO_MAX = 200
RATIO_ALLOWANCE_BYTES = 1024 * 1024
"""Output bytes that a compressed member may have in addition to 200 times its compressed size.

Without this allowance, a short member of blanks would count as a decompression bomb.
"""

CACHE_BYTES = 128 * 1024


class MemberError(Exception):
    """Raised if a compressed part of a WARC file (such as a gzip member) cannot be decompressed any
    further.

    `reason` is DAMAGED_RECORD, TRUNCATED_RECORD or BOMB. `detail` is the error message.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class RawFile:
    """Access by offset to the bytes of a seekable file.

    The latest range that was read stays cached in memory, so that small reads are cheap.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = 0
        self._buffer = b""
        self._load_bytes = INPUT_BYTES
        self.size_bytes = stream.seek(0, io.SEEK_END)

    def read_at(self, offset: int, size_max: int) -> bytes:
        """Return up to `size_max` bytes of the file from `offset`.

        Returns fewer bytes only near the end of the file, and b"" at the end.
        """
        buffer_offset = offset - self._start
        if buffer_offset < 0 or buffer_offset + size_max > len(self._buffer):
            if (
                0 <= buffer_offset <= len(self._buffer)
                and self._start + len(self._buffer) >= self.size_bytes
            ):
                return self._buffer[buffer_offset : buffer_offset + size_max]
            self._load(offset, max(size_max, self._load_bytes))
            self._load_bytes = min(2 * self._load_bytes, CACHE_BYTES)
            buffer_offset = 0
        return self._buffer[buffer_offset : buffer_offset + size_max]

    def _load(self, offset: int, size_bytes: int) -> None:
        self._stream.seek(offset)
        pieces = []
        while size_bytes > 0 and (piece := self._stream.read(size_bytes)):
            pieces.append(piece)
            size_bytes -= len(piece)
        self._start, self._buffer = offset, b"".join(pieces)


def check_ratio(output_bytes: int, input_bytes: int) -> None:
    """Raise MemberError (BOMB) if decompressed output is too large for its compressed input.

    The limit is 200 times `input_bytes` plus 1 MiB.
    """
    if output_bytes > RATIO_ALLOWANCE_BYTES + RATIO_MAX * input_bytes:
        raise MemberError(
            Reason.BOMB,
            (
                f"{input_bytes} bytes decompress to more than {output_bytes}, a ratio above "
                f"{RATIO_MAX}:1"
            ),
        )
