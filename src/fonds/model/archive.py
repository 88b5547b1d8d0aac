"""What the archive reads and writes: payloads out of places, records into WARC files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fonds.model.capture import Place
from fonds.model.exchange import Exchange
from fonds.model.http_head import HttpHead as HttpHead


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
class ArchiveEntry:
    """One body to be written: a `response` when `http` is known, else a `resource`.

    `metadata_json` is written as a `metadata` record beside it
    (`application/x.mediacloud-indexer+json`), None when there is none. `revisit_of` names the
    (url, captured_at) under which the same bytes were archived before: a `revisit` is written then.
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
    revisit_of: tuple[str, datetime] | None = None
    exchange: Exchange | None = None
    prefix: str = ""


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
