"""Function words by language: what stands in every text and names no theme.

Those are the stop words of the language; for English those of scikit-learn count as well.
"""

from __future__ import annotations

from functools import cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from fonds.text.stop_words import list_languages, stop_words
from fonds.text.words import split_words

__all__ = ["list_languages", "load_function_words"]


@cache
def load_function_words(language: str) -> frozenset[str]:
    """The folded function words of a language by its two letters; none where we know none.

    For "", a language that could not be told, they are those of English.
    """
    language = language or "en"
    listed = stop_words(language)
    if language == "en":
        listed |= {part for word in ENGLISH_STOP_WORDS for part in split_words(word)}
    return listed


def is_function_pair(first: str, second: str, language: str) -> bool:
    """Whether two neighbours of a script without spaces name nothing: Hiragana alone, or a function word."""
    listed = load_function_words(language)
    both_hiragana = "\u3041" <= first <= "\u309f" and "\u3041" <= second <= "\u309f"
    return both_hiragana or first in listed or second in listed
