"""Which language a page is in: what its text says, and what its author declared.

Source: BCP 47 (RFC 5646), as langcodes has it; ISO 639-1. The model is py3langid's, loaded once in a process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import langcodes
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from fonds.text.language_codes import UNDETERMINED, find_two_letter_code

SAMPLE_CHARS = 1000
"""How much of a text is looked at; more changes the answer in no test page and costs time."""

BEGINNING_CHARS = 400
CERTAIN = 0.99
"""Where the model is so sure of the beginning the rest is not asked: 1,018 of 1,078 texts, all the same."""

SURE = 0.5
"""A guess this confident is believed against the page's own declaration; an undeclared one needs less."""
PROBABLE = 0.2

LETTERS_MIN = 20
"""Fewer letters tell no language: a word or two may be of any."""

TAG_MAX_CHARS = 60
_LETTER = re.compile(r"[^\W\d_]")

_EQUIVALENTS = {"nb": "no", "nn": "no", "bs": "hr", "sr": "hr", "ms": "id"}
"""Languages a model cannot keep apart in a short text: there the declaration is believed."""


@cache
def _load_identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def load_model() -> None:
    """Load the model now: it takes half a second and writes a temporary file."""
    _load_identifier()


def identify_language(text: str, max_chars: int = SAMPLE_CHARS) -> tuple[str, float] | None:
    """ISO 639-1 code of a text and confidence, 0 to 1; None for no language or one without such a code."""
    sample = text[:max_chars]
    if not any(map(str.isalpha, sample)):
        return None
    label, confidence = _load_identifier().classify(sample[:BEGINNING_CHARS])
    if confidence < CERTAIN and len(sample) > BEGINNING_CHARS:
        label, confidence = _load_identifier().classify(sample)
    code = find_two_letter_code(label)
    return (code, confidence) if code else None


@dataclass(frozen=True, slots=True)
class IdentifiedLanguage:
    """ISO 639-1 code (lower case) and BCP 47 tag, `und` for a text too short to tell, None without text.

    `confidence`, 0 to 1, is the model's in the language of the text; None where it was not asked.
    """

    code: str | None
    tag: str | None
    confidence: float | None = None


def choose_language(text: str, declared: str | None) -> tuple[str | None, str | None]:
    """ISO 639-1 code (two letters, lower case) and BCP 47 tag of a text; None where nobody can tell.

    The text is believed before the declaration, which templates get wrong, unless it says little. The tag
    is the declared one where it is of the language chosen, else the code alone.
    """
    chosen = _choose_language(declared, identify_language(text))
    return chosen.code, chosen.tag


def identify_page_language(text: str, declared: str | None) -> IdentifiedLanguage:
    """The language of a page; its text is asked only where it is long enough to tell."""
    is_long_enough = len(_LETTER.findall(text[:SAMPLE_CHARS])) >= LETTERS_MIN
    chosen = _choose_language(declared, identify_language(text) if is_long_enough else None)
    if chosen.tag is None and text.strip():
        return IdentifiedLanguage(UNDETERMINED, UNDETERMINED)
    return chosen


def _choose_language(declared: str | None, guess: tuple[str, float] | None) -> IdentifiedLanguage:
    tag = parse_language_tag(declared)
    said = find_two_letter_code(tag.partition("-")[0]) if tag else None
    if guess is not None and _is_believed(guess, said):
        code, confidence = guess
        return IdentifiedLanguage(code, tag if tag and said == code else code, confidence)
    return IdentifiedLanguage(said, tag, guess[1] if guess and guess[0] == said else None)


def _is_believed(guess: tuple[str, float], text: str | None) -> bool:
    code, confidence = guess
    if text is None:
        return confidence >= PROBABLE
    return confidence >= SURE and _EQUIVALENTS.get(code, code) != _EQUIVALENTS.get(text, text)


def parse_language_tag(declared: str | None) -> str | None:
    """A declared language as a BCP 47 tag in its usual case (`pt-BR`, `zh-Hant-TW`); None if it is none.

    `en_US.UTF-8` is read as `en-US`; of several (`de, en`) the first counts.
    """
    if declared is None:
        return None
    first = re.split(r"[,;.@\s]", declared.strip(), maxsplit=1)[0][:TAG_MAX_CHARS]
    try:
        tag = langcodes.standardize_tag(first)
    except ValueError:
        return None
    return tag if langcodes.tag_is_valid(tag.partition("-")[0]) else None
