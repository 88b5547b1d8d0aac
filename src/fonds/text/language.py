"""Detect the language of a page from its text and from the language that the page declares.

Source: BCP 47 (RFC 5646), as in langcodes; ISO 639-1. The language model is that of py3langid. It
is loaded once per process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import langcodes
from py3langid.langid import LanguageIdentifier

from fonds.text.language_codes import UNDETERMINED, find_two_letter_code
from fonds.text.language_model import load_identifier

SAMPLE_CHARS = 1000
"""Number of characters of a text that are examined to identify its language. More characters change
no result on the test pages.
"""

BEGINNING_CHARS = 400
CERTAIN = 0.99
"""Confidence (0 to 1) from which the first 400 characters decide. They did in 1,018 of 1,078 texts,
with the same results as the whole sample.
"""

SURE = 0.5
"""Confidence (0 to 1) at which the detected language overrides the declared language. Without a
declared language, a confidence of 0.2 is sufficient.
"""
PROBABLE = 0.2

LETTERS_MIN = 20
"""Minimum number of letters in a page whose language is identified. One or two words may be in any
language.
"""

TAG_MAX_CHARS = 60
_LETTER = re.compile(r"[^\W\d_]")

_EQUIVALENTS = {"nb": "no", "nn": "no", "bs": "hr", "sr": "hr", "ms": "id"}
"""Languages that the model cannot distinguish from another in a short text, with that other
language. The declared language decides between them.
"""


@cache
def _load_identifier() -> LanguageIdentifier:
    return load_identifier()


def load_model() -> None:
    """Load the model that identifies languages now. The first load on a machine takes half a
    second.
    """
    _load_identifier()


def identify_language(text: str, max_chars: int = SAMPLE_CHARS) -> tuple[str, float] | None:
    """Return the ISO 639-1 code of a text's language, and the confidence (0 to 1).

    Return None if the text has no letters, or if its language has no two-letter code.
    """
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
    """Language of a page.

    - `code`: ISO 639-1 code in lower case.
    - `tag`: BCP 47 tag.
    - `confidence`: confidence of the model, 0 to 1; None if the model was not used.

    Code and tag are `und` for a text too short to identify, and None without text.
    """

    code: str | None
    tag: str | None
    confidence: float | None = None


def choose_language(text: str, declared_language: str | None) -> tuple[str | None, str | None]:
    """Return the ISO 639-1 code (lower case) and the BCP 47 tag of a text's language; None if
    unknown.

    The detected language overrides the declared language, which is often wrong, unless the
    confidence of the detection is low. The tag is the declared tag if it is of the chosen language,
    otherwise the code.
    """
    language = _choose_language(declared_language, identify_language(text))
    return language.code, language.tag


def identify_page_language(text: str, declared_language: str | None) -> IdentifiedLanguage:
    """Identify the language of a page from its text and its declared language. A text of fewer than
    20 letters is ignored.
    """
    is_long_enough = len(_LETTER.findall(text[:SAMPLE_CHARS])) >= LETTERS_MIN
    language = _choose_language(
        declared_language, identify_language(text) if is_long_enough else None
    )
    if language.tag is None and text.strip():
        return IdentifiedLanguage(UNDETERMINED, UNDETERMINED)
    return language


def _choose_language(
    declared_language: str | None, guess: tuple[str, float] | None
) -> IdentifiedLanguage:
    tag = parse_language_tag(declared_language)
    declared_code = find_two_letter_code(tag.partition("-")[0]) if tag else None
    if guess is not None and _is_accepted(guess, declared_code):
        code, confidence = guess
        return IdentifiedLanguage(code, tag if tag and declared_code == code else code, confidence)
    return IdentifiedLanguage(
        declared_code, tag, guess[1] if guess and guess[0] == declared_code else None
    )


def _is_accepted(guess: tuple[str, float], text: str | None) -> bool:
    code, confidence = guess
    if text is None:
        return confidence >= PROBABLE
    return confidence >= SURE and _EQUIVALENTS.get(code, code) != _EQUIVALENTS.get(text, text)


def parse_language_tag(declared_language: str | None) -> str | None:
    """Return a declared language as a BCP 47 tag in its usual case (`pt-BR`, `zh-Hant-TW`); None if
    invalid.

    `en_US.UTF-8` becomes `en-US`. Of several languages (`de, en`) the first is returned.
    """
    if declared_language is None:
        return None
    first_tag = re.split(r"[,;.@\s]", declared_language.strip(), maxsplit=1)[0][:TAG_MAX_CHARS]
    try:
        tag = langcodes.standardize_tag(first_tag)
    except ValueError:
        return None
    return tag if langcodes.tag_is_valid(tag.partition("-")[0]) else None
