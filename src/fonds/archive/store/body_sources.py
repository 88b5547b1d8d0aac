"""An archive whose bodies are read in another way than by itself: out of the spool, out of memory."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import BinaryIO, Protocol

from fonds.model.archive import ArchivedRecord, ArchiveEntry, Payload, PurgeResult, WarcFileState
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, PermanentError
from fonds.model.restrictions import Tombstone
from fonds.ports import Blobs, WarcArchive
from fonds.ports.stores import close
from fonds.text.coding import decode_body, list_codings
from fonds.text.exchange import decode_exchange, parse_spool_key


class BodyReader(Protocol):
    """Reads bodies as the port Archive says."""

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """The body at a place."""


class LayeredArchive:
    """Implements the ports Archive and WarcFiles: bodies come from `bodies`, all else from `archive`."""

    def __init__(self, archive: WarcArchive, bodies: BodyReader) -> None:
        self._archive = archive
        self._bodies = bodies

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says."""
        return self._bodies.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """As the port says."""
        return self._archive.write(entries)

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """As the port says."""
        self._archive.recover(find_known_end)

    def finish(self) -> None:
        """As the port says."""
        self._archive.finish()

    def iter_names(self) -> Iterator[str]:
        """As the port says."""
        return self._archive.iter_names()

    def open(self, path: str) -> BinaryIO:
        """As the port says."""
        return self._archive.open(path)

    def list_unsent(self) -> Mapping[str, int]:
        """As the port says."""
        return self._archive.list_unsent()

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """As the port says."""
        return self._archive.purge(name, tombstone, tick)

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """As the port says."""
        return self._archive.inspect(path, repair=repair)

    def close(self) -> None:
        """Close the archive below, where it can be closed."""
        close(self._archive)


# Bodies that one step has just read and the next will read: kept in memory meanwhile, within bounds.
#
# A body that lies behind a URL is so fetched once, one in a WARC unpacked once, whatever steps look at it.


CACHE_MAX_BYTES = 64 * 2**20
BODY_MAX_BYTES = 16 * 2**20
CACHE_S = 60.0


@dataclass(frozen=True, slots=True)
class _CachedBody:
    payload: Payload
    read_at_s: float


class BodyCache:
    """Reads bodies of `archive`.

    What is read without a SHA-1 is kept until it is asked for with one, or for 60 seconds. When there is no
    more room nothing new is kept: messages are worked in their order, so the oldest are wanted next.
    """

    def __init__(self, archive: BodyReader, max_bytes: int = CACHE_MAX_BYTES) -> None:
        self._archive = archive
        self._cache_max_bytes = max_bytes
        self._lock = threading.Lock()
        self._cache: dict[Place, _CachedBody] = {}
        self._bytes = 0

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says; bytes that changed since the first reading are not noticed by the second."""
        if sha1hex is None:
            payload = self._archive.read(place)
            self._store(place, payload)
            return payload
        kept = self._get(place)
        # A file may have been another when it was read first.
        if kept is not None and _hash_body(kept.body) == sha1hex:
            return kept
        return self._archive.read(place, sha1hex)

    def _store(self, place: Place, payload: Payload) -> None:
        size_bytes, now_s = len(payload.body), time.monotonic()
        if size_bytes > BODY_MAX_BYTES:
            return
        with self._lock:
            self._drop_expired(now_s)
            if place not in self._cache and self._bytes + size_bytes <= self._cache_max_bytes:
                self._cache[place] = _CachedBody(payload, now_s)
                self._bytes += size_bytes

    def _get(self, place: Place) -> Payload | None:
        with self._lock:
            kept = self._cache.pop(place, None)
            if kept is None:
                return None
            self._bytes -= len(kept.payload.body)
            return kept.payload

    def _drop_expired(self, now_s: float) -> None:
        """They stand in the order they were read in."""
        while self._cache:
            place, oldest = next(iter(self._cache.items()))
            if now_s - oldest.read_at_s < CACHE_S:
                return
            del self._cache[place]
            self._bytes -= len(oldest.payload.body)


def _hash_body(body: bytes) -> str:
    return hashlib.sha1(body, usedforsecurity=False).hexdigest()


# Exchanges that lie among the blobs until they are archived, read as any other place, then and later.


FindArchived = Callable[[str], Place | None]
"""Where the capture of this id was archived; None while it was not."""


class SpooledBodies:
    """Reads what lies among the blobs of the spool, or in `archive` once that has it."""

    def __init__(
        self, archive: BodyReader, blobs: Blobs, archived_at: FindArchived, body_max_bytes: int
    ) -> None:
        self._archive = archive
        self._blobs = blobs
        self._find_archived = archived_at
        self._body_max_bytes = body_max_bytes

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says. What the spool has forgotten lies in a WARC, and is read there."""
        if place.kind is not PlaceKind.SPOOL:
            return self._archive.read(place, sha1hex)
        blob = self._blobs.get(place.path)
        if blob is None:
            there = self._find_archived(parse_spool_key(place.path))
            if there is None:
                told = f"{place.path} is in the spool no more, and was not archived"
                raise PermanentError(Reason.MISSING_SOURCE, told)
            return self._archive.read(there, sha1hex)
        payload = self._build_payload(blob)
        if sha1hex is not None and sha1(payload.body).hexdigest() != sha1hex:  # noqa: S324
            told = f"{place.path}: the bytes here are no longer those of {sha1hex}"
            raise DamagedInputError(Reason.DAMAGED_RECORD, told)
        return payload

    def _build_payload(self, blob: bytes) -> Payload:
        exchange, sent = decode_exchange(blob)
        http = exchange.hops[-1].http
        # The transfer coding was undone when it came in.
        codings = [name for name in list_codings(http) if name != "chunked"]
        body = decode_body(lambda: iter([sent]), codings, body_max_bytes=self._body_max_bytes)
        return Payload(body, http, exchange=exchange)
