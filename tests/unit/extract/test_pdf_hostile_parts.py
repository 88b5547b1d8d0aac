"""Parts of hostile PDFs from fuzzing: each is cheap and affects only itself."""

from __future__ import annotations

import tracemalloc

import pytest

from fixtures.pdfs import plain_objects, raw_pdf
from fonds.extract.pdf.structure import read_structure
from fonds.extract.pdf.trailer import scan_trailer

MEMORY_MAX_BYTES = 20 * 2**20


def make_form(count: int) -> bytes:
    """Return a form whose field is its own kid `count` times."""
    objects = plain_objects()
    objects[0] = b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]>>>>"
    return raw_pdf([*objects, b"<</T(a)/Kids[" + b"6 0 R " * count + b"]>>"])


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (rb"(\8)", "38"),
        (rb"(\9a)", "3961"),
        (rb"(\08)", "0038"),
        (rb"(\128)", "0a38"),
        (rb"(\400)", "00"),
        (rb"(\q)", "71"),
    ],
)
def test_a_backslash_before_no_octal_digit_is_ignored(literal: bytes, expected: str) -> None:
    trailer = scan_trailer(b"trailer<</ID[" + literal + b"(b)]>>")
    assert (trailer.permanent_id, trailer.update_id) == (expected, "62")


def test_a_file_that_no_reader_opens_keeps_its_ids() -> None:
    structure = read_structure(rb"%PDF-1.4 trailer<</ID[(\8)(\9)]>>", xmp_max_bytes=1)
    assert structure.error is not None
    assert (structure.extra.permanent_id, structure.extra.update_id) == ("38", "39")


def test_fields_that_are_their_own_kids_use_little_memory() -> None:
    data = make_form(2_000)
    tracemalloc.start()
    try:
        structure = read_structure(data, xmp_max_bytes=1)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert structure.extra.form_field_count is None
    assert structure.extra.javascript is False
    assert peak_bytes < MEMORY_MAX_BYTES


def test_a_null_kid_is_not_a_field() -> None:
    objects = plain_objects()
    objects[0] = b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[null 6 0 R null 7 0 R]>>>>"
    data = raw_pdf([*objects, b"<</T(a)/Kids[null 7 0 R]>>", b"<</T(b)>>"])
    structure = read_structure(data, xmp_max_bytes=1)
    assert structure.extra.form_field_count == 3
