"""Line ends that are none: pdfium ends a line wherever the next piece of text stands higher or lower,
as superscripts, subscripts and the comma behind them do.
"""

from __future__ import annotations

import re

from fonds.extract.pdf.pages.characters import Characters

_BREAK = re.compile(r"\r\n")
_SHORT_MAX_CHARS = 12
_TOKEN_MAX_CHARS = 1
_BREAKS_MAX = 5_000
_BACK_MAX, _GAP_MAX, _OVERLAP_MIN = 0.35, 1.0, 0.35
_BLANK_MIN = 0.05


def join_lines(page: Characters, units: list[str] | None) -> list[str] | None:
    """`units` (or the page's characters) without the line ends between pieces of one line.

    `units` when there is no such line end.
    """
    text = page.text
    for place in _suspects(text):
        # Where the line end stands is where the next character would have begun.
        right = page.cell(place + 2)
        size = right.top - right.bottom
        gap = right.left - page.cell(place).left
        if not -_BACK_MAX * size <= gap <= _GAP_MAX * size:
            continue
        left = page.cell(place - 1)
        size = min(left.top - left.bottom, size)
        if size <= 0 or not -_BACK_MAX * size <= gap <= _GAP_MAX * size:
            continue
        if min(left.top, right.top) - max(left.bottom, right.bottom) < _OVERLAP_MIN * size:
            continue
        units = list(text) if units is None else units
        units[place] = " " if gap > _BLANK_MIN * size else ""
        units[place + 1] = ""
    return units


def _suspects(text: str) -> list[int]:
    """Where lines end that are short, or whose end or following begin is a single sign.

    A line of prose is not looked at: that would cost more than to read the page.
    """
    found = [match.start() for match in _BREAK.finditer(text)]
    if len(found) > _BREAKS_MAX:
        return []
    suspects = []
    before = -2
    for number, place in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else len(text)
        begin, end = before + 2, place
        before = place
        if begin == end or place + 2 >= after:
            continue
        if (
            end - begin <= _SHORT_MAX_CHARS
            or after - place - 2 <= _SHORT_MAX_CHARS
            or end - 1 - text.rfind(" ", begin, end) <= _TOKEN_MAX_CHARS
            or text.find(" ", place + 2, place + 3 + _TOKEN_MAX_CHARS) >= 0
            or not (text[end - 1].isalnum() or text[end - 1] in ".,-;:")
            or not text[place + 2].isalnum()
        ):
            suspects.append(place)
    return suspects
