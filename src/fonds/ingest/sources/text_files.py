"""Read text files that may be compressed with gzip: by line or by byte, with limits."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from pathlib import Path
from typing import IO, cast

from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

LINE_MAX_BYTES = 64 * 1024
RATIO_MAX = 200
"""Maximum size of decompressed data, as a multiple of the size of the file."""

GZIP_MAGIC = b"\x1f\x8b"


def iter_lines(path: Path) -> Generator[bytes, None, None]:
    """Yield the lines of a file without their line ends. A file compressed with gzip is
    decompressed.

    A line over 64 KiB is split into several lines. Raises LimitError (`bomb`) if the file
    decompresses to more than 200 times its size, and EOFError, zlib.error or gzip.BadGzipFile if it
    is damaged.
    """
    size_max_bytes, size_bytes = max(LINE_MAX_BYTES, RATIO_MAX * path.stat().st_size), 0
    with open_unpacked(path) as stream:
        while line := stream.readline(LINE_MAX_BYTES):
            size_bytes += len(line)
            if size_bytes > size_max_bytes:
                detail = f"the file decompresses to more than {RATIO_MAX} times its size"
                raise LimitError(Reason.BOMB, detail)
            yield line.rstrip(b"\r\n")


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading. If it is compressed with gzip, reads return the decompressed bytes.

    The caller must limit how many bytes it reads.
    """
    with path.open("rb") as stream:
        is_packed = stream.read(2) == GZIP_MAGIC
    return cast(IO[bytes], gzip.open(path, "rb") if is_packed else path.open("rb"))


class BoundedStream:
    """Stream that raises LimitError (`bomb`) once more than `max_bytes` bytes are read from
    `stream`.

    It protects against compressed files that decompress to far more than their size.
    """

    def __init__(self, stream: IO[bytes], max_bytes: int) -> None:
        self._stream = stream
        self._remaining_bytes = max_bytes
        self._max_bytes = max_bytes

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes. Return empty bytes at the end of the stream."""
        data = self._stream.read(size)
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            raise LimitError(Reason.BOMB, (f"it decompresses to more than {self._max_bytes} bytes"))
        return data
