"""Statements of a page in JSON-LD."""

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


def test_all_fields_of_an_article_are_read() -> None:
    data = read(
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
    assert data.headline == "Bridge closes"
    assert "".join(data.body.split()) == "The&councildecided."
    assert (data.published, data.modified) == ("2024-05-31T08:00:00+02:00", "2024-06-01")
    assert data.authors == ("Ann Lee", "Bo Ek")
    assert data.image == "https://example.com/a.jpg"
    assert data.is_free is False


def test_an_article_takes_precedence_over_its_page() -> None:
    page = {"@type": "WebPage", "datePublished": "2020-01-01"}
    story = {"@type": ["Article"], "datePublished": "2021-01-01"}
    assert read(json.dumps({"@graph": [page, story]})).published == "2021-01-01"
    assert read(json.dumps(page)).published == "2020-01-01"


def test_authors_are_resolved_by_id_and_organizations_are_ignored() -> None:
    story = {"@type": "Article", "author": {"@id": "#ann"}}
    person = {"@type": "Person", "@id": "#ann", "name": "Ann Lee"}
    assert read(json.dumps({"@graph": [story, person]})).authors == ("Ann Lee",)
    paper = {"@type": "Article", "author": {"@type": "Organization", "name": "The Daily"}}
    assert read(json.dumps(paper)).authors == ()


@pytest.mark.parametrize(
    "script", ["", "{", "[" * 5000, "null", "1", '{"@type": 1}', '{"a":\n"b\tc"}']
)
def test_invalid_scripts_are_ignored(script: str) -> None:
    valid = '{"@type": "Article", "headline": "Kept"}'
    assert read(script, valid).headline == "Kept"


@given(VALUES)
def test_any_json_is_read(value: Any) -> None:
    assert isinstance(read(json.dumps(value).replace("<", "")), LinkedData)
