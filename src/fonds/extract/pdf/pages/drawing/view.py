"""One page of a PDF as it is read on a screen; to be made in a child process, as everything of PDFs is."""

from __future__ import annotations

import math
from io import BytesIO

import PIL
import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from fonds.extract.pdf.info import PdfStructure, read_structure
from fonds.extract.pdf.opening import (
    drawing_pages,
    init_forms,
    open_mapped,
    open_repaired,
)
from fonds.extract.pdf.pages.drawing.places import placed_words
from fonds.extract.pdf.pages.drawing.rendering import render
from fonds.extract.pdf.trailer import without_junk
from fonds.model.errors import cause_of
from fonds.model.open_body import OpenBody
from fonds.model.page_view import PageView, ViewLimits

PROGRAM = f"view/1 pdfium {pypdfium2.PDFIUM_INFO.build} Pillow {PIL.__version__}"
_QUALITY, _METHOD = 80, 2
_XMP_NONE = 0


def renderer(limits: ViewLimits) -> str:
    """Program, versions and size: two pictures of a page with one name are the same."""
    return f"{PROGRAM} {limits.width_max}x{limits.height_max}-webp"


def view_page(body: OpenBody, number: int, limits: ViewLimits) -> PageView:
    """Page `number` (from 1) of a PDF. Raises TransientError when the body cannot be read, MemoryError when
    the page takes more memory than there is."""
    if body.size_bytes > limits.size_max_bytes:
        told = f"the PDF has {body.size_bytes:,} bytes, the limit is {limits.size_max_bytes:,}"
        return PageView(None, why=told)
    return view_page_of(body.whole("the PDF"), number, limits)


def view_page_of(data: bytes, number: int, limits: ViewLimits) -> PageView:
    """As `view_page`, of bytes in hand."""
    data = without_junk(data)
    structure = read_structure(data, xmp_max_bytes=_XMP_NONE)
    opened = open_mapped(data, structure.mapped)
    if opened.document is None:
        return PageView(None, why=opened.error_msg or "it cannot be opened as a PDF")
    try:
        view, is_blank = _viewed(opened.document, number, structure, limits)
    finally:
        opened.document.close()
    # pdfium draws nothing of objects it does not find, and says nothing of them.
    return _repaired(data, number, structure, limits) or view if is_blank else view


def _repaired(
    data: bytes, number: int, structure: PdfStructure, limits: ViewLimits
) -> PageView | None:
    """A page that pdfium finds blank, of the file as qpdf writes it anew; None where it is blank indeed."""
    opened = open_repaired(data) if drawing_pages(data, [number - 1]) else None
    if opened is None or opened.document is None:
        return None
    try:
        return _viewed(opened.document, number, structure, limits)[0]
    finally:
        opened.document.close()


def _viewed(
    document: pypdfium2.PdfDocument, number: int, structure: PdfStructure, limits: ViewLimits
) -> tuple[PageView, bool]:
    """The page, and whether it has no objects at all."""
    count = len(document)
    if not 1 <= number <= count:
        told = f"the PDF has {count:,} pages, and none with the number {number:,}"
        return PageView(None, page_count=count, why=told), False
    if structure.extra.get("form_field_count") is not None:
        init_forms(document)
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return PageView(None, page_count=count, why="the page cannot be opened"), False
    try:
        return _drawn(page, count, limits), pdfium.FPDFPage_CountObjects(page) <= 0
    except (pypdfium2.PdfiumError, OSError) as error:
        told = f"the page cannot be drawn: {cause_of(error)}"
        return PageView(None, page_count=count, why=told), False
    finally:
        page.close()


def _drawn(page: pypdfium2.PdfPage, count: int, limits: ViewLimits) -> PageView:
    width, height = page.get_size()
    size = view_size(width, height, limits)
    if size is None:
        return PageView(None, page_count=count, why="the page has no area")
    if size[0] * size[1] > limits.pixels_max:
        told = f"the page takes more than {limits.pixels_max:,} pixels"
        return PageView(None, page_count=count, why=told)
    words = placed_words(page, *size, count_max=limits.words_max)
    image = _packed(render(page, *size))
    return PageView(image, *size, words=words, page_count=count)


def view_size(width: float, height: float, limits: ViewLimits) -> tuple[int, int] | None:
    """Pixels of a page of `width` x `height` points: as large as the box and the scale allow, at least 1x1.

    None for a page without area.
    """
    if not (math.isfinite(width) and math.isfinite(height)) or min(width, height) <= 0:
        return None
    scale = min(limits.width_max / width, limits.height_max / height, limits.scale_max)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _packed(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "WEBP", quality=_QUALITY, method=_METHOD)
    return out.getvalue()
