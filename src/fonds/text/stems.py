"""Stems of words, so that a search finds other forms of a word (`run`, `running`).

A word has one or two stems in a language. The first is the stem of the word as written, from which
accents are then removed. The second is the stem of the word without accents, so that people who
type without accents find the same documents. Two words are forms of each other if they share a
stem. In a language without rules, and in texts without a language, a word has only its form without
case and accents. Characters that are words by themselves have no stems.

Source: Snowball, https://snowballstem.org, as in the package PyStemmer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from threading import local
from types import MappingProxyType

from Stemmer import Stemmer

from fonds.text.words import fold_and_normalize_text, fold_text, is_spaceless

STEMMED_MAX_CHARS = 64
"""Maximum length of a word that is stemmed. A longer run of letters is no real word and is its own
stem.
"""
STEM_CACHE_SIZE = 65_536
"""Number of words whose stems are kept, in all languages together, for indexing. As many are kept
for searching.
"""
QUERY_CACHE_SIZE = 2_048

ALGORITHMS: Mapping[str, str] = MappingProxyType(
    {
        "ar": "arabic", "bs": "serbian", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german",
        "el": "greek", "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
        "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hr": "serbian",
        "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
        "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian",
        "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
        "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
    }
)  # fmt: skip
"""Snowball algorithm of each language with stemming rules, by ISO 639-1 code."""
CHANGE_BEGINNINGS = frozenset(
    {"ar", "bs", "eo", "fa", "ga", "hi", "hr", "id", "ne", "nl", "sr", "ta", "yi"}
)
"""Languages whose stemming rules may change the beginning of a word. In other languages a stem
begins like its word.
"""
_THREAD_LOCAL = local()


@dataclass(frozen=True, slots=True)
class Stem:
    """Stem that a search looks for, and the languages of the texts in which it looks.

    - `text`: the stem.
    - `languages`: languages of the texts to search; None for all languages except
      `other_languages`.
    - `other_languages`: languages of texts that are not searched; used if `languages` is None.
    """

    text: str
    languages: tuple[str, ...] | None
    other_languages: tuple[str, ...] = ()


def stem_text(text: str, language: str | None) -> str:
    """Return the stems of all words in a text, joined by spaces, as the search index
    stores them.
    """
    return join_stems(*fold_and_normalize_text(text), language)


def join_stems(folded_text: str, normalized_text: str, language: str | None) -> str:
    """Return the stems of all words in a text, as `stem_text` does.

    `folded_text`, `normalized_text`: the words of the text without and with accents, as
    `fold_and_normalize_text` returns them.
    """
    get_stems = _get_stem_table(language).__getitem__
    words = folded_text.split()
    stems = (
        map(get_stems, words)
        if normalized_text == folded_text
        else map(get_stems, zip(normalized_text.split(), words, strict=True))
    )
    return " ".join(stems if folded_text.isascii() else filter(None, stems))


def list_stems(word: str, language: str | None) -> set[str]:
    """Return the stems of one word in a language; an empty set if `word` is not exactly one
    word.
    """
    words = list(iter_written_words(word))
    return set(stem_word(*words[0], language or "")) if len(words) == 1 else set()


@lru_cache(QUERY_CACHE_SIZE)
def list_search_stems(word: str) -> Sequence[Stem]:
    """Return the stems to search for to find the documents with a form of `word` in the document's
    language.

    `word` is one word as a user typed it.
    """
    written_word, folded_word = next(iter(iter_written_words(word)))
    languages: dict[str, list[str]] = {folded_word: []}
    for language in ALGORITHMS:
        for stem in stem_word(written_word, folded_word, language):
            languages.setdefault(stem, []).append(language)
    changing_languages = tuple(
        language_code for language_code in ALGORITHMS if language_code not in languages[folded_word]
    )
    other_stems = [
        (text, tuple(stem_languages))
        for text, stem_languages in languages.items()
        if text != folded_word
    ]
    return (
        Stem(folded_word, None, changing_languages),
        *(Stem(text, stem_languages) for text, stem_languages in other_stems),
    )


@lru_cache(STEM_CACHE_SIZE)
def stem_word(word: str, folded_word: str, language: str) -> tuple[str, ...]:
    """Return the one or two stems of a word in a language.

    - `word`: the word in lower case, with accents.
    - `folded_word`: the word in lower case, without accents. It is its own stem if the language has
      no rules or the word is too long.
    """
    return _compute_stems(word, folded_word, ALGORITHMS.get(language, ""))


class _StemTable(dict[str | tuple[str, str], str]):
    """Stems of words as `stem_text` joins them, computed when first used.

    A key is a word without accents, or a pair: a word with accents, and without them. The value of
    a character that is a word by itself is "". A word that is too long is not kept.
    """

    def __init__(self, algorithm: str) -> None:
        self._algorithm = algorithm

    def __missing__(self, key: str | tuple[str, str]) -> str:
        word, folded_word = (key, key) if isinstance(key, str) else key
        stems = (
            ""
            if is_spaceless(folded_word[0])
            else " ".join(_compute_stems(word, folded_word, self._algorithm))
        )
        if len(word) <= STEMMED_MAX_CHARS:
            # A word and the equal stem of other words are one string, so that more of the table
            # stays in the cache of the processor.
            self[intern(key) if isinstance(key, str) else key] = intern(stems)
        return stems


_STEM_TABLES: dict[str, _StemTable] = {}


def _get_stem_table(language: str | None) -> _StemTable:
    """Return the table with the stems of words in a language.

    If the tables of all languages have more than 65,536 words, they are emptied first.
    """
    if sum(map(len, list(_STEM_TABLES.values()))) > STEM_CACHE_SIZE:
        _STEM_TABLES.clear()
    algorithm = ALGORITHMS.get(language or "", "")
    return _STEM_TABLES.setdefault(algorithm, _StemTable(algorithm))


def _compute_stems(word: str, folded_word: str, algorithm: str) -> tuple[str, ...]:
    if not algorithm or len(word) > STEMMED_MAX_CHARS:
        return (folded_word,)
    stemmer = _get_stemmer(algorithm)
    bare = _fold_stem(stemmer.stemWord(folded_word)) or folded_word
    if word == folded_word:
        return (bare,)
    accented_stem = _fold_stem(stemmer.stemWord(word)) or folded_word
    return (bare,) if accented_stem == bare else (bare, accented_stem)


def _fold_stem(stem: str) -> str:
    if stem.isascii() and stem.isalnum():
        return stem.lower()
    return "".join(fold_text(stem).split())


def _get_stemmer(algorithm: str) -> Stemmer:
    """Return this thread's stemmer for an algorithm. A stemmer has state, so threads cannot share
    it.
    """
    stemmers = _THREAD_LOCAL.__dict__.setdefault("stemmers", {})
    if algorithm not in stemmers:
        stemmers[algorithm] = Stemmer(algorithm, maxCacheSize=0)
    return stemmers[algorithm]


def iter_written_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a text in order, each in two forms.

    The first is in lower case with accents, the second in lower case without accents.
    """
    folded_text, normalized_text = fold_and_normalize_text(text)
    return zip(normalized_text.split(), folded_text.split(), strict=True)
