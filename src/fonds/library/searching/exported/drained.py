"""A file that is read as it is written, for libraries that write to one."""

from __future__ import annotations

import io
from typing import Any


class Drained(io.RawIOBase):
    """What Parquet, a ZIP or a WARC is written to, taken out again as it comes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size_bytes = 0

    def writable(self) -> bool:
        """It always is."""
        return True

    def tell(self) -> int:
        """How many bytes were written, those that were taken too."""
        return self._size_bytes

    def write(self, data: Any) -> int:
        """Keep a copy until it is taken."""
        self._pieces.append(bytes(data))
        self._size_bytes += len(self._pieces[-1])
        return len(self._pieces[-1])

    def taken(self) -> bytes:
        """What was written since the last time."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken
