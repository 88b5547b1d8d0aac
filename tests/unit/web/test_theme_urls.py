"""URLs of themes parse to the names they were built from, for any names."""

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
def test_a_quoted_name_is_one_path_part_and_unquotes_to_the_name(text: str) -> None:
    part = quote_part(text)
    assert "/" not in unquote(part)
    assert unquote_part(unquote(part)) == text
    assert unquote_part(unquote(unquote(part))) == text
    assert urljoin("http://a.example/themes/x/y", f"/themes/{part}/z").endswith(f"{part}/z")


def test_theme_urls_avoid_the_reserved_paths() -> None:
    name = CollectionName("a", "b")
    for label in (*RESERVED_PARTS, "~61part", "outlier"):
        part = link_to_theme(name, label).removeprefix(f"{link_to_collection(name)}/")
        assert part not in RESERVED_PARTS
        assert unquote_part(unquote(part)) == label
    assert link_to_reason(name) == "/themes/a/b/unclustered"
    assert link_to_reason(name, "outlier", at=7) == "/themes/a/b/unclustered/outlier?at=7"


def test_usual_names_are_not_quoted() -> None:
    assert quote_part("2026-11") == "2026-11"
    assert quote_part("a/b") == "a~2Fb"
    assert quote_part("..") == "~2E~2E"
