"""Read older pages of a source for a backfill, and select the entries with the requested dates.
Store nothing.

Each page of a feed names the page with older entries. An index of sitemaps lists all its sitemaps
at once, unordered. Source: RFC 5005, sections 3 and 4; JSON Feed 1.1, `next_url`; sitemaps.org
protocol 0.9, `lastmod`.

Limits: a poll stops after 20 pages, 300 s or 10,000 entries, at the end of a page. A backfill reads
at most 1,000 pages in all its polls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

from fonds.following.backfill import (
    ATTEMPTS_MAX,
    PAGES_MAX,
    count_failed_attempts,
    hash_url,
)
from fonds.following.listings.dates import read_moment
from fonds.following.listings.listing import Listing
from fonds.following.poll_interval import DAY_S, PollIntervals
from fonds.following.poll_notes import BackfillPoll
from fonds.following.poll_request import ERROR_CHARS, INDEX, Read, SendRequest, check_kind
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, PostponedError, TransientError
from fonds.model.rows import SourceRow
from fonds.model.secrets import redact_secrets
from fonds.model.source import Backfill, BackfillState

_ZONELESS = "-0000"


@dataclass(frozen=True, slots=True)
class SortedEntries:
    """Entries of one page that a backfill enters, with counts of the other entries.

    - `entries`: entries with a date in the requested range, and those without a date if they are
      requested too.
    - `outside`: number of entries with dates outside the requested range.
    - `undated`: number of entries omitted because they have no date.
    - `earliest`, `latest`: first and last date of all entries on the page; None if no entry has a
      date.
    """

    entries: tuple[RssEntry, ...]
    outside: int
    undated: int
    earliest: date | None
    latest: date | None


def sort_entries(listing: Listing, backfill: Backfill) -> SortedEntries:
    """Select the entries of a page that a backfill requests: those with a date in its range.

    Entries without a date are selected if the backfill takes them. An entry without a date counts
    as outside the range if it last changed before the range.
    """
    selected_entries: list[RssEntry] = []
    dates = list[date]()
    outside = undated_count = 0
    for entry in listing.entries:
        day = _find_day(entry)
        dates += [day] if day else []
        if day is not None:
            is_outside = not backfill.first <= day <= backfill.last
        else:
            is_outside = is_changed_before(
                listing.change_times.get(entry.link or ""), backfill.first
            )
        if is_outside:
            outside += 1
        elif day is None and not backfill.takes_undated:
            undated_count += 1
        else:
            selected_entries.append(entry)
    return SortedEntries(
        tuple(selected_entries),
        outside,
        undated_count,
        min(dates, default=None),
        max(dates, default=None),
    )


def is_changed_before(lastmod: str | None, first_day: date) -> bool:
    """Return whether a stated time of last change (`lastmod`) is certainly before `first_day`.

    A time without a zone may be off by one day, so it must be at least one day earlier.
    """
    changed_at, _ = read_moment(lastmod)
    if changed_at is None or lastmod is None:
        return False
    slack = 1 if lastmod.endswith(_ZONELESS) else 0
    return changed_at.date().toordinal() + slack < first_day.toordinal()


def _find_day(entry: RssEntry) -> date | None:
    """Return the publication date of an entry in UTC; a time without a zone counts as UTC."""
    published_at, _ = read_moment(entry.pub_date)
    return published_at.date() if published_at else None


PAGES_A_POLL = 20
POLL_S = 300.0
ENTRIES_A_POLL = 10_000
URL_MAX_CHARS = 300
_GONE_STATUSES = frozenset({404, 410})
_LOOP_REASON = "leads back to a page already read"


@dataclass(frozen=True, slots=True)
class BackfillPollResult:
    """Result of one poll of a backfill.

    - `backfill_poll`: counts and progress, in the form in which the notes of the poll store them.
    - `entries`: entries of the pages that the backfill requests, by their dates.
    - `listed`: number of all entries on the pages read.
    - `status`, `bytes`, `kind`: HTTP status, body size and listing format of the last response.
    - `problem`: describes what could not be read or was skipped; "" for nothing.
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
    """State of a poll of a backfill while the poll runs.

    - `visited_marks`: hashes of all URLs that this poll and earlier polls have read.
    - `current_url`: URL at which the next poll continues; "" for none.
    - `wait_s`: minimum seconds before the next poll, as the server requested.

    The counts and lists among the other fields become the result of the poll.
    """

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
    state: BackfillState = BackfillState.RUNNING
    reason: str = ""
    trouble: str = ""
    wait_s: float = 0.0
    status: int = 0
    bytes: int = 0
    kind: str = ""
    problems: list[str] = field(default_factory=list)

    def end(self, reason: str, state: BackfillState = BackfillState.ENDED) -> None:
        """End the backfill with the final `state`. `reason` is a sentence for people."""
        self.state, self.reason = state, reason[: 2 * ERROR_CHARS]

    def mark_seen(self, url: str) -> None:
        """Record that a URL was read, by its hash."""
        if hash_url(url) not in self.visited_marks:
            self.visited_marks.add(hash_url(url))
            self.marks.append(hash_url(url))

    def is_full(self) -> bool:
        """Return whether this poll has reached one of its limits, so that the next poll must
        continue.
        """
        elapsed_s = (self.clock() - self.began).total_seconds()
        request_count = len(self.pages) + self.unread
        return request_count >= PAGES_A_POLL or self.listed >= ENTRIES_A_POLL or elapsed_s > POLL_S

    def is_last(self) -> bool:
        """Return whether all polls of the backfill together have read 1,000 pages, the limit."""
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
    """Read further pages of a source for a backfill, as many as one poll may read.

    `previous` is the state of the backfill before the poll. Nothing is read if a person has stopped
    the backfill. A page that cannot be read ends the poll; its error is in the result. Raises
    PostponedError if no page could be requested yet.
    """
    reading = _BackfillReading(
        row, previous, get, read_listing, clock, clock(), set(previous.seen), previous.at
    )
    url = reading.current_url = (previous.at or row.url) if previous.is_active else ""
    try:
        while url:
            reading.current_url = url
            listing = _fetch_page(reading, url)
            if listing is None:
                reading.current_url = ""
                reading.end(f"{_shorten_url(url)} {_LOOP_REASON}")
                break
            if listing.kind == INDEX:
                _read_sitemaps(reading, listing)
                break
            is_past = _collect_entries(reading, url, listing)
            url = _choose_next_page(reading, url, listing, is_past)
    except PostponedError as error:
        if not reading.marks:
            raise
        reading.wait_s = error.after_s
    except TransientError as error:
        reading.trouble = str(error)[:ERROR_CHARS]
    except PermanentError as error:
        reading.end(str(error), BackfillState.FAILED)
    return _build_result(reading, bounds)


