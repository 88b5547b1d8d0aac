"""Captures by address and time, walked in the order of their SURTs.

Source: matchType of the Wayback Machine's CDX server; RFC 7089 (what is nearest in time).
Bound: what is walked is what lies between two keys of an index; nothing else is looked at.
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
from fonds.urls.surt import NONE, build_surt, lookup_key, lookup_prefix

ORDER = ("surt_key", "datetime")
BACKWARDS = ("-surt_key", "-datetime", "-warc_path", "-warc_offset")
PAGE_ROWS = 1000
SAME_SECOND_MAX = 100
MAX_TEXT = "\U0010ffff"
MAX_DATETIME14 = "99999999999999"
_LAST_OFFSET = 2**62


def pad_lower14(text: str) -> str:
    """14 digits of the first second that 4 to 14 digits stand for. Raises ValueError for what is no time."""
    padded = text + "00000101000000"[len(text) :]
    if len(text) < 4 or len(text) % 2 or not text.isascii():
        raise ValueError(
            "a time is YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhh, YYYYMMDDhhmm or YYYYMMDDhhmmss"
        )
    parse_datetime14(padded)
    return padded


def pad_upper14(text: str) -> str:
    """14 digits nothing that 4 to 14 digits stand for comes behind. Raises ValueError for what is no time."""
    pad_lower14(text)
    return text + "99991231235959"[len(text) :]


class UrlMatch(StrEnum):
    """Which addresses are meant by one."""

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """SURTs that stand together: the one that is `text`, or all that begin with it."""

    text: str
    is_exact: bool

    @property
    def first_key(self) -> str:
        """The smallest lookup key there could be."""
        return lookup_key(self.text) if self.is_exact else lookup_prefix(self.text)

    def reaches(self, row: CdxRow) -> bool:
        """Whether the row is not beyond the stretch yet."""
        return (
            row.surt_key == self.first_key
            if self.is_exact
            else row.surt_key.startswith(self.first_key)
        )

    def contains(self, row: CdxRow) -> bool:
        """Whether the row is meant; long SURTs share their lookup keys' beginnings with others."""
        return row.surt == self.text if self.is_exact else row.surt.startswith(self.text)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the order of captures: behind the row with these values."""

    surt_key: str
    datetime: str
    warc_path: str
    warc_offset: int

    @classmethod
    def after_row(cls, row: CdxRow) -> Cursor:
        """Behind a row."""
        return cls(row.surt_key, row.datetime, row.warc_path, row.warc_offset)

    def build_filter(self) -> dict[str, object]:
        """As `Records.find` takes them."""
        return {name: getattr(self, name) for name in self.__slots__}


def cursor_before(key: str, datetime14: str) -> Cursor:
    """Behind whatever has the key and was captured earlier."""
    return Cursor(key, datetime14, "", -1)


def cursor_after(key: str, datetime14: str) -> Cursor:
    """Behind whatever has the key and was captured at that second or earlier."""
    return Cursor(key, datetime14, MAX_TEXT, _LAST_OFFSET)


def build_key_ranges(url: str, match: UrlMatch) -> list[KeyRange]:
    """Where the captures of what is meant stand, in their order.

    Raises ValueError for what is no address, and for a host or domain asked of one that has none.
    """
    key = build_surt(url)
    if key == NONE:
        raise ValueError("no address is given")
    if match is UrlMatch.EXACT:
        return [KeyRange(key, is_exact=True)]
    if match is UrlMatch.PREFIX:
        path = url.partition("?")[0]
        ends = "/" if path.endswith("/") and "?" not in url and not key.endswith("/") else ""
        return [KeyRange(key + ends, is_exact=False)]
    host, bracket, _ = key.partition(")")
    host, _, port = host.partition(":")
    if not bracket or not host:
        raise ValueError(f"{url} has no host")
    # `)` ends a host, `,` goes on to one of its own, `:` to a port: so they stand in the order of bytes.
    if port:
        return [KeyRange(f"{host}:{port})", is_exact=False)]
    ends_of = "):" if match is UrlMatch.HOST else "),:"
    return [KeyRange(host + end, is_exact=False) for end in ends_of]


def iter_captures(
    records: Records, stretches: list[KeyRange], *, after: Cursor | None = None, since: str = ""
) -> Iterator[CdxRow]:
    """The captures of some stretches behind a spot, oldest first within an address, a page at a time.

    Of one address those before the 14 digits `since` are passed over without being looked at.
    """
    for stretch in stretches:
        begin = cursor_before(stretch.first_key, since if stretch.is_exact else "")
        if after is not None and after.surt_key >= stretch.first_key:
            begin = max(begin, after, key=lambda spot: tuple(spot.build_filter().values()))
        for row in _iter_rows(records, begin):
            if not stretch.reaches(row):
                break
            if stretch.contains(row):
                yield row


def _iter_rows(records: Records, spot: Cursor) -> Iterator[CdxRow]:
    """All captures behind a spot. Each page is a query of its own: no walk holds a transaction open."""
    size = 16
    while True:
        some = list(records.find(CdxRow, order=ORDER, after=spot.build_filter(), count_max=size))
        yield from some
        if len(some) < size:
            return
        spot, size = Cursor.after_row(some[-1]), min(PAGE_ROWS, 4 * size)


def iter_url_captures(records: Records, url: str, *, since: str = "") -> Iterator[CdxRow]:
    """The captures of one address, oldest first."""
    return iter_captures(records, build_key_ranges(url, UrlMatch.EXACT), since=since)


def find_last_before(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """The newest capture of an address before a time, None when there is none."""
    key = build_surt(url)
    edge = cursor_before(lookup_key(key), datetime14)
    for row in records.find(CdxRow, order=BACKWARDS, after=edge.build_filter(), count_max=1):
        return row if row.surt == key else None
    return None


def find_first_from(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """The oldest capture of an address at a time or after it, None when there is none."""
    return next(iter_url_captures(records, url, since=datetime14), None)


def find_nearest(records: Records, url: str, moment: datetime, datetime14: str) -> CdxRow | None:
    """The capture of an address nearest to a time, which is told both ways; of two as near the earlier."""
    found = [find_last_before(records, url, datetime14), find_first_from(records, url, datetime14)]
    near = [row for row in found if row is not None]
    return min(near, key=lambda row: abs(parse_datetime14(row.datetime) - moment), default=None)


def find_at_second(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """A capture of an address of that very second: with its spelling if there is one, else the first."""
    found: CdxRow | None = None
    for row in islice(iter_url_captures(records, url, since=datetime14), SAME_SECOND_MAX):
        if row.datetime != datetime14:
            break
        if row.url == url:
            return row
        found = found or row
    return found


def list_seconds_after(records: Records, url: str, after: str, count_max: int) -> list[CdxRow]:
    """Captures of an address behind a time, the first of each second, oldest first.

    Of a second with several the others are not looked at.
    """
    key, stretches = lookup_key(build_surt(url)), build_key_ranges(url, UrlMatch.EXACT)
    spot = cursor_after(key, after) if after else None
    found: list[CdxRow] = []
    while len(found) < count_max:
        some = _list_distinct_seconds(
            iter_captures(records, stretches, after=spot), count_max - len(found)
        )
        if not some:
            break
        found += some
        spot = cursor_after(key, some[-1].datetime)
    return found


def _list_distinct_seconds(rows: Iterator[CdxRow], count_max: int) -> list[CdxRow]:
    """Rows up to the first that has the second of the one before it."""
    found: list[CdxRow] = []
    for row in islice(rows, count_max):
        if found and row.datetime == found[-1].datetime:
            break
        found.append(row)
    return found
