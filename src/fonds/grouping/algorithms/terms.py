"""Texts to terms in order, as search tells words apart, and what of them can name a theme.

Words are folded by `fonds.text.words`. Function words of the text's language are left out, as are
addresses of the web; English plurals are read as singulars, and scripts without spaces give overlapping
pairs of neighbours, since single characters say too little. Where something is left out, or a sentence
ends, the row of neighbours breaks.

Bound: 200,000 characters of a text are read; a term has at most 200 bytes; 5,000,000 distinct terms.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from fonds.grouping.algorithms.function_words import (
    is_function_pair,
    load_function_words,
)
from fonds.text.stop_words import list_languages
from fonds.text.words import fold_text, is_spaceless

MAX_CHARS = 200_000
TERM_MAX_BYTES = 200
TERMS_MAX = 5_000_000
TERM_CACHE_SIZE = 100_000
"""So many words are kept with their terms: at most 40 MB, words being no longer than a term's bytes."""
BREAK = -1
GUESSED_FROM = 1000
"""How many texts a collection's language is guessed from."""
GUESSED_CHARACTERS = 2000

_SPACELESS_FROM = "\u0e00"
_MARKS_BETWEEN = re.compile(r" {3,}")
_ADDRESS = re.compile(r"(?:https?://|ftp://|\bwww\.|\bdoi\.org/)[!-~]{1,2000}", re.IGNORECASE)
_SHARE_MIN = 0.15
"""So many words of running text are function words at least; in English about half are."""


class Vocabulary:
    """Terms by the order in which they were met, and the number each word of a language stands for."""

    def __init__(self, terms: Sequence[str] | None = None) -> None:
        """With `split_terms`, terms keep their place in it and other words break the row."""
        self.numbers = {term: number for number, term in enumerate(terms or ())}
        self.is_closed = terms is not None
        self._by_language: dict[str, _Words] = {}

    def read(self, text: str, language: str, numbers: array[int]) -> None:
        """Append the numbers of a text's terms in order, BREAK where neighbours do not belong together."""
        folded = fold_text(replace_urls(text[:MAX_CHARS]))
        of_language = self._by_language.get(language)
        if of_language is None:
            of_language = self._by_language[language] = _Words(self, language)
        words = folded.split(" ") if text.isascii() else _iter_words(folded, language)
        numbers.extend(map(of_language.__getitem__, words))

    def get_number(self, term: str) -> int:
        """The number of a term, a new one for a new term; BREAK where there is no room, or none are
        added."""
        known = self.numbers.get(term)
        if known is not None:
            return known
        if self.is_closed or len(self.numbers) >= TERMS_MAX:
            return BREAK
        self.numbers[term] = len(self.numbers)
        return len(self.numbers) - 1


class _Words(dict[str, int]):
    """Word to the number of its term, worked out when it is first met, and kept while there is room."""

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
    """A text without the addresses of the web in it, marks in their places: what they are made of says where
    something is, and `https` and `org` name no theme."""
    return _ADDRESS.sub(" . ", text)


def normalize_term(word: str, language: str) -> str | None:
    """The term a folded word stands for; None for one that names nothing."""
    if len(word) > TERM_MAX_BYTES:
        return None
    return _normalize_cached_term(word, language)


@lru_cache(maxsize=TERM_CACHE_SIZE)
def _normalize_cached_term(word: str, language: str) -> str | None:
    if (
        word in load_function_words(language)
        or len(word.encode("utf-8", "ignore")) > TERM_MAX_BYTES
    ):
        return None
    if len(word) < 2 and not (word and is_spaceless(word)):
        return None
    return singularize(word) if language == "en" else word


def singularize(word: str) -> str:
    """One form for an English singular and its plural, by their endings: `movie` and `movies` are `movy`."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-2] + "y" if len(word) > 4 and word.endswith("ie") else word


def split_terms(text: str, language: str = "") -> list[str]:
    """The terms of a text in order, "" where the row of neighbours breaks."""
    folded = fold_text(replace_urls(text[:MAX_CHARS]))
    return [normalize_term(word, language) or "" for word in _iter_words(folded, language)]


def guess_language(texts: Sequence[str]) -> str:
    """The language most words of whose text are function words; "" where no language has enough of them.

    At most 1,000 texts, evenly taken, are looked at.
    """
    step = max(1, len(texts) // GUESSED_FROM)
    counts = Counter(
        word for text in texts[::step] for word in fold_text(text[:GUESSED_CHARACTERS]).split()
    )
    total = sum(counts.values())
    shares = {
        language: sum(counts[word] for word in load_function_words(language)) / max(total, 1)
        for language in list_languages()
    }
    best = max(shares, key=lambda language: (shares[language], language))
    return best if shares[best] >= _SHARE_MIN else ""


def _iter_words(folded: str, language: str) -> Iterator[str]:
    """Words of a folded text, "" where a row breaks; runs of spaceless characters as overlapping pairs.

    `fold_text` gives such a character a space on either side, so two neighbours have two spaces between
    them and what a mark parts has three."""
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
        yield run[0] if run[0] not in load_function_words(language) else ""
    for first, second in pairwise(run):
        yield "" if is_function_pair(first, second, language) else first + second


@lru_cache(maxsize=100_000)
def _is_spaceless(character: str) -> bool:
    return is_spaceless(character)
