"""Word counts of texts, in scripts with and without spaces."""

from __future__ import annotations

import pytest

from fonds.extract.pdf.word_count import WordCount, count_words


@pytest.mark.parametrize(
    ("text", "words", "whitespace"),
    [
        ("three plain words", 3, 3),
        ("", 0, 0),
        ("한국어 문장", 2, 2),
        ("これは本です。", 6, 1),
        ("中文，和English words", 5, 2),
        ("x = y", 3, 3),
        ("ภาษาไทยไม่มีช่องว่าง", 4, 1),
        ("PDF ภาษาไทย end", 4, 3),
    ],
)
def test_words_are_counted_by_the_rules_of_each_script(
    text: str, words: int, whitespace: int
) -> None:
    assert count_words(text) == WordCount(words, whitespace)
