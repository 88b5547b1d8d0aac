"""The courses of the largest themes: how many documents each has in each period, and what share that is."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.collections.reading.clusters import Cluster
from fonds.collections.reading.times import ABSENT, UNDATED, Looked
from fonds.web.pages.periods import Period, spans

THEMES_MAX = 12
_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Course:
    """A theme over the periods: `counts` of its documents in each. `looked_at` counts those that were looked
    at, `undated` those of them without a date. `change`: by how many percentage points its share of the
    documents of the later half of the periods is above that of the earlier half, None where one of the halves
    has none. `cohesion`: the mean cosine of the documents looked at to the theme's middle, None without
    any."""

    theme: Cluster
    counts: Sequence[int]
    looked_at: int
    undated: int
    change: float | None
    cohesion: float | None


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
    """The courses of `themes`, within the days asked for."""
    placed: dict[int, Counter[int]] = defaultdict(Counter)
    for (place, day), n in Counter(zip(looked.places, looked.days, strict=True)).items():
        if place != ABSENT:
            placed[place][day] = n
    totals: Counter[int] = Counter()
    for days in placed.values():
        totals.update(days)
    dates = {day: date for day in totals if (date := _within(day, earliest, latest)) is not None}
    periods = spans({date: totals[day] for day, date in dates.items()})
    starts = [one.first for one in periods]
    period_of = {day: bisect_right(starts, date) - 1 for day, date in dates.items()}
    cohesions = _cohesions(looked)
    numbers = {label: at for at, label in enumerate(looked.labels[: looked.clusters])}
    found = []
    for one in themes:
        at = numbers.get(one.label, ABSENT)
        found.append(_course(one, placed.get(at, {}), periods, period_of, cohesions.get(at)))
    found.sort(key=lambda one: (one.change is None, -abs(one.change or 0.0)))
    return Courses(periods, found, totals.total(), totals[UNDATED])


def _cohesions(looked: Looked) -> dict[int, float]:
    """The mean score of the documents of each place."""
    sums: dict[int, float] = defaultdict(float)
    for place, score in zip(looked.places, looked.scores, strict=True):
        sums[place] += score
    counts = Counter(looked.places)
    return {place: round(whole / counts[place], 4) for place, whole in sums.items()}


def _course(
    theme: Cluster,
    days: Mapping[int, int],
    periods: Sequence[Period],
    period_of: Mapping[int, int],
    cohesion: float | None,
) -> Course:
    """`period_of`: the number of the period of each day within those asked for."""
    counts = [0] * len(periods)
    for day, n in days.items():
        if (number := period_of.get(day)) is not None:
            counts[number] += n
    undated = days.get(UNDATED, 0)
    change = _change(counts, periods)
    return Course(theme, counts, sum(days.values()), undated, change, cohesion)


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
