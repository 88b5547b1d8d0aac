"""Rows of stored files, their captures, WARC files, takedowns and embargoes."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from msgspec import Meta

from fonds.model.restrictions import TakedownRest


@dataclass(frozen=True, slots=True)
class FileMetaRow:
    """Row of `file_meta`: one stored file, and the first capture that contained it."""

    TABLE: ClassVar[str] = "file_meta"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    COUNTED_BY: ClassVar[tuple[str, ...]] = ("mimetype",)
    sha1hex: str
    sha256hex: str
    md5hex: str
    size_bytes: int
    mimetype: str
    capture_id: str
    row_created: dt.datetime


@dataclass(frozen=True, slots=True)
class CdxRow:
    """Row of `cdx`: a capture whose bytes are in a WARC file, identified by path and offset.

    - `warc_path`: name of the WARC file, not its current location: the bare name for a WARC file
      that Fonds wrote, else `item/file`.
    - `surt_key`: SURT of the URL in the form that an index can store (`urls/surt.py`).
    - `status`: HTTP status; None without one.
    - `mimetype`: media type; `warc/revisit` for a record without a body.
    - `capture_id`: id of the capture. The column has an index.
    """

    TABLE: ClassVar[str] = "cdx"
    KEY: ClassVar[tuple[str, ...]] = ("warc_path", "warc_offset")
    capture_id: str
    sha1hex: str
    url: str
    surt: str
    surt_key: str
    datetime: str
    mimetype: str
    status: int | None
    warc_path: str
    warc_csize: int | None
    warc_offset: int
    row_created: dt.datetime


@dataclass(frozen=True, slots=True)
class WarcFileRow:
    """Row of `warc_files`: a path or URL at which a WARC file was seen.

    - `name`: name of the WARC file, as in the column `warc_path` of the table `cdx`.
    - `path`: path or URL of the WARC file.
    - `head_sha1`: SHA-1 of the first 1,024 bytes in hex; "" if the bytes could not be read.
    - `file_name`: last component of `name`.
    """

    TABLE: ClassVar[str] = "warc_files"
    KEY: ClassVar[tuple[str, ...]] = ("name", "path")
    SEALED: ClassVar[bool] = True
    name: str
    path: str
    head_sha1: str
    row_created: dt.datetime
    file_name: str


@dataclass(frozen=True, slots=True)
class CrawlerCountRow:
    """Row of `crawler_counts`: how often a crawler captured a file before Fonds, according to cell
    `f:c` of the wide table.

    A count of 0 marks a file that no crawler recorded, and whose WARC record a CDX index assigns to
    another file. Its cell `f:c` must not be mistaken for a crawler's record.
    """

    TABLE: ClassVar[str] = "crawler_counts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    count: int


@dataclass(frozen=True, slots=True)
class TakedownRow:
    """Row of `takedowns`: a file removed from all stores.

    The file's bytes are refused from then on, and its address shows a tombstone.
    """

    TABLE: ClassVar[str] = "takedowns"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    SEALED: ClassVar[bool] = True
    sha1hex: Annotated[str, Meta(description="SHA-1 of the file")]
    reason_class: Annotated[str, Meta(description="published reason")]
    note: Annotated[str, Meta(description="who requested it and how")]
    made_by: Annotated[str, Meta(description="user who did it, as the machine names them")]
    row_created: Annotated[dt.datetime, Meta(description="when the file was first refused")]
    rest: Annotated[TakedownRest, Meta(description="work left")] = field(
        default_factory=TakedownRest
    )
    finished: Annotated[
        dt.datetime | None, Meta(description="when everything was purged; null while work is left")
    ] = None


@dataclass(frozen=True, slots=True)
class EmbargoRow:
    """Row of `embargoes`: a file that readers cannot see until a date.

    The file is stored and processed like any other.
    """

    TABLE: ClassVar[str] = "embargoes"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    SEALED: ClassVar[bool] = True
    sha1hex: Annotated[str, Meta(description="SHA-1 of the file")]
    reason_class: Annotated[str, Meta(description="published reason")]
    note: Annotated[str, Meta(description="who requested it and how")]
    until: Annotated[dt.datetime, Meta(description="planned end")]
    made_by: Annotated[str, Meta(description="user who requested it, as the machine names them")]
    row_created: Annotated[dt.datetime, Meta(description="when the file was hidden")]
    lifting: Annotated[
        dt.datetime | None,
        Meta(description="when the file became visible again; null while it is hidden"),
    ] = None
    ended: Annotated[dt.datetime | None, Meta(description="when everything was restored")] = None
