"""Payloads that the archive reads, records that it writes, and the state of its WARC files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fonds.model.capture import Place
from fonds.model.errors import TransientError
from fonds.model.exchange import Exchange, HttpHead


@dataclass(frozen=True, slots=True)
class Payload:
    """Body read from its location, with transfer and content codings decoded.

    `size_bytes` is the compressed length on disk if the location is in a container, else None.
    `exchange` is the one in which Fonds fetched the body, while it is in the spool.
    """

    body: bytes
    http: HttpHead | None = None
    size_bytes: int | None = None
    warc_headers: Mapping[str, str] = field(default_factory=dict)
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class OriginalCapture:
    """Capture under which the same bytes were archived before.

    `record_id` is the id of its record, `urn:uuid:…` without brackets; None if unknown. It may come
    from other programs; malformed ids are not written.
    """

    url: str
    captured_at: datetime
    record_id: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """Body to write: a `response` if `http` is known, else a `resource`.

    - `metadata_json`: written next to it as a `metadata` record
      (`application/x.mediacloud-indexer+json`).
    - `original`: earlier capture of the same bytes; a `revisit` that refers to it is written
      instead.
    - `exchange`: adds the request and the address of the server.
    - `prefix`: start of the name of the WARC file, "" for the archive's default.
    """

    capture_id: str
    url: str
    captured_at: datetime
    mime: str
    body: bytes
    http: HttpHead | None = None
    metadata_json: bytes | None = None
    original: OriginalCapture | None = None
    exchange: Exchange | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class ArchivedRecord:
    """Location of a written entry; it is durable on disk.

    `record_id` is the id of the record at `place`, `urn:uuid:…` without brackets, as in `f:c`.
    """

    capture_id: str
    place: Place
    record_id: str


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """Record in the CDXJ of one of our WARCs; `sha1hex` is that of the body, "" if missing."""

    offset: int
    size_bytes: int | None
    url: str
    datetime14: str
    sha1hex: str
    is_revisit: bool


@dataclass(frozen=True, slots=True)
class WarcFileState:
    """State of a WARC file, from the file and its index alone.

    - `size_bytes`: None if the file is where Fonds cannot look.
    - `records`: lines of the CDXJ next to one of our WARCs, None without one.
    - `is_open`: whether it is being written or was left open; it then has no index.
    """

    size_bytes: int | None
    records: Sequence[IndexedRecord] | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """Result of purging a file's records from one of our WARCs.

    `records` were replaced now; they have `size_bytes` in total. `waiting_reason` is a sentence that
    explains why the purge is not complete; "" if no record is left.
    """

    records: int = 0
    size_bytes: int = 0
    waiting_reason: str = ""


@dataclass(frozen=True, slots=True)
class Blob:
    """Value of a key in the blob store. Stores that serve it to browsers send its type."""

    key: str
    data: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class OpenBody:
    """Body in a file open for reading, as passed to an isolated process: no path, no write access.

    `descriptor` is the file descriptor in this process; the receiving process has its own.
    """

    descriptor: int
    size_bytes: int

    def read_all(self, noun: str) -> bytes:
        """Return all bytes. Raises TransientError, which names `noun`, if some cannot be read."""
        try:
            data = os.pread(self.descriptor, self.size_bytes, 0)
        except OSError as error:
            raise TransientError(f"cannot read {noun}: {error.strerror}") from error
        if len(data) != self.size_bytes:
            raise TransientError(f"read only {len(data)} of the {self.size_bytes} bytes of {noun}")
        return data
