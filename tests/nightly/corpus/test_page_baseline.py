"""Pages of mcmetadata's tests, compared with mcmetadata: each is a story, or refused for a known reason."""

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
    "cached-httparchiveorg": "a redirecting page",
    "cached-httpgpogovfdsyspkgpl": "a frame filled by scripts",
    "cached-httpnewsmachetecompage2": "a domain for sale",
    "cached-httpsobservadorvsports": "a player that needs scripts",
    "cached-httpswebarchiveorgweb20161214233744id_httpusnatarchivestumblr": "a picture in a frame",
    "cached-httpswebarchiveorgwebhttpsnbcmontanacom": "a page filled by scripts",
    "cached-httpswwwbizjournalscom": "an error page of 212 bytes",
}
"""Reason by start of the name; mcmetadata also refuses these pages."""


@pytest.fixture(scope="module")
def pages() -> list[PageComparison]:
    return compare_pages()


def test_every_page_is_a_story_or_refused_for_a_known_reason(pages: list[PageComparison]) -> None:
    refused = {page.name for page in pages if not page.is_story}
    assert {name for name in refused if not name.startswith(tuple(REFUSED))} == set()
    assert len(refused) == len(REFUSED)
    assert all(page.extraction.error_msg for page in pages if not page.is_story)
    assert [page.name for page in pages if page.baseline and not page.is_story] == []


def test_the_article_that_mcmetadata_refuses_is_read(pages: list[PageComparison]) -> None:
    articles = [page for page in pages if "uniradioinforma" in page.name and "677354" in page.name]
    assert len(articles) == 2
    for page in articles:
        assert page.refused_for
        assert page.is_story
        assert page.chars > 1_000
        assert page.extraction.content.article_title is not None
        assert page.extraction.content.language == "es"


def test_titles_languages_dates_and_texts_agree_with_mcmetadata(
    pages: list[PageComparison],
) -> None:
    """`scripts/page_baseline.py` lists the pages on which both differ; they were checked by hand."""
    stories = [page for page in pages if page.baseline and page.is_story]
    assert len(stories) >= 72
    assert sum(page.same_language for page in stories) == len(stories)
    assert sum(page.same_title for page in stories) >= len(stories) - 11
    assert sum(page.close_dates for page in stories) >= len(stories) - 7
    assert sum(page.same_length for page in stories) >= len(stories) - 17


def test_near_duplicates_are_copies_of_one_page(pages: list[PageComparison]) -> None:
    """Each is a page stored twice: with and without campaign parameters, or behind a counter."""
    signatures = {
        page.name: signature
        for page in pages
        if (signature := compute_signature(page.extraction.content.text_content or "")) is not None
    }
    pages_stored_twice = (
        *(("upstractcom",), ("mkcokr",), ("uniradioinforma",), ("peoplesdaily",)),
        *(("trussvilletribune", "apifollowit"), ("observersfrance24com",)),
        *(("nytimescominteractive",), ("examplecom",)),
    )

    def is_stored_twice(pair: tuple[str, str]) -> bool:
        return any(
            all(any(part in name for part in parts) for name in pair)
            for parts in pages_stored_twice
        )

    linked = [
        (a, b)
        for a, b in combinations(signatures, 2)
        if estimate_resemblance(signatures[a], signatures[b]) >= RUNS_RESEMBLANCE_MIN
    ]
    assert len(linked) >= 5
    assert [pair for pair in linked if not is_stored_twice(pair)] == []
