"""Captures and the locations of their bytes.

A capture is one observation of a file: its URL, its time, and the location of its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from fonds.model.disposition import Reason
from fonds.model.record_offset import format_record_place
from fonds.model.rights import Statement


@dataclass(frozen=True, slots=True)
class RssEntry:
    """Feed entry in which a story was found; field names and types are those of seed 004.

    - `link`: URL of the story.
    - `pub_date`: publication date in the format of RFC 2822.
    - `rights`: licences, rights holders and usage preferences that the entry and its feed state.
      This field is an addition to seed 004.

    Fonds uses only `link`, `pub_date` and `rights`; the other fields are kept as provenance.
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
"""MIME type that a CDX line states for a revisit record, which has no body."""


class PlaceKind(StrEnum):
    """Kind of container that holds the bytes of a file."""

    FILE = "file"  # the whole file is the body
    WARC = "warc"  # a WARC or ARC record at an offset of the file, plain, gzip or zstd
    ZIP = "zip"  # a member of a ZIP
    REPLAY = "replay"  # a capture that a web archive replays
    PETABOX = "petabox"  # a file of an item of the Internet Archive
    SPOOL = "spool"  # an exchange in the blob store, until it is archived


@dataclass(frozen=True, slots=True)
class Place:
    """Location of the bytes of a file, exact enough to read the bytes again.

    - `kind`: kind of container.
    - `path`: depends on `kind`. For a file, WARC or ZIP: an absolute path, an http(s) or s3 URL
      without credentials, the bare name of a WARC file that Fonds wrote, or the name of another
      WARC file (`item/file`). The archive searches its folders for WARC files given by name. For a
      web archive replay: `YYYYMMDDhhmmss/URL`. For the Internet Archive's petabox: `ITEM/PATH`. For
      the spool: the key in the blob store.
    - `offset`: position of the record on disk, in bytes.
    - `size_bytes`: compressed size of the record on disk; None if unknown.
    - `member`: name of the member in a ZIP file; None for other kinds.
    - `name`: name of the WARC file in a CDX index or task (`item/file`); None if the WARC file has
      no such name.
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


DAMAGE = "damage"
"""Record type of a capture that reports damage in a container, such as a WARC."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Observation of a file by a source: URL, time and location of the bytes.

    A capture is the payload of the first message in a pipeline.

    - `id`: identifier of the message through all steps. Reading the same location again gives the
      same id.
    - `input_id`: id of the input (one WARC, ZIP or loose file) that contains the capture.
    - `captured_at`: capture time, aware UTC.
    - `record_type`: type of the WARC record (`response`, `resource`, `revisit`, `conversion`),
      `file` outside WARC files, or `damage`.
    - `mime`: declared media type; None if not declared.
    - `status`: HTTP status; None without an HTTP response.
    - `digest`: declared SHA-1 in base32; None if not declared.
    - `damage`: sentence that explains why the bytes cannot be read; None if the source found no
      damage.
    - `damage_reason`: reason from the closed list, set together with `damage`.
    - `rss_entry`: feed entry in which a fetched page was found; None for other captures.
    - `crawler`: User-Agent that the WARC file names; "" if it names none.
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
        """Subject of a message with this capture: always "", because the SHA-1 of the file is not
        known yet.
        """
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
    """Parse a time of 14 digits (YYYYMMDDhhmmss in UTC) to an aware UTC datetime.

    Raises ValueError if `text` is not 14 digits or not a valid time.
    """
    if len(text) != 14 or not text.isascii() or not text.isdigit():
        raise ValueError(f"not a 14-digit timestamp: {text!r}")
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
