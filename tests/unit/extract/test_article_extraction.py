"""The article of a page: text from pages of any shape, title, date, and statements of the page."""

from __future__ import annotations

import socket
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu_growth import assert_linear_cpu
from depth import examples
from fonds.extract.article.dates import PageDates
from fonds.extract.article.extraction import (
    ELEMENTS_MAX,
    LINKS_MAX,
    count_prose_chars,
    extract_article,
    normalize_text,
)
from fonds.extract.article.head import PageHead, choose_title, find_canonical_url, normalize_title
from fonds.extract.article.paragraphs import extract_paragraphs

NEWEST = date(2024, 6, 2)
SENTENCES = (
    "The council decided on Tuesday that the old bridge will be closed for repairs next spring.",
    "Engineers had found cracks in two of its pillars, and traffic was limited to light vehicles.",
    "Shop owners on both banks fear for their income, while neighbours hope for quieter nights.",
)
NAVIGATION = "<nav><ul>" + "<li><a href='/x'>Section</a></li>" * 20 + "</ul></nav>"
FOOTER = "<footer><a href='/imprint'>Imprint</a> <a href='/privacy'>Privacy</a></footer>"


def make_page(head: str = "", *, body: str | None = None) -> str:
    story = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    main = f"<main><article><h1>Bridge closes in spring</h1>{story}</article></main>"
    return f"<!doctype html><html><head>{head}</head><body>{NAVIGATION}{body or main}{FOOTER}</body></html>"


def make_head(**values: str) -> PageHead:
    meta = {
        name.replace("__", ":"): value
        for name, value in values.items()
        if name not in ("title", "h1")
    }
    headings = (values["h1"],) if "h1" in values else ()
    return PageHead(meta, values.get("title", ""), headings, "", None)


def find_published(markup: str, url: str | None, newest: date) -> date | None:
    published_day = extract_article(markup, url, newest).dates.published
    return published_day.day if published_day else None


def test_the_text_is_the_article_with_one_line_per_paragraph() -> None:
    article = extract_article(make_page(), None, NEWEST)
    assert [line for line in article.text.split("\n") if line in SENTENCES] == list(SENTENCES)
    assert "Section" not in article.text
    assert "Imprint" not in article.text
    assert article.method == "blocks"


def test_a_page_without_a_date_keeps_its_text() -> None:
    article = extract_article(make_page(), None, NEWEST)
    assert article.dates == PageDates()
    assert SENTENCES[0] in article.text


@pytest.mark.parametrize(
    "head",
    [
        '<meta property="article:published_time" content="2024-05-31T08:00:00+02:00">',
        '<meta name="date" content="2024-05-31">',
        '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2024-05-31"}</script>',
    ],
)
def test_the_stated_date_is_returned(head: str) -> None:
    assert find_published(make_page(head), None, NEWEST) == date(2024, 5, 31)


def test_the_date_is_read_from_the_url() -> None:
    url = "https://example.com/2024/05/31/bridge"
    assert find_published(make_page(), url, NEWEST) == date(2024, 5, 31)


def test_a_date_after_the_newest_is_ignored() -> None:
    head = '<meta property="article:published_time" content="2031-01-01">'
    assert find_published(make_page(head), None, NEWEST) is None


def test_an_unknown_time_zone_raises_no_warning() -> None:
    head = '<meta property="article:published_time" content="Fri May 31 16:00:00 XYZT 2024">'
    assert extract_article(make_page(head), None, NEWEST).text


def test_a_short_article_is_kept_completely() -> None:
    sentence = "No one was hurt when a boat burned on Monday night."
    body = f"<div><div>Fire in the harbour</div><div>{sentence}</div></div>"
    assert sentence in extract_article(f"<html><body>{body}</body></html>", None, NEWEST).text


def test_a_page_without_text_has_no_method() -> None:
    for markup in (
        "",
        "<html></html>",
        "<script>var words = 'in a script';</script>",
        "<!-- only this -->",
    ):
        article = extract_article(markup, None, NEWEST)
        assert (article.text, article.method) == ("", None)


