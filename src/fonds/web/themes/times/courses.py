"""The courses of the largest themes: how many documents each has in each period, and what share that is."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import Cluster
from fonds.collections.reading.times import UNDATED, Looked
from fonds.web.pages.periods import Period, spans

THEMES_MAX = 12
_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Course:
    """A theme over the periods: `counts` of its documents in each. `looked_at` counts those that were looked
    at, `undated` those of them without a date. `change`: by how many percentage points its share of the
    documents of the later half of the periods is above that of the earlier half, None where one of the halves
    has none."""

    theme: Cluster
    counts: Sequence[int]
    looked_at: int
    undated: int
    change: float | None


@dataclass(frozen=True, slots=True)
class Courses:
    """The themes, those whose share changed most first. `periods` count the documents of the clustering that
    were looked at, in a theme or in none; `looked_at` all of them, `undated` those without a date."""

    periods: Sequence[Period]
    courses: Sequence[Course]
    looked_at: int
    undated: int


def courses(
    looked: Looked,
    themes: Sequence[Cluster],
    earliest: dt.date | None = None,
    latest: dt.date | None = None,
) -> Courses:
    """The courses of the first twelve of `themes`, within the days asked for."""
    every = Counter(zip(looked.places, looked.days, strict=True))
    placed = {at: n for at, n in every.items() if at[0] >= 0}
    dated: Counter[dt.date] = Counter()
    for (_, day), n in placed.items():
        if (date := _within(day, earliest, latest)) is not None:
            dated[date] += n
    periods = spans(dated)
    numbers = {label: at for at, label in enumerate(looked.labels[: looked.clusters])}
    found = [
        _course(one, _of(placed, numbers.get(one.label, -1)), periods, (earliest, latest))
        for one in themes[:THEMES_MAX]
    ]
    found.sort(key=lambda one: (one.change is None, -abs(one.change or 0.0)))
    return Courses(
        periods,
        found,
        sum(placed.values()),
        sum(n for (_, day), n in placed.items() if day == UNDATED),
    )


def _of(placed: Mapping[tuple[int, int], int], place: int) -> dict[int, int]:
    return {day: n for (at, day), n in placed.items() if at == place}


def _course(
    theme: Cluster,
    days: Mapping[int, int],
    periods: Sequence[Period],
    window: tuple[dt.date | None, dt.date | None],
) -> Course:
    starts = [one.first for one in periods]
    counts = [0] * len(periods)
    for day, n in days.items():
        date = _within(day, *window)
        if date is not None:
            counts[bisect_right(starts, date) - 1] += n
    looked_at = sum(days.values())
    return Course(theme, counts, looked_at, days.get(UNDATED, 0), _change(counts, periods))


def _change(counts: Sequence[int], periods: Sequence[Period]) -> float | None:
    """In percentage points; of an odd number of periods the one in the middle is of the later half."""
    half = len(periods) // 2
    wholes = [sum(one.count for one in some) for some in (periods[:half], periods[half:])]
    if not all(wholes):
        return None
    earlier, later = sum(counts[:half]) / wholes[0], sum(counts[half:]) / wholes[1]
    return round(100 * (later - earlier), 2)


def _within(day: int, earliest: dt.date | None, latest: dt.date | None) -> dt.date | None:
    date = None if day == UNDATED else date_of(day)
    if date is None or (earliest and date < earliest) or (latest and date > latest):
        return None
    return date


def date_of(day: int) -> dt.date:
    """The date of a day since 1970."""
    return _EPOCH + dt.timedelta(days=day)
