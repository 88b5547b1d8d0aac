"""Matches of a search in the pages of a text and on their pictures."""

from __future__ import annotations

from fonds.model.pdf import PlacedWord
from fonds.viewer.pdf_pages import (
    PAGES_MAX,
    PageHits,
    TextQuery,
)
from fonds.wiring.index import build_marker


def build_query(query: str, language: str) -> TextQuery:
    return TextQuery(build_marker(query, language) if query else None)


def place_words(*words: tuple[str, bool], top: int = 0) -> list[PlacedWord]:
    return [
        PlacedWord(text, joined, 10 * number, top, 10 * number + 8, top + 10)
        for number, (text, joined) in enumerate(words)
    ]


def test_pages_with_matches_are_listed_with_their_counts() -> None:
    pages = ["A flood came.", "Nothing here.", "Floods, and a flood again."]
    hits, complete = build_query("flood", "en").find_by_page(pages)
    assert (hits, complete) == ([PageHits(1, 1), PageHits(3, 2)], True)
    assert build_query("", "en").find_by_page(pages) == ([], True)
    assert build_query("flood -came", "en").find_by_page(pages)[0] == hits


def test_an_incomplete_list_of_pages_is_reported() -> None:
    hits, complete = build_query("flood", "en").find_by_page(["flood"] * (PAGES_MAX + 1))
    assert (len(hits), complete) == (PAGES_MAX, False)


def test_a_phrase_has_one_box_on_each_line() -> None:
    words = [*place_words(("the", False), ("high", False)), *place_words(("water", False), top=20)]
    assert build_query('"the high"', "en").find_boxes(words) == [(0, 0, 18, 10)]
    assert build_query('"high water"', "en").find_boxes(words) == [(10, 0, 18, 10), (0, 20, 8, 30)]


def test_hyphenated_words_are_found() -> None:
    words = [*place_words(("net", False)), *place_words(("works", True), top=20)]
    assert build_query("network", "en").find_boxes(words) == [(0, 0, 8, 10), (0, 20, 8, 30)]


def test_characters_of_a_script_without_spaces_share_a_box() -> None:
    words = place_words(("安", False), ("合", True), ("成", True), ("革", True), ("股", True))
    assert build_query("合成革", "zh").find_boxes(words) == [(10, 0, 38, 10)]


def test_words_with_combining_accents_are_found() -> None:
    words = place_words(("cafe\u0301s", False), ("open", False))
    assert build_query("café", "fr").find_boxes(words) == [(0, 0, 8, 10)]
    assert build_query("open", "fr").find_boxes(words) == [(10, 0, 18, 10)]
