"""Whether a page is the picture of a page."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import StrEnum

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.model.pdf import SCANNED_ORIGIN

PAGES_JUDGED_MAX = 5
_OBJECTS_LOOKED_AT_MAX = 20
_COVERED_MIN = 0.7
_TEXT_MIN_CHARS = 50


class Origin(StrEnum):
    """How the pages of a PDF came to be."""

    BORN_DIGITAL = "born-digital"
    SCANNED = SCANNED_ORIGIN  # pictures of pages, and no text
    SCANNED_WITH_TEXT = "scanned-with-text"  # pictures of pages, with recognised text


def is_picture(page: pypdfium2.PdfPage) -> bool:
    """Whether one image covers most of the page; it stands among the first objects of a scan."""
    width, height = page.get_size()
    area = abs(width * height)
    count = min(pdfium.FPDFPage_CountObjects(page), _OBJECTS_LOOKED_AT_MAX)
    return area > 0 and any(
        _image_area(pdfium.FPDFPage_GetObject(page, number)) >= _COVERED_MIN * area
        for number in range(max(0, count))
    )


def judge(pages: Sequence[tuple[bool, int]]) -> Origin | None:
    """By whether each page is a picture and how many characters it has; None when all are blank."""
    told = [(picture, chars) for picture, chars in pages if picture or chars]
    if not told:
        return None
    pictures = [chars for picture, chars in told if picture]
    if 2 * len(pictures) <= len(told):
        return Origin.BORN_DIGITAL
    with_text = sum(chars >= _TEXT_MIN_CHARS for chars in pictures)
    return Origin.SCANNED_WITH_TEXT if 2 * with_text > len(pictures) else Origin.SCANNED


def _image_area(found: object) -> float:
    """In square points; 0 for whatever is no image."""
    if not found or pdfium.FPDFPageObj_GetType(found) != pdfium.FPDF_PAGEOBJ_IMAGE:
        return 0.0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not pdfium.FPDFPageObj_GetBounds(found, left, bottom, right, top):
        return 0.0
    return abs((right.value - left.value) * (top.value - bottom.value))
