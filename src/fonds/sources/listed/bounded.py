"""A stream that gives no more than a number of bytes: what is packed may unpack to far more than it is."""

from __future__ import annotations

from typing import IO

from fonds.model.disposition import Reason
from fonds.model.errors import LimitError


class Bounded:
    """Reads `stream`; raises LimitError (`bomb`) when it goes on beyond `bytes_max`."""

    def __init__(self, stream: IO[bytes], bytes_max: int) -> None:
        self._stream = stream
        self._left = bytes_max
        self._bytes_max = bytes_max

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise LimitError(Reason.BOMB, f"it unpacks to more than {self._bytes_max} bytes")
        return data