def test_a_fragment_and_an_unclosed_page_are_read() -> None:
    story = "<p>".join(SENTENCES)
    assert SENTENCES[1] in extract_article(f"<div><p>{story}", None, NEWEST).text


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1b", "\uffff", "\ud800"])
def test_characters_that_a_tree_cannot_hold_are_removed(character: str) -> None:
    article = extract_article(
        make_page().replace("council", f"coun{character}cil", 1), None, NEWEST
    )
    assert SENTENCES[1] in article.text
    assert character not in article.text


def test_many_links_are_read_in_linear_time() -> None:
    def extract(count: int) -> None:
        links = "".join(f"<a href='/{number}'>item {number}</a>" for number in range(count))
        article = extract_article(make_page(body=f"{links}<p>{SENTENCES[0]}</p>"), None, NEWEST)
        assert article.method == "paragraphs"
        assert SENTENCES[0] in article.text

    assert_linear_cpu(extract, 20 * LINKS_MAX)


def test_cells_with_wide_spans_are_read_in_linear_time() -> None:
    def extract(count: int) -> None:
        cells = "<td colspan=99 rowspan=99>some text</td>" * count
        assert extract_article(make_page(body=f"<table><tr>{cells}</table>"), None, NEWEST).text

    assert_linear_cpu(extract, 2000)


def test_text_after_very_deep_markup_is_kept() -> None:
    nested = "<div>" * 5000 + f"<p>{SENTENCES[0]}</p>" + "</div>" * 5000
    article = extract_article(make_page(body=f"{nested}<p>{SENTENCES[1]}</p>"), None, NEWEST)
    assert SENTENCES[0] in article.text
    assert SENTENCES[1] in article.text


def test_a_page_with_very_many_paragraphs_keeps_them_and_its_date() -> None:
    head = '<meta property="article:published_time" content="2024-05-31">'
    paragraphs = "".join(f"<p>{SENTENCES[0]} ({number})</p>" for number in range(ELEMENTS_MAX + 1))
    article = extract_article(make_page(head, body=paragraphs), None, NEWEST)
    assert article.method == "paragraphs"
    assert article.text.count("\n") >= ELEMENTS_MAX
    assert article.dates.published is not None
    assert article.dates.published.day == date(2024, 5, 31)


def test_extraction_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    head = '<link rel=canonical href="http://example.com/x"><base href="http://example.com/">'
    body = "<img src='http://example.com/x.png'><p>http://example.com/2024/05/31/x</p>"
    extract_article(make_page(head, body=body), "http://example.com/x", NEWEST)
    extract_article("http://example.com/2024/05/31/x", "http://example.com/x", NEWEST)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        (
            make_head(title="Bridge closes - The Daily Planet", og__site_name="The Daily Planet"),
            "Bridge closes",
        ),
        (
            make_head(title="The Daily Planet | Bridge closes", og__site_name="The Daily Planet"),
            "Bridge closes",
        ),
        (
            make_head(
                title="Old bridge closes in spring - Planet", h1="Old bridge closes in spring"
            ),
            "Old bridge closes in spring",
        ),
        (
            make_head(title="Site", og__title="Old bridge closes | Site", og__site_name="Site"),
            "Old bridge closes",
        ),
        (
            make_head(title="An old bridge between two towns closes in spring | Daily Planet"),
            "An old bridge between two towns closes in spring",
        ),
        (make_head(title="Covid-19 - what we know"), "Covid-19 - what we know"),
        (make_head(title="Mayor: bridge will close"), "Mayor: bridge will close"),
        (make_head(title="[종합] 다리 폐쇄"), "[종합] 다리 폐쇄"),
        (make_head(h1="Only a heading"), "Only a heading"),
        (make_head(), None),
    ],
)
def test_the_title_is_the_headline_without_the_site_name(head: PageHead, title: str | None) -> None:
    assert choose_title(head) == title


def test_titles_are_compared_without_case_and_punctuation() -> None:
    assert normalize_title(" “Bridge” CLOSES – in Spring! ") == "bridge closes in spring"
    assert normalize_title("अमित शाह के बयान") == "अमित शाह के बयान"
    assert normalize_title(None) is None
    assert normalize_title("…") is None


