"""What the lines and items of a list say, in each of the forms lists have.

Bound: a line is as long as its reader allows; a whole day unpacks to 200 times its size at most.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fonds.formats.listings.epochs import epoch_of, is_ambiguous
from fonds.formats.listings.tables import (
    NEED_CANONICAL_URL,
    Header,
    HistoricalRow,
    day_of_name,
    fields_of,
    header_of,
    historical_row,
    url_row,
)
from fonds.formats.listings.whole_day import read_whole_day
from fonds.model.rss_entry import RssEntry
from fonds.sources.indexes import LINE_MAX_BYTES, RATIO_MAX, lines_of, unpacked
from fonds.sources.listed.bounded import Bounded

ADDRESSES, WHOLE_DAY, DOWNLOADS = "addresses", "whole-day", "downloads"
"""What a flavour's files are: tables of addresses, whole days of RSS, tables of an old system's downloads."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a line says: `url` is what is fetched. `final_url` and `fetch_timestamp` are those of `Link`."""

    url: str
    entry: RssEntry = field(default_factory=RssEntry)
    final_url: str | None = None
    fetch_timestamp: float | None = None

    @property
    def page(self) -> str | None:
        """The address of the page, None where nobody noted it."""
        return None if self.final_url == NEED_CANONICAL_URL else self.final_url or self.url


Row = tuple[int, Listed | None]
"""A line's or item's number from 0, and what it says; None for one that cannot be understood."""

Rows = Generator[Row, None, None]


def addresses(path: Path, name: str, downloads_url: str) -> Rows:
    """The lines of a table; empty ones, comments and the header are none.

    Without a header whole lines are addresses, commas and all, but in files called `.csv`.
    """
    day, header, is_bare = day_of_name(name), None, False
    with closing(_lines(path)) as lines:
        for number, text in lines:
            try:
                fields = [text] if is_bare else fields_of(text)
            except ValueError:
                yield number, None
                continue
            if header is None:
                header = header_of(fields)
                if header.is_said:
                    continue
                is_bare = ".csv" not in name.lower() and header.columns["url"] == 0
                fields = [text] if is_bare else fields
            entry = url_row(header, fields, name, day)
            yield number, Listed((entry.link or "").strip(), entry)


def days(path: Path, name: str, downloads_url: str) -> Rows:
    """The items of a whole day of RSS."""
    bytes_max = RATIO_MAX * max(path.stat().st_size, LINE_MAX_BYTES)
    with unpacked(path) as stream:
        for item in read_whole_day(Bounded(stream, bytes_max), name, day_of_name(name)):
            entry = item.entry
            told = None if entry is None else Listed((entry.link or "").strip(), entry)
            yield item.number, told


def downloads(path: Path, name: str, downloads_url: str) -> Rows:
    """The lines of a table of downloads, which lie below `downloads_url` under their ids. Without a header
    the lines are ids alone."""
    day, header = day_of_name(name), None
    with closing(_lines(path)) as lines:
        for number, text in lines:
            try:
                fields = fields_of(text)
                if header is None:
                    header = header_of(fields)
                    if header.is_said:
                        continue
                    header = Header({"downloads_id": 0}, False)
                row = historical_row(header, fields, name, day)
            except ValueError:
                yield number, None
                continue
            url = f"{downloads_url}/{row.downloads_id}{_epoch(row)}"
            yield number, Listed(url, row.entry, row.url, row.fetch_timestamp)


READERS: Mapping[str, Callable[[Path, str, str], Rows]] = {
    ADDRESSES: addresses,
    WHOLE_DAY: days,
    DOWNLOADS: downloads,
}
"""What reads each form: of a file, what it is called, and where downloads lie."""


def _epoch(row: HistoricalRow) -> str:
    """What tells two downloads of one id apart."""
    if row.fetch_timestamp is None or not is_ambiguous(row.downloads_id):
        return ""
    epoch = epoch_of(datetime.fromtimestamp(row.fetch_timestamp, UTC))
    return f"#epoch-{epoch.name}" if epoch else ""


def _lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """The lines that say something, with their numbers."""
    with closing(lines_of(path)) as lines:
        for number, line in enumerate(lines):
            text = line.decode("utf-8", "replace").strip("\ufeff\t\r\n ")
            if text and not text.startswith("#"):
                yield number, text
