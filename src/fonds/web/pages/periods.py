"""Months counted by the index -> bars of a readable histogram: equal periods, gaps kept, at most 72."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

PERIODS_MAX = 72
LENGTHS = (1, 12, 120, 1200)
MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Period:
    """`count` documents dated from `first` to `last`, both inclusive."""

    label: str
    first: date
    last: date
    count: int


def periods(
    months: Sequence[tuple[str, int]], earliest: date | None = None, latest: date | None = None
) -> list[Period]:
    """Equal periods of a month, a year, a decade or a century from the first month counted to the last.

    `months` are (YYYY-MM, count), those that cannot be read as months are left out. `earliest` and
    `latest` are the limits the documents were searched within: no period reaches beyond them.
    """
    counts = {at: n for text, n in months if (at := _month(text)) is not None and n > 0}
    if not counts:
        return []
    first, last = min(counts), max(counts)
    length = next((one for one in LENGTHS if (last - first) // one + 1 <= PERIODS_MAX), LENGTHS[-1])
    start = first - first % length
    totals: Counter[int] = Counter()
    for at, n in counts.items():
        totals[(at - start) // length] += n
    return [
        _period(begin, length, totals[number], earliest, latest)
        for number, begin in enumerate(range(start, last + 1, length))
    ]


def spans(counts: Mapping[date, int]) -> list[Period]:
    """The same of documents by day: periods of a day where these are at most 72, and else those above."""
    dated = {day: n for day, n in counts.items() if n > 0}
    if not dated:
        return []
    first, last = min(dated), max(dated)
    if (last - first).days < PERIODS_MAX:
        every = (first + timedelta(days=at) for at in range((last - first).days + 1))
        return [Period(f"{day:%Y-%m-%d}", day, day, dated.get(day, 0)) for day in every]
    months: Counter[str] = Counter()
    for day, n in dated.items():
        months[f"{day.year:04}-{day.month:02}"] += n
    return periods(list(months.items()), first, last)


def _month(text: str) -> int | None:
    """Months since the year 0; None for anything that is not a month of the calendar."""
    year, dash, month = text.partition("-")
    if not (dash and len(year) == 4 and len(month) == 2 and text.isascii()):
        return None
    if not (year.isdigit() and month.isdigit() and year > "0000" and "01" <= month <= "12"):
        return None
    return int(year) * 12 + int(month) - 1


def _period(
    begin: int, length: int, count: int, earliest: date | None, latest: date | None
) -> Period:
    first, last = _first_day(begin), _last_day(begin + length - 1)
    return Period(
        _label(begin, length),
        max(first, earliest) if earliest else first,
        min(last, latest) if latest else last,
        count,
    )


def _first_day(month: int) -> date:
    return date(max(month // 12, 1), month % 12 + 1, 1)


def _last_day(month: int) -> date:
    after = month + 1
    return date.max if after // 12 > 9999 else _first_day(after) - timedelta(days=1)


def _label(begin: int, length: int) -> str:
    year = begin // 12
    if length == 1:
        return f"{MONTH_NAMES[begin % 12]} {year}"
    return str(year) if length == 12 else f"{year}–{year + length // 12 - 1}"
