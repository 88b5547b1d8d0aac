"""Where on the picture of a page its words stand, as far as the text layer says.

Bound: linear in the page's characters, of which 300,000 are looked at; words beyond those asked for are
left out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.pages.characters import LINE_END_HYPHEN, Box, Characters
from fonds.model.page_view import PlacedWord
from fonds.words import is_spaceless

CHARACTERS_MAX = 300_000


def placed_words(
    page: pypdfium2.PdfPage, width: int, height: int, *, count_max: int
) -> tuple[PlacedWord, ...]:
    """The words of a page drawn as `width` x `height` pixels; none where its text cannot be read."""
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return ()
    try:
        characters = Characters(text_page, page)
        picture = _Picture(page, width, height)
        placed: list[PlacedWord] = []
        for numbers, is_joined in _runs(characters.text[:CHARACTERS_MAX]):
            if len(placed) == count_max:
                break
            box = picture.box(_around([characters.cell(number) for number in numbers]))
            text = _whole("".join(characters.text[number] for number in numbers))
            if box is not None:
                placed.append(PlacedWord(text, is_joined and bool(placed), *box))
        return tuple(placed)
    finally:
        pdfium.FPDFText_ClosePage(text_page)


def _runs(text: str) -> Iterator[tuple[range, bool]]:
    """The numbers of the characters of each word, and whether it goes on from the one before."""
    begin, is_joined, goes_on, is_hyphenated = 0, False, False, False
    for number, unit in enumerate(f"{text} "):
        stands_alone = is_spaceless(unit)
        if not stands_alone and not _ends_word(unit):
            continue
        if number > begin:
            yield range(begin, number), is_joined
            goes_on, is_hyphenated = True, False
        if stands_alone:
            yield range(number, number + 1), goes_on
        is_hyphenated = unit == LINE_END_HYPHEN or (is_hyphenated and unit in "\r\n")
        goes_on = stands_alone or is_hyphenated
        begin, is_joined = number + 1, goes_on


def _ends_word(unit: str) -> bool:
    """Blanks, line ends and controls do; half a character does not."""
    return unit.isspace() or not (unit.isprintable() or "\ud800" <= unit <= "\udfff")


def _whole(units: str) -> str:
    """Halves of a character put together; a lone one is shown as unreadable."""
    if units.isascii():
        return units
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _around(boxes: list[Box]) -> Box:
    return Box(
        min(box.left for box in boxes),
        min(box.bottom for box in boxes),
        max(box.right for box in boxes),
        max(box.top for box in boxes),
    )


class _Picture:
    """The pixels a page is drawn on, its rotation and crop box taken into account."""

    def __init__(self, page: pypdfium2.PdfPage, width: int, height: int) -> None:
        self._page, self._width, self._height = page, width, height
        self._x, self._y = ctypes.c_int(), ctypes.c_int()

    def box(self, box: Box) -> tuple[int, int, int, int] | None:
        """Left, top, right and bottom of what of a box is on the picture; None for what is not."""
        corners = [self._at(box.left, box.bottom), self._at(box.right, box.top)]
        left, right = sorted(min(max(x, 0), self._width) for x, _ in corners)
        top, bottom = sorted(min(max(y, 0), self._height) for _, y in corners)
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _at(self, x: float, y: float) -> tuple[int, int]:
        pdfium.FPDF_PageToDevice(
            self._page, 0, 0, self._width, self._height, 0, x, y,
            ctypes.byref(self._x), ctypes.byref(self._y),
        )  # fmt: skip
        return self._x.value, self._y.value
