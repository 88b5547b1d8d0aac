"""Cache of bodies fetched from remote places, for steps that read the same place soon after."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha1
from tempfile import TemporaryFile
from typing import IO

from fonds.model.archive import Payload
from fonds.model.capture import Place

CACHE_MAX_BYTES = 256 * 1024**2
CACHE_COUNT_MAX = 64

_CachedFile = tuple[Payload, IO[bytes], int]


class BodyFileCache:
    """Caches the latest payloads of remote places in unnamed temporary files. Thread-safe.

    A payload is returned only to a caller that names the SHA-1 of its body. So the cache never
    hides that a place has changed.
    """

    def __init__(self, max_bytes: int = CACHE_MAX_BYTES, max_count: int = CACHE_COUNT_MAX) -> None:
        self._max_bytes = max_bytes
        self._max_count = max_count
        self._lock = threading.Lock()
        self._size_bytes = 0
        self._cache: OrderedDict[tuple[Place, str], _CachedFile] = OrderedDict()
        weakref.finalize(self, _close_files, self._cache)

    def get(self, place: Place, sha1hex: str) -> Payload | None:
        """Return the cached payload of a place if its body has this SHA-1, else None."""
        with self._lock:
            cached = self._cache.get((place, sha1hex))
            if cached is None:
                return None
            self._cache.move_to_end((place, sha1hex))
            payload, file, _ = cached
            file.seek(0)
            return replace(payload, body=file.read())

    def store(self, place: Place, payload: Payload) -> None:
        """Cache a payload and drop the oldest ones. If the disk is full, nothing is cached."""
        size_bytes = len(payload.body)
        key = (place, sha1(payload.body).hexdigest())  # noqa: S324 (a key, not a seal)
        if not 0 < size_bytes <= self._max_bytes:
            return
        with self._lock:
            if key in self._cache:
                return
            while self._cache and (
                self._size_bytes + size_bytes > self._max_bytes
                or len(self._cache) >= self._max_count
            ):
                self._drop_oldest()
            with suppress(OSError):
                file = TemporaryFile()  # noqa: SIM115 (closed when it is dropped)
                try:
                    file.write(payload.body)
                    file.flush()
                except OSError:
                    file.close()
                    return
                self._cache[key] = replace(payload, body=b""), file, size_bytes
                self._size_bytes += size_bytes

    def close(self) -> None:
        """Drop all payloads."""
        with self._lock:
            while self._cache:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (_, file, size_bytes) = self._cache.popitem(last=False)
        self._size_bytes -= size_bytes
        file.close()


def _close_files(cached: Mapping[tuple[Place, str], _CachedFile]) -> None:
    for _, file, _ in cached.values():
        file.close()
