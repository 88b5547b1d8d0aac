"""Parse rows of CSV files that list URLs, or download ids of the previous system (Media Cloud).

In two periods (epochs), the database of that system assigned the same ids. For such an id, `choose`
finds the stored object version that belongs to the download. Source: RFC 4180; seed document 004,
Appendix A (`csv`, `historical`); mediacloud/story-indexer, hist-fetcher (range of ids and dates).

Limits: time is linear in the length of a line, which the caller limits; a line has at most 200
fields.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from fonds.following.listings.dates import format_rfc2822, read_moment
from fonds.following.listings.listing import clean_title, clean_url
from fonds.model.capture import RssEntry

FIELDS_MAX = 200
NEED_CANONICAL_URL = "http://mediacloud.org/need_canonical_url"
"""Placeholder for a URL that must be read from the page itself."""

_URL_NAMES = ("url", "link", "address", "story_url")
_DATE_NAMES = ("pub_date", "published", "publish_date", "publication_date", "date")
_DAY = re.compile(r"(?<!\d)(\d{4})[-_]?(0[1-9]|1[0-2])[-_]?(0[1-9]|[12]\d|3[01])(?!\d)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,20}://", re.IGNORECASE)
_ID = re.compile(r"[0-9]{1,18}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}")


@dataclass(frozen=True, slots=True)
class Header:
    """Columns of a CSV table.

    - `columns`: position of each column, by name in lower case.
    - `is_explicit`: whether the first line of the file is a header.
    """

    columns: Mapping[str, int]
    is_explicit: bool


@dataclass(frozen=True, slots=True)
class HistoricalRow:
    """One download of the previous system, from a row of its table.

    - `downloads_id`: id under which the bytes of the download are stored.
    - `url`: URL of the page; NEED_CANONICAL_URL if the table has no URL.
    - `fetch_timestamp`: time of the download in Unix seconds; None without a `collect_date`.
    - `language`: language code; None if not stated.
    - `entry`: other values of the row, in the form of a feed entry.
    """

    downloads_id: int
    url: str
    fetch_timestamp: float | None
    language: str | None
    entry: RssEntry


def split_fields(line: str) -> list[str]:
    """Split a CSV line into fields.

    Raises ValueError with a message for users if the line is invalid.
    """
    try:
        rows = list(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ValueError(f"not a CSV line: {error}") from error
    fields = rows[0] if rows else []
    if len(fields) > FIELDS_MAX:
        raise ValueError(f"a line of more than {FIELDS_MAX} fields")
    return [field.strip() for field in fields]


def detect_header(fields: Sequence[str]) -> Header:
    """Detect the columns of a CSV table from its first line.

    The columns are found by their names, or by the first field that is a URL. If the line has
    neither, the first column is the URL.
    """
    names = [field.lower().lstrip("\ufeff") for field in fields]
    if "downloads_id" in names or any(name in names for name in _URL_NAMES):
        return Header({name: index for index, name in reversed(list(enumerate(names)))}, True)
    for index, field in enumerate(fields):
        if _ADDRESS.match(field):
            return Header({"url": index}, False)
    return Header({"url": 0}, False)


def parse_url_row(header: Header, fields: Sequence[str], via: str, day: str | None) -> RssEntry:
    """Convert a row of a CSV table of URLs to a feed entry. Its `link` is None if the row has no
    URL.

    - `via`: text that says where the row came from, for the entry.
    - `day`: date in the name of the file; None if there is none.
    """
    link_url = next(
        (value for name in _URL_NAMES if (value := _get_field(header, fields, name))), None
    )
    published_text = next(
        (value for name in _DATE_NAMES if (value := _get_field(header, fields, name))), None
    )
    return RssEntry(
        link=clean_url(link_url),
        title=clean_title(_get_field(header, fields, "title")),
        pub_date=format_rfc2822(published_text),
        fetch_date=day,
        source_url=clean_url(_get_field(header, fields, "source_url")),
        source_feed_id=_parse_id(_get_field(header, fields, "feed_id")),
        source_source_id=_parse_id(_get_field(header, fields, "source_id")),
        via=via,
    )


def parse_historical_row(
    header: Header, fields: Sequence[str], via: str, day: str | None
) -> HistoricalRow:
    """Convert a row of a table of the previous system to a download. Raises ValueError if the row
    has no download id.

    `via` is the origin of the row, `day` the date in the name of the file or None.
    """
    number = _parse_id(_get_field(header, fields, "downloads_id"))
    if number is None:
        raise ValueError("no downloads_id")
    moment, _ = read_moment(_get_field(header, fields, "collect_date"))
    language = _get_field(header, fields, "language")
    entry = RssEntry(
        link=str(number),
        fetch_date=day,
        source_feed_id=_parse_id(_get_field(header, fields, "feeds_id")),
        source_source_id=_parse_id(_get_field(header, fields, "media_id")),
        via=via,
    )
    return HistoricalRow(
        downloads_id=number,
        url=clean_url(_get_field(header, fields, "url")) or NEED_CANONICAL_URL,
        fetch_timestamp=moment.timestamp() if moment else None,
        language=language if language and _LANGUAGE.fullmatch(language) else None,
        entry=entry,
    )


def find_day_in_name(name: str) -> str | None:
    """Return the date in the name of a file as YYYY-MM-DD; None if there is none.

    Folders are ignored.
    """
    match = _DAY.search(PurePosixPath(name).name)
    return "-".join(match.groups()) if match else None


def _get_field(header: Header, fields: Sequence[str], name: str) -> str | None:
    index = header.columns.get(name)
    return fields[index] or None if index is not None and index < len(fields) else None


def _parse_id(text: str | None) -> int | None:
    return int(text) if text and _ID.fullmatch(text) else None


FIRST_ID, LAST_IDS = 3_211_617_605, 3_257_240_456
"""First and last of the download ids that the previous system assigned in both of two periods."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One of two periods in which the previous system stored downloads under the same, ambiguous
    ids.

    The period begins at `begin` and ends before `end` (aware times).
    """

    name: str
    begin: datetime
    end: datetime

    def contains(self, moment: datetime) -> bool:
        """Return whether an aware time is within the period, from `begin` to before `end`."""
        return self.begin <= moment < self.end


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Version of an object in an object store, such as S3.

    - `id`: id that the store gave to the version.
    - `modified`: aware time when the version was written.
    """

    id: str
    modified: datetime


