"""Periods of a histogram over time: days, months, years, decades or centuries.

The periods have equal lengths and include gaps. A histogram has at most 72 of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

PERIODS_MAX = 72
LENGTHS_MONTHS = (1, 12, 120, 1200)
MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Period:
    """Period from day `first` to day `last`, both inclusive, and the number of documents dated in
    it.
    """

    label: str
    first: date
    last: date
    count: int


def build_periods(
    months: Sequence[tuple[str, int]], earliest: date | None = None, latest: date | None = None
) -> list[Period]:
    """Sum up counts by month into equal periods of a month, year, decade or century, from the first
    counted month to the last.

    `months`: (YYYY-MM, count). Invalid months are left out.
    `earliest`, `latest`: date limits of the search, None for no limit. No period extends beyond
        these limits.
    """
    counts = {month: n for text, n in months if (month := _parse_month(text)) is not None and n > 0}
    if not counts:
        return []
    first, last = min(counts), max(counts)
    length_months = next(
        (
            candidate
            for candidate in LENGTHS_MONTHS
            if (last - first) // candidate + 1 <= PERIODS_MAX
        ),
        LENGTHS_MONTHS[-1],
    )
    start = first - first % length_months
    totals: Counter[int] = Counter()
    for month, n in counts.items():
        totals[(month - start) // length_months] += n
    return [
        _build_period(first_month, length_months, totals[number], earliest, latest)
        for number, first_month in enumerate(range(start, last + 1, length_months))
    ]


def build_spans(counts: Mapping[date, int]) -> list[Period]:
    """Build periods from the numbers of documents by day.

    The periods are days if that gives at most 72 periods, otherwise months, years, decades or
    centuries.
    """
    counts_by_day = {day: n for day, n in counts.items() if n > 0}
    if not counts_by_day:
        return []
    first, last = min(counts_by_day), max(counts_by_day)
    if (last - first).days < PERIODS_MAX:
        all_days = (first + timedelta(days=index) for index in range((last - first).days + 1))
        return [Period(f"{day:%Y-%m-%d}", day, day, counts_by_day.get(day, 0)) for day in all_days]
    months: Counter[str] = Counter()
    for day, n in counts_by_day.items():
        months[f"{day.year:04}-{day.month:02}"] += n
    return build_periods(list(months.items()), first, last)


def _parse_month(text: str) -> int | None:
    """Return the number of months from year 0 to `text` (YYYY-MM), None if it is no calendar
    month.
    """
    year, dash, month = text.partition("-")
    if not (dash and len(year) == 4 and len(month) == 2 and text.isascii()):
        return None
    if not (year.isdigit() and month.isdigit() and year > "0000" and "01" <= month <= "12"):
        return None
    return int(year) * 12 + int(month) - 1


def _build_period(
    first_month: int, length_months: int, count: int, earliest: date | None, latest: date | None
) -> Period:
    first, last = _get_first_day(first_month), _get_last_day(first_month + length_months - 1)
    return Period(
        _format_label(first_month, length_months),
        max(first, earliest) if earliest else first,
        min(last, latest) if latest else last,
        count,
    )


def _get_first_day(month: int) -> date:
    return date(max(month // 12, 1), month % 12 + 1, 1)


def _get_last_day(month: int) -> date:
    next_month = month + 1
    return date.max if next_month // 12 > 9999 else _get_first_day(next_month) - timedelta(days=1)


def _format_label(first_month: int, length_months: int) -> str:
    year = first_month // 12
    if length_months == 1:
        return f"{MONTH_NAMES[first_month % 12]} {year}"
    return str(year) if length_months == 12 else f"{year}–{year + length_months // 12 - 1}"
