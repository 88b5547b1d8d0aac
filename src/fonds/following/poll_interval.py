"""When a source is polled next: pure functions of its row and the time.

The interval is half of what passes between two new links, as far as was seen, so that what is new waits a
quarter of it on average; it is shorter where a listing would be full before, and never outside the bounds.
What the last poll brought counts beside the average: a feed that wakes up would be full long before that.
An API that keeps everything has a schedule instead.
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
"""What was seen so long ago counts a third of what is seen now."""
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
    """Seconds between two polls, at least and at most, whatever a source does; and those of an API."""

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
    """Seconds until the next poll of a row as it stands after one. `requested_wait_s` is what its server
    asked to be left alone for (Retry-After), and counts up to a day. `recent_day` is the rate of the last
    poll alone (`compute_recent_rate`)."""
    floor_s = max(bounds.min_s, min(requested_wait_s, DAY_S))
    if row.failures:
        if is_dead(row, now):
            return max(DEAD_S, floor_s) * _compute_jitter(row)
        doubled_s = bounds.min_s * 2.0 ** min(row.failures, 20)
        longest_s = bounds.api_s if row.kind == API else bounds.max_s
        return max(floor_s, min(doubled_s, longest_s) * _compute_jitter(row))
    wanted_s = (
        bounds.api_s if row.kind == API else _compute_natural_interval_s(row, bounds, recent_day)
    )
    return max(floor_s, wanted_s * _compute_jitter(row))


def compute_recent_rate(new: int, known_count: int, elapsed_s: float) -> float:
    """New links a day as one poll tells, so many seconds after the one before; endless for a listing that was
    new from top to bottom, as nobody knows how much of it was missed."""
    if new and not known_count:
        return inf
    return new * DAY_S / max(elapsed_s, GAP_MIN_S)


def _compute_natural_interval_s(row: SourceRow, bounds: PollIntervals, recent_day: float) -> float:
    """What its own rhythm asks for, within the bounds and no shorter than its hints."""
    hints = row.hints or {}
    told = [float(hints.get(name) or 0) for name in ("ttl_s", "update_s")]
    least_s = max(bounds.min_s, min(max(told), HINT_MAX_S))
    if row.rate_day is None:
        wanted_s = UNKNOWN_S
    elif row.rate_day <= 0:
        wanted_s = bounds.max_s
    else:
        wanted_s = max(GAP_SHARE * DAY_S / row.rate_day, bounds.min_s)
    fastest = max(row.rate_day or 0.0, recent_day)
    window_s = WINDOW_SHARE * DAY_S / fastest * max(1, row.listed) if fastest else inf
    return max(least_s, min(wanted_s, window_s, bounds.max_s))


def update_rate(rate_day: float | None, new: int, elapsed_s: float) -> float:
    """New links a day, after so many more in so many seconds since it was looked last: an average in which
    what is longer ago counts less."""
    elapsed_s = max(elapsed_s, GAP_MIN_S)
    told = new * DAY_S / elapsed_s
    if rate_day is None:
        return told
    kept = exp(-elapsed_s / MEMORY_S)
    return rate_day * kept + told * (1.0 - kept)


def estimate_first_rate(published: Sequence[datetime], now: datetime) -> float | None:
    """New links a day as the moments of a first listing tell; None where they tell nothing."""
    past = sorted(moment for moment in published if moment <= now)
    if len(past) < 2:
        return None
    return (len(past) - 1) * DAY_S / max((now - past[0]).total_seconds(), GAP_MIN_S)


def _compute_jitter(row: SourceRow) -> float:
    """Between 1 and a tenth more, by source and poll: what was added together does not stay together."""
    chance = sha256(f"{row.source_id}.{row.polls}".encode()).digest()
    return 1.0 + JITTER * int.from_bytes(chance[:4]) / 2**32
