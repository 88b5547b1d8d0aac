"""The text of a page as pdfium gives it, made plain.

Bound: one pass over the page; an accent looks at no more than `_BLANKS_MAX` blanks on each side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fonds.extract.pdf.characters import LINE_END_HYPHEN, Box, PageCharacters
from fonds.extract.pdf.strings import clean_stored_text, clean_text
from fonds.text.language import identify_language

_WORD_MAX_CHARS = 80
_LINE_END_HYPHEN = re.compile(
    f"([-\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806{LINE_END_HYPHEN}]) ?\n(?=\\w)"
)
_HYPHEN_ENDS = tuple(f"{sign}{end}" for sign in ("-", LINE_END_HYPHEN) for end in ("\n", " \n"))
_OTHER_HYPHENS = "\u2010\u2011\ufe63\uff0d\u00ad\u058a\u1806"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BRACKET = re.compile(r"[()\[\]{}]")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MIRRORED_BRACKETS = str.maketrans("()[]{}", ")(][}{")
_NEGATED = re.compile("\u0338 ?([=\u2190-\u22ff])")


def clean_page_text(units: Sequence[str]) -> str:
    """The text of a page's characters, or of some of them, with surrogates that stand apart as one."""
    text = "".join(units)
    if text.isascii() and text.isprintable():
        return text.strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return normalise_page(text)


def normalise_page(raw: str) -> str:
    """One page as pdfium gives it, made plain: words cut at a line's end whole again, blanks trimmed."""
    # What is not to be seen may stand between a word, its hyphen and the end of the line.
    first, *others = map(clean_stored_text, raw.replace("\ufeff", "").split(LINE_END_HYPHEN))
    last = others[-1:]
    # Of several marks in a row one counts.
    marked = LINE_END_HYPHEN.join([first, *filter(None, others[:-1]), *last])
    if any(end in marked for end in _HYPHEN_ENDS) or any(sign in marked for sign in _OTHER_HYPHENS):
        marked = _LINE_END_HYPHEN.sub(_restore_hyphen, marked)
    text = _join_tex_signs(clean_text(_rejoin(marked))).strip()
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return text
    return _fix_brackets(text)


def _fix_brackets(text: str) -> str:
    """Brackets of lines written from right to left: pdfium gives some as they look, the wrong way round.

    Turned are those of a line in which they close before they open, and would not if turned.
    """
    return "\n".join(map(_fix_line_brackets, text.split("\n")))


def _fix_line_brackets(line: str) -> str:
    if _is_balanced(line) or not _RIGHT_TO_LEFT.search(line):
        return line
    turned = line.translate(_MIRRORED_BRACKETS)
    return turned if _is_balanced(turned) else line


def _is_balanced(line: str) -> bool:
    waiting: list[str] = []
    for bracket in _BRACKET.findall(line):
        if bracket in _CLOSING:
            waiting.append(_CLOSING[bracket])
        elif not waiting or waiting.pop() != bracket:
            return False
    return not waiting


def _restore_hyphen(match: re.Match[str]) -> str:
    """The mark pdfium puts for the hyphens it knows, where this is one."""
    before = match.string[max(0, match.start() - 1) : match.start()]
    if match[1] != "-":
        return LINE_END_HYPHEN if before.isalnum() else match[0]
    # That pdfium left it means that it saw another line begin; only a word cut in two goes on small.
    follows = match.string[match.end() : match.end() + 1]
    return LINE_END_HYPHEN if follows.islower() and before.isalpha() else match[0]


def _join_tex_signs(text: str) -> str:
    """Signs that TeX sets as two: a stroke before what it negates, a bar before its arrow."""
    if "\u21a6" in text:
        text = text.replace("\u21a6\u2192", "\u21a6")
    if "\u0338" in text:
        text = _NEGATED.sub(lambda found: unicodedata.normalize("NFC", found[1] + "\u0338"), text)
    return text


def _rejoin(raw: str) -> str:
    pieces = raw.split(LINE_END_HYPHEN)
    joined = [pieces[0]]
    for left, right in pairwise(pieces):
        joined += ("-" if _keeps_hyphen(left, right) else "", right)
    return "".join(joined)


def _keeps_hyphen(left_text: str, right: str) -> bool:
    # Only a small letter goes on with the word; `2010-2015`, `Jean-Paul` and `state-of-the-art`
    # own their hyphen.
    if not left_text[-1:].isalnum():
        return False
    word = left_text[-_WORD_MAX_CHARS:].split()[-1]
    return not right[:1].islower() or "-" in word


# Text that is none: what comes out of a font whose codes were taken for the wrong letters.
#
# In every language a few letters make up much of the text. A page on which they do not is suspect; where a
# script has many languages, the page is garbled when it is in none that can be recognised either.


