"""The words of a search in the pages of a text, and on their pictures."""

from __future__ import annotations

from fonds.model.pdf import PlacedWord
from fonds.viewer.pdf_pages import (
    PAGES_MAX,
    PageHits,
    TextQuery,
)
from fonds.wiring.stores import build_marker


def wanted(query: str, language: str) -> TextQuery:
    return TextQuery(build_marker(query, language) if query else None)


def placed(*words: tuple[str, bool], top: int = 0) -> list[PlacedWord]:
    return [
        PlacedWord(text, joined, 10 * n, top, 10 * n + 8, top + 10)
        for n, (text, joined) in enumerate(words)
    ]


def test_pages_with_hits_are_listed_with_their_counts() -> None:
    pages = ["A flood came.", "Nothing here.", "Floods, and a flood again."]
    found, complete = wanted("flood", "en").find_by_page(pages)
    assert (found, complete) == ([PageHits(1, 1), PageHits(3, 2)], True)
    assert wanted("", "en").find_by_page(pages) == ([], True)
    assert wanted("flood -came", "en").find_by_page(pages)[0] == found


def test_a_list_that_is_cut_says_so() -> None:
    found, complete = wanted("flood", "en").find_by_page(["flood"] * (PAGES_MAX + 1))
    assert (len(found), complete) == (PAGES_MAX, False)


def test_a_phrase_on_one_line_is_one_box_and_on_two_lines_two() -> None:
    words = [*placed(("the", False), ("high", False)), *placed(("water", False), top=20)]
    assert wanted('"the high"', "en").find_boxes(words) == [(0, 0, 18, 10)]
    assert wanted('"high water"', "en").find_boxes(words) == [(10, 0, 18, 10), (0, 20, 8, 30)]


def test_words_parted_by_a_hyphen_are_found_whole() -> None:
    words = [*placed(("net", False)), *placed(("works", True), top=20)]
    assert wanted("network", "en").find_boxes(words) == [(0, 0, 8, 10), (0, 20, 8, 30)]


def test_characters_of_a_script_without_blanks_share_a_box() -> None:
    words = placed(("安", False), ("合", True), ("成", True), ("革", True), ("股", True))
    assert wanted("合成革", "zh").find_boxes(words) == [(10, 0, 38, 10)]


def test_accents_that_stand_apart_are_found() -> None:
    words = placed(("cafe\u0301s", False), ("open", False))
    assert wanted("café", "fr").find_boxes(words) == [(0, 0, 8, 10)]
    assert wanted("open", "fr").find_boxes(words) == [(10, 0, 18, 10)]
