"""Grouping months into periods: equal lengths, no gaps, nothing counted twice."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fonds.web.html.periods import PERIODS_MAX, build_periods

MONTHS = st.dates().map(lambda day: f"{day.year:04d}-{day.month:02d}")


def test_a_few_months_are_shown_with_empty_months_between() -> None:
    periods = build_periods([("2020-11", 2), ("2021-01", 5)])
    assert [(period.label, period.count) for period in periods] == [
        ("Nov 2020", 2),
        ("Dec 2020", 0),
        ("Jan 2021", 5),
    ]
    assert (periods[0].first, periods[0].last) == (date(2020, 11, 1), date(2020, 11, 30))


def test_many_months_become_years_from_january_to_december() -> None:
    periods = build_periods([("2001-05", 1), ("2020-02", 3)])
    assert (periods[0].label, periods[0].first, periods[0].last) == (
        "2001",
        date(2001, 1, 1),
        date(2001, 12, 31),
    )
    assert len(periods) == 20


def test_a_range_of_ten_thousand_years_has_about_a_hundred_periods() -> None:
    periods = build_periods([("0001-01", 1), ("9999-12", 1)])
    assert len(periods) <= 101
    assert periods[-1].last == date.max


def test_periods_stay_within_the_searched_dates() -> None:
    periods = build_periods([("2020-11", 2), ("2020-12", 1)], date(2020, 11, 20), date(2020, 12, 5))
    assert (periods[0].first, periods[-1].last) == (date(2020, 11, 20), date(2020, 12, 5))


def test_invalid_months_are_ignored() -> None:
    assert (
        build_periods(
            [("undated", 3), ("2020-13", 1), ("0000-01", 1), ("20²0-01", 1), ("2020-01", 0)]
        )
        == []
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(MONTHS, st.integers(1, 1000)), unique_by=lambda pair: pair[0], min_size=1)
)
def test_every_document_is_in_exactly_one_period(months: list[tuple[str, int]]) -> None:
    periods = build_periods(sorted(months))
    assert sum(period.count for period in periods) == sum(count for _, count in months)
    assert len(periods) <= max(PERIODS_MAX, 101)
    for before, after in pairwise(periods):
        assert before.last + timedelta(days=1) == after.first
