"""Finding a quotation in a text, independent of whitespace and accents."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from cpu_growth import assert_linear_cpu
from fonds.viewer.citation import find_quotation

TEXTS = st.text(alphabet="abé \n\f\u0301ф漢", max_size=60)


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_any_part_of_a_text_is_found(text: str, start: int, end: int) -> None:
    quote = text[min(start, end) : max(start, end)]
    quotation = find_quotation(quote, text, None, has_pages=False)
    words = " ".join(unicodedata.normalize("NFC", quote).split())
    if not words:
        assert quotation is None
    elif quotation is not None:
        quoted = " ".join(
            unicodedata.normalize("NFC", text[quotation.start : quotation.end]).split()
        )
        assert words in quoted
        assert quotation.count >= 1
    else:
        # The quote begins or ends between a letter and its accent, which are one character of the text.
        assert words not in " ".join(unicodedata.normalize("NFC", text).split())


@given(st.lists(st.text(alphabet="ab \n", max_size=12), min_size=1, max_size=5), st.data())
def test_a_quotation_has_its_page_and_position(pages: list[str], data: st.DataObject) -> None:
    quote = data.draw(st.sampled_from(pages))
    quotation = find_quotation(quote, "\f".join(pages), None, has_pages=True)
    if not quote.split():
        assert quotation is None
        return
    assert quotation is not None
    assert quotation.page is not None
    following_pages = "\f".join(pages[quotation.page - 1 :])
    assert following_pages[
        quotation.start : quotation.end
    ].split() == quote.split() or quotation.quote in " ".join(
        following_pages[quotation.start : quotation.end].split()
    )
    quotation_on_page = find_quotation(quote, "\f".join(pages), quotation.page, has_pages=True)
    assert quotation_on_page is None or (quotation_on_page.start, quotation_on_page.end) == (
        quotation.start,
        quotation.end,
    )


def test_a_quotation_is_found_with_other_whitespace_and_accents() -> None:
    text = "Rain fell.\n\nThe  river\nrose at the cafe\u0301 bridge."
    quotation = find_quotation(" river rose at\tthe café ", text, None, has_pages=False)
    assert quotation is not None
    assert text[quotation.start : quotation.end] == "river\nrose at the cafe\u0301"
    assert quotation.search == '"river rose at the café"'
    assert find_quotation("river rise", text, None, has_pages=False) is None


def test_a_quotation_on_another_page_is_not_found() -> None:
    assert find_quotation("b", "a\fb", 2, has_pages=True) is not None
    assert find_quotation("b", "a\fb", 1, has_pages=True) is None


def test_a_quotation_on_a_page_after_the_last_is_not_found() -> None:
    assert find_quotation("a", "a\fb", 3, has_pages=True) is None


def test_the_cost_grows_linearly_with_a_repetitive_text() -> None:
    quote = "a " * 900 + "b"

    def search_text(size: int) -> None:
        assert find_quotation(quote, "a " * size, None, has_pages=False) is None

    assert_linear_cpu(search_text, 200_000)
