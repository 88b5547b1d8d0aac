"""Compute the interval until a source is polled again. All functions are pure.

The interval is half of the average time between new links. A new link therefore waits a quarter of
that time on average. The interval is shorter if new links could push older ones out of the listing
before the next poll. For this the number of new links in the last poll counts too, because the
listing of a source that becomes active would overflow long before the average changes. The interval
is within the configured limits, but longer for dead sources (7 days) and if a server requests it.
An API that keeps all entries has a fixed interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from math import exp, inf

from fonds.following.health import is_dead
from fonds.model.rows import SourceRow

DAY_S = 86_400.0
MEMORY_S = 7 * DAY_S
"""Time constant of the average number of new links per day, in seconds. The links of a poll this
long ago count about a third.
"""
UNKNOWN_S = 3_600.0
GAP_SHARE = 0.5
WINDOW_SHARE = 0.5
JITTER = 0.1
HINT_MAX_S = DAY_S
API = "rss-fetcher"
DEAD_S = 7 * DAY_S
GAP_MIN_S = 60.0


@dataclass(frozen=True, slots=True)
class PollIntervals:
    """Limits of the time between two polls of a source.

    - `min_s`, `max_s`: minimum and maximum seconds.
    - `api_s`: seconds between two polls of an rss-fetcher API, which keeps all entries.
    """

    min_s: float = 900.0
    max_s: float = DAY_S
    api_s: float = 3_600.0


def compute_interval_s(
    row: SourceRow,
    bounds: PollIntervals,
    now: datetime,
    requested_wait_s: float = 0.0,
    recent_day: float = 0.0,
) -> float:
    """Return the seconds until the next poll of a source. `row` is its database row after the last
    poll.

    - `bounds`: configured limits.
    - `requested_wait_s`: minimum wait that the server requested (Retry-After); at most a day
      counts.
    - `recent_day`: new links per day, computed from the last poll alone (`compute_recent_rate`).
    """
    floor_s = max(bounds.min_s, min(requested_wait_s, DAY_S))
    if row.failures:
        if is_dead(row, now):
            return max(DEAD_S, floor_s) * _compute_jitter(row)
        doubled_s = bounds.min_s * 2.0 ** min(row.failures, 20)
        longest_s = bounds.api_s if row.kind == API else bounds.max_s
        return max(floor_s, min(doubled_s, longest_s) * _compute_jitter(row))
    interval_s = (
        bounds.api_s if row.kind == API else _compute_natural_interval_s(row, bounds, recent_day)
    )
    return max(floor_s, interval_s * _compute_jitter(row))


def compute_recent_rate(new: int, known_count: int, elapsed_s: float) -> float:
    """Return the number of new links per day, computed from one poll.

    - `new`: number of new links that the poll found.
    - `known_count`: number of links in its listing that were known.
    - `elapsed_s`: seconds since the previous poll.

    The result is infinite if all links of the listing are new, because the listing may have omitted
    further links.
    """
    if new and not known_count:
        return inf
    return new * DAY_S / max(elapsed_s, GAP_MIN_S)


def _compute_natural_interval_s(row: SourceRow, bounds: PollIntervals, recent_day: float) -> float:
    """Return the interval in seconds that suits a source's number of new links per day, without
    regard to failures.

    It is within the configured limits, and not below the interval that the listing requests, of
    which at most a day counts.
    """
    hint_s = max(row.hints.ttl_s or 0, row.hints.update_s or 0) if row.hints else 0
    minimum_s = max(bounds.min_s, min(hint_s, HINT_MAX_S))
    if row.rate_day is None:
        interval_s = UNKNOWN_S
    elif row.rate_day <= 0:
        interval_s = bounds.max_s
    else:
        interval_s = max(GAP_SHARE * DAY_S / row.rate_day, bounds.min_s)
    fastest = max(row.rate_day or 0.0, recent_day)
    window_s = WINDOW_SHARE * DAY_S / fastest * max(1, row.listed) if fastest else inf
    return max(minimum_s, min(interval_s, window_s, bounds.max_s))


def update_rate(rate_day: float | None, new: int, elapsed_s: float) -> float:
    """Return the average number of new links per day after one more poll. The weight of older polls
    decays exponentially.

    - `rate_day`: average before the poll; None if unknown.
    - `new`: number of new links that the poll found.
    - `elapsed_s`: seconds since the previous poll.
    """
    elapsed_s = max(elapsed_s, GAP_MIN_S)
    recent_rate = new * DAY_S / elapsed_s
    if rate_day is None:
        return recent_rate
    weight = exp(-elapsed_s / MEMORY_S)
    return rate_day * weight + recent_rate * (1.0 - weight)


def estimate_first_rate(publication_dates: Sequence[datetime], now: datetime) -> float | None:
    """Estimate new links per day from the publication dates in a source's first listing.

    Returns None with fewer than two dates.
    """
    past = sorted(published_at for published_at in publication_dates if published_at <= now)
    if len(past) < 2:
        return None
    return (len(past) - 1) * DAY_S / max((now - past[0]).total_seconds(), GAP_MIN_S)


def _compute_jitter(row: SourceRow) -> float:
    """Return a factor from 1 to 1.1 for the interval. It depends on the source and the number of
    its last poll.

    Sources that were added together are therefore soon polled at different times.
    """
    chance = sha256(f"{row.source_id}.{row.polls}".encode()).digest()
    return 1.0 + JITTER * int.from_bytes(chance[:4]) / 2**32
