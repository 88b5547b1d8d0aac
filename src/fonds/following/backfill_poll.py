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

from fonds.following.backfill import (
    ATTEMPTS_MAX,
    PAGES_MAX,
    Backfill,
    BackfillPoll,
    BackfillState,
    count_failed_attempts,
    hash_url,
)
from fonds.following.listings.dates import read_moment
from fonds.following.listings.listing import Listing
from fonds.following.poll_interval import DAY_S, PollIntervals
from fonds.following.poll_request import ERROR_CHARS, INDEX, Read, SendRequest, check_kind
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import SourceRow
from fonds.model.secrets import redact_secrets

# Which entries of a page are of the days asked for: pure functions of a listing.


_ZONELESS = "-0000"


@dataclass(frozen=True, slots=True)
class SortedEntries:
    """Entries to be entered, how many are `outside` the days, and how many say no day and are left out.
    `earliest` and `latest` are the days of all that say one, None where none does."""

    entries: tuple[RssEntry, ...]
    outside: int
    undated: int
    earliest: date | None
    latest: date | None


def sort_entries(listing: Listing, backfill: Backfill) -> SortedEntries:
    """The entries of a page. One that says no day is outside where it changed last before the days."""
    inside: list[RssEntry] = []
    days = list[date]()
    outside = undated = 0
    for entry in listing.entries:
        day = _find_day(entry)
        days += [day] if day else []
        if day is not None:
            is_outside = not backfill.first <= day <= backfill.last
        else:
            is_outside = is_changed_before(listing.changed.get(entry.link or ""), backfill.first)
        if is_outside:
            outside += 1
        elif day is None and not backfill.takes_undated:
            undated += 1
        else:
            inside.append(entry)
    return SortedEntries(
        tuple(inside), outside, undated, min(days, default=None), max(days, default=None)
    )


def is_changed_before(lastmod: str | None, first: date) -> bool:
    """Whether something surely changed last before a day; a moment without a zone may be a day off."""
    moment, _ = read_moment(lastmod)
    if moment is None or lastmod is None:
        return False
    slack = 1 if lastmod.endswith(_ZONELESS) else 0
    return moment.date().toordinal() + slack < first.toordinal()


def _find_day(entry: RssEntry) -> date | None:
    """The day it was published on, in UTC; a moment without a zone is taken for UTC."""
    moment, _ = read_moment(entry.pub_date)
    return moment.date() if moment else None


PAGES_A_POLL = 20
POLL_S = 300.0
ENTRIES_A_POLL = 10_000
URL_MAX_CHARS = 300
_GONE_STATUSES = frozenset({404, 410})
_BACK = "leads back to a page that was read"


@dataclass(frozen=True, slots=True)
class BackfillPollResult:
    """What one poll of a backfill read. `entries` are those to be sifted, of the `listed` ones; `status`,
    `bytes` and `kind` are of what was read last; `problem` says what could not be read, "" for nothing.
    """

    backfill_poll: BackfillPoll
    entries: tuple[RssEntry, ...] = ()
    listed: int = 0
    status: int = 0
    bytes: int = 0
    kind: str = ""
    problem: str = ""


