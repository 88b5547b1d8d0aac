"""What the polls of a source brought day by day, and how much is usual: pure functions of its row.

A day is one in UTC. What is usual is told by the 28 days before: their median, and around it three times
their spread (the median distance from it times 1.4826, no less than the square root of the median, as counts
of rare things have). Docs: docs/decisions/0069-what-a-source-usually-brings.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from math import sqrt
from statistics import median
from typing import Any

from fonds.model.rows import InputRow, SourceRow
from fonds.model.tallies import format_day

DAYS_STORED = 120
BASELINE_DAYS, BASELINE_DAYS_MIN = 28, 7
SPREADS, MAD_TO_DEVIATION = 3.0, 1.4826


class DayOutcome(StrEnum):
    """How a day was; the words for people."""

    UNKNOWN = "not counted"  # before it was followed, or before days were counted
    UNPOLLED = "not polled"
    FAILED = "every poll failed"
    NOTHING = "nothing new"
    NEW = "something new"


@dataclass(frozen=True, slots=True)
class SourceDay:
    """One day: `polls`, how many of them `failed`, `new` links that entered, `refused` that did not.

    `least` and `most` are how many new links are usual, None while too few days are known, or where the day
    tells nothing; `outside` is `above` or `below` where they are others.
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


def add_poll(days: Mapping[str, Any] | None, poll: InputRow) -> dict[str, list[int]]:
    """The days of a source with one more poll, the last 120 of them."""
    counts = {day: list(numbers) for day, numbers in (days or {}).items()}
    today = counts.setdefault(format_day(poll.updated), [0, 0, 0, 0])
    more = (1, int(poll.error is not None), poll.entries, poll.tally_count)
    today[:] = [was + now for was, now in zip(today, more, strict=True)]
    return {day: counts[day] for day in sorted(counts)[-DAYS_STORED:]}


def count_days(row: SourceRow, today: date, count: int) -> list[SourceDay]:
    """The last so many days, at most 120, the last of them today."""
    span = [today - timedelta(days=ago) for ago in reversed(range(count))]
    known = row.days or {}
    first = min(known, default="")
    return [_build_day(one, known.get(one.isoformat()), first) for one in span]


def judge_days(row: SourceRow, today: date, count: int) -> list[SourceDay]:
    """The last so many days, at most 92, with what is usual on each; today is not over, and never below."""
    days = count_days(row, today, count + BASELINE_DAYS)
    return [
        _judge_day(one, days[place - BASELINE_DAYS : place], today)
        for place, one in enumerate(days)
        if place >= BASELINE_DAYS
    ]


def _build_day(day: date, numbers: Sequence[int] | None, first: str) -> SourceDay:
    if numbers is None:
        begun = bool(first) and day.isoformat() > first
        return SourceDay(day, DayOutcome.UNPOLLED if begun else DayOutcome.UNKNOWN, 0, 0, 0, 0)
    polls, failed, new, refused = numbers
    brought = (
        DayOutcome.NEW if new else DayOutcome.FAILED if failed >= polls else DayOutcome.NOTHING
    )
    # The first listing has what stood there long before it was followed.
    brought = DayOutcome.UNKNOWN if day.isoformat() == first else brought
    return SourceDay(day, brought, polls, failed, new, refused)


def _judge_day(day: SourceDay, previous_days: Sequence[SourceDay], today: date) -> SourceDay:
    told = (DayOutcome.NEW, DayOutcome.NOTHING)
    usual = [other.new for other in previous_days if other.brought in told]
    if len(usual) < BASELINE_DAYS_MIN or day.brought not in told:
        return day
    middle = float(median(usual))
    distance = median(abs(count - middle) for count in usual)
    spread = SPREADS * max(MAD_TO_DEVIATION * distance, sqrt(middle), 1.0)
    least, most = max(0.0, middle - spread), middle + spread
    outside = "above" if day.new > most else None
    if day.new < least and day.day < today:
        outside = "below"
    return SourceDay(
        day.day, day.brought, day.polls, day.failed, day.new, day.refused, least, most, outside
    )
