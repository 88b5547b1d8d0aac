"""The form of a listing changes with its format and with what most or none of its links are told with."""

from __future__ import annotations

from fonds.following.listings.listing import build_listing, describe_form
from fonds.model.capture import RssEntry


def form(
    before: str | None, titles: int, dates: int, count: int = 10, kind: str = "rss"
) -> str | None:
    entries = [
        RssEntry(
            link=f"https://a.example/{number}",
            title="t" if number < titles else None,
            pub_date="d" if number < dates else None,
        )
        for number in range(count)
    ]
    return describe_form(build_listing(kind, entries), before)


def test_what_half_of_the_links_have_is_told_and_what_none_has_is_not() -> None:
    assert form(None, 10, 10) == "rss with titles, dates"
    assert form(None, 10, 4) == "rss with titles"
    assert form(None, 0, 0, kind="sitemap") == "sitemap"


def test_between_the_two_it_stays_as_it_was() -> None:
    both, one = "rss with titles, dates", "rss with titles"
    assert form(both, 10, 1) == both
    assert form(both, 10, 0) == one
    assert form(one, 10, 4) == one
    assert form(one, 10, 5) == both


def test_few_links_tell_the_format_alone_and_none_tell_nothing() -> None:
    both = "rss with titles, dates"
    assert form(both, 0, 0, count=2) == both
    assert form(both, 0, 0, count=2, kind="atom") == "atom with titles, dates"
    assert form(both, 0, 0, count=0) == both
    assert form(None, 0, 0, count=0) is None