def test_the_head_of_a_page_is_read_in_any_spelling() -> None:
    head = (
        "<title>\n Tom &amp;amp; Jerry \n</title><META PROPERTY='og:title' CONTENT='A'>"
        "<meta name=viewport content=x><link rel='shortlink canonical' href='/story'>"
    )
    article = extract_article(
        make_page(head).replace("<html>", "<html lang='pt-BR'>"), None, NEWEST
    )
    assert article.head.title == "Tom & Jerry"
    assert article.head.meta["og:title"] == "A"
    assert article.head.language == "pt-BR"
    assert (
        find_canonical_url(article.head, "https://example.com/x?y") == "https://example.com/story"
    )
    assert find_canonical_url(article.head, "file:///tmp/x.html") is None


@pytest.mark.parametrize(
    "canonical_url", ["", "javascript:void(0)", "http://", "http://[", "mailto:x@y.z", "https:///x"]
)
def test_an_invalid_canonical_url_is_ignored(canonical_url: str) -> None:
    assert find_canonical_url(PageHead({}, "", (), canonical_url, None), "file:///x") is None


def test_paragraphs_exclude_navigation_and_keep_their_order() -> None:
    markup = (
        f"<nav><p>{SENTENCES[2]}</p></nav><p>{SENTENCES[0]} <b>{SENTENCES[1]}</b><p>{SENTENCES[1]}"
    )
    assert extract_paragraphs(markup) == f"{SENTENCES[0]} {SENTENCES[1]}\n{SENTENCES[1]}"


def test_paragraphs_of_links_are_excluded_unless_there_is_no_other_text() -> None:
    link = f"<p><a href=x>{SENTENCES[2]}</a></p>"
    prose = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    assert SENTENCES[2] not in extract_paragraphs(
        link + prose.replace(f"<p>{SENTENCES[2]}</p>", "<p>" + "x " * 90)
    )
    assert extract_paragraphs(link) == SENTENCES[2]


def test_paragraphs_decode_entities_and_ignore_scripts_and_comments() -> None:
    markup = (
        "a &lt; b<script>if (a<b) {'</p>'}</script><!-- no <p> --><style>p{}</style><br>c&nbsp;d"
    )
    assert extract_paragraphs(markup) == "a < b\nc d"


def test_normalized_text_has_one_line_per_paragraph_in_composed_characters() -> None:
    assert normalize_text(" Cafe\u0301  \t x\x00\n\n\n  y ") == "Café x\ny"


def test_prose_is_counted_without_menus() -> None:
    assert count_prose_chars("Home\nNews\nSport") == 0
    assert count_prose_chars("It rained.\nHome") == len("It rained.")


TAGS = st.sampled_from(
    [
        *(
            "<p>",
            "</p>",
            "<div>",
            "</div>",
            "<a href=x>",
            "</a>",
            "<script>",
            "</script>",
            "<!--",
            "-->",
        ),
        *(
            "<table>",
            "<td colspan=99>",
            "<br>",
            "<h1>",
            "</h1>",
            "<title>",
            "<meta name=date content=2024>",
        ),
        *(
            "words that make up a sentence, more or less. ",
            "&amp;",
            "<",
            ">",
            "\x00",
            "\ud800",
            "<svg>",
            "<b",
        ),
    ]
)


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(TAGS, max_size=40).map("".join))
def test_any_markup_is_read_without_an_error(markup: str) -> None:
    article = extract_article(markup, "http://example.com/", NEWEST)
    assert normalize_text(article.text) == article.text
    article.text.encode()


@pytest.mark.parametrize(
    ("head", "headline", "url"),
    [
        (
            make_head(og__title="Daily", og__site_name="Daily", title="Bridge closes | Daily"),
            "",
            "",
        ),
        (make_head(og__title="example.com", title="Bridge closes"), "", "https://example.com/x"),
        (
            make_head(og__title="Politics", title="Bridge closes", h1="Bridge closes"),
            "Bridge closes",
            "",
        ),
        (make_head(og__title="Bridge closes | Example"), "", "https://www.example.com/x"),
        (make_head(), "Bridge closes", ""),
    ],
)
def test_the_headline_is_preferred_to_the_name_of_site_or_section(
    head: PageHead, headline: str, url: str
) -> None:
    assert choose_title(head, headline, url) == "Bridge closes"
