"""What the archive reads and writes: payloads out of places, records into WARC files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.message import Message as Headers

from fonds.model.capture import Place


@dataclass(frozen=True, slots=True)
class HttpHead:
    """Status line and headers of an HTTP response as they stand in a record; header names as written."""

    status: int
    status_line: str
    headers: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str | None:
        """The first header of this name, whatever its case."""
        lowered = name.lower()
        return next((value for key, value in self.headers if key.lower() == lowered), None)

    @property
    def charset(self) -> str | None:
        """The charset parameter of the Content-Type, as the server wrote it."""
        declared = self.get("content-type")
        if not declared:
            return None
        headers = Headers()
        headers["Content-Type"] = declared.encode("ascii", "replace").decode()
        charset = headers.get_param("charset")
        return charset if isinstance(charset, str) and charset else None


@dataclass(frozen=True, slots=True)
class Payload:
    """A body read from its place, transfer and content codings undone.

    `size_bytes` is the length on disk where the place lies in a container (compressed), else None.
    """

    body: bytes
    http: HttpHead | None = None
    size_bytes: int | None = None
    warc_headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One body to be written: a `response` when `http` is known, else a `resource`.

    `metadata_json` is written as a `metadata` record beside it
    (`application/x.mediacloud-indexer+json`), None when there is none. `revisit_of` names the
    (url, captured_at) under which the same bytes were archived before: a `revisit` is written then.
    """

    capture_id: str
    url: str
    captured_at: datetime
    mime: str
    body: bytes
    http: HttpHead | None = None
    metadata_json: bytes | None = None
    revisit_of: tuple[str, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Archived:
    """Where an entry lies now; durable on disk when it is returned."""

    capture_id: str
    place: Place


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
class Held:
    """What there is of a WARC file, by a look at the file and its index alone.

    `size_bytes` None: it lies where nobody looked. `records` are the lines of the CDXJ beside one of ours,
    None without one; `is_open` says that it is still written to or was left open, and has none yet.
    """

    size_bytes: int | None
    records: Sequence[IndexedRecord] | None = None
    is_open: bool = False
