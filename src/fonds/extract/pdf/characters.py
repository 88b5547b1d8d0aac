"""Characters of one PDF page as the library pdfium reads them. Their positions are measured only on
demand.

Limits: time is linear in the number of characters. Each character that pdfium omits from its text
costs at most the logarithm of that number in addition.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

LINE_END_HYPHEN = "\ufffe"
"""Character with which pdfium marks a hyphen at a line end. The word continues in the next line."""
_HYPHEN_CODE = 0x2  # the same character when read by its index
_CODES_END = 0x110000
_OBJECTS_MAX = 100_000


class Box(NamedTuple):
    """A rectangle on a page in points. y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> float:
        """Horizontal centre of the rectangle in points."""
        return (self.left + self.right) / 2


class PageCharacters:
    """Characters of a PDF page. The same index identifies a character in `text` and in pdfium.

    A character above U+FFFF has two indexes, one for each surrogate. Line ends and blanks that
    pdfium adds are included.
    """

    def __init__(self, text_page: Any, page: pypdfium2.PdfPage) -> None:
        """Read the text of `page` from pdfium's object `text_page`, which the caller closes
        afterwards.
        """
        self._page, self._page_object = text_page, page
        self.text = _read_text(self._page)
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._edges_by = [ctypes.byref(edge) for edge in self._edges]
        self._rectangle = pdfium.FS_RECTF()
        self._rectangle_by = ctypes.byref(self._rectangle)

    def get_ink_box(self, number: int) -> Box:
        """Return the area that the drawn glyph of a character covers. The area is empty if nothing
        is drawn.
        """
        pdfium.FPDFText_GetCharBox(self._page, number, *self._edges_by)
        left, right, bottom, top = (edge.value for edge in self._edges)
        return Box(left, bottom, right, top)

    def get_cell_box(self, number: int) -> Box:
        """Return the area of a character in its line: from its origin to that of the next
        character, with the depth and height of its font.
        """
        pdfium.FPDFText_GetLooseCharBox(self._page, number, self._rectangle_by)
        cell = self._rectangle
        return Box(cell.left, cell.bottom, cell.right, cell.top)

    def is_generated(self, number: int) -> bool:
        """Return whether pdfium added the character, which is a blank or a line end and not in the
        PDF.
        """
        return bool(pdfium.FPDFText_IsGenerated(self._page, number) == 1)

    def get_left(self, number: int) -> float:
        """Return the left edge of a character in points. For a line end, return where the next
        character would have begun.
        """
        pdfium.FPDFText_GetLooseCharBox(self._page, number, self._rectangle_by)
        return float(self._rectangle.left)

    def is_beside(self, number: int, box: Box, margin: float) -> bool:
        """Return whether a character is outside the box on any side, by more than `margin`
        points.
        """
        pdfium.FPDFText_GetLooseCharBox(self._page, number, self._rectangle_by)
        cell = self._rectangle
        return bool(
            cell.right < box.left - margin
            or cell.left > box.right + margin
            or cell.top < box.bottom - margin
            or cell.bottom > box.top + margin
        )

    def get_object(self, number: int) -> int:
        """Return the memory address of the PDF object that draws a character; 0 if there is
        none.
        """
        return _get_address(pdfium.FPDFText_GetTextObject(self._page, number))

    def list_placed_objects(self) -> frozenset[int]:
        """Return the memory addresses of the PDF objects on the page and directly in its forms
        (reusable drawings).

        Objects in forms within forms are omitted, because pdfium reports wrong positions for them.
        """
        page = self._page_object
        count = min(_OBJECTS_MAX, pdfium.FPDFPage_CountObjects(page))
        objects = [pdfium.FPDFPage_GetObject(page, number) for number in range(count)]
        for parent_object in tuple(objects):
            if pdfium.FPDFPageObj_GetType(parent_object) == pdfium.FPDF_PAGEOBJ_FORM:
                child_count = min(
                    _OBJECTS_MAX - len(objects), pdfium.FPDFFormObj_CountObjects(parent_object)
                )
                objects += (
                    pdfium.FPDFFormObj_GetObject(parent_object, number)
                    for number in range(child_count)
                )
        return frozenset(map(_get_address, objects))

    def is_invisible(self, number: int) -> bool:
        """Return whether the character is drawn with the text render mode "invisible"."""
        text_object = pdfium.FPDFText_GetTextObject(self._page, number)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(text_object) if text_object else None
        return bool(mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)

    def find_at(self, x: float, y: float) -> int | None:
        """Return the index of the first character that covers the point (x, y); None if there is
        none.
        """
        number = int(pdfium.FPDFText_GetCharIndexAtPos(self._page, x, y, 0.0, 0.0))
        return number if number >= 0 else None


def _get_address(obj: Any) -> int:
    return ctypes.cast(obj, ctypes.c_void_p).value or 0 if obj else 0


def _read_text(page: object) -> str:
    count = max(0, pdfium.FPDFText_CountChars(page))
    if not count:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written_count = max(0, pdfium.FPDFText_GetText(page, 0, count, buffer) - 1)
    raw = bytes(buffer)[: 2 * min(written_count, count)]
    text = raw.decode("utf-16-le", "surrogatepass")
    if len(text) != written_count:
        text = "".join(map(chr, buffer[: min(written_count, count)]))
    if written_count != count:
        text = _restore_left_out(page, text, count)
    return text if len(text) == count else "".join(_read_unit(page, n) for n in range(count))


def _restore_left_out(page: object, text: str, count: int) -> str:
    """Return the text with the characters that pdfium counts but omits from its text.

    They are characters above U+FFFF, and characters that pdfium takes for control characters. The
    former have an index in pdfium's text but are empty there. The latter have no index, so later
    indexes are shifted by their number. Because that number only grows along the text, few indexes
    need a lookup.
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
