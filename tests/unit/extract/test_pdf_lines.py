"""Superscripts and subscripts do not end lines."""

from __future__ import annotations

import pytest

from fixtures.pdfs import drawn_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits


def extract_text(content: bytes) -> str | None:
    return extract_pdf_bytes(drawn_pdf(b"BT %s ET" % content), PdfLimits(thumbnails=())).text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            b"/F1 10 Tf 72 700 Td (points in R) Tj /F1 7 Tf 3.6 Ts (d) Tj /F1 10 Tf 0 Ts (, each) Tj",
            "points in Rd, each",
        ),
        (
            b"/F1 10 Tf 72 700 Td (Anne Fouilloux) Tj /F1 7 Tf 4 Ts (2) Tj /F1 10 Tf 0 Ts"
            b" (, Kyle Niemeyer) Tj /F1 7 Tf 4 Ts (1) Tj",
            "Anne Fouilloux2, Kyle Niemeyer1",
        ),
        (
            b"/F1 10 Tf 72 700 Td (loss x) Tj /F1 7 Tf -3 Ts (i) Tj /F1 10 Tf 0 Ts ( of it) Tj",
            "loss xi of it",
        ),
    ],
)
def test_a_superscript_or_subscript_ends_no_line(content: bytes, text: str) -> None:
    assert extract_text(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"/F1 10 Tf 12 TL 72 700 Td (a list) Tj T* (2) Tj T* (3) Tj", "a list\n2\n3"),
        (b"/F1 10 Tf 72 700 Td (over) Tj 0 -9 Td (b) Tj", "over\nb"),
        (b"/F1 10 Tf 72 700 Td (left) Tj 200 12 Td (right) Tj", "left\nright"),
    ],
)
def test_short_lines_below_each_other_stay_separate(content: bytes, text: str) -> None:
    assert extract_text(content) == text