EPOCHS = (
    Epoch("B", datetime(2021, 9, 15, tzinfo=UTC), datetime(2021, 11, 12, tzinfo=UTC)),
    Epoch("D", datetime(2021, 12, 26, tzinfo=UTC), datetime(2022, 1, 26, tzinfo=UTC)),
)


def is_ambiguous(downloads_id: int) -> bool:
    """Return whether the previous system assigned a download id in both of two periods (epochs)."""
    return FIRST_ID <= downloads_id <= LAST_IDS


def find_epoch(moment: datetime) -> Epoch | None:
    """Return the epoch (one of two periods with the same download ids) that contains an aware time.

    Returns None if the time is in neither.
    """
    return next((epoch for epoch in EPOCHS if epoch.contains(moment)), None)


def choose(
    downloads_id: int, collected_at: datetime | None, versions: Sequence[ObjectVersion]
) -> ObjectVersion | None:
    """Return the stored object version that holds a download; None if that is uncertain.

    - `collected_at`: aware time of the download; None if unknown.
    - `versions`: all versions stored under the download id.

    For an unambiguous id, the newest version is returned. For an ambiguous id, it is the newest
    version from the epoch that contains `collected_at`. Without `collected_at`, an ambiguous id
    must have exactly one version.
    """
    newest_first = sorted(
        versions, key=lambda version: (version.modified, version.id), reverse=True
    )
    if not is_ambiguous(downloads_id):
        return newest_first[0] if newest_first else None
    if collected_at is None:
        return newest_first[0] if len(newest_first) == 1 else None
    epoch = find_epoch(collected_at)
    epoch_versions = [
        version
        for version in newest_first
        if epoch is not None and epoch.contains(version.modified)
    ]
    return epoch_versions[0] if epoch_versions else None
