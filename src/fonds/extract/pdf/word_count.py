"""Count the words of a text, in scripts with and without spaces."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# Scripts without spaces in which people count characters: Han, kana, bopomofo.
_UNSPACED = re.compile(
    "[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Thai, Lao, Burmese and Khmer: words without spaces, about five characters each with their marks.
_RUN_TOGETHER = re.compile("[\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3]+")
_RUN_TOGETHER_WORD_CHARS = 5
_UNSPACED_RUN = re.compile(f"[{_UNSPACED.pattern[1:-1]}{_RUN_TOGETHER.pattern[1:-2]}]")
_WIDE_PUNCTUATION = re.compile(
    "[\u3000-\u3004\u3008-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff61-\uff65]"
)


@dataclass(frozen=True, slots=True)
class WordCount:
    """Number of words in a text, counted in two ways.

    - `words`: words as people count them. Each Chinese or Japanese character is a word, and every
      five characters of Thai, Lao, Burmese or Khmer.
    - `whitespace`: number of pieces that white space separates.
    """

    words: int
    whitespace: int


def count_words(text: str) -> WordCount:
    """Count the words of a text, in scripts with and without spaces."""
    whitespace = len(text.split())
    if text.isascii():
        return WordCount(whitespace, whitespace)
    if not _UNSPACED_RUN.search(text):
        return WordCount(whitespace, whitespace)
    spaced_text, unspaced_count = _UNSPACED.subn(" ", text)
    for run in _RUN_TOGETHER.finditer(spaced_text):
        unspaced_count += math.ceil(len(run[0]) / _RUN_TOGETHER_WORD_CHARS)
    if unspaced_count == 0:
        return WordCount(whitespace, whitespace)
    words = len(_RUN_TOGETHER.sub(" ", _WIDE_PUNCTUATION.sub(" ", spaced_text)).split())
    return WordCount(words + unspaced_count, whitespace)
