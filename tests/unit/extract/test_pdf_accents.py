"""Accents that are drawn separately from their letters."""

from __future__ import annotations

import pytest

from fixtures.pdf_fonts import accented_pdf, named_glyphs_pdf
from fixtures.pdfs import drawn_pdf, mapped_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits


def extract_text(data: bytes) -> str | None:
    return extract_pdf_bytes(data, PdfLimits(thumbnails=())).text


@pytest.mark.parametrize(
    ("before", "accent", "letter", "after", "word"),
    [
        ("Lov", "acute", "a", "sz", "Lovász"),
        ("Sch", "dieresis", "o", "lkopf", "Schölkopf"),
        ("Fran", "cedilla", "c", "ois", "François"),
        ("na", "dieresis", "dotlessi", "ve", "naïve"),
        ("Gy", "hungarumlaut", "o", "rfi", "Győrfi"),
        ("Ko", "caron", "c", "i", "Koči"),
        ("Universit", "grave", "a", "", "Università"),
        ("ma", "tilde", "n", "ana", "mañana"),
        ("h", "circumflex", "o", "tel", "hôtel"),
        ("", "ring", "a", "ngstrom", "ångstrom"),
        ("Do", "breve", "g", "an", "Doğan"),
        ("t", "macron", "o", "kyo", "tōkyo"),
        ("", "dotaccent", "z", "aba", "żaba"),
    ],
)
def test_an_accent_over_a_letter_is_combined_with_it(
    before: str, accent: str, letter: str, after: str, word: str
) -> None:
    assert extract_text(accented_pdf(before, accent, letter, after)) == word


def test_an_accent_over_a_capital_is_combined_with_it() -> None:
    assert extract_text(accented_pdf("", "acute", "E", "cole", shift=1.9)) == "École"


@pytest.mark.parametrize("text", ["use `ls` here", "a ^ b ~ c", "(\\264) is an acute", "\\250 a"])
def test_an_accent_over_no_letter_stays(text: str) -> None:
    expected = text.replace("\\264", "\u00b4").replace("\\250", "\u00a8")
    data = drawn_pdf(b"BT /F1 10 Tf 72 700 Td (%s) Tj ET" % text.encode("ascii"))
    assert extract_text(use_winansi(data)) == expected


def use_winansi(data: bytes) -> bytes:
    return data.replace(b"/BaseFont /Helvetica", b"/Encoding /WinAnsiEncoding /BaseFont /Helvetica")


def test_characters_outside_the_basic_plane_are_kept() -> None:
    assert extract_text(named_glyphs_pdf(["u1D46E", "a", "u1D46F"])) == "𝑮a𝑯"


def test_surrogate_pairs_are_combined() -> None:
    assert extract_text(mapped_pdf("𝑥´😀")) == "𝑥´😀"
