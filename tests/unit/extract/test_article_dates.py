"""Publication and modification dates of a page."""

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


def find(head: str = "", before: str = "", url: str | None = None, lang: str = "en") -> PageDates:
    markup = (
        f"<html lang='{lang}'><head>{head}</head><body><article><h1>Bridge closes</h1>{before}{STORY}"
        "</article></body></html>"
    )
    return extract_article(markup, url, NEWEST).dates


def make_json_ld(**fields: str) -> str:
    pairs = "".join(f', "{name}": "{value}"' for name, value in fields.items())
    return f'<script type="application/ld+json">{{"@type": "NewsArticle"{pairs}}}</script>'


def make_meta(name: str, value: str) -> str:
    return f'<meta property="{name}" content="{value}">'


@pytest.mark.parametrize(
    ("head", "before", "url", "source"),
    [
        (make_json_ld(datePublished="2024-05-31"), "", None, "json-ld"),
        (make_meta("article:published_time", "2024-05-31T10:00:00+02:00"), "", None, "meta"),
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
def test_the_publication_date_is_found_with_its_source(
    head: str, before: str, url: str | None, source: str
) -> None:
    published = find(head, before, url).published
    assert published is not None
    assert (published.day, published.source) == (DAY, source)
    assert 0 < published.confidence <= 1


def test_published_and_modified_dates_are_distinguished() -> None:
    head = make_meta("article:modified_time", "2024-06-02") + make_json_ld(
        datePublished="2024-05-31", dateModified="2024-06-02"
    )
    dates = find(head, "<p class='date'>Updated 2 June 2024</p>")
    assert dates.published is not None
    assert dates.modified is not None
    assert (dates.published.day, dates.modified.day) == (DAY, date(2024, 6, 2))


def test_a_modified_date_alone_is_a_less_certain_publication_date() -> None:
    dates = find(make_meta("og:updated_time", "2024-06-02"))
    assert dates.published is not None
    assert dates.modified is not None
    assert dates.published.day == date(2024, 6, 2)
    assert dates.published.confidence < dates.modified.confidence


def test_an_earlier_date_in_the_text_is_not_the_publication_date() -> None:
    before = "<p>The bridge was opened on 3 March 1999 by the king, who had come with his whole court.</p>"
    published = find(make_json_ld(datePublished="2024-05-31"), before).published
    assert published is not None
    assert published.day == DAY


def test_the_date_follows_the_calendar_of_the_page() -> None:
    with_offset = find(make_json_ld(datePublished="2024-05-31T23:30:00-07:00")).published
    in_utc = find(
        make_json_ld(datePublished="2024-06-01T06:30:00Z"), "<p class='date'>May 31, 2024</p>"
    ).published
    at_noon = find(
        make_json_ld(datePublished="2024-06-01T12:30:00Z"), "<p class='date'>May 31, 2024</p>"
    ).published
    assert with_offset is not None
    assert in_utc is not None
    assert at_noon is not None
    assert (with_offset.day, in_utc.day, at_noon.day) == (DAY, DAY, date(2024, 6, 1))


def test_a_modified_date_does_not_change_the_calendar_of_the_page() -> None:
    head = make_meta("article:published_time", "2024-05-31T22:30:00Z") + make_meta(
        "article:modified_time", "2024-06-01T09:00:00+02:00"
    )
    published = find(head, "<p class='date'>1 June 2024</p>").published
    assert published is not None
    assert published.day == DAY


def test_the_footer_of_an_article_belongs_to_it() -> None:
    foot = (
        "<div class='tags'>" + "<p>Bridges, council, repairs and what they cost</p>" * 8 + "</div>"
        "<div class='{}'>This article was written on 31 May 2024 by Ann Harbour, in News and Traffic.</div>"
    )
    for names, day in (("post-footer", DAY), ("entry-footer", DAY), ("footer", None)):
        markup = f"<article><h1>Bridge closes</h1>{STORY}</article>{foot.format(names)}"
        published = extract_article(
            f"<html><body>{markup}</body></html>", None, NEWEST
        ).dates.published
        assert (published.day if published else None) == day


def test_dates_next_to_the_article_are_ignored() -> None:
    before = "<aside class='related'><time datetime='2024-06-20'>20 June 2024</time></aside>"
    assert find("", before).published is None


def test_dates_after_the_newest_or_before_the_web_are_ignored() -> None:
    assert find(make_json_ld(datePublished="2031-01-01")) == PageDates()
    assert find(make_json_ld(datePublished="1969-01-01")) == PageDates()


def test_numeric_dates_follow_the_language_of_the_page() -> None:
    american = find("", "<p class='date'>05/06/2024</p>", lang="en-US").published
    british = find("", "<p class='date'>05/06/2024</p>", lang="en-GB").published
    assert american is not None
    assert british is not None
    assert (american.day, british.day) == (date(2024, 5, 6), date(2024, 6, 5))


def test_an_ambiguous_date_is_resolved_by_a_second_date() -> None:
    head, template = make_meta("date", "05/02/2024 12:43:42"), "<p>Erstellt am: {}</p>"
    for day, date_text in ((date(2024, 5, 2), "02.05.2024"), (date(2024, 2, 5), "05.02.2024")):
        published = find(head, template.format(date_text), lang="de").published
        assert published is not None
        assert published.day == day, date_text
    without_second_date = find(head, lang="de").published
    assert without_second_date is not None
    assert without_second_date.day == date(2024, 2, 5)


def get_confidence(before: str) -> float:
    published = find("", before, lang="de").published
    assert published is not None
    assert (published.day, published.source) == (DAY, "text")
    return published.confidence


def test_the_term_of_a_definition_list_classifies_its_date() -> None:
    facts = "<aside><dl><dt>{}</dt><dd>31.05.2024</dd><dt>Ort</dt><dd>Bern</dd></dl></aside>"
    assert get_confidence(facts.format("Datum")) > get_confidence(facts.format("Abriss"))


def test_the_name_of_an_element_around_the_text_does_not_matter() -> None:
    before = "<div class='{}'><div>31.05.2024</div>" + STORY + "</div>"
    assert get_confidence(before.format("sidebar-wrap")) == get_confidence(before.format("wrap"))


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
def test_a_url_may_contain_the_date(url: str | None, day: date | None) -> None:
    assert find_url_day(url) == day