@dataclass(slots=True)
class _BackfillReading:
    """What was read so far in one poll. `visited_marks` are marks of all pages that were read, in this
    poll and before; `current_url` is where the next goes on, `wait_s` how long it is put off at least."""

    row: SourceRow
    backfill: Backfill
    get: SendRequest
    read: Read
    clock: Callable[[], datetime]
    began: datetime
    visited_marks: set[str]
    current_url: str
    pages: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    entries: list[RssEntry] = field(default_factory=list)
    listed: int = 0
    unread: int = 0
    sitemaps: int = 0
    outside: int = 0
    undated: int = 0
    days: list[date] = field(default_factory=list)
    state: BackfillState = BackfillState.GOING_ON
    reason: str = ""
    trouble: str = ""
    wait_s: float = 0.0
    status: int = 0
    bytes: int = 0
    kind: str = ""
    problems: list[str] = field(default_factory=list)

    def end(self, reason: str, state: BackfillState = BackfillState.ENDED) -> None:
        """It goes on no more."""
        self.state, self.reason = state, reason[: 2 * ERROR_CHARS]

    def mark_seen(self, url: str) -> None:
        """An address was seen, and leads nowhere new from now on."""
        if hash_url(url) not in self.visited_marks:
            self.visited_marks.add(hash_url(url))
            self.marks.append(hash_url(url))

    def is_full(self) -> bool:
        """Whether the rest is left to the next poll."""
        took_s = (self.clock() - self.began).total_seconds()
        asked = len(self.pages) + self.unread
        return asked >= PAGES_A_POLL or self.listed >= ENTRIES_A_POLL or took_s > POLL_S

    def is_last(self) -> bool:
        """Whether as many pages were read as one backfill may."""
        return (
            self.backfill.pages + self.backfill.unread + len(self.pages) + self.unread >= PAGES_MAX
        )


def read_older_pages(
    row: SourceRow,
    previous: Backfill,
    get: SendRequest,
    read_listing: Read,
    clock: Callable[[], datetime],
    bounds: PollIntervals,
) -> BackfillPollResult:
    """Read on where a backfill is, as far as one poll goes; nothing where a person stopped it meanwhile.
    Raises PostponedError where nothing was asked for yet."""
    trip = _BackfillReading(
        row, previous, get, read_listing, clock, clock(), set(previous.seen), previous.at
    )
    url = trip.current_url = (previous.at or row.url) if previous.is_active else ""
    try:
        while url:
            trip.current_url = url
            listing = _fetch_page(trip, url)
            if listing is None:
                trip.current_url = ""
                trip.end(f"{_shorten_url(url)} {_BACK}")
                break
            if listing.kind == INDEX:
                _read_sitemaps(trip, listing)
                break
            is_past = _collect_entries(trip, url, listing)
            url = _choose_next_page(trip, url, listing, is_past)
    except PostponedError as error:
        if not trip.marks:
            raise
        trip.wait_s = error.after_s
    except TransientError as error:
        trip.trouble = str(error)[:ERROR_CHARS]
    except PermanentError as error:
        trip.end(str(error), BackfillState.FAILED)
    return _build_result(trip, bounds)


def _fetch_page(reading: _BackfillReading, url: str) -> Listing | None:
    """The listing at an address; None where that leads to a page that was read. Raises PostponedError,
    TransientError and PermanentError, which name the address."""
    shown = _shorten_url(url)
    try:
        answer = reading.get(url, {}, TlsCheck(reading.row.tls))
        reading.status, reading.bytes = answer.status, len(answer.body)
        reading.wait_s = answer.get_requested_wait_s(reading.clock())
        if answer.status in _GONE_STATUSES:
            raise PermanentError(Reason.BAD_LISTING, f"it answers {answer.status}")
        if answer.status != 200:
            raise TransientError(f"it answers {answer.status}")
        landed = answer.url or url
        if hash_url(landed) in reading.visited_marks and hash_url(url) not in reading.visited_marks:
            return None
        listing = reading.read(answer.body, landed, answer.charset)
        check_kind(reading.row, listing)
    except PostponedError:
        raise
    except TransientError as error:
        raise TransientError(f"{shown}: {error}") from error
    except PermanentError as error:
        raise PermanentError(error.reason, f"{shown}: {error}") from error
    reading.kind = listing.kind
    if hash_url(url) not in reading.visited_marks:
        reading.pages.append(url)
    reading.mark_seen(url)
    reading.mark_seen(landed)
    return listing


def _collect_entries(reading: _BackfillReading, url: str, listing: Listing) -> bool:
    """What of a page is of the days asked for; whether all it says a day of is from before."""
    found = sort_entries(listing, reading.backfill)
    reading.entries += found.entries
    reading.listed += len(listing.entries)
    reading.outside += found.outside
    reading.undated += found.undated
    reading.days += [found.earliest] if found.earliest else []
    told = _shorten_url(url)
    reading.problems += [f"{told}: {listing.problem}"] if listing.problem else []
    reading.problems += [f"{told}: {listing.cut:,} entries beyond the limit"] if listing.cut else []
    return found.latest is not None and found.latest < reading.backfill.first


