"""Addresses of themes lead back to the names they were made of, whatever these hold."""

from __future__ import annotations

from urllib.parse import unquote, urljoin

from hypothesis import given
from hypothesis import strategies as st

from fonds.collections.names import Name
from fonds.web.themes.addresses import OWN, collection_href, part, reason_href, theme_href, unpart


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_part_of_a_path_is_one_part_and_stands_for_its_name(text: str) -> None:
    written = part(text)
    assert "/" not in unquote(written)
    assert unpart(unquote(written)) == text
    assert unpart(unquote(unquote(written))) == text
    assert urljoin("http://a.example/themes/x/y", f"/themes/{written}/z").endswith(f"{written}/z")


def test_no_theme_has_the_address_of_a_page_of_the_collections_own() -> None:
    name = Name("a", "b")
    for word in (*OWN, "~61part", "outlier"):
        written = theme_href(name, word).removeprefix(f"{collection_href(name)}/")
        assert written not in OWN
        assert unpart(unquote(written)) == word
    assert reason_href(name) == "/themes/a/b/apart"
    assert reason_href(name, "outlier", at=7) == "/themes/a/b/apart/outlier?at=7"


def test_usual_names_are_written_as_they_are() -> None:
    assert part("2026-11") == "2026-11"
    assert part("a/b") == "a~2Fb"
    assert part("..") == "~2E~2E"
