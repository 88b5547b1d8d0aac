"""Authors of a page."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.article.byline import split_names
from fonds.extract.article.extraction import extract_article

JSON_LD = '<script type="application/ld+json">{"@type": "Article", "author": {"name": "Ann Lee"}}</script>'
STORY = (
    "<p>The council decided on Tuesday that the old bridge will be closed, because of its cracks.</p>"
    * 4
)


@pytest.mark.parametrize(
    ("head", "byline", "authors", "source"),
    [
        (JSON_LD, "<p class='byline'>By Bo Ek</p>", ("Ann Lee",), "json-ld"),
        ('<meta name="author" content="Ann Lee and Bo Ek">', "", ("Ann Lee", "Bo Ek"), "meta"),
        ('<meta property="article:author" content="https://x.com/ann">', "", (), None),
        (
            "",
            '<span itemprop="author"><b itemprop="name">Ann Lee</b></span>',
            ("Ann Lee",),
            "markup",
        ),
        (
            "",
            '<a rel="author">Ann Lee</a> <a rel="author">Bo Ek</a>',
            ("Ann Lee", "Bo Ek"),
            "markup",
        ),
        ("", "<p class='byline'>Von Ann Lee | 31. Mai 2024</p>", ("Ann Lee",), "byline"),
        ("", "<ul class='comment-list'><li class='author'>Troll One</li></ul>", (), None),
        ("", "", (), None),
    ],
)
def test_authors_are_found_with_their_source(
    head: str, byline: str, authors: tuple[str, ...], source: str | None
) -> None:
    article_body = f"<h1>T</h1>{byline}{STORY}"
    markup = f"<html><head>{head}</head><body><article>{article_body}</article></body></html>"
    article = extract_article(markup, None, date(2024, 6, 30))
    assert (article.authors, article.authors_source) == (authors, source)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("By Ann Lee", ("Ann Lee",)),
        ("Written by: Ann Lee, Bo Ek and Cy Oh", ("Ann Lee", "Bo Ek", "Cy Oh")),
        ("Por María José Gómez", ("María José Gómez",)),
        ("Ann Lee - The Daily", ("Ann Lee",)),
        ("Ann Lee, Updated 3 May", ("Ann Lee",)),
        ("王小明", ("王小明",)),
        ("https://example.com/ann", ()),
        ("admin", ()),
        ("the editors of the daily paper in the town", ()),
        ("", ()),
    ],
)
def test_names_are_split_from_bylines(text: str, names: tuple[str, ...]) -> None:
    assert split_names(text) == names


@given(st.text(max_size=200))
def test_any_text_is_split_into_short_names(text: str) -> None:
    assert all(0 < len(name) <= 80 for name in split_names(text))
