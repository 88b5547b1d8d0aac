"""Fonts that do not map their codes to characters."""

from __future__ import annotations

from io import BytesIO

import pikepdf
import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.pdf_fonts import bare_codes_pdf, bitmap_font_pdf, named_glyphs_pdf, resave_pdf
from fixtures.pdfs import mapped_pdf, text_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.font_maps import add_font_maps, write_map
from fonds.extract.pdf.fonts import iter_page_fonts
from fonds.extract.pdf.glyph_names import (
    MSAM,
    OML,
    OMS,
    OMX,
    OT1,
    T1,
    find_glyph_text,
    is_tex_name,
)
from fonds.extract.pdf.limits import PdfLimits
from fonds.extract.pdf.structure import read_structure

SYMBOLS_PDF = bare_codes_pdf(b"\x00\x14\x15\x6b\x68x\x69", "ABCDEF+CMSY10")
SYMBOLS_TEXT = "−≤≥‖⟨§⟩"


def extract_text(data: bytes) -> str | None:
    return extract_pdf_bytes(data, PdfLimits(thumbnails=())).text


def get_mapped(data: bytes) -> bytes | None:
    return read_structure(data, xmp_max_bytes=1000).mapped


@pytest.mark.parametrize(
    ("codes", "font", "text"),
    [
        (b"\x00\x14\x15\x6b\x68x\x69", "CMSY10", "−≤≥‖⟨§⟩"),
        (b"\x58\x70\x10\x11", "ABCDEF+CMEX10", "∑√()"),
        (b"a\x36b\x3e", "MSAM7", "⌢⩽⋐⩾"),
        (b"\x0b\x60\x22A", "LMMathItalic10-Regular", "αℓεA"),
    ],
)
def test_codes_of_tex_fonts_are_mapped_to_their_characters(
    codes: bytes, font: str, text: str
) -> None:
    data = bare_codes_pdf(codes, font)
    assert extract_text(data) == text


def test_tex_glyph_names_are_mapped() -> None:
    names = ["lessorequalslant", "a", "greaterorequalslant", "summationdisplay", "parenleftBigg"]
    assert extract_text(named_glyphs_pdf(names)) == "⩽a⩾∑("


def test_a_stroke_or_bar_is_combined_with_the_next_sign() -> None:
    names = ["negationslash", "equal", "a", "mapsto", "arrowright"]
    assert extract_text(named_glyphs_pdf(names)) == "≠a↦"


def test_a_font_map_without_characters_for_named_glyphs_is_ignored() -> None:
    wrong_map = write_map(((33, "s"), (34, "u"), (35, "\x00"), (36, "↵")))
    names = ["s", "u", "ffi", "lessequal"]
    assert extract_text(named_glyphs_pdf(names, wrong_map, "ABCDEF+CMR10")) == "suffi≤"


def test_a_font_map_with_characters_is_used() -> None:
    assert extract_text(named_glyphs_pdf(["s", "ffi"], write_map(((33, "x"), (34, "y"))))) == "xy"


def test_ligatures_of_a_bitmap_font_become_letters() -> None:
    words = [*b"di", 0x0B, *b"erence of 1994 ", 0x5C, *b"abc", 0x22, *b" signi", 0x0C, *b"es"]
    assert extract_text(bitmap_font_pdf(words)) == "difference of 1994 “abc” signifies"


def test_ligatures_and_letters_of_the_cork_encoding_are_mapped() -> None:
    words = [*b"di", 0x1B, *b"erence (1994) na", 0xEF, *b"ve ", 0xB2, *b"koda"]
    assert extract_text(bitmap_font_pdf(words)) == "difference (1994) naïve škoda"


def test_a_bitmap_font_of_formulas_stays_unchanged() -> None:
    letters = [*b"abcdefghk", 0x0B]
    assert get_mapped(bitmap_font_pdf(letters, extra_codes=[0x3A, 0x3B])) is None


@pytest.mark.parametrize(
    "save_options",
    [
        {"object_stream_mode": pikepdf.ObjectStreamMode.generate},
        {"linearize": True},
        {"encryption": pikepdf.Encryption(owner="owner", user="")},
    ],
)
def test_fonts_get_maps_in_every_file_structure(save_options: dict[str, object]) -> None:
    data = resave_pdf(SYMBOLS_PDF, **save_options)
    assert extract_text(data) == SYMBOLS_TEXT


def test_bytes_before_the_header_do_not_shift_the_added_maps() -> None:
    assert extract_text(b"junk\n" * 20 + SYMBOLS_PDF) == SYMBOLS_TEXT


def test_the_file_stays_a_prefix_and_qpdf_finds_no_error_in_the_added_part() -> None:
    for data in (
        SYMBOLS_PDF,
        resave_pdf(SYMBOLS_PDF, object_stream_mode=pikepdf.ObjectStreamMode.generate),
    ):
        with pikepdf.open(BytesIO(data)) as pdf:
            fonts = [page_font.font for page_font in iter_page_fonts(pdf)]
            extended = add_font_maps(pdf, fonts, data)
        assert extended is not None
        assert extended.startswith(data)
        with pikepdf.open(BytesIO(extended)) as pdf:
            assert pdf.check_pdf_syntax() == []
        with pypdfium2.PdfDocument(extended) as document:
            assert len(document) == 1


@pytest.mark.parametrize("data", [text_pdf(), mapped_pdf("漢字"), named_glyphs_pdf(["a", "alpha"])])
def test_a_file_with_complete_fonts_stays_unchanged(data: bytes) -> None:
    assert get_mapped(data) is None


@given(data=st.data())
@settings(max_examples=examples(20), deadline=None)
def test_a_damaged_file_with_such_fonts_ends_in_a_status(data: st.DataObject) -> None:
    damaged = bytearray(SYMBOLS_PDF)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    assert extract_pdf_bytes(bytes(damaged), PdfLimits(thumbnails=())).status


def test_the_tables_have_the_characters_of_tex() -> None:
    assert [OT1[code] for code in (0x00, 0x0E, 0x13, 0x18, 0x5C, 0x7F)] == ["Γ", "ffi", *"´¸“¨"]
    assert [OML[code] for code in (0x0B, 0x19, 0x40, 0x60)] == list("απ∂ℓ")
    assert [OMS[code] for code in (0x00, 0x32, 0x6B, 0x7F)] == list("−∈‖♠")
    assert [OMX[code] for code in (0x20, 0x50, 0x62, 0x7F)] == list("(∑ˆ⇓")
    assert [MSAM[code] for code in (0x36, 0x3E, 0x7F)] == list("⩽⩾⊝")
    assert [T1[code] for code in (0x1E, 0x80, 0xDF, 0xFF)] == ["ffi", *"Ăẞß"]


def test_a_glyph_name_is_known_in_every_size() -> None:
    assert {find_glyph_text(f"parenleft{size}") for size in ("", "big", "Big", "bigg", "Bigg")} == {
        "("
    }
    assert find_glyph_text("hatwider") == "ˆ"
    assert find_glyph_text("integraldisplay") == "∫"
    assert not is_tex_name("alpha")
    assert find_glyph_text("nobody") is None
