"""Draw one page of a PDF for reading on a screen, with the positions of its words. Runs in a child
process.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from io import BytesIO

import PIL
import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from fonds.extract.pdf.characters import LINE_END_HYPHEN, Box, PageCharacters
from fonds.extract.pdf.document import find_drawing_pages, init_forms, open_mapped, open_repaired
from fonds.extract.pdf.rendering import render
from fonds.extract.pdf.structure import PdfStructure, read_structure
from fonds.extract.pdf.trailer import strip_leading_junk
from fonds.model.archive import OpenBody
from fonds.model.errors import cause_of
from fonds.model.pdf import PageView, PlacedWord, ViewLimits
from fonds.text.words import is_spaceless

# Positions of the words on the picture, from the text layer.
#
# Linear in the page's characters, of which at most 300,000 are examined; words above the limit are
# omitted.


MAX_CHARS = 300_000


def extract_word_boxes(
    page: pypdfium2.PdfPage, width: int, height: int, *, count_max: int
) -> tuple[PlacedWord, ...]:
    """Return the words of a page with their positions in a picture of `width` x `height` pixels.

    At most `count_max` words are returned; () if the text cannot be read. Words that are not
    visible are omitted.
    """
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return ()
    try:
        characters = PageCharacters(text_page, page)
        page_pixels = _PagePixels(page, width, height)
        words: list[PlacedWord] = []
        for numbers, is_joined in _iter_word_runs(characters.text[:MAX_CHARS]):
            if len(words) == count_max:
                break
            box = page_pixels.convert_box(
                _bounding_box([characters.get_cell_box(number) for number in numbers])
            )
            text = _join_surrogates("".join(characters.text[number] for number in numbers))
            if box is not None:
                words.append(PlacedWord(text, is_joined and bool(words), *box))
        return tuple(words)
    finally:
        pdfium.FPDFText_ClosePage(text_page)


def _iter_word_runs(text: str) -> Iterator[tuple[range, bool]]:
    """Yield the character indexes of each word, and whether the word belongs to the previous word
    without a space.

    A word does if it follows a hyphen at a line end. It also does next to a character of a script
    without spaces, such as Chinese; each such character is a word by itself.
    """
    begin, is_joined, goes_on, is_hyphenated = 0, False, False, False
    for number, unit in enumerate(f"{text} "):
        stands_alone = is_spaceless(unit)
        if not stands_alone and not _is_word_end(unit):
            continue
        if number > begin:
            yield range(begin, number), is_joined
            goes_on, is_hyphenated = True, False
        if stands_alone:
            yield range(number, number + 1), goes_on
        is_hyphenated = unit == LINE_END_HYPHEN or (is_hyphenated and unit in "\r\n")
        goes_on = stands_alone or is_hyphenated
        begin, is_joined = number + 1, goes_on


def _is_word_end(unit: str) -> bool:
    """Return whether a character ends a word: blanks, line ends and controls do. A lone surrogate
    does not.
    """
    return unit.isspace() or not (unit.isprintable() or "\ud800" <= unit <= "\udfff")


def _join_surrogates(units: str) -> str:
    """Return a text in which surrogate pairs are joined to characters. A lone surrogate becomes the
    replacement character.
    """
    if units.isascii():
        return units
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _bounding_box(boxes: list[Box]) -> Box:
    return Box(
        min(box.left for box in boxes),
        min(box.bottom for box in boxes),
        max(box.right for box in boxes),
        max(box.top for box in boxes),
    )


class _PagePixels:
    """Converts positions on a page to pixels, with the rotation and crop box of the page."""

    def __init__(self, page: pypdfium2.PdfPage, width: int, height: int) -> None:
        self._page, self._width, self._height = page, width, height
        self._x, self._y = ctypes.c_int(), ctypes.c_int()

    def convert_box(self, box: Box) -> tuple[int, int, int, int] | None:
        """Return left, top, right and bottom of the visible part of a box in pixels; None if no
        part is visible.
        """
        corners = [
            self._convert_point(box.left, box.bottom),
            self._convert_point(box.right, box.top),
        ]
        left, right = sorted(min(max(x, 0), self._width) for x, _ in corners)
        top, bottom = sorted(min(max(y, 0), self._height) for _, y in corners)
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _convert_point(self, x: float, y: float) -> tuple[int, int]:
        pdfium.FPDF_PageToDevice(
            self._page, 0, 0, self._width, self._height, 0, x, y,
            ctypes.byref(self._x), ctypes.byref(self._y),
        )  # fmt: skip
        return self._x.value, self._y.value


PROGRAM = f"view/1 pdfium {pypdfium2.PDFIUM_INFO.build} Pillow {PIL.__version__}"
_QUALITY, _METHOD = 80, 2
_XMP_NONE = 0


def name_renderer(limits: ViewLimits) -> str:
    """Return a name for the renderer: its programs' names and versions, and the maximum size of a
    picture.

    Two pictures of a page by renderers with the same name are equal.
    """
    return f"{PROGRAM} {limits.width_max}x{limits.height_max}-webp"


def draw_page_view(body: OpenBody, number: int, limits: ViewLimits) -> PageView:
    """Draw a page of a PDF in an open file. `number` is the page number, from 1.

    If the page cannot be drawn, the result has an error message. Raises TransientError if the file
    cannot be read, and MemoryError if the page needs more memory than available.
    """
    if body.size_bytes > limits.size_max_bytes:
        problem = f"the PDF has {body.size_bytes:,} bytes; the limit is {limits.size_max_bytes:,}"
        return PageView(None, error=problem)
    return draw_page_view_from_bytes(body.read_all("the PDF"), number, limits)


def draw_page_view_from_bytes(data: bytes, number: int, limits: ViewLimits) -> PageView:
    """Draw a page of a PDF in memory. `number` is the page number, from 1. If the page cannot be
    drawn, the result has an error message.
    """
    data = strip_leading_junk(data)
    structure = read_structure(data, xmp_max_bytes=_XMP_NONE)
    opened_pdf = open_mapped(data, structure.mapped)
    if opened_pdf.document is None:
        return PageView(None, error=opened_pdf.error_msg or "cannot open it as a PDF")
    try:
        view, is_blank = _draw_checked(opened_pdf.document, number, structure, limits)
    finally:
        opened_pdf.document.close()
    # pdfium neither draws nor reports objects it cannot find.
    return _draw_repaired(data, number, structure, limits) or view if is_blank else view


def _draw_repaired(
    data: bytes, number: int, structure: PdfStructure, limits: ViewLimits
) -> PageView | None:
    """Draw a page that pdfium finds blank, after qpdf has rewritten the PDF.

    Return None if the page is really blank, or if the rewritten PDF cannot be opened.
    """
    opened_pdf = open_repaired(data) if find_drawing_pages(data, [number - 1]) else None
    if opened_pdf is None or opened_pdf.document is None:
        return None
    try:
        return _draw_checked(opened_pdf.document, number, structure, limits)[0]
    finally:
        opened_pdf.document.close()


def _draw_checked(
    document: pypdfium2.PdfDocument, number: int, structure: PdfStructure, limits: ViewLimits
) -> tuple[PageView, bool]:
    """Draw a page. Return its picture with words or an error message, and whether pdfium finds no
    objects on the page.
    """
    count = len(document)
    if not 1 <= number <= count:
        problem = f"the PDF has {count:,} pages, so page {number:,} does not exist"
        return PageView(None, page_count=count, error=problem), False
    if structure.extra.form_field_count is not None:
        init_forms(document)
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return PageView(None, page_count=count, error="cannot open the page"), False
    try:
        return _draw_page(page, count, limits), pdfium.FPDFPage_CountObjects(page) <= 0
    except (pypdfium2.PdfiumError, OSError) as error:
        problem = f"cannot draw the page: {cause_of(error)}"
        return PageView(None, page_count=count, error=problem), False
    finally:
        page.close()


def _draw_page(page: pypdfium2.PdfPage, count: int, limits: ViewLimits) -> PageView:
    width, height = page.get_size()
    size = fit_view_size(width, height, limits)
    if size is None:
        return PageView(None, page_count=count, error="the page has no area")
    if size[0] * size[1] > limits.pixels_max:
        problem = f"the page needs more than {limits.pixels_max:,} pixels"
        return PageView(None, page_count=count, error=problem)
    words = extract_word_boxes(page, *size, count_max=limits.words_max)
    image = _encode_webp(render(page, *size))
    return PageView(image, *size, words=words, page_count=count)


def fit_view_size(width: float, height: float, limits: ViewLimits) -> tuple[int, int] | None:
    """Return width and height in pixels for a page of `width` x `height` points: as large as the
    limits allow, at least 1x1.

    Return None for a page without area.
    """
    if not (math.isfinite(width) and math.isfinite(height)) or min(width, height) <= 0:
        return None
    scale = min(limits.width_max / width, limits.height_max / height, limits.scale_max)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _encode_webp(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "WEBP", quality=_QUALITY, method=_METHOD)
    return out.getvalue()
