"""Clean up the text of a PDF page as pdfium reads it: hyphens, accents, brackets, line ends.

Limits: one pass over the page. At an accent that is drawn separately, at most 100 blanks on each
side are examined.
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
    """Return the clean text of characters of a page: all of them or a part.

    Hyphenated words are rejoined, blanks are trimmed, and surrogate pairs are joined.
    """
    text = "".join(units)
    if text.isascii() and text.isprintable():
        return text.strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return normalize_page_text(text)


def normalize_page_text(raw: str) -> str:
    """Clean up the text of a page: rejoin words that are hyphenated at line ends, and trim
    blanks.
    """
    # Invisible characters may occur between a word, its hyphen and the end of the line.
    first_piece, *other_pieces = map(
        clean_stored_text, raw.replace("\ufeff", "").split(LINE_END_HYPHEN)
    )
    last_piece = other_pieces[-1:]
    # Several marks in a row count as one.
    marked_text = LINE_END_HYPHEN.join([first_piece, *filter(None, other_pieces[:-1]), *last_piece])
    if any(end in marked_text for end in _HYPHEN_ENDS) or any(
        sign in marked_text for sign in _OTHER_HYPHENS
    ):
        marked_text = _LINE_END_HYPHEN.sub(_restore_hyphen, marked_text)
    text = _join_tex_signs(clean_text(_rejoin(marked_text))).strip()
    if text.isascii() or not _RIGHT_TO_LEFT.search(text):
        return text
    return _fix_brackets(text)


def _fix_brackets(text: str) -> str:
    """Return a text in which wrongly mirrored brackets in lines with right-to-left script are
    corrected.

    pdfium sometimes returns such brackets in visual form. All brackets of a line are mirrored if
    they are unbalanced, and balanced after mirroring.
    """
    return "\n".join(map(_fix_line_brackets, text.split("\n")))


def _fix_line_brackets(line: str) -> str:
    if _is_balanced(line) or not _RIGHT_TO_LEFT.search(line):
        return line
    mirrored_line = line.translate(_MIRRORED_BRACKETS)
    return mirrored_line if _is_balanced(mirrored_line) else line


def _is_balanced(line: str) -> bool:
    expected_brackets: list[str] = []
    for bracket in _BRACKET.findall(line):
        if bracket in _CLOSING:
            expected_brackets.append(_CLOSING[bracket])
        elif not expected_brackets or expected_brackets.pop() != bracket:
            return False
    return not expected_brackets


def _restore_hyphen(match: re.Match[str]) -> str:
    """Return pdfium's mark for a hyphen at a line end if `match` divides a word there; otherwise
    the unchanged text of `match`.
    """
    previous_character = match.string[max(0, match.start() - 1) : match.start()]
    if match[1] != "-":
        return LINE_END_HYPHEN if previous_character.isalnum() else match[0]
    # pdfium left the hyphen because it saw a new line begin; only a divided word continues in lower
    # case.
    follows = match.string[match.end() : match.end() + 1]
    return LINE_END_HYPHEN if follows.islower() and previous_character.isalpha() else match[0]


def _join_tex_signs(text: str) -> str:
    """Join signs that TeX draws as two characters, such as an equals sign and the stroke that
    negates it.
    """
    if "\u21a6" in text:
        text = text.replace("\u21a6\u2192", "\u21a6")
    if "\u0338" in text:
        text = _NEGATED.sub(lambda match: unicodedata.normalize("NFC", match[1] + "\u0338"), text)
    return text


def _rejoin(raw: str) -> str:
    pieces = raw.split(LINE_END_HYPHEN)
    joined_pieces = [pieces[0]]
    for left, right in pairwise(pieces):
        joined_pieces += ("-" if _keeps_hyphen(left, right) else "", right)
    return "".join(joined_pieces)


def _keeps_hyphen(left_text: str, right: str) -> bool:
    # Only a lower-case letter continues the word; `2010-2015`, `Jean-Paul` and `state-of-the-art`
    # keep their hyphens.
    if not left_text[-1:].isalnum():
        return False
    word = left_text[-_WORD_MAX_CHARS:].split()[-1]
    return not right[:1].islower() or "-" in word


# Garbled text: the output of a font whose codes were taken for the wrong letters.
#
# In every language a few letters make up much of the text. A page where they do not is suspect. For
# scripts with many languages, a page is garbled only if no language is recognised either.


_LETTERS_MIN, _SAMPLE_CHARS, _MAX_CHARS = 150, 1_000, 2_000
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
    text = text[:_MAX_CHARS]
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


# Accents drawn separately from their letters, combined with them.
#
# TeX's older fonts have no accented letters: `\'e` is drawn as an acute with an e below it, and a
# reader finds two characters. Their positions tell which letter an accent belongs to. Linear in the
# page's characters; around an accent 100 blanks are examined.


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
"""Combining form of each spacing accent."""
_MARKS_BELOW = frozenset("\u0323\u0327\u0328\u0331")
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
    """Combine each accent that is drawn separately with its letter. Return the characters of the
    page, with "" for a removed one.

    Return None if there is nothing to combine, as on almost every page. An accent without a letter
    stays.
    """
    if page.text.isascii() and "`" not in page.text:
        return None
    units: list[str] | None = None
    for count, match in enumerate(_ACCENT.finditer(page.text)):
        if count >= _ACCENTS_MAX:
            break
        place = match.start()
        letter = _find_letter(page, place)
        if letter is None:
            continue
        if units is None:
            units = list(page.text)
        accent = match[0]
        units[letter] = _compose(units[letter], _COMBINING.get(accent, accent))
        units[place] = ""
        _close_up(page, units, place)
    return units


def _compose(letter: str, accent: str) -> str:
    base = letter if accent in _MARKS_BELOW else _DOTLESS.get(letter, letter)
    return unicodedata.normalize("NFC", base + accent)


def _find_letter(page: PageCharacters, place: int) -> int | None:
    """Return the index of the letter to which the accent at index `place` belongs; None if there is
    none.

    The letter is the next or previous one in the text, or the one that is drawn at the accent's
    position.
    """
    accent = page.get_ink_box(place)
    is_below = _COMBINING.get(page.text[place], page.text[place]) in _MARKS_BELOW
    for step in (1, -1):
        neighbour = _find_neighbour(page.text, place, step)
        if neighbour is not None and _is_accented(page, neighbour, place, accent, is_below):
            return neighbour
    height = page.get_cell_box(place).top - page.get_cell_box(place).bottom
    inside = _INSIDE * height
    probe = accent.top + inside if is_below else accent.bottom - inside
    covered_place = page.find_at(accent.middle, probe)
    if (
        covered_place is not None
        and covered_place != place
        and _is_accented(page, covered_place, place, accent, is_below)
    ):
        return covered_place
    return None


def _find_neighbour(text: str, place: int, step: int) -> int | None:
    for number in range(1, _BLANKS_SKIPPED_MAX + 2):
        neighbour = place + step * number
        if not 0 <= neighbour < len(text):
            return None
        if text[neighbour] not in _BLANK:
            return neighbour if text[neighbour].isalpha() else None
    return None


def _is_accented(page: PageCharacters, letter: int, place: int, accent: Box, low: bool) -> bool:
    """Return whether an accent is at a usual distance over a letter, or under it if `low`.

    `letter` and `place` are the indexes of letter and accent, `accent` is the area of the accent.
    """
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
    """Remove the blanks around the accent at index `place` if pdfium added them, and the letters
    before and after the accent touch each other on the page.

    A removed blank becomes "" in `units`.
    """
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


# False line ends: pdfium ends a line wherever the next text is higher or lower, as superscripts,
# subscripts and the comma after them are.


_SHORT_MAX_CHARS = 6
_ENDS = frozenset(".,-;:)?!\u201d\u2019\u2013\u2014")
_BREAKS_MAX = 5_000
_BACK_MAX, _GAP_MAX, _OVERLAP_MIN = 0.35, 1.0, 0.35  # of the smaller type's height
_BACK_MAX_POINTS, _GAP_MAX_POINTS = -50.0, 150.0  # no type on a page is larger
_LINE_BLANK_MIN = 0.05
_OVERLAP, _NO_POSITION = 1.0, (-1, 0.0)


def join_lines(page: PageCharacters, units: list[str] | None) -> list[str] | None:
    """Return the characters of a page without the line ends that pdfium added between pieces of one
    line.

    `units` are the characters as cleaned so far; None if they are unchanged. If there are no such
    line ends, `units` is returned.
    """
    text = page.text
    begins = _NO_POSITION
    for line, place in _find_suspect_lines(text):
        following = page.get_left(place + 2)
        previous_left = begins[1] if begins[0] == line else None
        begins = place + 2, following
        # A line that begins where the previous one began is a real line.
        if previous_left is not None and abs(following - previous_left) < _OVERLAP:
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
    """Return start and end index of each line that may be only a piece of a line: short lines, and
    lines next to a line of one character.

    Lines of prose are skipped, because examining them would cost more than reading the page.
    """
    lines = text.split("\r\n")
    if len(lines) > _BREAKS_MAX:
        return []
    suspects: list[tuple[int, int]] = []
    place = -2
    for line, following in pairwise(lines):
        place += len(line) + 2
        if len(line) > _SHORT_MAX_CHARS and len(following) > _SHORT_MAX_CHARS:
            # A line that ends with a word, followed by a word, continues normally.
            last, second_last = line[-1], line[-2]
            if last == " ":
                last, second_last = second_last, line[-3]
            ends = second_last != " " and (last.isalnum() or last in _ENDS)
            if ends and following[1] != " " and following[0].isalnum():
                continue
        elif not line or not following:
            continue
        suspects.append((place - len(line), place))
    return suspects
