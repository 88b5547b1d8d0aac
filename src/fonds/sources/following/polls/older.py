"""Asks for what a source listed before, page by page, and keeps what is of the days asked for; nothing is
written.

A feed names the page before each page; an index of sitemaps names all its sitemaps at once, in no order.
Source: RFC 5005, sections 3 and 4; JSON Feed 1.1, `next_url`; sitemaps.org protocol 0.9, `lastmod`.
Bound: 20 pages, 300 s and 10,000 entries a poll, and the page that was begun; 1,000 pages in all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from fonds.formats.listings.listing import Listing
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.link import TlsCheck
from fonds.model.rows import SourceRow
from fonds.model.rss_entry import RssEntry
from fonds.model.secrets import without_secrets
from fonds.sources.following.backfill.backfill import (
    ATTEMPTS_MAX,
    PAGES_MAX,
    Backfill,
    Found,
    State,
    attempts_after,
    mark,
)
from fonds.sources.following.backfill.sorting import changed_before, sorted_out
from fonds.sources.following.polls.answers import Get, Read
from fonds.sources.following.polls.looking import ERROR_CHARS, INDEX, check_kind
from fonds.sources.following.rhythm import DAY_S, Bounds

PAGES_A_POLL = 20
POLL_S = 300.0
ENTRIES_A_POLL = 10_000
URL_CHARS_SHOWN = 300
_GONE = frozenset({404, 410})
_BACK = "leads back to a page that was read"


@dataclass(frozen=True, slots=True)
class Older:
    """What one poll of a backfill read. `entries` are those to be sifted, of the `listed` ones; `status`,
    `bytes` and `kind` are of what was read last; `problem` says what could not be read, "" for nothing.
    """

    found: Found
    entries: tuple[RssEntry, ...] = ()
    listed: int = 0
    status: int = 0
    bytes: int = 0
    kind: str = ""
    problem: str = ""


@dataclass(slots=True)
class _Reading:
    """What was read so far in one poll. `met` are marks of all pages that were read, in this poll and before;
    `at` is where the next goes on, `wait_s` how long it is put off at least."""

    row: SourceRow
    was: Backfill
    get: Get
    read: Read
    clock: Callable[[], datetime]
    began: datetime
    met: set[str]
    at: str
    pages: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    entries: list[RssEntry] = field(default_factory=list)
    listed: int = 0
    unread: int = 0
    sitemaps: int = 0
    outside: int = 0
    undated: int = 0
    days: list[date] = field(default_factory=list)
    state: State = State.GOING_ON
    why: str = ""
    trouble: str = ""
    wait_s: float = 0.0
    status: int = 0
    bytes: int = 0
    kind: str = ""
    problems: list[str] = field(default_factory=list)

    def end(self, why: str, state: State = State.ENDED) -> None:
        """It goes on no more."""
        self.state, self.why = state, why[: 2 * ERROR_CHARS]

    def note(self, url: str) -> None:
        """An address was seen, and leads nowhere new from now on."""
        if mark(url) not in self.met:
            self.met.add(mark(url))
            self.marks.append(mark(url))

    def is_full(self) -> bool:
        """Whether the rest is left to the next poll."""
        took_s = (self.clock() - self.began).total_seconds()
        asked = len(self.pages) + self.unread
        return asked >= PAGES_A_POLL or self.listed >= ENTRIES_A_POLL or took_s > POLL_S

    def is_last(self) -> bool:
        """Whether as many pages were read as one backfill may."""
        return self.was.pages + self.was.unread + len(self.pages) + self.unread >= PAGES_MAX


def look_back(
    row: SourceRow,
    was: Backfill,
    get: Get,
    read: Read,
    clock: Callable[[], datetime],
    bounds: Bounds,
) -> Older:
    """Read on where a backfill is, as far as one poll goes; nothing where a person stopped it meanwhile.
    Raises PostponedError where nothing was asked for yet."""
    trip = _Reading(row, was, get, read, clock, clock(), set(was.seen), was.at)
    url = trip.at = (was.at or row.url) if was.is_going_on else ""
    try:
        while url:
            trip.at = url
            listing = _page(trip, url)
            if listing is None:
                trip.at = ""
                trip.end(f"{_shown(url)} {_BACK}")
                break
            if listing.kind == INDEX:
                _sitemaps(trip, listing)
                break
            is_past = _take(trip, url, listing)
            url = _onward(trip, url, listing, is_past)
    except PostponedError as error:
        if not trip.marks:
            raise
        trip.wait_s = error.after_s
    except TransientError as error:
        trip.trouble = str(error)[:ERROR_CHARS]
    except PermanentError as error:
        trip.end(str(error), State.FAILED)
    return _told(trip, bounds)


def _page(trip: _Reading, url: str) -> Listing | None:
    """The listing at an address; None where that leads to a page that was read. Raises PostponedError,
    TransientError and PermanentError, which name the address."""
    shown = _shown(url)
    try:
        answer = trip.get(url, {}, TlsCheck(trip.row.tls))
        trip.status, trip.bytes = answer.status, len(answer.body)
        trip.wait_s = answer.asked_s(trip.clock())
        if answer.status in _GONE:
            raise PermanentError(Reason.BAD_LISTING, f"it answers {answer.status}")
        if answer.status != 200:
            raise TransientError(f"it answers {answer.status}")
        landed = answer.url or url
        if mark(landed) in trip.met and mark(url) not in trip.met:
            return None
        listing = trip.read(answer.body, landed, answer.charset)
        check_kind(trip.row, listing)
    except PostponedError:
        raise
    except TransientError as error:
        raise TransientError(f"{shown}: {error}") from error
    except PermanentError as error:
        raise PermanentError(error.reason, f"{shown}: {error}") from error
    trip.kind = listing.kind
    if mark(url) not in trip.met:
        trip.pages.append(url)
    trip.note(url)
    trip.note(landed)
    return listing


def _take(trip: _Reading, url: str, listing: Listing) -> bool:
    """What of a page is of the days asked for; whether all it says a day of is from before."""
    found = sorted_out(listing, trip.was)
    trip.entries += found.entries
    trip.listed += len(listing.entries)
    trip.outside += found.outside
    trip.undated += found.undated
    trip.days += [found.earliest] if found.earliest else []
    told = _shown(url)
    trip.problems += [f"{told}: {listing.problem}"] if listing.problem else []
    trip.problems += [f"{told}: {listing.cut:,} entries beyond the limit"] if listing.cut else []
    return found.latest is not None and found.latest < trip.was.first


def _onward(trip: _Reading, url: str, listing: Listing, is_past: bool) -> str:
    """The page that is read next in this poll; "" where it is left to the next one, or there is none."""
    shown = _shown(url)
    if is_past:
        trip.end(f"all that {shown} gives a day for is from before {trip.was.first}")
    elif listing.is_complete:
        trip.end(f"{shown} says that it lists all there is")
    elif not listing.older:
        trip.end(f"{shown} names no older page")
    elif mark(listing.older) in trip.met:
        trip.end(f"{shown} {_BACK}")
    else:
        trip.at = listing.older
        if trip.is_last():
            trip.end(_at_most(trip))
        return "" if trip.is_last() or trip.is_full() else listing.older
    trip.at = ""
    return ""


def _at_most(trip: _Reading) -> str:
    days = [*trip.days, *([trip.was.earliest] if trip.was.earliest else [])]
    told = f"{PAGES_MAX:,} pages were read, the most of one backfill"
    return told + (f"; another one with its last day {min(days)} goes on there" if days else "")


def _sitemaps(trip: _Reading, index: Listing) -> None:
    """The sitemaps of an index that were not read yet, as many as one poll reads; those that changed last
    before the days asked for can hold nothing of them."""
    first = trip.was.first
    wanted = [url for url in index.further if not changed_before(index.changed.get(url), first)]
    trip.sitemaps = len(index.further) - len(wanted)
    left = [url for url in wanted if mark(url) not in trip.met]
    for number, url in enumerate(left):
        if trip.is_last():
            rest = f"{len(left) - number:,} sitemaps of the index were not"
            trip.end(f"{PAGES_MAX:,} pages were read, the most of one backfill; {rest}")
            return
        if trip.is_full():
            return
        try:
            listing = _page(trip, url)
        except PermanentError as error:
            trip.note(url)
            trip.unread += 1
            trip.problems.append(str(error))
            continue
        if listing is None:
            trip.note(url)
            continue
        if listing.kind == INDEX:
            trip.problems.append(f"{_shown(url)}: an index within the index is not read")
        _take(trip, url, listing)
    trip.end("all sitemaps of the index were read")


def _shown(url: str) -> str:
    return without_secrets(url)[:URL_CHARS_SHOWN]


def _told(trip: _Reading, bounds: Bounds) -> Older:
    attempts = attempts_after(trip.was, trip.trouble, trip.pages)
    wait_s = min(trip.wait_s, DAY_S)
    if trip.trouble:
        wait_s = max(wait_s, min(bounds.shortest_s * 2.0**attempts, bounds.longest_s))
        if attempts >= ATTEMPTS_MAX:
            trip.end(f"{trip.trouble}; {ATTEMPTS_MAX} attempts in a row failed", State.FAILED)
    found = Found(
        pages=tuple(trip.pages),
        marks=tuple(trip.marks),
        unread=trip.unread,
        sitemaps=trip.sitemaps,
        outside=trip.outside,
        undated=trip.undated,
        earliest=min(trip.days, default=None),
        at=trip.at,
        state=trip.state,
        why=trip.why,
        trouble=trip.trouble,
        wait_s=wait_s,
    )
    problem = "; ".join([*trip.problems, *([trip.trouble] if trip.trouble else [])])[:ERROR_CHARS]
    return Older(
        found, tuple(trip.entries), trip.listed, trip.status, trip.bytes, trip.kind, problem
    )
