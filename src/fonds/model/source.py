"""Values that SQL rows of followed sources and of rate limits store as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

import msgspec


class ListingHints(msgspec.Struct, frozen=True, kw_only=True, rename={"is_complete": "complete"}):
    """What the last listing of a source states about polling and about older entries.

    - `ttl_s`, `update_s`: seconds between two polls; None if not stated.
    - `hubs`: URLs of WebSub hubs, which announce new entries.
    - `cloud`: URL of the rssCloud server; "" if there is none.
    - `self_url`: URL that the feed states for itself.
    - `children`: number of sitemaps that a sitemap index lists.
    - `older`: URL of the page with older entries; "" if there is none, None if unknown.
    - `is_complete`: whether the listing states that it has all entries.
    """

    ttl_s: int | None = None
    update_s: int | None = None
    hubs: tuple[str, ...] = ()
    cloud: str = ""
    self_url: str = ""
    children: int = 0
    older: str | None = None
    is_complete: bool = False


class DayCounts(msgspec.Struct, frozen=True, array_like=True):
    """Counts of one source on one day: polls, failed polls, new links and refused links."""

    polls: int = 0
    failed: int = 0
    new: int = 0
    refused: int = 0


class StoredPace(msgspec.Struct, frozen=True, array_like=True):
    """Rate limit of one host or domain, as stored in the SQL table `paces`.

    - `next_at_s`: earliest time of the next request, in Unix seconds.
    - `slowdown`: factor by which refusals extend the delay between requests; 1 for none.
    - `average_s`: average response time in seconds.
    - `floor_s`: Crawl-delay of the robots.txt in seconds.
    - `failures`: number of consecutive requests without response.
    """

    next_at_s: float
    slowdown: float
    average_s: float
    floor_s: float
    failures: float


class BackfillState(StrEnum):
    """State of a backfill; the values are shown to people."""

    RUNNING = "running"
    ENDED = "ended"
    STOPPED = "stopped"
    FAILED = "failed"  # a page could not be fetched, so the pages after it are unknown


@dataclass(frozen=True, slots=True)
class Backfill:
    """Request for the older entries of a source, and its progress.

    - `first`, `last`: range of dates in UTC.
    - `takes_undated`: whether entries without a date are included.
    - `at`: URL of the next page to read; "" for the source's own listing.
    - `seen`: hashes of the URLs of pages that were read.
    - `pages`: number of pages read.
    - `unread`: number of pages that could not be read.
    - `sitemaps`: number of sitemaps of an index that were skipped because they last changed before
      `first`.
    - `entered`: number of listed entries that entered the pipeline.
    - `known`: number of listed entries whose link was listed before.
    - `refused`: number of listed entries whose link was refused.
    - `outside`: number of listed entries with a date outside the range.
    - `undated`: number of listed entries left out because they have no date.
    - `earliest`: earliest date of any entry; None if no entry has a date.
    - `attempts`: number of consecutive failures.
    - `trouble`: error of the last failure.
    - `why`: reason why the backfill ended, at `ended_at`.
    - `poll`: number of the backfill's latest poll, running or finished.
    - `due_at`: time at which the backfill continues.
    - `poll_at`: time at which the source is polled for new links; None means at the next poll.
    """

    first: date
    last: date
    takes_undated: bool
    requested_at: datetime
    requested_by: str
    due_at: datetime
    poll_at: datetime | None = None
    state: BackfillState = BackfillState.RUNNING
    at: str = ""
    seen: tuple[str, ...] = ()
    pages: int = 0
    unread: int = 0
    sitemaps: int = 0
    entered: int = 0
    known: int = 0
    refused: int = 0
    outside: int = 0
    undated: int = 0
    earliest: date | None = None
    attempts: int = 0
    trouble: str = ""
    why: str = ""
    ended_at: datetime | None = None
    poll: int = 0

    @property
    def listed(self) -> int:
        """Number of listed entries on all pages that the backfill read."""
        return self.entered + self.known + self.refused + self.outside + self.undated

    @property
    def is_active(self) -> bool:
        """Whether the backfill has not ended."""
        return self.state is BackfillState.RUNNING
