"""Detect garbled text: the output of a font whose codes were taken for the wrong letters.

In every language a few letters make up much of the text. A page where they do not is suspect. For
scripts with many languages, a page is garbled only if no language is recognised either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.text.language import identify_language

_LETTERS_MIN, _SAMPLE_CHARS, _JUDGED_MAX_CHARS = 150, 1_000, 2_000
_UNMAPPED_MAX = 0.2
_LANGUAGE_SCORE_MIN = 0.9
_ACCENTED_MAX = 0.45
_LATIN = b"abcdefghijklmnopqrstuvwxyz"
_LATIN_FREQUENT, _LATIN_FREQUENT_MIN = b"etaoinsr", 0.45
_ACCENTED = re.compile("[\u00a1-\u00ff]")
_UNMAPPED_CHARS = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _ScriptProfile:
    letters: re.Pattern[str]
    frequent: re.Pattern[str]
    frequent_min: float
    is_multilingual: bool


_SCRIPTS = (
    _ScriptProfile(re.compile("[\u0370-\u03ff]"), re.compile("[αάοόιίετσςνη]"), 0.35, False),
    _ScriptProfile(re.compile("[\u0400-\u052f]"), re.compile("[оеаинтсріОЕАИНТСРІ]"), 0.4, True),
    _ScriptProfile(
        re.compile("[\uac00-\ud7a3]"),
        re.compile("[이다는의에가을를고하지은로사도한기자인서리어정시]"),
        0.12,
        False,
    ),
    _ScriptProfile(
        re.compile("[\u3041-\u30fa\u4e00-\u9fff]"),
        re.compile(
            "[\u3041-\u30fa的一是不了人在有这中大来上国和地到以说时要就出会年日本月生行学用]"
        ),
        0.04,
        False,
    ),
)


def is_garbled(text: str) -> bool:
    """Return whether the text of a page seems to be in no language, because its characters were
    decoded wrongly.

    Return False if the text is too short to decide.
    """
    text = text[:_JUDGED_MAX_CHARS]
    lower = text.encode("ascii", "ignore").lower()
    latin = len(lower) - len(lower.translate(None, _LATIN))
    if latin < _LETTERS_MIN or 2 * len(lower) < len(text):
        return not text.isascii() and _is_non_ascii_garbled(text)
    frequent = len(lower) - len(lower.translate(None, _LATIN_FREQUENT))
    return frequent < _LATIN_FREQUENT_MIN * latin and _has_no_language(text)


def _is_non_ascii_garbled(text: str) -> bool:
    visible_count = sum(not char.isspace() for char in text)
    if visible_count < _LETTERS_MIN:
        return False
    if len(_UNMAPPED_CHARS.findall(text)) > _UNMAPPED_MAX * visible_count:
        return True
    if len(_ACCENTED.findall(text)) > _ACCENTED_MAX * visible_count:
        return True
    for script in _SCRIPTS:
        letters = len(script.letters.findall(text))
        if letters >= _LETTERS_MIN and 2 * letters > visible_count:
            if len(script.frequent.findall(text)) >= script.frequent_min * letters:
                return False
            return not script.is_multilingual or _has_no_language(text)
    return False


def _has_no_language(text: str) -> bool:
    guess = identify_language(text[:_SAMPLE_CHARS])
    return guess is None or guess[1] < _LANGUAGE_SCORE_MIN
