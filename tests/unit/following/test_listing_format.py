"""The form of a listing changes with its format, and with fields that most or none of its links
have."""

from __future__ import annotations

from fonds.following.listings.listing import build_listing, describe_form
from fonds.model.capture import RssEntry


def get_form(
    form_before: str | None, titles: int, dates: int, count: int = 10, kind: str = "rss"
) -> str | None:
    entries = [
        RssEntry(
            link=f"https://a.example/{number}",
            title="t" if number < titles else None,
            pub_date="d" if number < dates else None,
        )
        for number in range(count)
    ]
    return describe_form(build_listing(kind, entries), form_before)


def test_the_form_names_fields_that_half_of_the_links_have() -> None:
    assert get_form(None, 10, 10) == "rss with titles, dates"
    assert get_form(None, 10, 4) == "rss with titles"
    assert get_form(None, 0, 0, kind="sitemap") == "sitemap"


def test_the_form_stays_between_the_two_thresholds() -> None:
    with_dates, without_dates = "rss with titles, dates", "rss with titles"
    assert get_form(with_dates, 10, 1) == with_dates
    assert get_form(with_dates, 10, 0) == without_dates
    assert get_form(without_dates, 10, 4) == without_dates
    assert get_form(without_dates, 10, 5) == with_dates


def test_few_links_change_only_the_format_and_none_change_nothing() -> None:
    with_dates = "rss with titles, dates"
    assert get_form(with_dates, 0, 0, count=2) == with_dates
    assert get_form(with_dates, 0, 0, count=2, kind="atom") == "atom with titles, dates"
    assert get_form(with_dates, 0, 0, count=0) == with_dates
    assert get_form(None, 0, 0, count=0) is None
