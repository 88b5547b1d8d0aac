"""A stretch of an open file as a file of its own: a WARC stored in a ZIP without compression."""

from __future__ import annotations

import io
from typing import BinaryIO


class Window(io.RawIOBase):
    """Bytes `start` to `start + size` of `stream`, read and sought as if they were all there is."""

    def __init__(self, stream: BinaryIO, start_bytes: int, size_bytes: int) -> None:
        self._stream = stream
        self._start = start_bytes
        self._size = size_bytes
        self._at = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The position in the window, in bytes."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move within the window; past its end is allowed and reads nothing."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        """Fill `buffer` from the window."""
        self._stream.seek(self._start + self._at)
        data = self._stream.read(max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
