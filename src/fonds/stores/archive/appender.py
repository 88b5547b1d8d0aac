"""Bytes appended to a file so that a failed write can be taken back to the byte."""

from __future__ import annotations

import os
from pathlib import Path

_PENDING_BYTES_MAX = 256 * 1024


class Appender:
    """The end of an open file. Nothing but `cut` loses bytes; a failed write leaves all of it undecided."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pending = bytearray()
        self._written_bytes = 0

    def write(self, data: bytes) -> int:
        """Append; on the disk after `sync` only. Raises OSError."""
        self._pending += data
        if len(self._pending) >= _PENDING_BYTES_MAX:
            self.flush()
        return len(data)

    def tell(self) -> int:
        """The length in bytes, what is pending included."""
        return self._written_bytes + len(self._pending)

    def flush(self) -> None:
        """Hand everything to the operating system. Raises OSError."""
        while self._pending:
            written_bytes = os.write(self._descriptor, self._pending)
            self._written_bytes += written_bytes
            del self._pending[:written_bytes]

    def sync(self) -> None:
        """Everything is on the disk when this returns. Raises OSError."""
        self.flush()
        os.fsync(self._descriptor)

    def cut(self, size_bytes: int) -> None:
        """Go back to an earlier length. Raises OSError."""
        self._pending.clear()
        os.ftruncate(self._descriptor, size_bytes)
        os.lseek(self._descriptor, size_bytes, os.SEEK_SET)
        self._written_bytes = size_bytes
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file; what is pending is given up."""
        os.close(self._descriptor)


def sync_folder(folder: Path) -> None:
    """Names made or taken away in a folder are on the disk when this returns. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
