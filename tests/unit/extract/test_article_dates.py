"""When a page was published, and when it was changed."""

from __future__ import annotations

from datetime import date

import pytest

from fonds.extract.article.dates import PageDates, find_url_day
from fonds.extract.article.extraction import extract_article

NEWEST = date(2024, 6, 30)
DAY = date(2024, 5, 31)
STORY = (
    "<p>"
    + "The council decided that the old bridge will be closed, because of its many cracks. " * 6
    + "</p>"
)


def find(head: str = "", around: str = "", url: str | None = None, lang: str = "en") -> PageDates:
    markup = (
        f"<html lang='{lang}'><head>{head}</head><body><article><h1>Bridge closes</h1>{around}{STORY}"
        "</article></body></html>"
    )
    return extract_article(markup, url, NEWEST).dates


def linked(**said: str) -> str:
    pairs = "".join(f', "{name}": "{value}"' for name, value in said.items())
    return f'<script type="application/ld+json">{{"@type": "NewsArticle"{pairs}}}</script>'


def meta(name: str, value: str) -> str:
    return f'<meta property="{name}" content="{value}">'


@pytest.mark.parametrize(
    ("head", "around", "url", "source"),
    [
        (linked(datePublished="2024-05-31"), "", None, "json-ld"),
        (meta("article:published_time", "2024-05-31T10:00:00+02:00"), "", None, "meta"),
        (
            "",
            '<span itemprop="datePublished" content="2024-05-31">yesterday</span>',
            None,
            "microdata",
        ),
        ("", '<time datetime="2024-05-31">a Friday</time>', None, "time"),
        ("", "", "https://example.com/2024/05/31/bridge", "url"),
        ("", "<p class='date'>Friday, 31 May 2024</p>", None, "text"),
        ('<script>var page = {"publishedAt":"2024-05-31T09:00:00Z"};</script>', "", None, "script"),
        ("", "<!-- generated 2024-05-31 09:00 -->", None, "comment"),
    ],
)
def test_the_day_is_found_wherever_it_stands_and_that_is_told(
    head: str, around: str, url: str | None, source: str
) -> None:
    found = find(head, around, url).published
    assert found is not None
    assert (found.day, found.source) == (DAY, source)
    assert 0 < found.confidence <= 1


def test_published_and_modified_are_told_apart() -> None:
    head = meta("article:modified_time", "2024-06-02") + linked(
        datePublished="2024-05-31", dateModified="2024-06-02"
    )
    found = find(head, "<p class='date'>Updated 2 June 2024</p>")
    assert found.published is not None
    assert found.modified is not None
    assert (found.published.day, found.modified.day) == (DAY, date(2024, 6, 2))


def test_a_page_known_only_to_be_changed_was_there_by_then() -> None:
    found = find(meta("og:updated_time", "2024-06-02"))
    assert found.published is not None
    assert found.modified is not None
    assert found.published.day == date(2024, 6, 2)
    assert found.published.confidence < found.modified.confidence


def test_an_earlier_day_in_the_page_is_not_its_date() -> None:
    around = "<p>The bridge was opened on 3 March 1999 by the king, who had come with his whole court.</p>"
    found = find(linked(datePublished="2024-05-31"), around).published
    assert found is not None
    assert found.day == DAY


def test_the_day_is_the_one_of_the_page_s_own_calendar() -> None:
    with_offset = find(linked(datePublished="2024-05-31T23:30:00-07:00")).published
    in_utc = find(
        linked(datePublished="2024-06-01T06:30:00Z"), "<p class='date'>May 31, 2024</p>"
    ).published
    at_noon = find(
        linked(datePublished="2024-06-01T12:30:00Z"), "<p class='date'>May 31, 2024</p>"
    ).published
    assert with_offset is not None
    assert in_utc is not None
    assert at_noon is not None
    assert (with_offset.day, in_utc.day, at_noon.day) == (DAY, DAY, date(2024, 6, 1))


