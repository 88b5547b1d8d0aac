"""How many words a text has, also in scripts without blanks."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# Scripts written without spaces in which people count characters: Han, kana, bopomofo.
_UNSPACED = re.compile(
    "[\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Thai, Lao, Burmese and Khmer: whole words without blanks, of about five characters with their marks.
_RUN_TOGETHER = re.compile("[\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3]+")
_RUN_TOGETHER_WORD_CHARS = 5
_WITHOUT_BLANKS = re.compile(f"[{_UNSPACED.pattern[1:-1]}{_RUN_TOGETHER.pattern[1:-2]}]")
_WIDE_PUNCTUATION = re.compile(
    "[\u3000-\u3004\u3008-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff61-\uff65]"
)


@dataclass(frozen=True, slots=True)
class WordCount:
    """`words` counts as people do in scripts without blanks; `whitespace` counts runs between blanks.

    A character of Chinese or Japanese is a word, as is every five of Thai, Lao, Burmese or Khmer.
    """

    words: int
    whitespace: int


def count_words(text: str) -> WordCount:
    """How many words there are, for people who put blanks between them and for those who do not."""
    whitespace = len(text.split())
    if text.isascii():
        return WordCount(whitespace, whitespace)
    if not _WITHOUT_BLANKS.search(text):
        return WordCount(whitespace, whitespace)
    spaced, unspaced = _UNSPACED.subn(" ", text)
    for run in _RUN_TOGETHER.finditer(spaced):
        unspaced += math.ceil(len(run[0]) / _RUN_TOGETHER_WORD_CHARS)
    if unspaced == 0:
        return WordCount(whitespace, whitespace)
    words = len(_RUN_TOGETHER.sub(" ", _WIDE_PUNCTUATION.sub(" ", spaced)).split())
    return WordCount(words + unspaced, whitespace)
