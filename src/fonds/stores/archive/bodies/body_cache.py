"""Bodies that one step has just read and the next will read: kept in memory meanwhile, within bounds.

A body that lies behind a URL is so fetched once, one in a WARC unpacked once, whatever steps look at it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass

from fonds.model.archive import Payload
from fonds.model.capture import Place
from fonds.stores.archive.bodies.read_over import BodyReader

KEPT_MAX_BYTES = 64 * 2**20
BODY_MAX_BYTES = 16 * 2**20
KEPT_S = 60.0


@dataclass(frozen=True, slots=True)
class _Kept:
    payload: Payload
    read_at_s: float


class BodyCache:
    """Reads bodies of `archive`.

    What is read without a SHA-1 is kept until it is asked for with one, or for 60 seconds. When there is no
    more room nothing new is kept: messages are worked in their order, so the oldest are wanted next.
    """

    def __init__(self, archive: BodyReader, kept_max_bytes: int = KEPT_MAX_BYTES) -> None:
        self._archive = archive
        self._kept_max_bytes = kept_max_bytes
        self._lock = threading.Lock()
        self._kept: dict[Place, _Kept] = {}
        self._bytes = 0

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says; bytes that changed since the first reading are not noticed by the second."""
        if sha1hex is None:
            payload = self._archive.read(place)
            self._keep(place, payload)
            return payload
        kept = self._take(place)
        # A file may have been another when it was read first.
        if kept is not None and _sha1hex(kept.body) == sha1hex:
            return kept
        return self._archive.read(place, sha1hex)

    def _keep(self, place: Place, payload: Payload) -> None:
        size_bytes, now_s = len(payload.body), time.monotonic()
        if size_bytes > BODY_MAX_BYTES:
            return
        with self._lock:
            self._forget_old(now_s)
            if place not in self._kept and self._bytes + size_bytes <= self._kept_max_bytes:
                self._kept[place] = _Kept(payload, now_s)
                self._bytes += size_bytes

    def _take(self, place: Place) -> Payload | None:
        with self._lock:
            kept = self._kept.pop(place, None)
            if kept is None:
                return None
            self._bytes -= len(kept.payload.body)
            return kept.payload

    def _forget_old(self, now_s: float) -> None:
        """They stand in the order they were read in."""
        while self._kept:
            place, oldest = next(iter(self._kept.items()))
            if now_s - oldest.read_at_s < KEPT_S:
                return
            del self._kept[place]
            self._bytes -= len(oldest.payload.body)


def _sha1hex(body: bytes) -> str:
    return hashlib.sha1(body, usedforsecurity=False).hexdigest()
