"""Rows of files, captures, WARC files, takedowns and embargoes."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

from fonds.model.restrictions import TakedownRest


@dataclass(frozen=True, slots=True)
class FileMetaRow:
    """`file_meta`: a file, and the capture that first contained it."""

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
    """`cdx`: a capture whose bytes are in a WARC, identified by that location.

    - `warc_path`: name of the WARC (`item/file`, for ours the bare name), not its current location.
    - `surt_key`: SURT as an index can store it (`urls/surt.py`).
    - `status`: HTTP status, None without one.
    - `mimetype`: `warc/revisit` for a record without a body.
    - `capture_id`: indexed.
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
    """`warc_files`: path or URL of the WARC that `cdx` calls `name`.

    `head_sha1` is the SHA-1 of its first 1,024 bytes, "" if they could not be read. `file_name` is
    the last part of the name.
    """

    TABLE: ClassVar[str] = "warc_files"
    KEY: ClassVar[tuple[str, ...]] = ("name", "path")
    name: str
    path: str
    head_sha1: str
    row_created: dt.datetime
    file_name: str


@dataclass(frozen=True, slots=True)
class CrawlerCountRow:
    """`crawler_counts`: number of times a crawler saw a file before Fonds, according to `f:c`.

    0 marks a file that no crawler recorded, and whose location in a WARC an index assigns to
    another file.
    """

    TABLE: ClassVar[str] = "crawler_counts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    count: int


@dataclass(frozen=True, slots=True)
class TakedownRow:
    """`takedowns`: a removed file: its bytes are refused, and its address shows a tombstone.

    - `reason_class`: one of `model/restrictions.py`.
    - `made_by`: the user who did it, as the machine names them.
    - `rest`: work left.
    - `finished`: when everything was purged; `rest` is then empty.
    """

    TABLE: ClassVar[str] = "takedowns"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    reason_class: str
    note: str
    made_by: str
    row_created: dt.datetime
    rest: TakedownRest = field(default_factory=TakedownRest)
    finished: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class EmbargoRow:
    """`embargoes`: a file hidden from readers until a date, although it is stored and processed.

    - `lifting`: None while the file is hidden, then the time it became visible.
    - `ended`: when everything was restored.
    - `until`: planned end.
    - `reason_class`: one of `model/restrictions.py`.
    - `made_by`: the user who requested it, as the machine names them.
    """

    TABLE: ClassVar[str] = "embargoes"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    reason_class: str
    note: str
    until: dt.datetime
    made_by: str
    row_created: dt.datetime
    lifting: dt.datetime | None = None
    ended: dt.datetime | None = None
