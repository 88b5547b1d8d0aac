"""Data that is read from and written to the WARC archive, and the state of its WARC files."""

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
    """Body of a capture, read from its location, with transfer and content codings removed.

    - `body`: decoded bytes.
    - `http`: HTTP status line and headers; None if the location does not store them.
    - `size_bytes`: compressed length on disk of the record in its container (WARC or ZIP); None if
      the body is not in a container.
    - `warc_headers`: headers of the WARC record; an empty mapping outside WARC files.
    - `exchange`: HTTP exchange in which Fonds fetched the body; None once the body has left the
      spool, the folder for fetched pages that are not archived yet.
    """

    body: bytes
    http: HttpHead | None = None
    size_bytes: int | None = None
    warc_headers: Mapping[str, str] = field(default_factory=dict)
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class OriginalCapture:
    """Earlier capture whose bytes equal those of a new capture.

    `record_id` is the id of the WARC record of the earlier capture, `urn:uuid:…` without brackets;
    None if unknown. Other programs may have set it, so it can be malformed; a malformed id is not
    written.
    """

    url: str
    captured_at: datetime
    record_id: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """Body to write to a WARC file, as a `response` record if `http` is set, else as a `resource`
    record.

    - `metadata_json`: JSON that is written next to the body as a `metadata` record
      (`application/x.mediacloud-indexer+json`); None to write none.
    - `original`: earlier capture of the same bytes. If set, a `revisit` record that refers to it is
      written instead of the body.
    - `exchange`: HTTP exchange. If set, the request and the IP address of the server are written
      too.
    - `prefix`: start of the WARC file's name; "" for the default of the archive.
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
    """Location of a WARC record that was written and is durable on disk.

    - `capture_id`: id of the archived capture.
    - `place`: location of the record.
    - `record_id`: id of the record, `urn:uuid:…` without brackets.
    """

    capture_id: str
    place: Place
    record_id: str


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """Record in the CDXJ index of a WARC file that Fonds wrote.

    - `offset`: position of the record in the WARC file, in bytes.
    - `size_bytes`: compressed size of the record; None if the index does not state it.
    - `datetime14`: capture time, YYYYMMDDhhmmss in UTC.
    - `sha1hex`: SHA-1 of the record's body in hex; "" if the index does not state it.
    - `status`: HTTP status; None without one.
    """

    offset: int
    size_bytes: int | None
    url: str
    datetime14: str
    sha1hex: str
    is_revisit: bool
    status: int | None = None


@dataclass(frozen=True, slots=True)
class WarcFileState:
    """State of a WARC file, found from the file and its CDXJ index alone.

    - `size_bytes`: size of the file; None if Fonds cannot access its location.
    - `records`: lines of the CDXJ index next to a WARC file that Fonds wrote; None without an
      index.
    - `is_open`: whether a process is writing the file, or stopped without closing it. An open file
      has no index.
    """

    size_bytes: int | None
    records: Sequence[IndexedRecord] | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """Result of purging the records of one removed file from a WARC file that Fonds wrote.

    - `records`: number of records that this purge replaced.
    - `size_bytes`: total size of the replaced records.
    - `waiting_reason`: sentence that explains why the purge is not complete; "" if no record is
      left.
    """

    records: int = 0
    size_bytes: int = 0
    waiting_reason: str = ""


@dataclass(frozen=True, slots=True)
class Blob:
    """Key and bytes of one object in the blob store.

    `content_type` is the media type, which a store that serves blobs to browsers sends.
    """

    key: str
    data: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class OpenBody:
    """Open file with the body of a capture, as passed to an isolated process.

    The isolated process gets no path and no write access. `descriptor` is the file descriptor in
    the current process; the isolated process has a descriptor of its own.
    """

    descriptor: int
    size_bytes: int

    def read_all(self, noun: str) -> bytes:
        """Return all bytes of the body.

        Raises TransientError if reading fails or returns fewer than `size_bytes` bytes. `noun`
        names the body in the error message.
        """
        try:
            data = os.pread(self.descriptor, self.size_bytes, 0)
        except OSError as error:
            raise TransientError(f"cannot read {noun}: {error.strerror}") from error
        if len(data) != self.size_bytes:
            raise TransientError(f"read only {len(data)} of the {self.size_bytes} bytes of {noun}")
        return data
