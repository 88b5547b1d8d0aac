"""What a page states in JSON-LD."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring

from fonds.extract.article.linked_data import LinkedData, read_linked_data

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["@type", "@graph", "@id", "author", "name", "headline", "articleBody", "image"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def read(*scripts: str) -> LinkedData:
    tags = "".join(f'<script type="application/ld+json">{script}</script>' for script in scripts)
    return read_linked_data(document_fromstring(f"<html><head>{tags}</head><body>x</body></html>"))


def test_an_article_states_everything() -> None:
    found = read(
        json.dumps(
            {
                "@context": "https://schema.org",
                "@type": "NewsArticle",
                "headline": "Bridge closes",
                "articleBody": "The &amp; council <b>decided</b>.",
                "datePublished": "2024-05-31T08:00:00+02:00",
                "dateModified": "2024-06-01",
                "author": [{"@type": "Person", "name": "Ann Lee"}, "Bo Ek"],
                "image": {"url": "https://example.com/a.jpg"},
                "isAccessibleForFree": "False",
            }
        )
    )
    assert found.headline == "Bridge closes"
    assert "".join(found.body.split()) == "The&councildecided."
    assert (found.published, found.modified) == ("2024-05-31T08:00:00+02:00", "2024-06-01")
    assert found.authors == ("Ann Lee", "Bo Ek")
    assert found.image == "https://example.com/a.jpg"
    assert found.is_free is False


def test_an_article_comes_before_the_page_that_holds_it() -> None:
    page = {"@type": "WebPage", "datePublished": "2020-01-01"}
    story = {"@type": ["Article"], "datePublished": "2021-01-01"}
    assert read(json.dumps({"@graph": [page, story]})).published == "2021-01-01"
    assert read(json.dumps(page)).published == "2020-01-01"


def test_authors_may_be_named_elsewhere_and_organisations_are_none() -> None:
    story = {"@type": "Article", "author": {"@id": "#ann"}}
    person = {"@type": "Person", "@id": "#ann", "name": "Ann Lee"}
    assert read(json.dumps({"@graph": [story, person]})).authors == ("Ann Lee",)
    paper = {"@type": "Article", "author": {"@type": "Organization", "name": "The Daily"}}
    assert read(json.dumps(paper)).authors == ()


@pytest.mark.parametrize(
    "script", ["", "{", "[" * 5000, "null", "1", '{"@type": 1}', '{"a":\n"b\tc"}']
)
def test_what_is_no_statement_is_passed_over(script: str) -> None:
    good = '{"@type": "Article", "headline": "Kept"}'
    assert read(script, good).headline == "Kept"


@given(VALUES)
def test_any_json_is_read(value: Any) -> None:
    assert isinstance(read(json.dumps(value).replace("<", "")), LinkedData)
