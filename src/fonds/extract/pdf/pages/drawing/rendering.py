"""A page of a PDF as pixels."""

from __future__ import annotations

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

_WHITE = (255, 255, 255, 255)


def render(page: pypdfium2.PdfPage, width: int, height: int) -> Image.Image:
    """The page on white in RGB, with what was filled in and set on it, `width` x `height` pixels."""
    bitmap = pypdfium2.PdfBitmap.new_native(
        width, height, format=pdfium.FPDFBitmap_BGR, rev_byteorder=True
    )
    try:
        bitmap.fill_rect(_WHITE, 0, 0, width, height)
        flags = pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
        place = (0, 0, width, height, 0, flags)
        pdfium.FPDF_RenderPageBitmap(bitmap, page, *place)
        if page.formenv:
            pdfium.FPDF_FFLDraw(page.formenv, bitmap, page, *place)
        image: Image.Image = bitmap.to_pil()  # RGB is copied out of the bitmap
        return image
    finally:
        bitmap.close()
