"""Characters of one PDF page as the library pdfium reads them. Their positions are measured only on
demand.

Limits: time is linear in the number of characters. Each character that pdfium omits from its text
costs at most the logarithm of that number in addition.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

LINE_END_HYPHEN = "\ufffe"
"""Character with which pdfium marks a hyphen at a line end. The word continues in the next line."""
_HYPHEN_CODE = 0x2  # the same character when read by its index
_CODES_END = 0x110000
_OBJECTS_MAX = 100_000
_INVISIBLE = pdfium.FPDF_TEXTRENDERMODE_INVISIBLE


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
        self._page = text_page
        self._address, self._page_address = map(
            ctypes.addressof, (text_page.contents, page.raw.contents)
        )
        self._placed_objects: frozenset[int] | None = None
        self.text = _read_text(self._page)
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._edges_by = [ctypes.byref(edge) for edge in self._edges]
        self._rectangle = pdfium.FS_RECTF()
        self._rectangle_address = ctypes.addressof(self._rectangle)

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
        _get_loose_box(self._address, number, self._rectangle_address)
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
        _get_loose_box(self._address, number, self._rectangle_address)
        return float(self._rectangle.left)

    def find_beside(self, numbers: Sequence[int], box: Box, margin: float) -> list[int]:
        """Return those of the characters `numbers` (indexes) that are outside the box on any side,
        by more than `margin` points.
        """
        count = len(numbers)
        if count == 0:
            return []
        cells = (pdfium.FS_RECTF * count)()
        size_bytes = ctypes.sizeof(pdfium.FS_RECTF)
        start = ctypes.addressof(cells)
        addresses = range(start, start + count * size_bytes, size_bytes)
        deque(map(_get_loose_box, repeat(self._address), numbers, addresses), maxlen=0)
        edges = memoryview(cells).cast("B").cast("f").tolist()
        lefts, tops, rights, bottoms = (edges[place::4] for place in range(4))
        left, right = box.left - margin, box.right + margin
        bottom, top = box.bottom - margin, box.top + margin
        if (
            min(rights) >= left
            and max(lefts) <= right
            and min(tops) >= bottom
            and max(bottoms) <= top
        ):
            return []
        return [
            numbers[place]
            for place in range(count)
            if rights[place] < left
            or lefts[place] > right
            or tops[place] < bottom
            or bottoms[place] > top
        ]

    def is_placed(self, number: int) -> bool:
        """Return whether the position of a character is reliable: its object is on the page or
        directly in one of its forms (reusable drawings).

        pdfium reports wrong positions for objects in forms within forms.
        """
        if self._placed_objects is None:
            self._placed_objects = frozenset(filter(None, _list_placed_objects(self._page_address)))
        return _get_text_object(self._address, number) in self._placed_objects

    def is_invisible(self, number: int) -> bool:
        """Return whether the character is drawn with the text render mode "invisible"."""
        address = _get_text_object(self._address, number)
        return address is not None and _get_render_mode(address) == _INVISIBLE

    def find_invisible(self, words: Sequence[tuple[int, int]]) -> list[bool]:
        """Return for each word whether one invisible text object draws both its first and its last
        character.

        `words` has the indexes of each word's first character and after its last one.
        """
        first_characters = [start for start, _ in words]
        last_characters = [end - 1 for _, end in words]
        first_objects = map(_get_text_object, repeat(self._address), first_characters)
        last_objects = map(_get_text_object, repeat(self._address), last_characters)
        mode_object, mode = None, None
        flags: list[bool] = []
        for first, last in zip(first_objects, last_objects, strict=True):
            if first == last and first is not None:
                if first != mode_object:
                    mode_object, mode = first, _get_render_mode(first)
                flags.append(mode == _INVISIBLE)
            else:
                flags.append(False)
        return flags

    def find_at(self, x: float, y: float) -> int | None:
        """Return the index of the first character that covers the point (x, y); None if there is
        none.
        """
        number = int(pdfium.FPDFText_GetCharIndexAtPos(self._page, x, y, 0.0, 0.0))
        return number if number >= 0 else None


def _bind(function: Any, result_type: Any, *argument_types: Any) -> Callable[..., Any]:
    """Return a function of pdfium that takes and returns memory addresses as numbers.

    A call takes half as long as with pypdfium2's pointer types.
    """
    prototype = ctypes.CFUNCTYPE(result_type, *argument_types)
    return prototype(ctypes.cast(function, ctypes.c_void_p).value or 0)


_get_loose_box = _bind(
    pdfium.FPDFText_GetLooseCharBox, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)
_get_text_object = _bind(
    pdfium.FPDFText_GetTextObject, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
)
_get_render_mode = _bind(pdfium.FPDFTextObj_GetTextRenderMode, ctypes.c_int, ctypes.c_void_p)
_get_type = _bind(pdfium.FPDFPageObj_GetType, ctypes.c_int, ctypes.c_void_p)
_count_objects = _bind(pdfium.FPDFPage_CountObjects, ctypes.c_int, ctypes.c_void_p)
_get_page_object = _bind(pdfium.FPDFPage_GetObject, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_count_children = _bind(pdfium.FPDFFormObj_CountObjects, ctypes.c_int, ctypes.c_void_p)
_get_child = _bind(pdfium.FPDFFormObj_GetObject, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong)


def _list_page_objects(page_address: int) -> list[int | None]:
    """Return the memory addresses of the PDF objects on a page, at most 100,000."""
    count = min(_OBJECTS_MAX, _count_objects(page_address))
    return list(map(_get_page_object, repeat(page_address), range(count)))


def _list_placed_objects(page_address: int) -> list[int | None]:
    """Return the memory addresses of the PDF objects on a page and directly in its forms (reusable
    drawings), at most 100,000.
    """
    addresses = _list_page_objects(page_address)
    for parent_address in tuple(addresses):
        if parent_address and _get_type(parent_address) == pdfium.FPDF_PAGEOBJ_FORM:
            child_count = min(_OBJECTS_MAX - len(addresses), _count_children(parent_address))
            addresses += map(_get_child, repeat(parent_address), range(child_count))
    return addresses


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
    start = 0
    while len(ends) > 1:
        (first, first_place), (last, last_place) = ends[0], ends[1]
        if last_place - first_place == last - first:
            ends.pop(0)
        elif last - first > 1:
            middle = (first + last) // 2
            ends.insert(1, (middle, _find_index(page, middle)))
        else:
            pieces += (text[start:last], _read_units(page, first_place + 1, last_place))
            start = last
            ends.pop(0)
    pieces += (text[start:], _read_units(page, ends[0][1] + 1, count))
    return "".join(pieces)


def _find_index(page: object, number: int) -> int:
    return int(pdfium.FPDFText_GetCharIndexFromTextIndex(page, number))


def _read_units(page: object, start: int, end: int) -> str:
    return "".join(_read_unit(page, number) for number in range(start, end))


def _read_unit(page: object, number: int) -> str:
    code = pdfium.FPDFText_GetUnicode(page, number)
    if code == _HYPHEN_CODE and pdfium.FPDFText_IsHyphen(page, number) == 1:
        return LINE_END_HYPHEN
    return chr(code) if code < _CODES_END else "\x00"
