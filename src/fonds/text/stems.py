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

from fonds.text.words import fold_text, is_spaceless, normalize_text

if TYPE_CHECKING:
    import snowballstemmer

STEMMED_MAX_CHARS = 64
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
_THREAD_LOCAL = local()


@dataclass(frozen=True, slots=True)
class Stem:
    """A stem to look for. `languages` are those of the texts it counts in, None: in all but
    `other_languages`."""

    text: str
    languages: tuple[str, ...] | None
    other_languages: tuple[str, ...] = ()


def stem_text(text: str, language: str | None) -> str:
    """The stems of all words of `text`, between spaces; what the index holds to find words by their forms."""
    return " ".join(
        stem
        for written, folded in iter_written_words(text)
        if not is_spaceless(folded[0])
        for stem in stem_word(written, folded, language or "")
    )


def list_stems(word: str, language: str | None) -> set[str]:
    """The stems of one word; empty for what is none or several."""
    found = list(iter_written_words(word))
    return set(stem_word(*found[0], language or "")) if len(found) == 1 else set()


@lru_cache(QUERIES_REMEMBERED)
def list_search_stems(word: str) -> Sequence[Stem]:
    """What to look for so that exactly the documents with a form of `word` in their own language are found.

    `word` is one word as typed.
    """
    written, folded = next(iter(iter_written_words(word)))
    languages: dict[str, list[str]] = {folded: []}
    for language in ALGORITHMS:
        for stem in stem_word(written, folded, language):
            languages.setdefault(stem, []).append(language)
    own = tuple(one for one in ALGORITHMS if one not in languages[folded])
    rest = [(text, tuple(found)) for text, found in languages.items() if text != folded]
    return (Stem(folded, None, own), *(Stem(text, found) for text, found in rest))


@lru_cache(STEMS_REMEMBERED)
def stem_word(written: str, folded: str, language: str) -> tuple[str, ...]:
    """One or two stems of a word, given as written (lower case) and folded."""
    if language not in ALGORITHMS or len(written) > STEMMED_MAX_CHARS:
        return (folded,)
    stemmer = _get_stemmer(ALGORITHMS[language])
    bare = "".join(fold_text(stemmer.stemWord(folded)).split())
    accented = bare if written == folded else "".join(fold_text(stemmer.stemWord(written)).split())
    return tuple(dict.fromkeys(stem or folded for stem in (bare, accented)))


def _get_stemmer(algorithm: str) -> snowballstemmer.stemmer:
    """One for each thread: it keeps the word it works on. The package loads the rules of all languages."""
    import snowballstemmer

    known = _THREAD_LOCAL.__dict__.setdefault("stemmers", {})
    if algorithm not in known:
        known[algorithm] = snowballstemmer.stemmer(algorithm)
    return known[algorithm]


def iter_written_words(text: str) -> Iterator[tuple[str, str]]:
    """The words of a text in order, as written in lower case and folded."""
    folded = fold_text(text).split()
    return zip(folded if text.isascii() else normalize_text(text).split(), folded, strict=True)
