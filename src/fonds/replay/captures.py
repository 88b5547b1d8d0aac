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

from fonds.formats.surt import NONE, lookup_key, lookup_prefix, surt
from fonds.model.capture import from_datetime14
from fonds.model.rows import CdxRow
from fonds.ports import Records

ORDER = ("surt_key", "datetime")
BACKWARDS = ("-surt_key", "-datetime", "-warc_path", "-warc_offset")
PAGE_ROWS = 1000
SAME_SECOND_MAX = 100
LAST_TEXT = "\U0010ffff"
LAST_TIME = "99999999999999"
_LAST_OFFSET = 2**62


def lower14(text: str) -> str:
    """14 digits of the first second that 4 to 14 digits stand for. Raises ValueError for what is no time."""
    padded = text + "00000101000000"[len(text) :]
    if len(text) < 4 or len(text) % 2 or not text.isascii():
        raise ValueError(
            "a time is YYYY, YYYYMM, YYYYMMDD, YYYYMMDDhh, YYYYMMDDhhmm or YYYYMMDDhhmmss"
        )
    from_datetime14(padded)
    return padded


def upper14(text: str) -> str:
    """14 digits nothing that 4 to 14 digits stand for comes behind. Raises ValueError for what is no time."""
    lower14(text)
    return text + "99991231235959"[len(text) :]


class Match(StrEnum):
    """Which addresses are meant by one."""

    EXACT = "exact"
    PREFIX = "prefix"
    HOST = "host"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class Stretch:
    """SURTs that stand together: the one that is `text`, or all that begin with it."""

    text: str
    whole: bool

    @property
    def first(self) -> str:
        """The smallest lookup key there could be."""
        return lookup_key(self.text) if self.whole else lookup_prefix(self.text)

    def reaches(self, row: CdxRow) -> bool:
        """Whether the row is not beyond the stretch yet."""
        return row.surt_key == self.first if self.whole else row.surt_key.startswith(self.first)

    def holds(self, row: CdxRow) -> bool:
        """Whether the row is meant; long SURTs share their lookup keys' beginnings with others."""
        return row.surt == self.text if self.whole else row.surt.startswith(self.text)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the order of captures: behind the row with these values."""

    surt_key: str
    datetime: str
    warc_path: str
    warc_offset: int

    @classmethod
    def of(cls, row: CdxRow) -> Spot:
        """Behind a row."""
        return cls(row.surt_key, row.datetime, row.warc_path, row.warc_offset)

    def values(self) -> dict[str, object]:
        """As `Records.find` takes them."""
        return {name: getattr(self, name) for name in self.__slots__}


def before_time(key: str, datetime14: str) -> Spot:
    """Behind whatever has the key and was captured earlier."""
    return Spot(key, datetime14, "", -1)


def behind_time(key: str, datetime14: str) -> Spot:
    """Behind whatever has the key and was captured at that second or earlier."""
    return Spot(key, datetime14, LAST_TEXT, _LAST_OFFSET)


def stretches_of(url: str, match: Match) -> list[Stretch]:
    """Where the captures of what is meant stand, in their order.

    Raises ValueError for what is no address, and for a host or domain asked of one that has none.
    """
    key = surt(url)
    if key == NONE:
        raise ValueError("no address is given")
    if match is Match.EXACT:
        return [Stretch(key, whole=True)]
    if match is Match.PREFIX:
        path = url.partition("?")[0]
        ends = "/" if path.endswith("/") and "?" not in url and not key.endswith("/") else ""
        return [Stretch(key + ends, whole=False)]
    host, bracket, _ = key.partition(")")
    host, _, port = host.partition(":")
    if not bracket or not host:
        raise ValueError(f"{url} has no host")
    # `)` ends a host, `,` goes on to one of its own, `:` to a port: so they stand in the order of bytes.
    if port:
        return [Stretch(f"{host}:{port})", whole=False)]
    ends_of = "):" if match is Match.HOST else "),:"
    return [Stretch(host + end, whole=False) for end in ends_of]


def walk(
    records: Records, stretches: list[Stretch], *, after: Spot | None = None, since: str = ""
) -> Iterator[CdxRow]:
    """The captures of some stretches behind a spot, oldest first within an address, a page at a time.

    Of one address those before the 14 digits `since` are passed over without being looked at.
    """
    for stretch in stretches:
        begin = before_time(stretch.first, since if stretch.whole else "")
        if after is not None and after.surt_key >= stretch.first:
            begin = max(begin, after, key=lambda spot: tuple(spot.values().values()))
        for row in _rows(records, begin):
            if not stretch.reaches(row):
                break
            if stretch.holds(row):
                yield row


def _rows(records: Records, spot: Spot) -> Iterator[CdxRow]:
    """All captures behind a spot. Each page is a query of its own: no walk holds a transaction open."""
    size = 16
    while True:
        some = list(records.find(CdxRow, order=ORDER, after=spot.values(), count_max=size))
        yield from some
        if len(some) < size:
            return
        spot, size = Spot.of(some[-1]), min(PAGE_ROWS, 4 * size)


def of_url(records: Records, url: str, *, since: str = "") -> Iterator[CdxRow]:
    """The captures of one address, oldest first."""
    return walk(records, stretches_of(url, Match.EXACT), since=since)


def last_before(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """The newest capture of an address before a time, None when there is none."""
    key = surt(url)
    edge = before_time(lookup_key(key), datetime14)
    for row in records.find(CdxRow, order=BACKWARDS, after=edge.values(), count_max=1):
        return row if row.surt == key else None
    return None


def first_from(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """The oldest capture of an address at a time or after it, None when there is none."""
    return next(of_url(records, url, since=datetime14), None)


def nearest(records: Records, url: str, moment: datetime, datetime14: str) -> CdxRow | None:
    """The capture of an address nearest to a time, which is told both ways; of two as near the earlier."""
    found = [last_before(records, url, datetime14), first_from(records, url, datetime14)]
    near = [row for row in found if row is not None]
    return min(near, key=lambda row: abs(from_datetime14(row.datetime) - moment), default=None)


def at_second(records: Records, url: str, datetime14: str) -> CdxRow | None:
    """A capture of an address of that very second: with its spelling if there is one, else the first."""
    found: CdxRow | None = None
    for row in islice(of_url(records, url, since=datetime14), SAME_SECOND_MAX):
        if row.datetime != datetime14:
            break
        if row.url == url:
            return row
        found = found or row
    return found


def seconds_behind(records: Records, url: str, after: str, count_max: int) -> list[CdxRow]:
    """Captures of an address behind a time, the first of each second, oldest first.

    Of a second with several the others are not looked at.
    """
    key, stretches = lookup_key(surt(url)), stretches_of(url, Match.EXACT)
    spot = behind_time(key, after) if after else None
    found: list[CdxRow] = []
    while len(found) < count_max:
        some = _different_seconds(walk(records, stretches, after=spot), count_max - len(found))
        if not some:
            break
        found += some
        spot = behind_time(key, some[-1].datetime)
    return found


def _different_seconds(rows: Iterator[CdxRow], count_max: int) -> list[CdxRow]:
    """Rows up to the first that has the second of the one before it."""
    found: list[CdxRow] = []
    for row in islice(rows, count_max):
        if found and row.datetime == found[-1].datetime:
            break
        found.append(row)
    return found
