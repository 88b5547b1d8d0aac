"""Lookup of captures by URL and time, in SURT order.

Source: matchType of the Wayback Machine's CDX server; RFC 7089 (nearest in time).
Only index rows between two keys are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from fonds.model.capture import parse_datetime14
from fonds.model.rows import CdxRow
from fonds.ports import Records
from fonds.urls.surt import NONE, build_lookup_key, build_lookup_prefix, build_surt

ORDER = ("surt_key", "datetime")
REVERSE_ORDER = ("-surt_key", "-datetime", "-warc_path", "-warc_offset")
PAGE_ROWS = 1000
SAME_SECOND_MAX = 100
MAX_TEXT = "\U0010ffff"
MAX_DATETIME14 = "99999999999999"
_LAST_OFFSET = 2**62


def pad_lower14(text: str) -> str:
    """Expand 4 to 14 digits to the 14 digits of their first second.

    Raises ValueError if not a time.
    """
    padded = text + "00000101000000"[len(text) :]
    if len(text) < 4 or len(text) % 2 or not text.isascii():
        raise ValueError(
            "write a time as YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhh, YYYYMMDDhhmm or YYYYMMDDhhmmss"
        )
    parse_datetime14(padded)
    return padded


def pad_upper14(text: str) -> str:
    """Expand 4 to 14 digits to 14 digits that no time within them exceeds.

    Raises ValueError if not a time.
    """
    pad_lower14(text)
    return text + "99991231235959"[len(text) :]


class UrlMatch(StrEnum):
    """Which URLs match a given URL."""

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Range of SURT keys: the key equal to `text` if `is_exact`, otherwise all keys that begin with
    `text`.
    """

    text: str
    is_exact: bool

    @property
    def first_key(self) -> str:
        """The smallest lookup key in the range."""
        return build_lookup_key(self.text) if self.is_exact else build_lookup_prefix(self.text)

    def reaches(self, row: CdxRow) -> bool:
        """Whether the row is not past the end of the range."""
        return (
            row.surt_key == self.first_key
            if self.is_exact
            else row.surt_key.startswith(self.first_key)
        )

    def contains(self, row: CdxRow) -> bool:
        """Whether the row is in the range.

        Long SURTs share the beginnings of their lookup keys with others.
        """
        return row.surt == self.text if self.is_exact else row.surt.startswith(self.text)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position in the order of captures: just after the row with these values."""

    surt_key: str
    datetime: str
    warc_path: str
    warc_offset: int

    @classmethod
    def after_row(cls, row: CdxRow) -> Cursor:
        """Return the cursor just after a row."""
        return cls(row.surt_key, row.datetime, row.warc_path, row.warc_offset)

    def build_filter(self) -> dict[str, object]:
        """Return the values that `Records.find` takes as `after`."""
        return {name: getattr(self, name) for name in self.__slots__}


def build_cursor_before(key: str, datetime14: str) -> Cursor:
    """Return a cursor that continues with the captures of a lookup key at or after a time."""
    return Cursor(key, datetime14, "", -1)


def build_cursor_after(key: str, datetime14: str) -> Cursor:
    """Return a cursor that continues with the captures of a lookup key after a time."""
    return Cursor(key, datetime14, MAX_TEXT, _LAST_OFFSET)


def build_key_ranges(url: str, match: UrlMatch) -> list[KeyRange]:
    """Return the SURT ranges of the captures that match a URL, in order.

    Raises ValueError if `url` is empty, or if host or domain is requested of a URL without a host.
    """
    key = build_surt(url)
    if key == NONE:
        raise ValueError("no URL given")
    if match is UrlMatch.EXACT:
        return [KeyRange(key, is_exact=True)]
    if match is UrlMatch.PREFIX:
        path = url.partition("?")[0]
        ends = "/" if path.endswith("/") and "?" not in url and not key.endswith("/") else ""
        return [KeyRange(key + ends, is_exact=False)]
    host, bracket, _ = key.partition(")")
    host, _, port = host.partition(":")
    if not bracket or not host:
        raise ValueError(f"no host in {url}")
    # `)` ends a host, `,` begins a subdomain, `:` begins a port. This list follows their byte
    # order.
    if port:
        return [KeyRange(f"{host}:{port})", is_exact=False)]
    ends_of = "):" if match is UrlMatch.HOST else "),:"
    return [KeyRange(host + end, is_exact=False) for end in ends_of]


def iter_captures(
    records: Records, key_ranges: list[KeyRange], *, after: Cursor | None = None, since: str = ""
) -> Iterator[CdxRow]:
    """Iterate over the captures in some ranges after a cursor, oldest first within a URL.

    Rows are read page by page. In an exact range, captures before `since` (14 digits) are skipped
    without being read.
    """
    for key_range in key_ranges:
        start = build_cursor_before(key_range.first_key, since if key_range.is_exact else "")
        if after is not None and after.surt_key >= key_range.first_key:
            start = max(start, after, key=lambda spot: tuple(spot.build_filter().values()))
        for row in _iter_rows(records, start):
            if not key_range.reaches(row):
                break
            if key_range.contains(row):
                yield row


def _iter_rows(records: Records, cursor: Cursor) -> Iterator[CdxRow]:
    """Iterate over all captures after a cursor.

    Each page is a separate query, so no transaction stays open.
    """
    size = 16
    while True:
        page = list(records.find(CdxRow, order=ORDER, after=cursor.build_filter(), count_max=size))
        yield from page
        if len(page) < size:
            return
        cursor, size = Cursor.after_row(page[-1]), min(PAGE_ROWS, 4 * size)


def iter_url_captures(records: Records, url: str, *, since: str = "") -> Iterator[CdxRow]:
    """Iterate over the captures of one URL, oldest first."""
    return iter_captures(records, build_key_ranges(url, UrlMatch.EXACT), since=since)


def find_last_before(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """Return the newest capture of a URL before a time, or None."""
    key = build_surt(url)
    cursor = build_cursor_before(build_lookup_key(key), datetime14)
    for row in records.find(CdxRow, order=REVERSE_ORDER, after=cursor.build_filter(), count_max=1):
        return row if row.surt == key else None
    return None


def find_first_from(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """Return the oldest capture of a URL at or after a time, or None."""
    return next(iter_url_captures(records, url, since=datetime14), None)


def find_nearest(records: Records, url: str, moment: datetime, datetime14: str) -> CdxRow | None:
    """Return the capture of a URL nearest to a time. If two are equally near, return the earlier.

    `moment` and `datetime14` are the same time in two forms.
    """
    candidates = [
        find_last_before(records, url, datetime14),
        find_first_from(records, url, datetime14),
    ]
    rows = [row for row in candidates if row is not None]
    return min(rows, key=lambda row: abs(parse_datetime14(row.datetime) - moment), default=None)


def find_at_second(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """Return a capture of a URL at exactly that second.

    Prefers one with the same spelling of the URL.
    """
    first_row: CdxRow | None = None
    for row in islice(iter_url_captures(records, url, since=datetime14), SAME_SECOND_MAX):
        if row.datetime != datetime14:
            break
        if row.url == url:
            return row
        first_row = first_row or row
    return first_row


def list_seconds_after(records: Records, url: str, after: str, count_max: int) -> list[CdxRow]:
    """Return captures of a URL after a time, oldest first, one per second.

    If a second has several captures, only its first is returned.
    """
    key, key_ranges = build_lookup_key(build_surt(url)), build_key_ranges(url, UrlMatch.EXACT)
    cursor = build_cursor_after(key, after) if after else None
    rows: list[CdxRow] = []
    while len(rows) < count_max:
        page = _list_distinct_seconds(
            iter_captures(records, key_ranges, after=cursor), count_max - len(rows)
        )
        if not page:
            break
        rows += page
        cursor = build_cursor_after(key, page[-1].datetime)
    return rows


def _list_distinct_seconds(rows: Iterator[CdxRow], count_max: int) -> list[CdxRow]:
    """Return rows up to the first one with the same second as the row before it."""
    distinct_rows: list[CdxRow] = []
    for row in islice(rows, count_max):
        if distinct_rows and row.datetime == distinct_rows[-1].datetime:
            break
        distinct_rows.append(row)
    return distinct_rows
