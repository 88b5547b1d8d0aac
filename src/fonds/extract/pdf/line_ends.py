"""Remove false line ends from the text of a PDF page.

pdfium ends a line wherever the next text is higher or lower, as superscripts, subscripts and the
comma after them are.
"""

from __future__ import annotations

from itertools import pairwise

from fonds.extract.pdf.characters import PageCharacters

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
    previous_start = _NO_POSITION
    for line, place in _find_suspect_lines(text):
        next_left = page.get_left(place + 2)
        previous_left = previous_start[1] if previous_start[0] == line else None
        previous_start = place + 2, next_left
        # A line that previous_start where the previous one began is a real line.
        if previous_left is not None and abs(next_left - previous_left) < _OVERLAP:
            continue
        gap = next_left - page.get_left(place)
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
    for line, next_line in pairwise(lines):
        place += len(line) + 2
        if len(line) > _SHORT_MAX_CHARS and len(next_line) > _SHORT_MAX_CHARS:
            # A line that ends with a word, followed by a word, continues normally.
            last_character, second_last = line[-1], line[-2]
            if last_character == " ":
                last_character, second_last = second_last, line[-3]
            ends = second_last != " " and (last_character.isalnum() or last_character in _ENDS)
            if ends and next_line[1] != " " and next_line[0].isalnum():
                continue
        elif not line or not next_line:
            continue
        suspects.append((place - len(line), place))
    return suspects