_LETTERS_MIN, _SAMPLE_CHARS, _MAX_CHARS = 150, 1_000, 2_000
_NO_TEXT_MAX = 0.2
_SURE = 0.9
_ACCENTED_MAX = 0.45
_LATIN = b"abcdefghijklmnopqrstuvwxyz"
_LATIN_FREQUENT, _LATIN_FREQUENT_MIN = b"etaoinsr", 0.45
_ACCENTED = re.compile("[\u00a1-\u00ff]")
_NO_TEXT = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")


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
    """Whether a page's text is no text of any language; False for what is too short to tell."""
    text = text[:_MAX_CHARS]
    lower = text.encode("ascii", "ignore").lower()
    latin = len(lower) - len(lower.translate(None, _LATIN))
    if latin < _LETTERS_MIN or 2 * len(lower) < len(text):
        return not text.isascii() and _is_non_ascii_garbled(text)
    often = len(lower) - len(lower.translate(None, _LATIN_FREQUENT))
    return often < _LATIN_FREQUENT_MIN * latin and _has_no_language(text)


def _is_non_ascii_garbled(text: str) -> bool:
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
            if len(script.frequent.findall(text)) >= script.frequent_min * letters:
                return False
            return not script.is_multilingual or _has_no_language(text)
    return False


def _has_no_language(text: str) -> bool:
    guess = identify_language(text[:_SAMPLE_CHARS])
    return guess is None or guess[1] < _SURE


# Accents that a page draws apart from their letters, put onto them.
#
# TeX's older fonts hold no accented letters: `\'e` is drawn as an acute with an e below it, and a reader
# finds two characters. Which letter an accent belongs to is told by where both stand.
# Bound: linear in the page's characters; around an accent 100 blanks are looked at.


_COMBINING = {
    "`": "\u0300",
    "\u00b4": "\u0301",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\u00af": "\u0304",
    "\u02c9": "\u0304",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u00a8": "\u0308",
    "\u02da": "\u030a",
    "\u02dd": "\u030b",
    "\u02c7": "\u030c",
    "\u00b8": "\u0327",
    "\u02db": "\u0328",
    "\u20d7": "\u20d7",
}
"""Spacing accents and what they are on a letter."""
_BELOW = frozenset("\u0323\u0327\u0328\u0331")
_ACCENT = re.compile("[" + "".join(_COMBINING) + "\u0300-\u030c\u0323\u0327\u0328\u0331]")
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
_BLANKS_MAX = 100
_BLANK = frozenset(" \r\n")
_BLANKS_SKIPPED_MAX = 3
_ACCENTS_MAX = 4_000
_OFFSET_MAX = 0.25
_BLANK_MIN = 0.12
_INSIDE = 0.2


def compose_accents(page: PageCharacters) -> list[str] | None:
    """The page's characters, each accent that stands over, under or through a letter being one with it.

    None when there is nothing to compose, as on nearly every page. An accent over no letter stays.
    """
    if page.text.isascii() and "`" not in page.text:
        return None
    units: list[str] | None = None
    for count, found in enumerate(_ACCENT.finditer(page.text)):
        if count >= _ACCENTS_MAX:
            break
        place = found.start()
        letter = _find_letter(page, place)
        if letter is None:
            continue
        if units is None:
            units = list(page.text)
        accent = found[0]
        units[letter] = _compose(units[letter], _COMBINING.get(accent, accent))
        units[place] = ""
        _close_up(page, units, place)
    return units


def _compose(letter: str, accent: str) -> str:
    base = letter if accent in _BELOW else _DOTLESS.get(letter, letter)
    return unicodedata.normalize("NFC", base + accent)


def _find_letter(page: PageCharacters, place: int) -> int | None:
    """The letter an accent belongs to: that behind it or before it, else whichever is drawn there."""
    accent = page.get_ink_box(place)
    low = _COMBINING.get(page.text[place], page.text[place]) in _BELOW
    for step in (1, -1):
        beside = _find_neighbour(page.text, place, step)
        if beside is not None and _is_accented(page, beside, place, accent, low):
            return beside
    height = page.get_cell_box(place).top - page.get_cell_box(place).bottom
    inside = _INSIDE * height
    probe = accent.top + inside if low else accent.bottom - inside
    there = page.find_at(accent.middle, probe)
    if there is not None and there != place and _is_accented(page, there, place, accent, low):
        return there
    return None


