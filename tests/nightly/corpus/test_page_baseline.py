"""Pages of mcmetadata's tests beside what mcmetadata makes of them: each a story, or refused for a reason."""

from __future__ import annotations

from itertools import combinations

import pytest

from fonds.text.minhash import compute_signature
from fonds.text.similarity import RUNS_RESEMBLANCE_MIN, estimate_resemblance
from page_baseline import FIXTURES, RESULTS, PageComparison, compare_pages

pytestmark = [
    pytest.mark.skipif(not FIXTURES.is_dir(), reason=f"no pages in {FIXTURES}"),
    pytest.mark.skipif(not RESULTS.is_file(), reason=f"no results of mcmetadata in {RESULTS}"),
]

REFUSED = {
    "cached-httparchiveorg": "a page that leads elsewhere",
    "cached-httpgpogovfdsyspkgpl": "a frame that scripts fill",
    "cached-httpnewsmachetecompage2": "a domain that is for sale",
    "cached-httpsobservadorvsports": "a player that wants scripts",
    "cached-httpswebarchiveorgweb20161214233744id_httpusnatarchivestumblr": "a picture in a frame",
    "cached-httpswebarchiveorgwebhttpsnbcmontanacom": "a page that scripts fill",
    "cached-httpswwwbizjournalscom": "a refusal of 212 bytes",
}
"""By the beginnings of their names, with why; mcmetadata refuses them too."""


@pytest.fixture(scope="module")
def pages() -> list[PageComparison]:
    return compare_pages()


def test_every_page_is_a_story_or_refused_for_a_reason(pages: list[PageComparison]) -> None:
    refused = {page.name for page in pages if not page.is_story}
    assert {name for name in refused if not name.startswith(tuple(REFUSED))} == set()
    assert len(refused) == len(REFUSED)
    assert all(page.extraction.error_msg for page in pages if not page.is_story)
    assert [page.name for page in pages if page.baseline and not page.is_story] == []


def test_the_article_that_mcmetadata_refuses_is_read(pages: list[PageComparison]) -> None:
    found = [page for page in pages if "uniradioinforma" in page.name and "677354" in page.name]
    assert len(found) == 2
    for one in found:
        assert one.refused_for
        assert one.is_story
        assert one.chars > 1_000
        assert one.extraction.content.article_title is not None
        assert one.extraction.content.language == "es"


def test_titles_languages_dates_and_texts_are_theirs_or_better(pages: list[PageComparison]) -> None:
    """The pages on which the two differ were looked at; `scripts/page_baseline.py` names them."""
    both = [page for page in pages if page.baseline and page.is_story]
    assert len(both) >= 72
    assert sum(one.same_language for one in both) == len(both)
    assert sum(one.same_title for one in both) >= len(both) - 11
    assert sum(one.close_dates for one in both) >= len(both) - 7
    assert sum(one.same_length for one in both) >= len(both) - 17


def test_near_duplicates_among_them_are_pages_of_one_name(pages: list[PageComparison]) -> None:
    """Each is a page that was kept twice, with and without what campaigns add, or behind a counter."""
    signed = {
        page.name: signature
        for page in pages
        if (signature := compute_signature(page.extraction.content.text_content or "")) is not None
    }
    pages_kept_twice = (
        *(("upstractcom",), ("mkcokr",), ("uniradioinforma",), ("peoplesdaily",)),
        *(("trussvilletribune", "apifollowit"), ("observersfrance24com",)),
        *(("nytimescominteractive",), ("examplecom",)),
    )

    def is_one(pair: tuple[str, str]) -> bool:
        return any(all(any(s in name for s in some) for name in pair) for some in pages_kept_twice)

    linked = [
        (a, b)
        for a, b in combinations(signed, 2)
        if estimate_resemblance(signed[a], signed[b]) >= RUNS_RESEMBLANCE_MIN
    ]
    assert len(linked) >= 5
    assert [pair for pair in linked if not is_one(pair)] == []
