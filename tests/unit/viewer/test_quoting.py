"""Where quoted words stand: whatever blanks and accents, and for whatever text."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from fonds.viewer.citation import find_quotation

TEXTS = st.text(alphabet="abé \n\f\u0301ф漢", max_size=60)


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_whatever_stands_in_a_text_is_found_there(text: str, one: int, other: int) -> None:
    quote = text[min(one, other) : max(one, other)]
    quotation = find_quotation(quote, text, None, has_pages=False)
    words = " ".join(unicodedata.normalize("NFC", quote).split())
    if not words:
        assert quotation is None
    elif quotation is not None:
        there = " ".join(
            unicodedata.normalize("NFC", text[quotation.start : quotation.end]).split()
        )
        assert words in there
        assert quotation.count >= 1
    else:
        # A piece begins or ends between a letter and its accent, which are one character of the text.
        assert words not in " ".join(unicodedata.normalize("NFC", text).split())


@given(st.lists(st.text(alphabet="ab \n", max_size=12), min_size=1, max_size=5), st.data())
def test_the_page_of_words_is_told_and_their_place_is_of_it(
    pages: list[str], data: st.DataObject
) -> None:
    quote = data.draw(st.sampled_from(pages))
    quotation = find_quotation(quote, "\f".join(pages), None, has_pages=True)
    if not quote.split():
        assert quotation is None
        return
    assert quotation is not None
    assert quotation.page is not None
    rest = "\f".join(pages[quotation.page - 1 :])
    assert rest[
        quotation.start : quotation.end
    ].split() == quote.split() or quotation.quote in " ".join(
        rest[quotation.start : quotation.end].split()
    )
    again = find_quotation(quote, "\f".join(pages), quotation.page, has_pages=True)
    assert again is None or (again.start, again.end) == (quotation.start, quotation.end)


def test_words_are_found_though_a_page_lays_them_out_anew() -> None:
    text = "Rain fell.\n\nThe  river\nrose at the cafe\u0301 bridge."
    quotation = find_quotation(" river rose at\tthe café ", text, None, has_pages=False)
    assert quotation is not None
    assert text[quotation.start : quotation.end] == "river\nrose at the cafe\u0301"
    assert quotation.search == '"river rose at the café"'
    assert find_quotation("river rise", text, None, has_pages=False) is None


def test_a_page_there_is_not_says_nothing() -> None:
    assert find_quotation("a", "a\fb", 3, has_pages=True) is None
    assert find_quotation("b", "a\fb", 1, has_pages=True) is None


def test_long_texts_of_the_same_word_are_gone_through_once() -> None:
    text = "a " * 500_000
    assert find_quotation("a " * 900 + "b", text, None, has_pages=False) is None
