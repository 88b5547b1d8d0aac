"""Rows of link lists: parse the lines or items of each format, and sample them.

Line length is bounded by its reader. A whole day of RSS unpacks to at most 200 times its size.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import IO

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
from fonds.following.listings.whole_day_rss import read_rss_day
from fonds.ingest.sources.indexes import LINE_MAX_BYTES, RATIO_MAX, iter_lines, open_unpacked
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError


class BoundedStream:
    """Reads `stream`; raises LimitError (`bomb`) after `max_bytes`. Compressed data may unpack to
    far more than its size.
    """

    def __init__(self, stream: IO[bytes], max_bytes: int) -> None:
        self._stream = stream
        self._remaining_bytes = max_bytes
        self._max_bytes = max_bytes

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes; none at the end."""
        data = self._stream.read(size)
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            raise LimitError(Reason.BOMB, (f"it decompresses to more than {self._max_bytes} bytes"))
        return data


URL_LISTS, RSS_DAY, DOWNLOADS = "addresses", "whole-day", "downloads"
"""Formats of a list: tables of URLs, whole days of RSS, tables of downloads of an old system."""


@dataclass(frozen=True, slots=True)
class ListedLink:
    """The link of a line; `url` is fetched. `final_url` and `fetch_timestamp` are those of `Link`."""

    url: str
    entry: RssEntry = field(default_factory=RssEntry)
    final_url: str | None = None
    fetch_timestamp: float | None = None

    @property
    def page(self) -> str | None:
        """Return the URL of the page; None if it was not recorded."""
        return None if self.final_url == NEED_CANONICAL_URL else self.final_url or self.url


Row = tuple[int, ListedLink | None]
"""Number of a line or item from 0, and its link; None if it cannot be parsed."""

Rows = Generator[Row, None, None]


def iter_url_rows(path: Path, name: str, downloads_url: str) -> Rows:
    """Yield the lines of a table, except empty lines, comments and the header.

    Without a header a whole line is a URL, including commas, except in files named `.csv`.
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


def iter_rss_items(path: Path, name: str, downloads_url: str) -> Rows:
    """Yield the items of a whole day of RSS."""
    bytes_max = RATIO_MAX * max(path.stat().st_size, LINE_MAX_BYTES)
    with open_unpacked(path) as stream:
        for item in read_rss_day(BoundedStream(stream, bytes_max), name, find_day_in_name(name)):
            entry = item.entry
            link = None if entry is None else ListedLink((entry.link or "").strip(), entry)
            yield item.number, link


def iter_download_rows(path: Path, name: str, downloads_url: str) -> Rows:
    """Yield the lines of a table of downloads. Each lies below `downloads_url` under its id.

    Without a header a line is only an id.
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


READERS: Mapping[str, Callable[[Path, str, str], Rows]] = {
    URL_LISTS: iter_url_rows,
    RSS_DAY: iter_rss_items,
    DOWNLOADS: iter_download_rows,
}
"""Row reader of each format. It takes a file, its name, and the location of downloads."""


def _build_epoch_suffix(row: HistoricalRow) -> str:
    """Return the URL suffix that distinguishes two downloads with one id."""
    if row.fetch_timestamp is None or not is_ambiguous(row.downloads_id):
        return ""
    epoch = find_epoch(datetime.fromtimestamp(row.fetch_timestamp, UTC))
    return f"#epoch-{epoch.name}" if epoch else ""


def _iter_lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """Yield the lines with content, with their numbers."""
    with closing(iter_lines(path)) as lines:
        for number, line in enumerate(lines):
            text = line.decode("utf-8", "replace").strip("\ufeff\t\r\n ")
            if text and not text.startswith("#"):
                yield number, text


@dataclass(slots=True)
class LinkSample:
    """Which of the links are taken: a sample in percent, and a maximum number for this run."""

    percent: float = 100.0
    count_max: int | None = None
    taken_count: int = 0
    is_done: bool = False

    def is_full(self) -> bool:
        """Return whether the maximum for this run is reached."""
        return self.count_max is not None and self.taken_count >= self.count_max

    def is_sampled(self, url: str) -> bool:
        """Return whether a URL is in the sample; always the same for one percentage."""
        if self.percent >= 100.0:
            return True
        chance = sha1(url.encode("utf-8", "replace")).digest()  # noqa: S324 (for sampling, not security)
        return int.from_bytes(chance[:8]) < self.percent / 100.0 * 2**64
