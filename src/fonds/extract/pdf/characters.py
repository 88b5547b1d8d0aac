"""The characters of one page as pdfium holds them, measured only where somebody asks.

Bound: linear in the page's characters, and for each that pdfium left out the logarithm of their number.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

LINE_END_HYPHEN = "\ufffe"
"""What pdfium puts in its text where a hyphen ended a line; it joins the next line to it."""
_HYPHEN_CODE = 0x2  # the same, asked for by its place
_CODES_END = 0x110000
_OBJECTS_MAX = 100_000


class Box(NamedTuple):
    """Points, y upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> float:
        """Of left and right."""
        return (self.left + self.right) / 2


class PageCharacters:
    """`text` has one unit for each character of pdfium's, so that an index in it is one of pdfium's.

    A lone surrogate is half a character whose other half stands beside it. Line ends and blanks that
    pdfium made up are among them.
    """

    def __init__(self, text_page: Any, page: pypdfium2.PdfPage) -> None:
        """`text_page` is pdfium's own, of `page`; whoever loaded it closes it."""
        self._page, self._page_object = text_page, page
        self.text = _read_text(self._page)
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._edges_by = [ctypes.byref(edge) for edge in self._edges]
        self._rectangle = pdfium.FS_RECTF()
        self._rectangle_by = ctypes.byref(self._rectangle)

    def get_ink_box(self, number: int) -> Box:
        """What the glyph covers; a box without area for what has none."""
        pdfium.FPDFText_GetCharBox(self._page, number, *self._edges_by)
        left, right, bottom, top = (edge.value for edge in self._edges)
        return Box(left, bottom, right, top)

    def get_cell_box(self, number: int) -> Box:
        """From the character's origin to that of the next, its font's depth and height."""
        pdfium.FPDFText_GetLooseCharBox(self._page, number, self._rectangle_by)
        cell = self._rectangle
        return Box(cell.left, cell.bottom, cell.right, cell.top)

    def is_generated(self, number: int) -> bool:
        """Whether it stands in no content stream: pdfium made up a blank or a line end."""
        return bool(pdfium.FPDFText_IsGenerated(self._page, number) == 1)

    def get_left(self, number: int) -> float:
        """Where the character begins; of a line end, where the next would have begun."""
        pdfium.FPDFText_GetLooseCharBox(self._page, number, self._rectangle_by)
        return float(self._rectangle.left)

    def is_beside(self, number: int, box: Box, margin: float) -> bool:
        """Whether all of its cell is outside the box, by more than `margin` points."""
        pdfium.FPDFText_GetLooseCharBox(self._page, number, self._rectangle_by)
        cell = self._rectangle
        return bool(
            cell.right < box.left - margin
            or cell.left > box.right + margin
            or cell.top < box.bottom - margin
            or cell.bottom > box.top + margin
        )

    def get_object(self, number: int) -> int:
        """Which object of the page draws it; 0 for none."""
        return _get_address(pdfium.FPDFText_GetTextObject(self._page, number))

    def list_placed_objects(self) -> frozenset[int]:
        """The objects on the page and in forms on it; within forms of forms pdfium is wrong about places."""
        page = self._page_object
        count = min(_OBJECTS_MAX, pdfium.FPDFPage_CountObjects(page))
        found = [pdfium.FPDFPage_GetObject(page, number) for number in range(count)]
        for one in tuple(found):
            if pdfium.FPDFPageObj_GetType(one) == pdfium.FPDF_PAGEOBJ_FORM:
                within = min(_OBJECTS_MAX - len(found), pdfium.FPDFFormObj_CountObjects(one))
                found += (pdfium.FPDFFormObj_GetObject(one, number) for number in range(within))
        return frozenset(map(_get_address, found))

    def is_invisible(self, number: int) -> bool:
        """Whether it is drawn in the mode that shows nothing."""
        drawn = pdfium.FPDFText_GetTextObject(self._page, number)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(drawn) if drawn else None
        return bool(mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)

    def find_at(self, x: float, y: float) -> int | None:
        """The first character whose glyph covers a point."""
        number = int(pdfium.FPDFText_GetCharIndexAtPos(self._page, x, y, 0.0, 0.0))
        return number if number >= 0 else None


def _get_address(obj: Any) -> int:
    return ctypes.cast(obj, ctypes.c_void_p).value or 0 if obj else 0


def _read_text(page: object) -> str:
    count = max(0, pdfium.FPDFText_CountChars(page))
    if not count:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = max(0, pdfium.FPDFText_GetText(page, 0, count, buffer) - 1)
    told = bytes(buffer)[: 2 * min(written, count)]
    text = told.decode("utf-16-le", "surrogatepass")
    if len(text) != written:
        text = "".join(map(chr, buffer[: min(written, count)]))
    if written != count:
        text = _restore_left_out(page, text, count)
    return text if len(text) == count else "".join(_read_unit(page, n) for n in range(count))


def _restore_left_out(page: object, text: str, count: int) -> str:
    """With what pdfium holds and leaves out: code points beyond U+FFFF, and what it takes for controls.

    The latter have no index in its text. How many were left out grows along it, so that few places
    are asked. The former have one, and are written as nothing.
    """
    if not text or _find_index(page, len(text)) >= 0:
        return ""
    ends = [(0, _find_index(page, 0)), (len(text) - 1, _find_index(page, len(text) - 1))]
    pieces = [_read_units(page, 0, ends[0][1])]
    begin = 0
    while len(ends) > 1:
        (first, first_place), (last, last_place) = ends[0], ends[1]
        if last_place - first_place == last - first:
            ends.pop(0)
        elif last - first > 1:
            middle = (first + last) // 2
            ends.insert(1, (middle, _find_index(page, middle)))
        else:
            pieces += (text[begin:last], _read_units(page, first_place + 1, last_place))
            begin = last
            ends.pop(0)
    pieces += (text[begin:], _read_units(page, ends[0][1] + 1, count))
    return "".join(pieces)


def _find_index(page: object, number: int) -> int:
    return int(pdfium.FPDFText_GetCharIndexFromTextIndex(page, number))


def _read_units(page: object, begin: int, end: int) -> str:
    return "".join(_read_unit(page, number) for number in range(begin, end))


def _read_unit(page: object, number: int) -> str:
    code = pdfium.FPDFText_GetUnicode(page, number)
    if code == _HYPHEN_CODE and pdfium.FPDFText_IsHyphen(page, number) == 1:
        return LINE_END_HYPHEN
    return chr(code) if code < _CODES_END else "\x00"
