"""What the archive reads and writes: payloads out of places, records into WARC files."""

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
    """A body read from its place, transfer and content codings undone.

    `size_bytes` is the length on disk where the place lies in a container (compressed), else None.
    `exchange` is that in which we fetched it, where it lies in the spool as yet.
    """

    body: bytes
    http: HttpHead | None = None
    size_bytes: int | None = None
    warc_headers: Mapping[str, str] = field(default_factory=dict)
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class OriginalCapture:
    """The capture under which bytes were archived before.

    `record_id` is that of its record, `urn:uuid:…` without brackets; None when it is not known. It may come
    from others: what is no such id is not written.
    """

    url: str
    captured_at: datetime
    record_id: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One body to be written: a `response` when `http` is known, else a `resource`.

    `metadata_json` is written as a `metadata` record beside it
    (`application/x.mediacloud-indexer+json`), None when there is none. With `original` the same bytes
    were archived before: a `revisit` is written that names it.
    With an `exchange` the request is written as well, and from where the answer came.
    `prefix` begins the name of the file it is written to, "" for the archive's own.
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
    """Where an entry lies now; durable on disk when it is returned.

    `record_id` is that of the record at `place`, `urn:uuid:…` as `f:c` has it: without brackets.
    """

    capture_id: str
    place: Place
    record_id: str


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """What a CDXJ line of one of our WARCs says of a record; `sha1hex` is the body's, "" for none told."""

    offset: int
    size_bytes: int | None
    url: str
    datetime14: str
    sha1hex: str
    is_revisit: bool


@dataclass(frozen=True, slots=True)
class WarcFileState:
    """What there is of a WARC file, by a look at the file and its index alone.

    `size_bytes` None: it lies where nobody looked. `records` are the lines of the CDXJ beside one of ours,
    None without one; `is_open` says that it is still written to or was left open, and has none yet.
    """

    size_bytes: int | None
    records: Sequence[IndexedRecord] | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """What became of a file's records in one WARC of ours: so many were replaced just now, which have
    `size_bytes` there. `waits` says in a sentence why it is not done as yet; "" when nothing of them is left.
    """

    records: int = 0
    size_bytes: int = 0
    waits: str = ""


# Bytes on their way into the blob store.


@dataclass(frozen=True, slots=True)
class Blob:
    """What is kept under a key; stores that serve it to browsers say its type."""

    key: str
    data: bytes
    content_type: str


# A body that lies in a file open for reading.


@dataclass(frozen=True, slots=True)
class OpenBody:
    """A body in a file open for reading, as an isolated process is handed it: no path, no way to write.

    `descriptor` is this process's number for it; where it was handed to, that process's own.
    """

    descriptor: int
    size_bytes: int

    def read_all(self, noun: str) -> bytes:
        """All its bytes. Raises TransientError, with `noun` they are, when not all can be read."""
        try:
            data = os.pread(self.descriptor, self.size_bytes, 0)
        except OSError as error:
            raise TransientError(f"{noun} cannot be read here: {error.strerror}") from error
        if len(data) != self.size_bytes:
            raise TransientError(f"{len(data)} of the {self.size_bytes} bytes of {noun} came here")
        return data
