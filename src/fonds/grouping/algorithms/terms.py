"""Terms of texts in order, tokenized as for search, without words that cannot name a theme.

A term is a case-folded word, or a pair of characters in scripts without spaces, since single
characters say too little. `fonds.text.words` folds the words. Stop words of the text's language and
URLs are left out. English plurals become singulars. The sequence of adjacent terms breaks at each
omitted word and at the end of a sentence.

Limits: the first 200,000 characters of a text; 200 bytes per term; 5,000,000 distinct terms.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from fonds.grouping.algorithms.stop_words import (
    is_stop_word_pair,
    load_stop_words,
)
from fonds.text.stop_words import list_languages
from fonds.text.words import fold_text, is_spaceless

MAX_CHARS = 200_000
TERM_MAX_BYTES = 200
TERMS_MAX = 5_000_000
TERM_CACHE_SIZE = 100_000
"""Maximum number of words whose terms are cached.

The cached words take at most 40 MB, since no cached word has more than `TERM_MAX_BYTES` characters.
"""
BREAK = -1
GUESS_TEXTS_MAX = 1000
"""Approximate number of texts from which a collection's language is guessed."""
GUESS_CHARS = 2000

_SPACELESS_FROM = "\u0e00"
_MARKS_BETWEEN = re.compile(r" {3,}")
_ADDRESS = re.compile(r"(?:https?://|ftp://|\bwww\.|\bdoi\.org/)[!-~]{1,2000}", re.IGNORECASE)
_SHARE_MIN = 0.15
"""Minimum share of a language's stop words in texts, for the language to be recognized.

In English, about half of all words are stop words.
"""


class Vocabulary:
    """Numbering of terms, in the order of their first occurrence.

    It also caches the term number of each word, by language.
    `numbers`: number of each term.
    `is_closed`: whether unknown terms are ignored instead of added.
    """

    def __init__(self, terms: Sequence[str] | None = None) -> None:
        """Create an empty vocabulary, or a closed one that has only the given terms.

        `terms`: terms of the closed vocabulary, numbered by their position; all other terms get the
            number BREAK (-1). None for an empty vocabulary that grows.
        """
        self.numbers = {term: number for number, term in enumerate(terms or ())}
        self.is_closed = terms is not None
        self._by_language: dict[str, _Words] = {}

    def read(self, text: str, language: str, numbers: array[int]) -> None:
        """Append the numbers of a text's terms, in order, to `numbers`.

        BREAK (-1) separates terms that are not adjacent in the text.
        `language`: two-letter language of the text.
        """
        folded_text = fold_text(replace_urls(text[:MAX_CHARS]))
        language_words = self._by_language.get(language)
        if language_words is None:
            language_words = self._by_language[language] = _Words(self, language)
        words = folded_text.split(" ") if text.isascii() else _iter_words(folded_text, language)
        numbers.extend(map(language_words.__getitem__, words))

    def get_number(self, term: str) -> int:
        """Return the number of a term, and add the term if it is new.

        If the term is new and the vocabulary is closed or full, return BREAK (-1) and add nothing.
        """
        number = self.numbers.get(term)
        if number is not None:
            return number
        if self.is_closed or len(self.numbers) >= TERMS_MAX:
            return BREAK
        self.numbers[term] = len(self.numbers)
        return len(self.numbers) - 1


class _Words(dict[str, int]):
    """Cache from words of one language to the numbers of their terms.

    It has at most 5,000,000 entries; further words are looked up each time.
    """

    def __init__(self, vocabulary: Vocabulary, language: str) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._language = language

    def __missing__(self, word: str) -> int:
        term = normalize_term(word, self._language)
        number = BREAK if term is None else self._vocabulary.get_number(term)
        if len(self) < TERMS_MAX:
            self[word] = number
        return number


def replace_urls(text: str) -> str:
    """Return the text with each URL replaced by a full stop, which breaks the sequence of terms.

    Words in URLs, such as `https` and `org`, name no theme.
    """
    return _ADDRESS.sub(" . ", text)


def normalize_term(word: str, language: str) -> str | None:
    """Return the term of a case-folded word in a two-letter language.

    Return None if the word is a stop word, a single letter, or too long.
    """
    if len(word) > TERM_MAX_BYTES:
        return None
    return _normalize_cached_term(word, language)


@lru_cache(maxsize=TERM_CACHE_SIZE)
def _normalize_cached_term(word: str, language: str) -> str | None:
    if word in load_stop_words(language) or len(word.encode("utf-8", "ignore")) > TERM_MAX_BYTES:
        return None
    if len(word) < 2 and not (word and is_spaceless(word)):
        return None
    return singularize(word) if language == "en" else word


def singularize(word: str) -> str:
    """Return one common form for an English singular and its plural, by their endings.

    The form need not be a word: `movie` and `movies` become `movy`.
    """
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-2] + "y" if len(word) > 4 and word.endswith("ie") else word


def split_terms(text: str, language: str = "") -> list[str]:
    """Return the terms of a text in order, with "" at each omitted word and sentence end.

    `language`: two-letter language of the text; "" if unknown.
    """
    folded_text = fold_text(replace_urls(text[:MAX_CHARS]))
    return [normalize_term(word, language) or "" for word in _iter_words(folded_text, language)]


def guess_language(texts: Sequence[str]) -> str:
    """Return the two-letter language whose stop words have the largest share of the texts' words.

    Return "" if no language has a share of at least 15 %. About 1,000 evenly sampled texts are
    read.
    """
    step = max(1, len(texts) // GUESS_TEXTS_MAX)
    counts = Counter(
        word for text in texts[::step] for word in fold_text(text[:GUESS_CHARS]).split()
    )
    total = sum(counts.values())
    shares = {
        language: sum(counts[word] for word in load_stop_words(language)) / max(total, 1)
        for language in list_languages()
    }
    best = max(shares, key=lambda language: (shares[language], language))
    return best if shares[best] >= _SHARE_MIN else ""


def _iter_words(folded_text: str, language: str) -> Iterator[str]:
    """Iterate over the words of a folded text, with "" where the sequence of terms breaks.

    Characters of scripts without spaces become overlapping pairs. `fold_text` puts a space on
    either side of such a character. So two neighbours have two spaces between them, and a
    punctuation mark between them leaves three.
    """
    for part in _MARKS_BETWEEN.split(folded_text):
        characters: list[str] = []
        words = part.split(" ")
        for place, word in enumerate(words):
            if len(word) == 1 and word >= _SPACELESS_FROM and _is_spaceless(word):
                characters.append(word)
            elif word or not characters or words[place - 1] == "":
                yield from _iter_character_pairs(characters, language)
                characters = []
                yield word
        yield from _iter_character_pairs(characters, language)
        yield ""


def _iter_character_pairs(characters: Sequence[str], language: str) -> Iterator[str]:
    if len(characters) == 1:
        yield characters[0] if characters[0] not in load_stop_words(language) else ""
    for first, second in pairwise(characters):
        yield "" if is_stop_word_pair(first, second, language) else first + second


@lru_cache(maxsize=100_000)
def _is_spaceless(character: str) -> bool:
    return is_spaceless(character)
