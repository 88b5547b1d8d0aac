"""Stop words by language: words that occur in every text and name no theme.

These are the stop words of the language. English adds those of scikit-learn.
"""

from __future__ import annotations

from functools import cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from fonds.text.stop_words import get_stop_words, list_languages
from fonds.text.words import split_words

__all__ = ["list_languages", "load_stop_words"]


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Return the folded stop words of a two-letter language; empty if unknown.

    "" is an undetected language and gets those of English.
    """
    language = language or "en"
    words = get_stop_words(language)
    if language == "en":
        words |= {part for word in ENGLISH_STOP_WORDS for part in split_words(word)}
    return words


def is_stop_word_pair(first: str, second: str, language: str) -> bool:
    """Return whether two adjacent characters of a script without spaces name nothing.

    That is the case if both are Hiragana or either is a stop word.
    """
    words = load_stop_words(language)
    both_hiragana = "\u3041" <= first <= "\u309f" and "\u3041" <= second <= "\u309f"
    return both_hiragana or first in words or second in words
