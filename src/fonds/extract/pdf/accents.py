r"""Combine accents that are drawn separately from their letters with these letters.

TeX's older fonts have no accented letters: `\'e` is drawn as an acute with an e below it, and a
reader finds two characters. Their positions tell which letter an accent belongs to.

Limits: linear in the page's characters. At an accent, at most `_BLANKS_MAX` blanks on each side are
examined.
"""

from __future__ import annotations

import re
import unicodedata

from fonds.extract.pdf.characters import Box, PageCharacters

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
    inset = _INSIDE * height
    probe = accent.top + inset if is_below else accent.bottom - inset
    covered_character = page.find_at(accent.middle, probe)
    if (
        covered_character is not None
        and covered_character != place
        and _is_accented(page, covered_character, place, accent, is_below)
    ):
        return covered_character
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
