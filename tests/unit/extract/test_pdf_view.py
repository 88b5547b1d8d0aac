"""Page views: the picture, the positions of words, and errors."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import pytest
from PIL import Image

from fixtures.pdfs import mapped_pdf, text_pdf
from fonds.extract.pdf.page_view import (
    _iter_word_runs,
    draw_page_view_from_bytes,
    fit_view_size,
    name_renderer,
)
from fonds.model.pdf import PageView, PlacedWord, ViewLimits

LIMITS = ViewLimits(width_max=600, height_max=900)


def open_picture(view: PageView) -> Image.Image:
    assert view.image is not None
    return Image.open(BytesIO(view.image)).convert("L")


def get_darkest(view: PageView, word: PlacedWord) -> int:
    box = (word.left, word.top, word.right, word.bottom)
    return int(open_picture(view).crop(box).getextrema()[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_word_boxes_match_the_picture(rotate: int) -> None:
    body = text_pdf(("First page", "Fonds keeps what it reads."), rotate=rotate)
    view = draw_page_view_from_bytes(body, 2, LIMITS)
    assert (view.page_count, view.error) == (2, None)
    assert open_picture(view).size == (view.width, view.height)
    assert [word.text for word in view.words] == ["Fonds", "keeps", "what", "it", "reads."]
    for word in view.words:
        assert 0 <= word.left < word.right <= view.width
        assert 0 <= word.top < word.bottom <= view.height
        assert get_darkest(view, word) < 120
    # Everything drawn is inside one of the boxes.
    picture_copy = open_picture(view)
    for word in view.words:
        picture_copy.paste(255, (word.left - 2, word.top - 2, word.right + 2, word.bottom + 2))
    assert picture_copy.getextrema()[0] > 200  # type: ignore[operator]


def test_a_crop_box_moves_words_and_picture() -> None:
    view = draw_page_view_from_bytes(
        text_pdf(("Moved words",), crop=(50, 600, 400, 792)), 1, LIMITS
    )
    assert [word.text for word in view.words] == ["Moved", "words"]
    assert all(get_darkest(view, word) < 120 for word in view.words)


def test_each_character_of_a_script_without_blanks_has_a_position() -> None:
    words = draw_page_view_from_bytes(mapped_pdf("図書館"), 1, LIMITS).words
    assert [(word.text, word.is_joined) for word in words] == [
        ("図", False), ("書", True), ("館", True),
    ]  # fmt: skip


def test_a_hyphen_at_a_line_end_joins_two_words() -> None:
    runs = [("net\ufffe\r\nworks of"[run.start : run.stop], joined)
            for run, joined in _iter_word_runs("net\ufffe\r\nworks of")]  # fmt: skip
    assert runs == [("net", False), ("works", True), ("of", False)]


@pytest.mark.parametrize(
    ("body", "number", "limits", "message"),
    [
        (text_pdf(), 2, LIMITS, "so page 2 does not exist"),
        (b"no PDF", 1, LIMITS, "neither pdfium nor qpdf"),
        (text_pdf(), 1, replace(LIMITS, pixels_max=1_000), "more than 1,000 pixels"),
    ],
)
def test_a_page_that_cannot_be_drawn_returns_an_error(
    body: bytes, number: int, limits: ViewLimits, message: str
) -> None:
    view = draw_page_view_from_bytes(body, number, limits)
    assert view.image is None
    assert message in (view.error or "")


def test_the_number_of_words_is_limited() -> None:
    assert (
        len(
            draw_page_view_from_bytes(
                text_pdf(("a b c d e",)), 1, replace(LIMITS, words_max=3)
            ).words
        )
        == 3
    )


def test_a_page_of_any_shape_fits_its_box() -> None:
    assert fit_view_size(612, 792, LIMITS) == (600, 776)
    assert fit_view_size(10, 10, LIMITS) == (40, 40)
    assert fit_view_size(14_400, 1, LIMITS) == (600, 1)
    assert fit_view_size(0, 10, LIMITS) is None
    assert fit_view_size(float("nan"), 10, LIMITS) is None


def test_the_renderer_names_its_size() -> None:
    assert name_renderer(LIMITS).endswith("600x900-webp")
    assert name_renderer(LIMITS) != name_renderer(ViewLimits())
