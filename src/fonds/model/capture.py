"""A capture: one place and time a file was seen; and the place its bytes lie in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from fonds.model.disposition import Reason
from fonds.model.record_offset import record_place
from fonds.model.rights import Statement

# Where a story was found. Field names and types of seed 004.


@dataclass(frozen=True, slots=True)
class RssEntry:
    """Where the story was found; forensic but for `link` and `pub_date` (RFC 2822).

    `rights`, which is ours, is what the entry and its feed state about the use of the story.
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
"""The type a CDX line of a record has that holds no body."""


class PlaceKind(StrEnum):
    """What has to be opened to get at the bytes."""

    FILE = "file"  # the whole file is the body
    WARC = "warc"  # a WARC or ARC record at an offset of the file, plain, gzip or zstd
    ZIP = "zip"  # a member of a ZIP
    REPLAY = "replay"  # a capture that a web archive replays
    PETABOX = "petabox"  # a file of an item of the Internet Archive
    SPOOL = "spool"  # an exchange of ours among the blobs, until it is archived


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body's bytes lie, exactly enough to read them again.

    `path` is absolute, an http(s) or s3 URL (without user or keys), the bare name of a WARC of ours, or the
    name of another's (`item/file`); by a name the archive finds the file wherever it lies. Of a replay it is
    `YYYYMMDDhhmmss/URL`, in petabox `ITEM/PATH`, in the spool the blob's key.
    `offset` and `size_bytes` are those of the record on disk (compressed); `size_bytes` None means
    unknown. `member` is the name inside a ZIP. `name` is what an index or task calls the WARC
    (`item/file`), None where nothing else names it.
    """

    kind: PlaceKind
    path: str
    offset: int = 0
    size_bytes: int | None = None
    member: str | None = None
    name: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.kind is PlaceKind.WARC:
            return record_place(self.path, self.offset)
        if self.kind is PlaceKind.ZIP:
            return f"{self.path}#{self.member}"
        return self.path


@dataclass(frozen=True, slots=True)
class Capture:
    """One body as a source found it; the message every road begins with.

    `id` is the same whenever the same place is read again: it identifies the message from the source
    to the end. `input_id` names the input (one WARC, one ZIP, one file). `captured_at` is aware UTC.
    `record_type` is the WARC record's (`response`, `resource`, `revisit`, `conversion`) or `file`.
    `status` is the HTTP status where there is one, `mime` the declared type, `digest` the declared
    SHA-1 in base32. `damage` and
    `damage_reason` are set when the source already saw that nothing can be read there. `rss_entry` is where
    it was found, of what was fetched. `crawler` is the User-Agent that fetched it, as its WARC says,
    "" where it does not.
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
        """Nothing yet: its file is not known."""
        return ""

    @property
    def datetime14(self) -> str:
        """The capture's time as CDX files write it: YYYYMMDDhhmmss in UTC."""
        return format_datetime14(self.captured_at)


def format_datetime14(moment: datetime) -> str:
    """YYYYMMDDhhmmss in UTC of an aware time."""
    utc = moment.astimezone(UTC)
    # strftime writes the years before 1000 with fewer digits.
    return f"{utc.year:04d}{utc:%m%d%H%M%S}"


def parse_datetime14(text: str) -> datetime:
    """The aware UTC time of 14 digits. Raises ValueError for anything else."""
    if len(text) != 14 or not text.isascii() or not text.isdigit():
        raise ValueError(f"not a 14-digit time: {text!r}")
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
