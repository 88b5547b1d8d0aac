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

from fonds.model.by_time import day_of
from fonds.model.rows import InputRow, SourceRow

DAYS_KEPT = 120
DAYS_BEFORE, DAYS_LEAST = 28, 7
SPREADS, SPREAD_OF_DISTANCE = 3.0, 1.4826


class Brought(StrEnum):
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
    brought: Brought
    polls: int
    failed: int
    new: int
    refused: int
    least: float | None = None
    most: float | None = None
    outside: str | None = None


def with_poll(days: Mapping[str, Any] | None, poll: InputRow) -> dict[str, list[int]]:
    """The days of a source with one more poll, the last 120 of them."""
    counts = {day: list(numbers) for day, numbers in (days or {}).items()}
    today = counts.setdefault(day_of(poll.updated), [0, 0, 0, 0])
    more = (1, int(poll.error is not None), poll.entries, poll.tally_count)
    today[:] = [was + now for was, now in zip(today, more, strict=True)]
    return {day: counts[day] for day in sorted(counts)[-DAYS_KEPT:]}


def counted(row: SourceRow, today: date, count: int) -> list[SourceDay]:
    """The last so many days, at most 120, the last of them today."""
    span = [today - timedelta(days=ago) for ago in reversed(range(count))]
    known = row.days or {}
    first = min(known, default="")
    return [_counted(one, known.get(one.isoformat()), first) for one in span]


def judged(row: SourceRow, today: date, count: int) -> list[SourceDay]:
    """The last so many days, at most 92, with what is usual on each; today is not over, and never below."""
    days = counted(row, today, count + DAYS_BEFORE)
    return [
        _judged(one, days[place - DAYS_BEFORE : place], today)
        for place, one in enumerate(days)
        if place >= DAYS_BEFORE
    ]


def _counted(day: date, numbers: Sequence[int] | None, first: str) -> SourceDay:
    if numbers is None:
        begun = bool(first) and day.isoformat() > first
        return SourceDay(day, Brought.UNPOLLED if begun else Brought.UNKNOWN, 0, 0, 0, 0)
    polls, failed, new, refused = numbers
    brought = Brought.NEW if new else Brought.FAILED if failed >= polls else Brought.NOTHING
    # The first listing has what stood there long before it was followed.
    brought = Brought.UNKNOWN if day.isoformat() == first else brought
    return SourceDay(day, brought, polls, failed, new, refused)


def _judged(one: SourceDay, before: Sequence[SourceDay], today: date) -> SourceDay:
    told = (Brought.NEW, Brought.NOTHING)
    usual = [other.new for other in before if other.brought in told]
    if len(usual) < DAYS_LEAST or one.brought not in told:
        return one
    middle = float(median(usual))
    distance = median(abs(count - middle) for count in usual)
    spread = SPREADS * max(SPREAD_OF_DISTANCE * distance, sqrt(middle), 1.0)
    least, most = max(0.0, middle - spread), middle + spread
    outside = "above" if one.new > most else None
    if one.new < least and one.day < today:
        outside = "below"
    return SourceDay(
        one.day, one.brought, one.polls, one.failed, one.new, one.refused, least, most, outside
    )
