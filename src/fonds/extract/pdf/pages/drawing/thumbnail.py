"""Page 0 of a PDF as small pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pypdfium2
from PIL import Image

from fonds.extract.pdf.pages.drawing.rendering import render
from fonds.model.pdf import thumbnail_box

# Rendered four times too large and reduced by LANCZOS after a first halving, it comes within 0.02 SSIM
# of an eightfold rendering in the time of plain averaging; docs/decisions/0013 has the figures, also
# of the sharpening that made it worse.
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
    """`page` on white within the box of each form (`180px-jpg`), never above 72 dpi; rendered once.

    {} when the page has no area; a form is left out when the page would need more than `pixels_max`
    pixels to be rendered for it.
    """
    wanted = {form: thumbnail_box(form) for form in forms}
    width, height = page.get_size()
    sizes = {form: fit(width, height, box[0], box[1]) for form, box in wanted.items()}
    drawn: dict[str, bytes] = {}
    rendered: Image.Image | None = None
    for form, size in sorted(sizes.items(), key=lambda one: one[1] or (0, 0), reverse=True):
        factor = _oversampling(size, pixels_max) if size else 0
        if size is None or factor == 0:
            continue
        if rendered is None:
            rendered = render(page, size[0] * factor, size[1] * factor)
        small = rendered.resize(size, Image.Resampling.LANCZOS, reducing_gap=_REDUCING_GAP)
        drawn[form] = _saved(small, wanted[form][2])
    return drawn


def fit(width: float, height: float, width_max: int, height_max: int) -> tuple[int, int] | None:
    """Pixels of a page of `width` x `height` points that fit the box; at least 1x1, never enlarged.

    None for a page or a box without area.
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


def _saved(image: Image.Image, kind: str) -> bytes:
    out = BytesIO()
    name, options = _SAVING[kind]
    image.save(out, name, **options)
    return out.getvalue()


def _oversampling(size: tuple[int, int], pixels_max: int) -> int:
    factors = range(_OVERSAMPLING, 0, -1)
    return next((n for n in factors if size[0] * size[1] * n * n <= pixels_max), 0)
