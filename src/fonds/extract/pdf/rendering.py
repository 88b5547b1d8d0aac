"""Draw the first page of a PDF as thumbnails."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from fonds.model.pdf import parse_thumbnail_form

_WHITE = (255, 255, 255, 255)


def render(page: pypdfium2.PdfPage, width: int, height: int) -> Image.Image:
    """Draw a page as `width` x `height` pixels in RGB on white, with form values and
    annotations.
    """
    bitmap = pypdfium2.PdfBitmap.new_native(
        width, height, format=pdfium.FPDFBitmap_BGR, rev_byteorder=True
    )
    try:
        bitmap.fill_rect(_WHITE, 0, 0, width, height)
        flags = pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
        render_args = (0, 0, width, height, 0, flags)
        pdfium.FPDF_RenderPageBitmap(bitmap, page, *render_args)
        if page.formenv:
            pdfium.FPDF_FFLDraw(page.formenv, bitmap, page, *render_args)
        image: Image.Image = bitmap.to_pil()  # RGB is copied out of the bitmap
        return image
    finally:
        bitmap.close()


# Rendered four times too large and reduced by LANCZOS after a first halving, it comes within 0.02
# SSIM of an eightfold rendering, in the time of plain averaging. docs/decisions/0013 has the
# figures, also of the sharpening that made it worse.
_OVERSAMPLING = 4
_REDUCING_GAP = 2.0
_SAVING: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "jpg": ("JPEG", {"quality": 85, "optimize": True}),
    "png": ("PNG", {"optimize": True}),
    "webp": ("WEBP", {"quality": 80, "method": 4}),
}


def draw_thumbnails(
    page: pypdfium2.PdfPage, forms: Sequence[str], *, pixels_max: int
) -> dict[str, bytes]:
    """Draw a page and return its picture in each of the formats `forms`, such as `180px-jpg`.

    The page is drawn once, on white, at 72 dpi or less. Return {} if the page has no area. A format
    is omitted if it would need more than `pixels_max` pixels.
    """
    boxes = {form: parse_thumbnail_form(form) for form in forms}
    width, height = page.get_size()
    sizes = {form: fit_box(width, height, box[0], box[1]) for form, box in boxes.items()}
    images: dict[str, bytes] = {}
    rendered_image: Image.Image | None = None
    for form, size in sorted(
        sizes.items(), key=lambda form_size: form_size[1] or (0, 0), reverse=True
    ):
        factor = _choose_oversampling(size, pixels_max) if size else 0
        if size is None or factor == 0:
            continue
        if rendered_image is None:
            rendered_image = render(page, size[0] * factor, size[1] * factor)
        thumbnail = rendered_image.resize(
            size, Image.Resampling.LANCZOS, reducing_gap=_REDUCING_GAP
        )
        images[form] = _encode_image(thumbnail, boxes[form][2])
    return images


def fit_box(width: float, height: float, width_max: int, height_max: int) -> tuple[int, int] | None:
    """Return width and height in pixels at which a page of `width` x `height` points fits a box.
    They are at least 1x1, and the page is not enlarged.

    Return None if the page or the box has no area.
    """
    if not (math.isfinite(width) and math.isfinite(height)):
        return None
    if min(width, height, width_max, height_max) <= 0:
        return None
    scale = min(width_max / width, height_max / height, 1.0)
    return (
        min(width_max, max(1, round(width * scale))),
        min(height_max, max(1, round(height * scale))),
    )


def _encode_image(image: Image.Image, kind: str) -> bytes:
    out = BytesIO()
    name, options = _SAVING[kind]
    image.save(out, name, **options)
    return out.getvalue()


def _choose_oversampling(size: tuple[int, int], pixels_max: int) -> int:
    factors = range(_OVERSAMPLING, 0, -1)
    return next((n for n in factors if size[0] * size[1] * n * n <= pixels_max), 0)