def _choose_next_page(reading: _BackfillReading, url: str, listing: Listing, is_past: bool) -> str:
    """The page that is read next in this poll; "" where it is left to the next one, or there is none."""
    shown = _shorten_url(url)
    if is_past:
        reading.end(f"all that {shown} gives a day for is from before {reading.backfill.first}")
    elif listing.is_complete:
        reading.end(f"{shown} says that it lists all there is")
    elif not listing.older:
        reading.end(f"{shown} names no older page")
    elif hash_url(listing.older) in reading.visited_marks:
        reading.end(f"{shown} {_BACK}")
    else:
        reading.current_url = listing.older
        if reading.is_last():
            reading.end(_explain_page_limit(reading))
        return "" if reading.is_last() or reading.is_full() else listing.older
    reading.current_url = ""
    return ""


def _explain_page_limit(reading: _BackfillReading) -> str:
    days = [*reading.days, *([reading.backfill.earliest] if reading.backfill.earliest else [])]
    told = f"{PAGES_MAX:,} pages were read, the most of one backfill"
    return told + (f"; another one with its last day {min(days)} goes on there" if days else "")


def _read_sitemaps(reading: _BackfillReading, index: Listing) -> None:
    """The sitemaps of an index that were not read yet, as many as one poll reads; those that changed last
    before the days asked for can hold nothing of them."""
    first = reading.backfill.first
    wanted = [url for url in index.further if not is_changed_before(index.changed.get(url), first)]
    reading.sitemaps = len(index.further) - len(wanted)
    left = [url for url in wanted if hash_url(url) not in reading.visited_marks]
    for number, url in enumerate(left):
        if reading.is_last():
            rest = f"{len(left) - number:,} sitemaps of the index were not"
            reading.end(f"{PAGES_MAX:,} pages were read, the most of one backfill; {rest}")
            return
        if reading.is_full():
            return
        try:
            listing = _fetch_page(reading, url)
        except PermanentError as error:
            reading.mark_seen(url)
            reading.unread += 1
            reading.problems.append(str(error))
            continue
        if listing is None:
            reading.mark_seen(url)
            continue
        if listing.kind == INDEX:
            reading.problems.append(f"{_shorten_url(url)}: an index within the index is not read")
        _collect_entries(reading, url, listing)
    reading.end("all sitemaps of the index were read")


def _shorten_url(url: str) -> str:
    return redact_secrets(url)[:URL_MAX_CHARS]


def _build_result(reading: _BackfillReading, bounds: PollIntervals) -> BackfillPollResult:
    attempts = count_failed_attempts(reading.backfill, reading.trouble, reading.pages)
    wait_s = min(reading.wait_s, DAY_S)
    if reading.trouble:
        wait_s = max(wait_s, min(bounds.min_s * 2.0**attempts, bounds.max_s))
        if attempts >= ATTEMPTS_MAX:
            reading.end(
                f"{reading.trouble}; {ATTEMPTS_MAX} attempts in a row failed", BackfillState.FAILED
            )
    found = BackfillPoll(
        pages=tuple(reading.pages),
        marks=tuple(reading.marks),
        unread=reading.unread,
        sitemaps=reading.sitemaps,
        outside=reading.outside,
        undated=reading.undated,
        earliest=min(reading.days, default=None),
        at=reading.current_url,
        state=reading.state,
        why=reading.reason,
        trouble=reading.trouble,
        wait_s=wait_s,
    )
    problem = "; ".join([*reading.problems, *([reading.trouble] if reading.trouble else [])])[
        :ERROR_CHARS
    ]
    return BackfillPollResult(
        found,
        tuple(reading.entries),
        reading.listed,
        reading.status,
        reading.bytes,
        reading.kind,
        problem,
    )
