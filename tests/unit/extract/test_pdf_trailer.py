"""Data read from the bytes of a file without a parser."""

from __future__ import annotations

from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_growth import assert_linear_cpu
from fixtures.pdfs import (
    ID_FIRST,
    ID_SECOND,
    encrypted_pdf,
    id_trailer,
    linearized_pdf,
    plain_objects,
    raw_pdf,
    text_pdf,
)
from fonds.extract.pdf.trailer import scan_trailer, strip_leading_junk


def make_literal(raw: bytes) -> bytes:
    for character in (b"\\", b"(", b")"):
        raw = raw.replace(character, b"\\" + character)
    return b"(" + raw.replace(b"\r", b"\\r") + b")"


def test_version_and_ids_are_read() -> None:
    trailer = scan_trailer(raw_pdf(plain_objects(), trailer=id_trailer(), version=b"1.4"))
    assert trailer.pdf_version == "1.4"
    assert (trailer.permanent_id, trailer.update_id) == (ID_FIRST.hex(), ID_SECOND.hex())
    assert not trailer.encrypted


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_ids_in_literal_strings_equal_ids_in_hex(first: bytes, second: bytes) -> None:
    as_hex = scan_trailer(id_trailer(first, second))
    as_literal = scan_trailer(b"/ID[" + make_literal(first) + b" " + make_literal(second) + b"]")
    ids = attrgetter("permanent_id", "update_id")
    assert ids(as_hex) == ids(as_literal)
    assert as_hex.permanent_id == (first.hex() or None)


def test_octal_escapes_in_ids_are_decoded() -> None:
    assert scan_trailer(rb"/ID[(\101\7\n\q) <4>]").permanent_id == "41070a71"


def test_an_odd_number_of_hex_digits_is_padded() -> None:
    assert scan_trailer(rb"/ID[<ab> <abc>]").update_id == "abc0"


def test_the_newest_trailer_wins() -> None:
    data = id_trailer(b"old", b"old") + b" " + id_trailer(b"new", b"new") + b"/IDTree 5 0 R"
    assert scan_trailer(data).permanent_id == b"new".hex()


def test_a_linearized_file_returns_its_page_count() -> None:
    trailer = scan_trailer(linearized_pdf())
    assert (trailer.linearized, trailer.page_count) == (True, 2)


def test_encryption_is_detected() -> None:
    assert scan_trailer(encrypted_pdf(user="secret")).encrypted


def test_only_junk_that_readers_do_not_skip_is_removed() -> None:
    data = text_pdf()
    assert strip_leading_junk(b"x" * 2_000 + data) == data
    assert strip_leading_junk(b"x" * 100 + data) == b"x" * 100 + data
    assert strip_leading_junk(b"no header") == b"no header"


@given(st.binary(max_size=300))
def test_any_bytes_are_accepted(data: bytes) -> None:
    scan_trailer(data)


@pytest.mark.parametrize(
    "pattern", [b"/ID", b"/ID[", b"/ID[(((", b"/Linearized ", b"/N ", b"%PDF-"]
)
def test_hostile_repetition_is_scanned_in_linear_time(pattern: bytes) -> None:
    assert_linear_cpu(lambda count: scan_trailer(pattern * count), 3_000_000 // len(pattern))
