"""Score texts that result from decoding the same bytes with different charsets.

Mojibake is text that was decoded with the wrong charset. A text is plausible if its language is
usually written in its charset, its words consist of letters, and their case is not mixed. The
declared language and the host of the page have a small weight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.text.language import identify_language

_WESTERN = "en de fr es pt it nl sv da no nb nn fi is ca gl eu ga sq id ms tl af sw br oc la lb cy gd fo wa"
_LANGUAGES = {
    "windows-1252": _WESTERN,
    "iso-8859-15": _WESTERN,
    "macintosh": _WESTERN,
    "windows-1250": "pl cs sk hu sl hr bs ro sr sq",
    "iso-8859-2": "pl cs sk hu sl hr bs ro sr sq",
    "windows-1251": "ru uk bg sr mk be kk ky mn tg",
    "koi8-r": "ru",
    "koi8-u": "uk",
    "iso-8859-5": "ru uk bg sr mk be",
    "ibm866": "ru be",
    "windows-1253": "el",
    "iso-8859-7": "el",
    "windows-1254": "tr az ku",
    "windows-1255": "he yi",
    "iso-8859-8": "he yi",
    "windows-1256": "ar fa ur ps ug",
    "iso-8859-6": "ar",
    "windows-1257": "lt lv et",
    "iso-8859-13": "lt lv",
    "iso-8859-4": "lt lv et",
    "windows-1258": "vi",
    "windows-874": "th",
    "gbk": "zh",
    "gb18030": "zh",
    "big5": "zh",
    "shift_jis": "ja",
    "euc-jp": "ja",
    "euc-kr": "ko",
    "iso-2022-jp": "ja",
    "iso-2022-kr": "ko",
    "hz-gb-2312": "zh",
}
LANGUAGES = {charset: frozenset(codes.split()) for charset, codes in _LANGUAGES.items()}
"""Languages written in each regional charset. Unicode charsets serve all languages and are not
listed.
"""

_UNTRIED_CHARSETS = """
    gbk iso-8859-15 macintosh iso-2022-jp iso-2022-kr hz-gb-2312 ibm866 iso-8859-5 iso-8859-6 iso-8859-8
    iso-8859-4
"""
CANDIDATES = tuple(charset for charset in LANGUAGES if charset not in _UNTRIED_CHARSETS.split())
"""Charsets to try if no declared charset yields text. Of similar charsets the more common comes
first.
"""

_COUNTRY_LANGUAGES = """
    pl:pl cz:cs sk:sk hu:hu si:sl hr:hr ba:bs ro:ro md:ro rs:sr ru:ru su:ru by:be ua:uk bg:bg mk:mk
    kz:ru gr:el cy:el tr:tr az:az il:he sa:ar eg:ar ae:ar iq:ar sy:ar jo:ar lb:ar ma:ar dz:ar tn:ar
    ir:fa pk:ur lt:lt lv:lv ee:et vn:vi th:th cn:zh tw:zh hk:zh kr:ko jp:ja
"""
_LANGUAGE_BY_COUNTRY = dict(pair.split(":") for pair in _COUNTRY_LANGUAGES.split())
"""Likely language of each country's top-level domain, if it is not written in windows-1252."""

