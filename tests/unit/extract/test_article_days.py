"""Dates as people and machines write them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.article.days import find_days, find_first_day, swap_day_and_month

DAY = date(2024, 5, 31)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2024-05-31T08:00:00+02:00",
            "2024/05/31",
            "20240531",
            "2024-5-31",
            "31.05.2024",
            "31. 5. 2024",
        ),
        *(
            "31/05/2024",
            "5/31/2024",
            "31-05-2024",
            "31.05.24",
            "May 31, 2024",
            "31 May 2024",
        ),
        *(
            "Fri, 31 May 2024 08:00:00 GMT",
            "31. Mai 2024",
            "31 de mayo de 2024",
            "31 mai 2024",
            "31 maggio 2024",
        ),
        *(
            "31 мая 2024",
            "31 maja 2024",
            "31. května 2024",
            "31 Mayıs 2024",
            "2024年5月31日",
            "2024년 5월 31일",
        ),
    ],
)
def test_a_date_is_parsed_in_many_languages(text: str) -> None:
    assert find_first_day(text) == DAY


def test_month_first_applies_only_to_slashes() -> None:
    assert find_first_day("3/4/2020") == date(2020, 4, 3)
    assert find_first_day("3/4/2020", month_first=True) == date(2020, 3, 4)
    assert find_first_day("3.4.2020", month_first=True) == date(2020, 4, 3)


@pytest.mark.parametrize(
    "text", ["", "31 May", "2024", "32.13.2024", "2024-02-30", "1.2.3.4", "12345678901234"]
)
def test_an_invalid_date_returns_none(text: str) -> None:
    assert find_first_day(text) is None


def test_several_dates_are_returned_in_order() -> None:
    days = [day for _, day in find_days("Updated 1 June 2024, published 31.05.2024")]
    assert days == [date(2024, 6, 1), DAY]


@given(
    st.dates(date(1980, 1, 1), date(2049, 12, 31)),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%d %B %Y", "%B %d, %Y"]),
)
def test_every_formatted_date_is_parsed_back(day: date, date_format: str) -> None:
    assert find_first_day(day.strftime(date_format)) == day


@given(st.text("0123456789./- 年月日май,'de", max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    for position, day in find_days(text):
        assert 0 <= position < len(text)
        assert 1980 <= day.year <= 2049


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("11/1/2023", date(2023, 11, 1)),
        ("11.1.2023", None),
        ("11-1-2023", None),
        ("13/1/2023", None),
        ("1/1/2023", None),
    ],
)
def test_only_numbers_with_slashes_are_ambiguous(text: str, swapped: date | None) -> None:
    """With dots or hyphens the day always comes first."""
    day = find_first_day(text)
    assert day is not None
    assert swap_day_and_month(text, day) == swapped
