"""Disk cache of bodies fetched from remote locations, for steps that read one body shortly after
another step.
"""

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
    """Caches the latest bodies from remote locations in unnamed temporary files. Thread-safe.

    A body is returned only to a caller that names its SHA-1. So the cache never hides that the
    remote file has changed.
    """

    def __init__(self, max_bytes: int = CACHE_MAX_BYTES, max_count: int = CACHE_COUNT_MAX) -> None:
        self._max_bytes = max_bytes
        self._max_count = max_count
        self._lock = threading.Lock()
        self._size_bytes = 0
        self._cache: OrderedDict[tuple[Place, str], _CachedFile] = OrderedDict()
        weakref.finalize(self, _close_files, self._cache)

    def get(self, place: Place, sha1hex: str) -> Payload | None:
        """Return the cached payload of a remote location if its body has the SHA-1 `sha1hex`, else
        None.
        """
        with self._lock:
            cached_file = self._cache.get((place, sha1hex))
            if cached_file is None:
                return None
            self._cache.move_to_end((place, sha1hex))
            payload, file, _ = cached_file
            file.seek(0)
            return replace(payload, body=file.read())

    def store(self, place: Place, payload: Payload) -> None:
        """Cache the payload of a remote location, and drop the oldest payloads if the cache is
        full.

        If the disk is full, or the body is empty or larger than the cache, nothing is cached.
        """
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
        """Drop all cached payloads and close their temporary files."""
        with self._lock:
            while self._cache:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (_, file, size_bytes) = self._cache.popitem(last=False)
        self._size_bytes -= size_bytes
        file.close()


def _close_files(cached_files: Mapping[tuple[Place, str], _CachedFile]) -> None:
    for _, file, _ in cached_files.values():
        file.close()