_COMMON_HAN = frozenset(
    "的一是不了在人有我他这這个個们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得于於着著下自之年过過发發后後"
    "作里裡用道行所然家种種事成方多经經么麼去法学學如都同现現当當没沒动動面起看定天分还還进進好小部其些主样樣理心她本前开開但因"
    "只从從想实實日月新台北京市公司報报记記者網网社政府民"
)
_COMMON_HANGUL = frozenset("이다의는을에가하고지로한도은를서사시기자대과어인나리해일정라수")
_COMMON_THAI = frozenset("านรอกเงมยลวดท่ส้ตปคบแหะใขไี")
_THAI = re.compile("[\u0e01-\u0e4e]")
_HAN = re.compile("[\u3400-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_CAPITALS = "\u0410-\u042f\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9"
_MIXED_CASE = re.compile(rf"[^\W\d_](?<![A-Z{_CAPITALS}])(?=[{_CAPITALS}])")
_SIGNS = (
    "’‘“”„«»‐-―…·ʼ״׳•†‡™¿¡€£©®°§\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0e31-\u0e4e\u3000-\u303f"
    "\uff00-\uff65"
)
_MISPLACED_SIGN = re.compile(
    rf"(?<=[^\W\d_])[^\w\s\x00-\x7f{_SIGNS}]|[^\w\s\x00-\x7f{_SIGNS}](?=[^\W\d_])"
)
_NOT_THAI = re.compile(
    "(?<![\u0e01-\u0e2e\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]|[\u0e40-\u0e44](?![\u0e01-\u0e2e])"
)
_LOST_CHARS = re.compile("[\ufffd\x80-\x84\x86-\x9f]")
_FOREIGN = re.compile(r"[^\x00-\x7f]")

SAMPLE_CHARS = 4000
TEXT_SCORE_MIN = 0.7
"""Minimum plausibility (0 to 1) of a decoded text to be accepted as text in a language."""


@dataclass(frozen=True, slots=True)
class Plausibility:
    """How plausible a decoded text is in its charset.

    - `score`: plausibility, 0 to 1.
    - `language`: code of the detected language; None if unknown.
    """

    score: float
    language: str | None


def guess_languages(declared_language: str | None, host: str) -> frozenset[str]:
    """Return codes of languages that are likely for a page: `declared_language` (the value of
    `<html lang>`, or None), and the language of the host's top-level domain.
    """
    hints = {declared_language[:2].lower()} if declared_language else set()
    country = _LANGUAGE_BY_COUNTRY.get(host.rpartition(".")[2])
    return frozenset(hints | ({country} if country else set()))


def score_reading(text: str, charset: str, hints: frozenset[str]) -> Plausibility:
    """Return how plausible it is that a text was decoded with the right charset (`charset`).

    The text should have only lines with non-ASCII characters. `hints` are codes of likely
    languages, which slightly raise the score.
    """
    foreign = len(_FOREIGN.findall(text))
    languages = LANGUAGES.get(charset)
    if languages is None or not foreign:
        return Plausibility(0.0, None)
    guess = identify_language(text[:SAMPLE_CHARS], SAMPLE_CHARS)
    if guess is None:
        return Plausibility(0.0, None)
    code, confidence = guess
    if code not in languages:
        return Plausibility(0.0, code)
    weights = ((_LOST_CHARS, 4), (_NOT_THAI, 3), (_MIXED_CASE, 2), (_MISPLACED_SIGN, 1))
    damage = sum(weight * len(fault.findall(text)) for fault, weight in weights) / foreign
    score = confidence * max(0.0, 1 - 3 * damage) * _score_script(text, charset)
    return Plausibility(min(1.0, score + (0.1 if code in hints and score > 0 else 0)), code)


def _score_script(text: str, charset: str) -> float:
    """Return a score from 0 to 1: how common the Chinese, Japanese, Korean or Thai characters of a
    text are, by its charset.

    Wrongly decoded bytes hardly yield common characters.
    """
    if charset in ("gbk", "gb18030", "big5"):
        han = _HAN.findall(text)
        common_count = sum(char in _COMMON_HAN for char in han)
        return min(1.0, 6 * common_count / len(han)) if han else 0.0
    if charset in ("shift_jis", "euc-jp"):
        return min(1.0, 6 * len(_KANA.findall(text)) / max(len(_FOREIGN.findall(text)), 1))
    if charset == "euc-kr":
        hangul = _HANGUL.findall(text)
        common_count = sum(char in _COMMON_HANGUL for char in hangul)
        return min(1.0, 5 * common_count / len(hangul)) if hangul else 0.0
    if charset == "windows-874":
        thai = _THAI.findall(text)
        common_count = sum(char in _COMMON_THAI for char in thai)
        return min(1.0, max(0.0, 4 * common_count / len(thai) - 1.4)) if thai else 0.0
    return 1.0