def _fetch_page(reading: _BackfillReading, url: str) -> Listing | None:
    """Fetch and parse a page, and record its URLs as read. Return None if it redirects to a page
    that was read before.

    Raises PostponedError if the page cannot be requested yet. Raises TransientError or
    PermanentError, with the URL in the message, if the page cannot be fetched or parsed.
    """
    short_url = _shorten_url(url)
    try:
        response = reading.get(url, {}, TlsCheck(reading.row.tls))
        reading.status, reading.bytes = response.status, len(response.body)
        reading.wait_s = response.get_requested_wait_s(reading.clock())
        if response.status in _GONE_STATUSES:
            raise PermanentError(
                Reason.BAD_LISTING, (f"the server responded with {response.status}")
            )
        if response.status != 200:
            raise TransientError(f"the server responded with {response.status}")
        final_url = response.url or url
        if (
            hash_url(final_url) in reading.visited_marks
            and hash_url(url) not in reading.visited_marks
        ):
            return None
        listing = reading.read(response.body, final_url, response.charset)
        check_kind(reading.row, listing)
    except PostponedError:
        raise
    except TransientError as error:
        raise TransientError(f"{short_url}: {error}") from error
    except PermanentError as error:
        raise PermanentError(error.reason, f"{short_url}: {error}") from error
    reading.kind = listing.kind
    if hash_url(url) not in reading.visited_marks:
        reading.pages.append(url)
    reading.mark_seen(url)
    reading.mark_seen(final_url)
    return listing


