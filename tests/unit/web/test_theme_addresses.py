"""Addresses of themes lead back to the names they were made of, whatever these hold."""

from __future__ import annotations

from urllib.parse import unquote, urljoin

from hypothesis import given
from hypothesis import strategies as st

from fonds.grouping.names import CollectionName
from fonds.web.pages.theme_links import (
    RESERVED_PARTS,
    link_to_collection,
    link_to_reason,
    link_to_theme,
    quote_part,
    unquote_part,
)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_part_of_a_path_is_one_part_and_stands_for_its_name(text: str) -> None:
    written = quote_part(text)
    assert "/" not in unquote(written)
    assert unquote_part(unquote(written)) == text
    assert unquote_part(unquote(unquote(written))) == text
    assert urljoin("http://a.example/themes/x/y", f"/themes/{written}/z").endswith(f"{written}/z")


def test_no_theme_has_the_address_of_a_page_of_the_collections_own() -> None:
    name = CollectionName("a", "b")
    for word in (*RESERVED_PARTS, "~61part", "outlier"):
        written = link_to_theme(name, word).removeprefix(f"{link_to_collection(name)}/")
        assert written not in RESERVED_PARTS
        assert unquote_part(unquote(written)) == word
    assert link_to_reason(name) == "/themes/a/b/unclustered"
    assert link_to_reason(name, "outlier", at=7) == "/themes/a/b/unclustered/outlier?at=7"


def test_usual_names_are_written_as_they_are() -> None:
    assert quote_part("2026-11") == "2026-11"
    assert quote_part("a/b") == "a~2Fb"
    assert quote_part("..") == "~2E~2E"
