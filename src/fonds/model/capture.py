"""Captures (one file seen at one place and time), and the locations of their bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from fonds.model.disposition import Reason
from fonds.model.record_offset import format_record_place
from fonds.model.rights import Statement


@dataclass(frozen=True, slots=True)
class RssEntry:
    """Feed entry in which a story was found, with field names and types of seed 004.

    Only `link` and `pub_date` (RFC 2822) are used; the rest is forensic.
    `rights` is our addition: what the entry and its feed state about the use of the story.
    """

    link: str | None = None
    title: str | None = None
    domain: str | None = None
    pub_date: str | None = None
    fetch_date: str | None = None
    source_url: str | None = None
    source_feed_id: int | None = None
    source_source_id: int | None = None
    via: str | None = None
    rights: tuple[Statement, ...] = ()


REVISIT_MIME = "warc/revisit"
"""MIME type in the CDX line of a record without a body."""


class PlaceKind(StrEnum):
    """Kind of container that holds the bytes."""

    FILE = "file"  # the whole file is the body
    WARC = "warc"  # a WARC or ARC record at an offset of the file, plain, gzip or zstd
    ZIP = "zip"  # a member of a ZIP
    REPLAY = "replay"  # a capture that a web archive replays
    PETABOX = "petabox"  # a file of an item of the Internet Archive
    SPOOL = "spool"  # an exchange in the blob store, until it is archived


@dataclass(frozen=True, slots=True)
class Place:
    """Location of a body's bytes, exact enough to read them again.

    - `path`: an absolute path, an http(s) or s3 URL (without user or keys), the bare name of one of
      our WARCs, or the name of another WARC (`item/file`). The archive finds named files in any
      location. For a replay it is `YYYYMMDDhhmmss/URL`, in petabox `ITEM/PATH`, in the spool the
      blob's key.
    - `offset`, `size_bytes`: those of the record on disk (compressed); `size_bytes` None means
      unknown.
    - `member`: name inside a ZIP.
    - `name`: name of the WARC in an index or task (`item/file`), None without one.
    """

    kind: PlaceKind
    path: str
    offset: int = 0
    size_bytes: int | None = None
    member: str | None = None
    name: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.kind is PlaceKind.WARC:
            return format_record_place(self.path, self.offset)
        if self.kind is PlaceKind.ZIP:
            return f"{self.path}#{self.member}"
        return self.path


@dataclass(frozen=True, slots=True)
class Capture:
    """Body as a source found it; the first message in a pipeline.

    - `id`: the same whenever the same location is read again; it identifies the message through all
      steps.
    - `input_id`: the input it was found in (one WARC, one ZIP, one file).
    - `captured_at`: aware UTC.
    - `record_type`: that of the WARC record (`response`, `resource`, `revisit`, `conversion`) or
      `file`.
    - `status`: HTTP status, if there is one.
    - `mime`, `digest`: the declared type, and the declared SHA-1 in base32.
    - `damage`, `damage_reason`: set if the source found that nothing can be read there.
    - `rss_entry`: the feed entry of a fetched page.
    - `crawler`: User-Agent named in the WARC, "" without one.
    """

    id: str
    input_id: str
    place: Place
    url: str
    captured_at: datetime
    record_type: str
    collection: str = "default"
    mime: str | None = None
    status: int | None = None
    digest: str | None = None
    damage: str | None = None
    damage_reason: Reason | None = None
    rss_entry: RssEntry | None = None
    crawler: str = ""

    @property
    def about(self) -> str:
        """Empty: the file is not known yet."""
        return ""

    @property
    def datetime14(self) -> str:
        """Capture time as in CDX files: YYYYMMDDhhmmss in UTC."""
        return format_datetime14(self.captured_at)


def format_datetime14(moment: datetime) -> str:
    """Format an aware time as YYYYMMDDhhmmss in UTC."""
    utc = moment.astimezone(UTC)
    # strftime writes years before 1000 with fewer digits.
    return f"{utc.year:04d}{utc:%m%d%H%M%S}"


def parse_datetime14(text: str) -> datetime:
    """Parse 14 digits to an aware UTC time. Raises ValueError for anything else."""
    if len(text) != 14 or not text.isascii() or not text.isdigit():
        raise ValueError(f"not a 14-digit timestamp: {text!r}")
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
