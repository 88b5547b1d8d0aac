r"""Accents that a page draws apart from their letters, put onto them.

TeX's older fonts hold no accented letters: `\'e` is drawn as an acute with an e below it, and a reader
finds two characters. Which letter an accent belongs to is told by where both stand.
Bound: linear in the page's characters; around an accent 100 blanks are looked at.
"""

from __future__ import annotations

import re
import unicodedata

from fonds.extract.pdf.pages.characters import Box, Characters

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
_BESIDE_MAX = 0.25
_BLANK_MIN = 0.12
_INSIDE = 0.2


def compose_accents(page: Characters) -> list[str] | None:
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
        letter = _letter_of(page, place)
        if letter is None:
            continue
        if units is None:
            units = list(page.text)
        accent = found[0]
        units[letter] = _composed(units[letter], _COMBINING.get(accent, accent))
        units[place] = ""
        _close_up(page, units, place)
    return units


def _composed(letter: str, accent: str) -> str:
    base = letter if accent in _BELOW else _DOTLESS.get(letter, letter)
    return unicodedata.normalize("NFC", base + accent)


def _letter_of(page: Characters, place: int) -> int | None:
    """The letter an accent belongs to: that behind it or before it, else whichever is drawn there."""
    accent = page.ink(place)
    low = _COMBINING.get(page.text[place], page.text[place]) in _BELOW
    for step in (1, -1):
        beside = _neighbour(page.text, place, step)
        if beside is not None and _carries(page, beside, place, accent, low):
            return beside
    height = page.cell(place).top - page.cell(place).bottom
    inside = _INSIDE * height
    probe = accent.top + inside if low else accent.bottom - inside
    there = page.at(accent.middle, probe)
    if there is not None and there != place and _carries(page, there, place, accent, low):
        return there
    return None


def _neighbour(text: str, place: int, step: int) -> int | None:
    for number in range(1, _BLANKS_SKIPPED_MAX + 2):
        beside = place + step * number
        if not 0 <= beside < len(text):
            return None
        if text[beside] not in _BLANK:
            return beside if text[beside].isalpha() else None
    return None


def _carries(page: Characters, letter: int, place: int, accent: Box, low: bool) -> bool:
    """Whether the accent stands over the letter, or under it, and no further away than accents do."""
    if not page.text[letter].isalpha():
        return False
    box = page.ink(letter)
    height = box.top - box.bottom
    if height <= 0 or not box.left - _BESIDE_MAX * height <= accent.middle <= box.right + (
        _BESIDE_MAX * height
    ):
        return False
    if low:
        return box.bottom - height < accent.top < box.bottom + 0.5 * height
    return box.bottom + 0.4 * height < accent.bottom < box.top + 0.6 * height


def _close_up(page: Characters, units: list[str], place: int) -> None:
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
    left, right = page.cell(first - 1), page.cell(last + 1)
    gap = right.left - left.right
    size = min(left.top - left.bottom, right.top - right.bottom)
    same_line = min(left.top, right.top) - max(left.bottom, right.bottom) > 0.5 * size
    if same_line and -size < gap < _BLANK_MIN * size:
        for number in range(first, last + 1):
            units[number] = ""
