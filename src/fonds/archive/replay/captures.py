"""Look up captures by URL and time in the SQL table `cdx`, in the order of SURT and time.

Source: matchType of the Wayback Machine's CDX server; RFC 7089 (nearest in time).
A lookup reads only the rows between two index keys.
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
    """Expand a timestamp of 4 to 14 digits to the 14 digits of its first second.

    `2020` becomes `20200101000000`. Raises ValueError if `text` is not a time.
    """
    padded_text = text + "00000101000000"[len(text) :]
    if len(text) < 4 or len(text) % 2 or not text.isascii():
        raise ValueError(
            "write a time as YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhh, YYYYMMDDhhmm or YYYYMMDDhhmmss"
        )
    parse_datetime14(padded_text)
    return padded_text


def pad_upper14(text: str) -> str:
    """Expand a timestamp of 4 to 14 digits to 14 digits that no time within its period exceeds.

    `202002` becomes `20200231235959`. Raises ValueError if `text` is not a time.
    """
    pad_lower14(text)
    return text + "99991231235959"[len(text) :]


class UrlMatch(StrEnum):
    """Which captured URLs match the URL of a query: the same URL, its prefix, its host, or its
    domain.

    A domain match includes the subdomains.
    """

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Range of SURTs in the capture index.

    If `is_exact`, the range is the single SURT `text`. Otherwise it is all SURTs that begin with
    `text`.
    """

    text: str
    is_exact: bool

    @property
    def first_key(self) -> str:
        """Smallest lookup key in the SURT range. A lookup key is the SURT of a URL, cut if it is
        too long for the database.
        """
        return build_lookup_key(self.text) if self.is_exact else build_lookup_prefix(self.text)

    def reaches(self, row: CdxRow) -> bool:
        """Return whether a capture's row, read in key order, is not yet past the end of this SURT
        range.
        """
        return (
            row.surt_key == self.first_key
            if self.is_exact
            else row.surt_key.startswith(self.first_key)
        )

    def contains(self, row: CdxRow) -> bool:
        """Return whether the full SURT of a capture's row is in this SURT range.

        Lookup keys alone do not decide, because long SURTs with the same beginning share one lookup
        key.
        """
        return row.surt == self.text if self.is_exact else row.surt.startswith(self.text)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position in the ordered list of captures: just after the row with these values.

    The order is by lookup key, time, WARC name and record offset.
    """

    surt_key: str
    datetime: str
    warc_path: str
    warc_offset: int

    @classmethod
    def after_row(cls, row: CdxRow) -> Cursor:
        """Return the cursor just after the row of a capture."""
        return cls(row.surt_key, row.datetime, row.warc_path, row.warc_offset)

    def build_filter(self) -> dict[str, object]:
        """Return the column values for the argument `after` of `Records.find`, to continue after
        the cursor.
        """
        return {name: getattr(self, name) for name in self.__slots__}


def build_cursor_before(key: str, datetime14: str) -> Cursor:
    """Return the cursor with which a query finds the captures of one lookup key at a time (14
    digits) or later.
    """
    return Cursor(key, datetime14, "", -1)


def build_cursor_after(key: str, datetime14: str) -> Cursor:
    """Return the cursor with which a query finds the captures of one lookup key after a time (14
    digits).
    """
    return Cursor(key, datetime14, MAX_TEXT, _LAST_OFFSET)


def build_key_ranges(url: str, match: UrlMatch) -> list[KeyRange]:
    """Return the SURT ranges, in index order, that contain all captures whose URLs match `url`.

    Raises ValueError if `url` is empty, or if a host or domain match is requested for a URL without
    a host.
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
    """Iterate over the captures in SURT ranges after a cursor, oldest first within a URL.

    Rows are read page by page. In the range of a single SURT, captures before `since` (14 digits)
    are skipped without being read.
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
    """Iterate over the rows of all captures after a cursor, in the order of lookup key and time.

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
    """Iterate over the captures of one URL, oldest first, from the time `since` (14 digits; "" for
    all).
    """
    return iter_captures(records, build_key_ranges(url, UrlMatch.EXACT), since=since)


def find_last_before(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """Return the newest capture of a URL before a time (14 digits), or None."""
    key = build_surt(url)
    cursor = build_cursor_before(build_lookup_key(key), datetime14)
    for row in records.find(CdxRow, order=REVERSE_ORDER, after=cursor.build_filter(), count_max=1):
        return row if row.surt == key else None
    return None


def find_first_from(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """Return the oldest capture of a URL at or after a time (14 digits), or None."""
    return next(iter_url_captures(records, url, since=datetime14), None)


def find_nearest(records: Records, url: str, moment: datetime, datetime14: str) -> CdxRow | None:
    """Return the capture of a URL nearest to a time, or None if the URL has no captures.

    If two captures are equally near, the earlier one is returned. `moment` and `datetime14` are the
    same time in two forms.
    """
    candidates = [
        find_last_before(records, url, datetime14),
        find_first_from(records, url, datetime14),
    ]
    rows = [row for row in candidates if row is not None]
    return min(rows, key=lambda row: abs(parse_datetime14(row.datetime) - moment), default=None)


def find_at_second(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """Return a capture of a URL at exactly the second `datetime14`, or None.

    Captures of URLs with different spellings can share one SURT. A capture whose URL is spelled
    like `url` is preferred.
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
    """Return up to `count_max` captures of a URL after a time, oldest first, at most one per
    second.

    `after` has 14 digits; "" means from the start. If a second has several captures, only the first
    is returned.
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
    """Return captures up to the first one that has the same second as the capture before it.

    At most `count_max` captures are returned.
    """
    distinct_rows: list[CdxRow] = []
    for row in islice(rows, count_max):
        if distinct_rows and row.datetime == distinct_rows[-1].datetime:
            break
        distinct_rows.append(row)
    return distinct_rows
