"""Readers of bodies in front of an archive: a memory cache, and the spool of fetched exchanges.

`BodyCache` keeps bodies that one step has read and the next will read. So a body at a URL is
fetched once, and a body in a WARC is decompressed once, however many steps read it.
`SpooledBodies` reads exchanges that are stored among the blobs until they are archived.
`LayeredArchive` combines such a reader with an archive.
"""

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
    """Interface for reading the decoded body of a capture or file from its location."""

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at a location.

        Raises DamagedInputError if the body does not have the SHA-1 `sha1hex`.
        """


class LayeredArchive:
    """Archive that reads bodies through a second reader.

    Implements the interfaces `Archive` and `WarcFiles` of `fonds.ports`. `bodies` reads the bodies;
    `archive` does everything else.
    """

    def __init__(self, archive: WarcArchive, bodies: BodyReader) -> None:
        self._archive = archive
        self._bodies = bodies

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at a location.

        Raises DamagedInputError if the body does not have the SHA-1 `sha1hex`.
        """
        return self._bodies.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Write entries (bodies to be archived, with metadata) durably to WARC files.

        Returns the location and WARC-Record-ID of each entry, in order.
        """
        return self._archive.write(entries)

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Truncate and finish the WARC files that killed processes left open. A finished file has
        its CDXJ index.

        `find_known_end` is a function that returns, for a file name, the offset at which the last
        recorded entry in the file ends, or None if no entry is recorded.
        """
        self._archive.recover(find_known_end)

    def finish(self) -> None:
        """Finish all WARC files that are open for writing."""
        self._archive.finish()

    def iter_names(self) -> Iterator[str]:
        """Yield the names of the archive's WARC files."""
        return self._archive.iter_names()

    def open(self, path: str) -> BinaryIO:
        """Open a WARC file of the archive for reading, by name or path."""
        return self._archive.open(path)

    def list_unsent(self) -> Mapping[str, int]:
        """Return the finished WARC files that are not yet uploaded: size in bytes, including the
        index, by file name.
        """
        return self._archive.list_unsent()

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """Replace each record of a file under takedown by a tombstone, in the WARC file `name`.

        `tick` is called with the number of bytes processed so far.
        """
        return self._archive.purge(name, tombstone, tick)

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """Return the size of a WARC file and the records that its CDXJ index lists, or None if the
        file does not exist.

        With `repair`, the index is rebuilt from the WARC first.
        """
        return self._archive.inspect(path, repair=repair)

    def close(self) -> None:
        """Close the underlying archive, if it can be closed."""
        close(self._archive)


CACHE_MAX_BYTES = 64 * 2**20
BODY_MAX_BYTES = 16 * 2**20
CACHE_S = 60.0


@dataclass(frozen=True, slots=True)
class _CachedBody:
    payload: Payload
    read_at_s: float


class BodyCache:
    """Memory cache of the bodies that `archive` reads. Thread-safe.

    A body read without a SHA-1 is cached until it is requested with one, or for 60 seconds. When
    the cache is full, new bodies are not cached: messages are processed in order, so the oldest
    bodies are needed next.
    """

    def __init__(self, archive: BodyReader, max_bytes: int = CACHE_MAX_BYTES) -> None:
        self._archive = archive
        self._cache_max_bytes = max_bytes
        self._lock = threading.Lock()
        self._cache: dict[Place, _CachedBody] = {}
        self._bytes = 0

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at a location, from the cache if possible.

        Only a call with a SHA-1 uses the cache, and a cached body is returned only if it has that
        SHA-1. A change of the file at the location since the first read is then not noticed.
        """
        if sha1hex is None:
            payload = self._archive.read(place)
            self._store(place, payload)
            return payload
        cached_payload = self._get(place)
        # The file may have had other content when it was first read.
        if cached_payload is not None and _hash_body(cached_payload.body) == sha1hex:
            return cached_payload
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
            cached_body = self._cache.pop(place, None)
            if cached_body is None:
                return None
            self._bytes -= len(cached_body.payload.body)
            return cached_body.payload

    def _drop_expired(self, now_s: float) -> None:
        """Remove cached bodies that were read more than 60 seconds ago. The cache is in the order
        of reading.
        """
        while self._cache:
            place, oldest = next(iter(self._cache.items()))
            if now_s - oldest.read_at_s < CACHE_S:
                return
            del self._cache[place]
            self._bytes -= len(oldest.payload.body)


def _hash_body(body: bytes) -> str:
    return hashlib.sha1(body, usedforsecurity=False).hexdigest()


FindArchived = Callable[[str], Place | None]
"""Function from a capture id to the location where the capture was archived, or None if it was not.
"""


class SpooledBodies:
    """Reads bodies of fetched exchanges from the spool, or from `archive` once they were archived.

    The spool is a part of the blob store that keeps fetched responses until they are in a WARC
    file.
    """

    def __init__(
        self, archive: BodyReader, blobs: Blobs, find_archived: FindArchived, body_max_bytes: int
    ) -> None:
        self._archive = archive
        self._blobs = blobs
        self._find_archived = find_archived
        self._body_max_bytes = body_max_bytes

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at a location. Locations outside the spool are read from
        the archive.

        An exchange that is no longer in the spool is read from the WARC file where it was archived.
        Raises PermanentError (MISSING_SOURCE) if it is in neither, and DamagedInputError if the
        body does not have the SHA-1 `sha1hex`.
        """
        if place.kind is not PlaceKind.SPOOL:
            return self._archive.read(place, sha1hex)
        blob = self._blobs.get(place.path)
        if blob is None:
            archived_place = self._find_archived(parse_spool_key(place.path))
            if archived_place is None:
                detail = f"{place.path} is no longer in the spool and was not archived"
                raise PermanentError(Reason.MISSING_SOURCE, detail)
            return self._archive.read(archived_place, sha1hex)
        payload = self._build_payload(blob)
        if sha1hex is not None and sha1(payload.body).hexdigest() != sha1hex:  # noqa: S324
            detail = f"{place.path}: the bytes have changed and no longer match {sha1hex}"
            raise DamagedInputError(Reason.DAMAGED_RECORD, detail)
        return payload

    def _build_payload(self, blob: bytes) -> Payload:
        exchange, sent_body = decode_exchange(blob)
        http = exchange.hops[-1].http
        # The transfer coding was decoded when the response was received.
        codings = [name for name in list_codings(http) if name != "chunked"]
        body = decode_body(lambda: iter([sent_body]), codings, body_max_bytes=self._body_max_bytes)
        return Payload(body, http, exchange=exchange)
