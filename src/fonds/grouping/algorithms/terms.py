"""Terms of texts in order, tokenized as for search, without words that cannot name a theme.

`fonds.text.words` folds the words. Stop words of the text's language and URLs are left out. English
plurals become singulars. Scripts without spaces give overlapping pairs of characters, since single
characters say too little. The sequence of adjacent terms breaks at each omission and at the end of
a sentence.

Limits: 200,000 characters of a text; 200 bytes per term; 5,000,000 distinct terms.
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
"""Words cached with their terms: at most 40 MB, since no word is longer than a term."""
BREAK = -1
GUESS_TEXTS_MAX = 1000
"""Number of texts to guess a collection's language from."""
GUESS_CHARACTERS = 2000

_SPACELESS_FROM = "\u0e00"
_MARKS_BETWEEN = re.compile(r" {3,}")
_ADDRESS = re.compile(r"(?:https?://|ftp://|\bwww\.|\bdoi\.org/)[!-~]{1,2000}", re.IGNORECASE)
_SHARE_MIN = 0.15
"""Minimum share of stop words in running text; in English about half are."""


class Vocabulary:
    """Terms in the order of their first occurrence, and the term number of each word of a language."""

    def __init__(self, terms: Sequence[str] | None = None) -> None:
        """Create a vocabulary.

        With `terms` it is closed: terms are numbered by position, other words become BREAK.
        """
        self.numbers = {term: number for number, term in enumerate(terms or ())}
        self.is_closed = terms is not None
        self._by_language: dict[str, _Words] = {}

    def read(self, text: str, language: str, numbers: array[int]) -> None:
        """Append the numbers of a text's terms in order, BREAK between terms that are not adjacent."""
        folded = fold_text(replace_urls(text[:MAX_CHARS]))
        language_words = self._by_language.get(language)
        if language_words is None:
            language_words = self._by_language[language] = _Words(self, language)
        words = folded.split(" ") if text.isascii() else _iter_words(folded, language)
        numbers.extend(map(language_words.__getitem__, words))

    def get_number(self, term: str) -> int:
        """Return the number of a term; add it if it is new.

        Return BREAK if the vocabulary is closed or full.
        """
        number = self.numbers.get(term)
        if number is not None:
            return number
        if self.is_closed or len(self.numbers) >= TERMS_MAX:
            return BREAK
        self.numbers[term] = len(self.numbers)
        return len(self.numbers) - 1


class _Words(dict[str, int]):
    """Cache from words to the numbers of their terms, with at most `TERMS_MAX` entries."""

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
    """Replace URLs in a text by marks that break the sequence.

    Their parts are locations; `https` and `org` name no theme.
    """
    return _ADDRESS.sub(" . ", text)


def normalize_term(word: str, language: str) -> str | None:
    """Return the term of a folded word; None if it names nothing."""
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
    """Return one form for an English singular and its plural, by ending.

    For example, `movie` and `movies` become `movy`.
    """
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-2] + "y" if len(word) > 4 and word.endswith("ie") else word


def split_terms(text: str, language: str = "") -> list[str]:
    """Return the terms of a text in order, "" at each break."""
    folded = fold_text(replace_urls(text[:MAX_CHARS]))
    return [normalize_term(word, language) or "" for word in _iter_words(folded, language)]


def guess_language(texts: Sequence[str]) -> str:
    """Return the language with the largest share of stop words; "" if no language has enough.

    Looks at about 1,000 evenly sampled texts.
    """
    step = max(1, len(texts) // GUESS_TEXTS_MAX)
    counts = Counter(
        word for text in texts[::step] for word in fold_text(text[:GUESS_CHARACTERS]).split()
    )
    total = sum(counts.values())
    shares = {
        language: sum(counts[word] for word in load_stop_words(language)) / max(total, 1)
        for language in list_languages()
    }
    best = max(shares, key=lambda language: (shares[language], language))
    return best if shares[best] >= _SHARE_MIN else ""


def _iter_words(folded: str, language: str) -> Iterator[str]:
    """Iterate over the words of a folded text, "" at breaks.

    Spaceless characters become overlapping pairs. `fold_text` puts a space on either side of such a
    character. So two neighbours have two spaces between them, and a punctuation mark between them
    leaves three.
    """
    for part in _MARKS_BETWEEN.split(folded):
        run: list[str] = []
        words = part.split(" ")
        for place, word in enumerate(words):
            if len(word) == 1 and word >= _SPACELESS_FROM and _is_spaceless(word):
                run.append(word)
            elif word or not run or words[place - 1] == "":
                yield from _iter_character_pairs(run, language)
                run = []
                yield word
        yield from _iter_character_pairs(run, language)
        yield ""


def _iter_character_pairs(run: Sequence[str], language: str) -> Iterator[str]:
    if len(run) == 1:
        yield run[0] if run[0] not in load_stop_words(language) else ""
    for first, second in pairwise(run):
        yield "" if is_stop_word_pair(first, second, language) else first + second


@lru_cache(maxsize=100_000)
def _is_spaceless(character: str) -> bool:
    return is_spaceless(character)
