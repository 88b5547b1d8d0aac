"""Line ends that are none: pdfium ends a line wherever the next piece of text stands higher or lower,
as superscripts, subscripts and the comma behind them do.
"""

from __future__ import annotations

from itertools import pairwise

from fonds.extract.pdf.pages.characters import Characters

_SHORT_MAX_CHARS = 6
_ENDS = frozenset(".,-;:)?!\u201d\u2019\u2013\u2014")
_BREAKS_MAX = 5_000
_BACK_MAX, _GAP_MAX, _OVERLAP_MIN = 0.35, 1.0, 0.35  # of the smaller type's height
_BACK_MAX_POINTS, _GAP_MAX_POINTS = -50.0, 150.0  # no type on a page is larger
_BLANK_MIN = 0.05
_SAME_PLACE, _NOWHERE = 1.0, (-1, 0.0)


def join_lines(page: Characters, units: list[str] | None) -> list[str] | None:
    """`units` (or the page's characters) without the line ends between pieces of one line.

    `units` when there is no such line end.
    """
    text = page.text
    begins = _NOWHERE
    for line, place in _suspects(text):
        following = page.left_of(place + 2)
        known = begins[1] if begins[0] == line else None
        begins = place + 2, following
        # A line that begins where the one before began is a line.
        if known is not None and abs(following - known) < _SAME_PLACE:
            continue
        gap = following - page.left_of(place)
        if not _BACK_MAX_POINTS <= gap <= _GAP_MAX_POINTS:
            continue
        left, right = page.cell(place - 1), page.cell(place + 2)
        size = min(left.top - left.bottom, right.top - right.bottom)
        if size <= 0 or not -_BACK_MAX * size <= gap <= _GAP_MAX * size:
            continue
        if min(left.top, right.top) - max(left.bottom, right.bottom) < _OVERLAP_MIN * size:
            continue
        units = list(text) if units is None else units
        units[place] = " " if gap > _BLANK_MIN * size else ""
        units[place + 1] = ""
    return units


def _suspects(text: str) -> list[tuple[int, int]]:
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
