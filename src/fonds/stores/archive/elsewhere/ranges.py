"""Files elsewhere as seekable streams, fetched in blocks: a record is read without the rest of its file."""

from __future__ import annotations

import io
from typing import BinaryIO, Protocol, cast

from fonds.model.disposition import Reason
from fonds.model.errors import LimitError

_BLOCK_BYTES = 256 * 1024
_BLOCK_BYTES_MAX = 4 * 1024 * 1024


class Ranges(Protocol):
    """Files of which parts are fetched, as `Remote` says."""

    def fetch(self, url: str, start: int, size_bytes: int, /) -> tuple[bytes, int]:
        """As `Remote.fetch`."""


class Remote(Protocol):
    """Files behind the URLs of one scheme.

    Both methods raise PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) and TransientError; their
    messages hold no keys and need not name the URL.
    """

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """The bytes from `start` on, at most `size_bytes` (at least 1), and the whole file's length.

        Raises DamagedInputError (DAMAGED_RECORD) when the file ends before `start`.
        """

    def whole(self, url: str, bytes_max: int) -> bytes:
        """The whole file. Raises LimitError (TOO_LARGE) when it has more than `bytes_max`."""


def open_ranges(
    remote: Ranges, url: str, offset: int, size_bytes: int | None, *, bytes_max: int
) -> BinaryIO:
    """The file as a seekable stream; the first request asks for `size_bytes` from `offset` on.

    Here and while reading: what `Remote.fetch` raises, and LimitError (TOO_LARGE) when more than
    `bytes_max` had to be fetched.
    """
    return cast(BinaryIO, _RangeFile(remote, url, offset, size_bytes, bytes_max))


class _RangeFile(io.RawIOBase):
    """What is asked for is fetched in blocks that grow, the last of which is kept."""

    def __init__(
        self, remote: Ranges, url: str, offset: int, size_bytes: int | None, bytes_max: int
    ) -> None:
        super().__init__()
        self._remote = remote
        self._url = url
        self._bytes_max = bytes_max
        self._fetched_bytes = 0
        self._block_bytes = min(size_bytes or _BLOCK_BYTES, _BLOCK_BYTES_MAX)
        self._size_bytes = 0
        self._position = offset
        self._load(max(1, self._block_bytes))

    def _load(self, size_bytes: int) -> None:
        self._block_start = self._position
        self._block, self._size_bytes = self._remote.fetch(self._url, self._position, size_bytes)
        self._fetched_bytes += len(self._block)
        if self._fetched_bytes > self._bytes_max:
            raise LimitError(Reason.TOO_LARGE, f"more than {self._bytes_max} bytes for one record")

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size_bytes - self._position)
        if size == 0 or left == 0:
            return b""
        within = self._position - self._block_start
        if not 0 <= within < len(self._block):
            self._load(min(left, self._block_bytes))
            self._block_bytes = min(self._block_bytes * 2, _BLOCK_BYTES_MAX)
            within = 0
        piece = self._block[within : within + size] if size > 0 else self._block[within:]
        self._position += len(piece)
        return piece
