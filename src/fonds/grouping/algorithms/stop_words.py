"""Stop words by language: frequent words that occur in every text and name no theme.

The stop words come from `fonds.text.stop_words`. For English, those of scikit-learn are added.
"""

from __future__ import annotations

from functools import cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from fonds.text.stop_words import get_stop_words, list_languages
from fonds.text.words import split_words

__all__ = ["list_languages", "load_stop_words"]


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Return the case-folded stop words of a two-letter language; empty if the language is unknown.

    The language "", which means that none was detected, has the English stop words.
    """
    language = language or "en"
    words = get_stop_words(language)
    if language == "en":
        words |= {part for word in ENGLISH_STOP_WORDS for part in split_words(word)}
    return words


def is_stop_word_pair(first: str, second: str, language: str) -> bool:
    """Return whether a pair of adjacent characters says nothing about a text's subject.

    This is for scripts without spaces, such as Japanese. A pair says nothing if both characters are
    Hiragana or either is a stop word.
    """
    words = load_stop_words(language)
    both_hiragana = "\u3041" <= first <= "\u309f" and "\u3041" <= second <= "\u309f"
    return both_hiragana or first in words or second in words
