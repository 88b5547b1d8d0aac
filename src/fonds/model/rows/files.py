"""Rows about files and the captures that hold them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FileMetaRow:
    """`file_meta`: one file, and the capture that brought it first."""

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
    """`cdx`: one capture whose bytes lie in a WARC, known by that place.

    `warc_path` is the WARC's name (`item/file`, of ours the bare name), not where it lies now.

    `surt_key` is the SURT as an index can hold it (`urls/surt.py`), `status` the HTTP status, None where
    there is none. `mimetype` is `warc/revisit` for a record that holds no body. `capture_id` is indexed.
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
    """`warc_files`: a path or URL where the WARC lies that `cdx` calls `name`.

    `head_sha1` is the SHA-1 of its first 1,024 bytes, "" where they could not be read. `file_name` is the
    last part of the name.
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
    """`crawler_counts`: how often a crawler had met a file before Fonds, as `f:c` said then.

    0 is of a file that no crawler noted, and whose place in a WARC an index gives to another file.
    """

    TABLE: ClassVar[str] = "crawler_counts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    count: int


@dataclass(frozen=True, slots=True)
class TakedownRow:
    """`takedowns`: a file that was taken down: its bytes are refused, and a tombstone stands at its address.

    `reason_class` is one of `model/restrictions.py`; `made_by` who did it, as the machine knows that person.
    `rest` has under `documents` the ids of those that are still to be purged, under `warcs` the names of
    our WARCs that are still to be written anew; it is empty when `finished` says when everything was.
    """

    TABLE: ClassVar[str] = "takedowns"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    reason_class: str
    note: str
    made_by: str
    row_created: dt.datetime
    rest: Mapping[str, object]
    finished: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class EmbargoRow:
    """`embargoes`: a file that nobody is shown until a date, though it is kept and worked on.

    It is hidden while `lifting` is None; afterwards `lifting` is when that ended, and `ended` when all
    was back in its place. `until` is when it is to end, `reason_class` one of `model/restrictions.py`,
    `made_by` who wished it, as the machine knows that person."""

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