def _find_neighbour(text: str, place: int, step: int) -> int | None:
    for number in range(1, _BLANKS_SKIPPED_MAX + 2):
        beside = place + step * number
        if not 0 <= beside < len(text):
            return None
        if text[beside] not in _BLANK:
            return beside if text[beside].isalpha() else None
    return None


def _is_accented(page: PageCharacters, letter: int, place: int, accent: Box, low: bool) -> bool:
    """Whether the accent stands over the letter, or under it, and no further away than accents do."""
    if not page.text[letter].isalpha():
        return False
    box = page.get_ink_box(letter)
    height = box.top - box.bottom
    if height <= 0 or not box.left - _OFFSET_MAX * height <= accent.middle <= box.right + (
        _OFFSET_MAX * height
    ):
        return False
    if low:
        return box.bottom - height < accent.top < box.bottom + 0.5 * height
    return box.bottom + 0.4 * height < accent.bottom < box.top + 0.6 * height


def _close_up(page: PageCharacters, units: list[str], place: int) -> None:
    """Take away the blanks pdfium made up around an accent, where the letters on both sides touch."""
    first = last = place
    begin, end = max(0, place - _BLANKS_MAX), min(len(units), place + _BLANKS_MAX)
    while first > begin and (units[first - 1] in _BLANK or not units[first - 1]):
        first -= 1
    while last + 1 < end and (units[last + 1] in _BLANK or not units[last + 1]):
        last += 1
    if first == last or first == 0 or last + 1 == len(units):
        return
    if not all(page.is_generated(n) for n in range(first, last + 1) if units[n]):
        return
    left, right = page.get_cell_box(first - 1), page.get_cell_box(last + 1)
    gap = right.left - left.right
    size = min(left.top - left.bottom, right.top - right.bottom)
    same_line = min(left.top, right.top) - max(left.bottom, right.bottom) > 0.5 * size
    if same_line and -size < gap < _BLANK_MIN * size:
        for number in range(first, last + 1):
            units[number] = ""


# Line ends that are none: pdfium ends a line wherever the next piece of text stands higher or lower,
# as superscripts, subscripts and the comma behind them do.


_SHORT_MAX_CHARS = 6
_ENDS = frozenset(".,-;:)?!\u201d\u2019\u2013\u2014")
_BREAKS_MAX = 5_000
_BACK_MAX, _GAP_MAX, _OVERLAP_MIN = 0.35, 1.0, 0.35  # of the smaller type's height
_BACK_MAX_POINTS, _GAP_MAX_POINTS = -50.0, 150.0  # no type on a page is larger
_LINE_BLANK_MIN = 0.05
_OVERLAP, _NOWHERE = 1.0, (-1, 0.0)


def join_lines(page: PageCharacters, units: list[str] | None) -> list[str] | None:
    """`units` (or the page's characters) without the line ends between pieces of one line.

    `units` when there is no such line end.
    """
    text = page.text
    begins = _NOWHERE
    for line, place in _find_suspect_lines(text):
        following = page.get_left(place + 2)
        known = begins[1] if begins[0] == line else None
        begins = place + 2, following
        # A line that begins where the one before began is a line.
        if known is not None and abs(following - known) < _OVERLAP:
            continue
        gap = following - page.get_left(place)
        if not _BACK_MAX_POINTS <= gap <= _GAP_MAX_POINTS:
            continue
        left, right = page.get_cell_box(place - 1), page.get_cell_box(place + 2)
        size = min(left.top - left.bottom, right.top - right.bottom)
        if size <= 0 or not -_BACK_MAX * size <= gap <= _GAP_MAX * size:
            continue
        if min(left.top, right.top) - max(left.bottom, right.bottom) < _OVERLAP_MIN * size:
            continue
        units = list(text) if units is None else units
        units[place] = " " if gap > _LINE_BLANK_MIN * size else ""
        units[place + 1] = ""
    return units


def _find_suspect_lines(text: str) -> list[tuple[int, int]]:
    """Where lines begin and end that are short, or whose end or following begin is a single sign.

    A line of prose is not looked at: that would cost more than to read the page.
    """
    lines = text.split("\r\n")
    if len(lines) > _BREAKS_MAX:
        return []
    suspects: list[tuple[int, int]] = []
    place = -2
    for line, following in pairwise(lines):
        place += len(line) + 2
        if len(line) > _SHORT_MAX_CHARS and len(following) > _SHORT_MAX_CHARS:
            # What begins or ends with a word goes on with a word.
            last, before = line[-1], line[-2]
            if last == " ":
                last, before = before, line[-3]
            ends = before != " " and (last.isalnum() or last in _ENDS)
            if ends and following[1] != " " and following[0].isalnum():
                continue
        elif not line or not following:
            continue
        suspects.append((place - len(line), place))
    return suspects