def _collect_entries(reading: _BackfillReading, url: str, listing: Listing) -> bool:
    """Add the requested entries of a page to the result of the poll.

    Return whether all entries with a date are from before the requested range.
    """
    selection = sort_entries(listing, reading.backfill)
    reading.entries += selection.entries
    reading.listed += len(listing.entries)
    reading.outside += selection.outside
    reading.undated += selection.undated
    reading.days += [selection.earliest] if selection.earliest else []
    short_url = _shorten_url(url)
    reading.problems += [f"{short_url}: {listing.problem}"] if listing.problem else []
    reading.problems += (
        [f"{short_url}: skipped {listing.omitted_count:,} entries beyond the limit"]
        if listing.omitted_count
        else []
    )
    return selection.latest is not None and selection.latest < reading.backfill.first


def _choose_next_page(reading: _BackfillReading, url: str, listing: Listing, is_past: bool) -> str:
    """Return the URL of the next page that this poll reads; "" if this poll reads no further page.

    If there is no older page, or the page `url` is already past the requested dates (`is_past`),
    the backfill is ended. If a limit of the poll is reached, the next poll continues.
    """
    short_url = _shorten_url(url)
    if is_past:
        reading.end(f"all dated entries of {short_url} are from before {reading.backfill.first}")
    elif listing.is_complete:
        reading.end(f"{short_url} says that it lists everything")
    elif not listing.older_url:
        reading.end(f"{short_url} has no link to an older page")
    elif hash_url(listing.older_url) in reading.visited_marks:
        reading.end(f"{short_url} {_LOOP_REASON}")
    else:
        reading.current_url = listing.older_url
        if reading.is_last():
            reading.end(_explain_page_limit(reading))
        return "" if reading.is_last() or reading.is_full() else listing.older_url
    reading.current_url = ""
    return ""


def _explain_page_limit(reading: _BackfillReading) -> str:
    dates = [*reading.days, *([reading.backfill.earliest] if reading.backfill.earliest else [])]
    text = f"read {PAGES_MAX:,} pages, the limit of one backfill"
    return text + (
        f". To continue, start another backfill with the last day {min(dates)}" if dates else ""
    )


def _read_sitemaps(reading: _BackfillReading, index: Listing) -> None:
    """Read those sitemaps of an index that no earlier poll read, up to the limits of one poll.

    Sitemaps that last changed before the requested dates are skipped: they cannot list pages of
    those dates.
    """
    first_day = reading.backfill.first
    candidates = [
        url
        for url in index.further_urls
        if not is_changed_before(index.change_times.get(url), first_day)
    ]
    reading.sitemaps = len(index.further_urls) - len(candidates)
    unvisited_urls = [url for url in candidates if hash_url(url) not in reading.visited_marks]
    for number, url in enumerate(unvisited_urls):
        if reading.is_last():
            remainder = f"{len(unvisited_urls) - number:,} sitemaps of the index remain"
            reading.end(f"read {PAGES_MAX:,} pages, the limit of one backfill; {remainder}")
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
            reading.problems.append(f"{_shorten_url(url)}: skipped an index within the index")
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
                f"{reading.trouble}; failed after {ATTEMPTS_MAX} attempts in a row",
                BackfillState.FAILED,
            )
    poll = BackfillPoll(
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
        poll,
        tuple(reading.entries),
        reading.listed,
        reading.status,
        reading.bytes,
        reading.kind,
        problem,
    )
