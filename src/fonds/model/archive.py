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
class Original:
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
    (`application/x.mediacloud-indexer+json`), None when there is none. With `revisit_of` the same bytes
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
    revisit_of: Original | None = None
    exchange: Exchange | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Archived:
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
class Held:
    """What there is of a WARC file, by a look at the file and its index alone.

    `size_bytes` None: it lies where nobody looked. `records` are the lines of the CDXJ beside one of ours,
    None without one; `is_open` says that it is still written to or was left open, and has none yet.
    """

    size_bytes: int | None
    records: Sequence[IndexedRecord] | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Purged:
    """What became of a file's records in one WARC of ours: so many were replaced just now, which have
    `size_bytes` there. `waits` says in a sentence why it is not done as yet; "" when nothing of them is left.
    """

    records: int = 0
    size_bytes: int = 0
    waits: str = ""
