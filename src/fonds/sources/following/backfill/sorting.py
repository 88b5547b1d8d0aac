"""Which entries of a page are of the days asked for: pure functions of a listing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from fonds.formats.listings.dates import read_moment
from fonds.formats.listings.listing import Listing
from fonds.model.rss_entry import RssEntry
from fonds.sources.following.backfill.backfill import Backfill

_ZONELESS = "-0000"


@dataclass(frozen=True, slots=True)
class SortedOut:
    """Entries to be entered, how many are `outside` the days, and how many say no day and are left out.
    `earliest` and `latest` are the days of all that say one, None where none does."""

    entries: tuple[RssEntry, ...]
    outside: int
    undated: int
    earliest: date | None
    latest: date | None


def sorted_out(listing: Listing, wanted: Backfill) -> SortedOut:
    """The entries of a page. One that says no day is outside where it changed last before the days."""
    inside: list[RssEntry] = []
    days = list[date]()
    outside = undated = 0
    for entry in listing.entries:
        day = _day(entry)
        days += [day] if day else []
        if day is not None:
            is_outside = not wanted.first <= day <= wanted.last
        else:
            is_outside = changed_before(listing.changed.get(entry.link or ""), wanted.first)
        if is_outside:
            outside += 1
        elif day is None and not wanted.takes_undated:
            undated += 1
        else:
            inside.append(entry)
    return SortedOut(
        tuple(inside), outside, undated, min(days, default=None), max(days, default=None)
    )


def changed_before(lastmod: str | None, first: date) -> bool:
    """Whether something surely changed last before a day; a moment without a zone may be a day off."""
    moment, _ = read_moment(lastmod)
    if moment is None or lastmod is None:
        return False
    slack = 1 if lastmod.endswith(_ZONELESS) else 0
    return moment.date().toordinal() + slack < first.toordinal()


def _day(entry: RssEntry) -> date | None:
    """The day it was published on, in UTC; a moment without a zone is taken for UTC."""
    moment, _ = read_moment(entry.pub_date)
    return moment.date() if moment else None
