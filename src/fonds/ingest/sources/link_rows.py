"""Parsers of link lists: one row reader per format.

The readers limit the length of a line. A whole day of RSS may decompress to at most 200 times its
size.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fonds.following.listings.csv_tables import (
    NEED_CANONICAL_URL,
    Header,
    HistoricalRow,
    detect_header,
    find_day_in_name,
    find_epoch,
    is_ambiguous,
    parse_historical_row,
    parse_url_row,
    split_fields,
)
from fonds.following.listings.whole_day_rss import read_rss_day, read_rss_piece
from fonds.ingest.sources.text_files import (
    LINE_MAX_BYTES,
    RATIO_MAX,
    BoundedStream,
    iter_lines,
    open_unpacked,
)
from fonds.model.capture import RssEntry
from fonds.ports import Isolate

URL_LISTS, RSS_DAY, DOWNLOADS = "addresses", "whole-day", "downloads"
"""Names of the list formats: table of URLs, whole day of RSS, table of downloads of an old
system.
"""


@dataclass(frozen=True, slots=True)
class ListedLink:
    """Link from one line or item of a list.

    - `url`: URL to be fetched.
    - `entry`: what the list states about the link (such as title and date), in the form of an RSS
      entry.
    - `final_url`: URL of the page after redirects, if recorded.
    - `fetch_timestamp`: time of an earlier fetch in Unix seconds, if recorded.
    """

    url: str
    entry: RssEntry = field(default_factory=RssEntry)
    final_url: str | None = None
    fetch_timestamp: float | None = None

    @property
    def page(self) -> str | None:
        """URL of the page itself, after redirects if recorded; None if the list gives no URL of the
        page.
        """
        return None if self.final_url == NEED_CANONICAL_URL else self.final_url or self.url


Row = tuple[int, ListedLink | None]
"""Number of a line or item (from 0) and its link. The link is None if the line cannot be parsed."""

Rows = Generator[Row, None, None]


OpenIsolate = Callable[[], AbstractContextManager[Isolate]]
"""Function that starts an isolated process, which ends with the context."""


def iter_url_rows(path: Path, name: str, downloads_url: str, open_isolate: OpenIsolate) -> Rows:
    """Yield the line number and link of each line of a list of URLs. The link is None if the line
    is invalid.

    Empty lines, comments and the header are skipped. Without a header, a whole line is one URL,
    including its commas. In a file named `.csv`, the columns are split.
    """
    day, header, is_bare = find_day_in_name(name), None, False
    with closing(_iter_lines(path)) as lines:
        for number, text in lines:
            try:
                fields = [text] if is_bare else split_fields(text)
            except ValueError:
                yield number, None
                continue
            if header is None:
                header = detect_header(fields)
                if header.is_explicit:
                    continue
                is_bare = ".csv" not in name.lower() and header.columns["url"] == 0
                fields = [text] if is_bare else fields
            entry = parse_url_row(header, fields, name, day)
            yield number, ListedLink((entry.link or "").strip(), entry)


def iter_rss_items(path: Path, name: str, downloads_url: str, open_isolate: OpenIsolate) -> Rows:
    """Yield the number and link of each item in a file with a whole day of RSS. The link is None if
    the item is invalid.
    """
    unpacked_max_bytes = RATIO_MAX * max(path.stat().st_size, LINE_MAX_BYTES)
    with open_unpacked(path) as stream, open_isolate() as isolate:
        for item in read_rss_day(
            BoundedStream(stream, unpacked_max_bytes),
            name,
            find_day_in_name(name),
            partial(isolate, read_rss_piece),
        ):
            entry = item.entry
            link = None if entry is None else ListedLink((entry.link or "").strip(), entry)
            yield item.number, link


def iter_download_rows(
    path: Path, name: str, downloads_url: str, open_isolate: OpenIsolate
) -> Rows:
    """Yield the line number and link of each line of a table of downloads. The link is None if the
    line is invalid.

    A download is a page that an old system has stored. The URL to fetch is `downloads_url` followed
    by the id of the download. Without a header, each line is only an id.
    """
    day, header = find_day_in_name(name), None
    with closing(_iter_lines(path)) as lines:
        for number, text in lines:
            try:
                fields = split_fields(text)
                if header is None:
                    header = detect_header(fields)
                    if header.is_explicit:
                        continue
                    header = Header({"downloads_id": 0}, False)
                row = parse_historical_row(header, fields, name, day)
            except ValueError:
                yield number, None
                continue
            url = f"{downloads_url}/{row.downloads_id}{_build_epoch_suffix(row)}"
            yield number, ListedLink(url, row.entry, row.url, row.fetch_timestamp)


READERS: Mapping[str, Callable[[Path, str, str, OpenIsolate], Rows]] = {
    URL_LISTS: iter_url_rows,
    RSS_DAY: iter_rss_items,
    DOWNLOADS: iter_download_rows,
}
"""Row reader of each format of link lists. Arguments: path of the local file, name of the list,
URL below which downloads are stored, function that starts an isolated process.
"""


def _build_epoch_suffix(row: HistoricalRow) -> str:
    """Return the URL suffix that tells apart two downloads of the old system with the same id.

    Returns '' if the id is not ambiguous, or the time of the download is unknown.
    """
    if row.fetch_timestamp is None or not is_ambiguous(row.downloads_id):
        return ""
    epoch = find_epoch(datetime.fromtimestamp(row.fetch_timestamp, UTC))
    return f"#epoch-{epoch.name}" if epoch else ""


def _iter_lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """Yield number (from 0) and text of each line of a file, without empty lines and comments."""
    with closing(iter_lines(path)) as lines:
        for number, line in enumerate(lines):
            text = line.decode("utf-8", "replace").strip("\ufeff\t\r\n ")
            if text and not text.startswith("#"):
                yield number, text