def test_a_day_written_for_a_change_says_nothing_of_the_page_s_calendar() -> None:
    head = meta("article:published_time", "2024-05-31T22:30:00Z") + meta(
        "article:modified_time", "2024-06-01T09:00:00+02:00"
    )
    found = find(head, "<p class='date'>1 June 2024</p>").published
    assert found is not None
    assert found.day == DAY


def test_the_foot_of_an_article_is_its_own() -> None:
    foot = (
        "<div class='tags'>" + "<p>Bridges, council, repairs and what they cost</p>" * 8 + "</div>"
        "<div class='{}'>This article was written on 31 May 2024 by Ann Harbour, in News and Traffic.</div>"
    )
    for names, day in (("post-footer", DAY), ("entry-footer", DAY), ("footer", None)):
        markup = f"<article><h1>Bridge closes</h1>{STORY}</article>{foot.format(names)}"
        found = extract_article(f"<html><body>{markup}</body></html>", None, NEWEST).dates.published
        assert (found.day if found else None) == day


def test_days_beside_the_article_are_not_its_own() -> None:
    around = "<aside class='related'><time datetime='2024-06-20'>20 June 2024</time></aside>"
    assert find("", around).published is None


def test_no_day_after_the_newest_or_before_the_web_is_taken() -> None:
    assert find(linked(datePublished="2031-01-01")) == PageDates()
    assert find(linked(datePublished="1969-01-01")) == PageDates()


def test_numbers_are_read_as_the_page_s_language_has_them() -> None:
    american = find("", "<p class='date'>05/06/2024</p>", lang="en-US").published
    british = find("", "<p class='date'>05/06/2024</p>", lang="en-GB").published
    assert american is not None
    assert british is not None
    assert (american.day, british.day) == (date(2024, 5, 6), date(2024, 6, 5))


def test_a_day_that_may_be_read_two_ways_is_read_as_another_place_says_it() -> None:
    head, written = meta("date", "05/02/2024 12:43:42"), "<p>Erstellt am: {}</p>"
    for day, stands in ((date(2024, 5, 2), "02.05.2024"), (date(2024, 2, 5), "05.02.2024")):
        found = find(head, written.format(stands), lang="de").published
        assert found is not None
        assert found.day == day, stands
    alone = find(head, lang="de").published
    assert alone is not None
    assert alone.day == date(2024, 2, 5)


def confidence(around: str) -> float:
    found = find("", around, lang="de").published
    assert found is not None
    assert (found.day, found.source) == (DAY, "text")
    return found.confidence


def test_a_term_before_a_day_says_what_it_is() -> None:
    facts = "<aside><dl><dt>{}</dt><dd>31.05.2024</dd><dt>Ort</dt><dd>Bern</dd></dl></aside>"
    assert confidence(facts.format("Datum")) > confidence(facts.format("Abriss"))


def test_what_encloses_the_text_too_may_be_called_what_it_likes() -> None:
    around = "<div class='{}'><div>31.05.2024</div>" + STORY + "</div>"
    assert confidence(around.format("sidebar-wrap")) == confidence(around.format("wrap"))


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("https://example.com/2024/05/31/bridge", DAY),
        ("https://example.com/news/bridge-20240531.html", DAY),
        ("https://example.com/2024/5/31/bridge", DAY),
        ("https://example.com/news/31-05-2024", DAY),
        ("https://example.com/2024/13/45/x", None),
        ("https://example.com/story/123456789", None),
        ("", None),
        (None, None),
    ],
)
def test_an_address_may_name_the_day(url: str | None, day: date | None) -> None:
    assert find_url_day(url) == day


def test_an_ambiguous_date_of_a_change_is_read_as_a_date_that_is_stated_elsewhere() -> None:
    head = linked(datePublished="2024-05-06") + meta("article:modified_time", "05/06/2024")
    for language in ("en", "de"):
        found = find(head, lang=language)
        assert found.published is not None
        assert found.modified is not None
        assert (found.published.day, found.modified.day) == (date(2024, 5, 6), date(2024, 5, 6))
    alone = find(meta("article:modified_time", "05/06/2024"), lang="de").modified
    assert alone is not None
    assert alone.day == date(2024, 6, 5)
