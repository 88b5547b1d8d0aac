"""The thumbnail of page 0."""

from __future__ import annotations

from io import BytesIO

import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fixtures.pdfs import drawn_pdf, image_pdf, text_pdf, transparent_pdf
from fonds.extract.pdf.rendering import draw_thumbnails, fit_box


def draw(data: bytes, pixels_max: int = 50_000_000) -> Image.Image | None:
    with pypdfium2.PdfDocument(data) as document:
        page = document[0]
        thumbnails = draw_thumbnails(page, ["180px-jpg"], pixels_max=pixels_max)
        page.close()
    return Image.open(BytesIO(thumbnails["180px-jpg"]), formats=["JPEG"]) if thumbnails else None


def draw_or_fail(data: bytes) -> Image.Image:
    image = draw(data)
    assert image is not None
    return image


def is_near(pixel: object, colour: tuple[int, int, int]) -> bool:
    assert isinstance(pixel, tuple)
    return all(abs(actual - expected) <= 8 for actual, expected in zip(pixel, colour, strict=True))


@pytest.mark.parametrize(
    ("box", "rotate", "size"),
    [
        ((0, 0, 612, 792), 0, (180, 233)),
        ((0, 0, 612, 792), 90, (180, 139)),
        ((0, 0, 300, 1000), 0, (90, 300)),
        ((100, 100, 712, 892), 0, (180, 233)),
        ((612, 792, 0, 0), 0, (180, 233)),
        ((0, 0, 100, 50), 0, (100, 50)),
        ((0, 0, 14400, 14400), 0, (180, 180)),
        ((0, 0, 2, 14400), 0, (1, 300)),
    ],
)
def test_a_page_fits_the_box_and_is_never_enlarged(
    box: tuple[int, ...], rotate: int, size: tuple[int, int]
) -> None:
    assert draw_or_fail(text_pdf(box=box, rotate=rotate)).size == size


def test_the_crop_box_sets_the_size() -> None:
    assert draw_or_fail(text_pdf(crop=(100, 100, 200, 300))).size == (100, 200)


def test_an_empty_page_is_white() -> None:
    assert draw_or_fail(text_pdf(("",))).getextrema() == ((255, 255),) * 3


def test_transparency_is_drawn_on_white() -> None:
    assert is_near(draw_or_fail(transparent_pdf()).getpixel((90, 100)), (128, 128, 128))


def test_colour_channels_are_in_order() -> None:
    assert is_near(draw_or_fail(image_pdf()).getpixel((90, 100)), (255, 0, 0))


def test_a_rotated_page_is_drawn_rotated() -> None:
    black_below = drawn_pdf(b"0 g 0 0 612 396 re f")
    image = draw_or_fail(black_below)
    assert is_near(image.getpixel((90, 220)), (0, 0, 0))
    assert is_near(image.getpixel((90, 20)), (255, 255, 255))


def test_a_thin_line_is_averaged() -> None:
    lines = b"".join(b"0 %d 612 1 re f " % y for y in range(0, 792, 4))
    low, high = draw_or_fail(drawn_pdf(b"0 g " + lines)).convert("L").getextrema()
    assert 60 < low <= high < 240


def test_the_pixel_limit_lowers_the_resolution_and_then_prevents_rendering() -> None:
    small = draw(text_pdf(), pixels_max=180 * 233)
    assert small is not None
    assert small.size == (180, 233)
    assert draw(text_pdf(), pixels_max=180 * 233 - 1) is None


@pytest.mark.parametrize(
    "size", [(0.0, 10.0), (10.0, 0.0), (-1.0, 5.0), (float("nan"), 1.0), (float("inf"), 1.0)]
)
def test_a_page_without_area_does_not_fit(size: tuple[float, float]) -> None:
    assert fit_box(*size, 180, 300) is None


def test_a_box_without_area_fits_nothing() -> None:
    assert fit_box(612, 792, 0, 300) is None


@given(
    st.floats(min_value=1e-9, max_value=1e12, exclude_min=True),
    st.floats(min_value=1e-9, max_value=1e12, exclude_min=True),
)
def test_every_page_with_an_area_fits(width: float, height: float) -> None:
    size = fit_box(width, height, 180, 300)
    assert size is not None
    assert 1 <= size[0] <= 180
    assert 1 <= size[1] <= 300
