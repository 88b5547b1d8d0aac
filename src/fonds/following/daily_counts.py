"""Number of new links of a source per day, and the usual range of this number. All functions are
pure.

A day is a date in UTC. The usual range is computed from the numbers of the 28 days before: their
median, plus or minus three times their spread. The spread is the median absolute deviation times
1.4826, but at least 1 and the square root of the median, as for counts of rare events.

Docs: docs/decisions/0069-expected-links-per-source.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from math import sqrt
from statistics import median

from fonds.model.rows import InputRow, SourceRow
from fonds.model.source import DayCounts
from fonds.model.tallies import format_day

DAYS_STORED = 120
BASELINE_DAYS, BASELINE_DAYS_MIN = 28, 7
SPREADS, MAD_TO_DEVIATION = 3.0, 1.4826


class DayOutcome(StrEnum):
    """What the polls of a source found on one day. The values are texts for people."""

    UNKNOWN = "not counted"  # before days were counted, or the first day
    UNPOLLED = "not polled"
    FAILED = "every poll failed"
    NOTHING = "nothing new"
    NEW = "something new"


@dataclass(frozen=True, slots=True)
class SourceDay:
    """Polls and new links of a source on one day (UTC).

    - `brought`: what the polls found.
    - `polls`: number of polls.
    - `failed`: number of those polls that failed.
    - `new`: number of new links.
    - `refused`: number of further links that the link rules refused.
    - `least`, `most`: usual range of the number of new links; None if too few days are known, or if
      no poll succeeded on the day.
    - `outside`: `above` or `below` if `new` is outside the usual range; otherwise None.
    """

    day: date
    brought: DayOutcome
    polls: int
    failed: int
    new: int
    refused: int
    least: float | None = None
    most: float | None = None
    outside: str | None = None


def add_poll(days: Mapping[str, DayCounts] | None, poll: InputRow) -> dict[str, DayCounts]:
    """Return the daily counts of a source, by date, with one more poll. Only the last 120 days are
    kept.

    `days` are the counts before the poll; None if there are none.
    """
    counts, day = dict(days or {}), format_day(poll.updated)
    previous_counts = counts.get(day, DayCounts())
    counts[day] = DayCounts(
        previous_counts.polls + 1,
        previous_counts.failed + int(poll.error is not None),
        previous_counts.new + poll.entries,
        previous_counts.refused + poll.tally_count,
    )
    return {day: counts[day] for day in sorted(counts)[-DAYS_STORED:]}


def count_days(row: SourceRow, today: date, count: int) -> list[SourceDay]:
    """Return polls and new links of a source on each of the last `count` days (at most 120), oldest
    first. The last day is `today`.
    """
    dates = [today - timedelta(days=ago) for ago in reversed(range(count))]
    counts_by_date = row.days or {}
    first = min(counts_by_date, default="")
    return [_build_day(day, counts_by_date.get(day.isoformat()), first) for day in dates]


def judge_days(row: SourceRow, today: date, count: int) -> list[SourceDay]:
    """Return the last `count` days of a source (at most 92), oldest first, each with the usual
    range of its number of new links.

    The current day is incomplete, so its number is never `below` the range.
    """
    days = count_days(row, today, count + BASELINE_DAYS)
    return [
        _judge_day(day, days[index - BASELINE_DAYS : index], today)
        for index, day in enumerate(days)
        if index >= BASELINE_DAYS
    ]


def _build_day(day: date, counts: DayCounts | None, first: str) -> SourceDay:
    if counts is None:
        is_after_first = bool(first) and day.isoformat() > first
        return SourceDay(
            day, DayOutcome.UNPOLLED if is_after_first else DayOutcome.UNKNOWN, 0, 0, 0, 0
        )
    outcome = (
        DayOutcome.NEW
        if counts.new
        else DayOutcome.FAILED
        if counts.failed >= counts.polls
        else DayOutcome.NOTHING
    )
    # The first listing contains entries from long before the source was followed.
    outcome = DayOutcome.UNKNOWN if day.isoformat() == first else outcome
    return SourceDay(day, outcome, counts.polls, counts.failed, counts.new, counts.refused)


def _judge_day(day: SourceDay, previous_days: Sequence[SourceDay], today: date) -> SourceDay:
    counted_outcomes = (DayOutcome.NEW, DayOutcome.NOTHING)
    baseline = [
        previous_day.new
        for previous_day in previous_days
        if previous_day.brought in counted_outcomes
    ]
    if len(baseline) < BASELINE_DAYS_MIN or day.brought not in counted_outcomes:
        return day
    center = float(median(baseline))
    distance = median(abs(count - center) for count in baseline)
    spread = SPREADS * max(MAD_TO_DEVIATION * distance, sqrt(center), 1.0)
    lower, upper = max(0.0, center - spread), center + spread
    outside = "above" if day.new > upper else None
    if day.new < lower and day.day < today:
        outside = "below"
    return SourceDay(
        day.day, day.brought, day.polls, day.failed, day.new, day.refused, lower, upper, outside
    )
