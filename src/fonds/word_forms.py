"""The forms of a word in one language: which words are found by another, in texts of that language.

A word has one or two stems: of its letters as they are written, accents folded away afterwards, and of its
folded letters, so that who types without accents finds the same. Two words are forms of each other in a
language when they share a stem. Languages without rules, and texts without a language, know each word in
its folded form alone; characters that are words by themselves have no forms.

Source: Snowball, https://snowballstem.org, as the package snowballstemmer has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import local
from types import MappingProxyType
from typing import TYPE_CHECKING

from fonds.words import fold, is_spaceless, letters

if TYPE_CHECKING:
    import snowballstemmer

STEMMED_CHARACTERS_MAX = 64
"""A longer run of letters is no word of any language; it is its own stem."""
STEMS_REMEMBERED = 65_536
QUERIES_REMEMBERED = 2_048

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
"""Languages with rules, by ISO 639-1."""
CHANGE_BEGINNINGS = frozenset(
    {"ar", "bs", "eo", "fa", "ga", "hi", "hr", "id", "ne", "nl", "sr", "ta", "yi"}
)
"""Languages whose rules may change the beginning of a word; in the others a stem begins as its word does."""
_OF_THREAD = local()


@dataclass(frozen=True, slots=True)
class Stem:
    """A stem to look for. `languages` are those of the texts it counts in, None: in all but `others`."""

    text: str
    languages: tuple[str, ...] | None
    others: tuple[str, ...] = ()


def stemmed(text: str, language: str | None) -> str:
    """The stems of all words of `text`, between spaces; what the index holds to find words by their forms."""
    return " ".join(
        stem
        for written, folded in words_written(text)
        if not is_spaceless(folded[0])
        for stem in stems(written, folded, language or "")
    )


def stems_of(word: str, language: str | None) -> set[str]:
    """The stems of one word; empty for what is none or several."""
    found = list(words_written(word))
    return set(stems(*found[0], language or "")) if len(found) == 1 else set()


@lru_cache(QUERIES_REMEMBERED)
def stems_everywhere(word: str) -> Sequence[Stem]:
    """What to look for so that exactly the documents with a form of `word` in their own language are found.

    `word` is one word as typed.
    """
    written, folded = next(iter(words_written(word)))
    languages: dict[str, list[str]] = {folded: []}
    for language in ALGORITHMS:
        for stem in stems(written, folded, language):
            languages.setdefault(stem, []).append(language)
    own = tuple(one for one in ALGORITHMS if one not in languages[folded])
    rest = [(text, tuple(found)) for text, found in languages.items() if text != folded]
    return (Stem(folded, None, own), *(Stem(text, found) for text, found in rest))


@lru_cache(STEMS_REMEMBERED)
def stems(written: str, folded: str, language: str) -> tuple[str, ...]:
    """One or two stems of a word, given as written (lower case) and folded."""
    if language not in ALGORITHMS or len(written) > STEMMED_CHARACTERS_MAX:
        return (folded,)
    stemmer = _stemmer(ALGORITHMS[language])
    bare = "".join(fold(stemmer.stemWord(folded)).split())
    accented = bare if written == folded else "".join(fold(stemmer.stemWord(written)).split())
    return tuple(dict.fromkeys(stem or folded for stem in (bare, accented)))


def _stemmer(algorithm: str) -> snowballstemmer.stemmer:
    """One for each thread: it keeps the word it works on. The package loads the rules of all languages."""
    import snowballstemmer

    known = _OF_THREAD.__dict__.setdefault("stemmers", {})
    if algorithm not in known:
        known[algorithm] = snowballstemmer.stemmer(algorithm)
    return known[algorithm]


def words_written(text: str) -> Iterator[tuple[str, str]]:
    """The words of a text in order, as written in lower case and folded."""
    folded = fold(text).split()
    return zip(folded if text.isascii() else letters(text).split(), folded, strict=True)
