"""Text that is none: what comes out of a font whose codes were taken for the wrong letters.

In every language a few letters make up much of the text. A page on which they do not is suspect; where a
script has many languages, the page is garbled when it is in none that can be recognised either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.extract.language.identifying import identify_language

_LETTERS_MIN, _SAMPLE_CHARS, _CHARS_MAX = 150, 1_000, 2_000
_NO_TEXT_MAX = 0.2
_SURE = 0.9
_ACCENTED_MAX = 0.45
_LATIN = b"abcdefghijklmnopqrstuvwxyz"
_LATIN_OFTEN, _LATIN_OFTEN_MIN = b"etaoinsr", 0.45
_ACCENTED = re.compile("[\u00a1-\u00ff]")
_NO_TEXT = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Script:
    letters: re.Pattern[str]
    often: re.Pattern[str]
    often_min: float
    many_languages: bool


_SCRIPTS = (
    _Script(re.compile("[\u0370-\u03ff]"), re.compile("[αάοόιίετσςνη]"), 0.35, False),
    _Script(re.compile("[\u0400-\u052f]"), re.compile("[оеаинтсріОЕАИНТСРІ]"), 0.4, True),
    _Script(
        re.compile("[\uac00-\ud7a3]"),
        re.compile("[이다는의에가을를고하지은로사도한기자인서리어정시]"),
        0.12,
        False,
    ),
    _Script(
        re.compile("[\u3041-\u30fa\u4e00-\u9fff]"),
        re.compile(
            "[\u3041-\u30fa的一是不了人在有这中大来上国和地到以说时要就出会年日本月生行学用]"
        ),
        0.04,
        False,
    ),
)


def is_garbled(text: str) -> bool:
    """Whether a page's text is no text of any language; False for what is too short to tell."""
    text = text[:_CHARS_MAX]
    lower = text.encode("ascii", "ignore").lower()
    latin = len(lower) - len(lower.translate(None, _LATIN))
    if latin < _LETTERS_MIN or 2 * len(lower) < len(text):
        return not text.isascii() and _is_garbled_beyond_ascii(text)
    often = len(lower) - len(lower.translate(None, _LATIN_OFTEN))
    return often < _LATIN_OFTEN_MIN * latin and _is_of_no_language(text)


def _is_garbled_beyond_ascii(text: str) -> bool:
    shown = sum(not one.isspace() for one in text)
    if shown < _LETTERS_MIN:
        return False
    if len(_NO_TEXT.findall(text)) > _NO_TEXT_MAX * shown:
        return True
    if len(_ACCENTED.findall(text)) > _ACCENTED_MAX * shown:
        return True
    for script in _SCRIPTS:
        letters = len(script.letters.findall(text))
        if letters >= _LETTERS_MIN and 2 * letters > shown:
            if len(script.often.findall(text)) >= script.often_min * letters:
                return False
            return not script.many_languages or _is_of_no_language(text)
    return False


def _is_of_no_language(text: str) -> bool:
    guess = identify_language(text[:_SAMPLE_CHARS])
    return guess is None or guess[1] < _SURE
