"""What the bare bytes of a file tell."""

from __future__ import annotations

import time
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def literal(raw: bytes) -> bytes:
    for one in (b"\\", b"(", b")"):
        raw = raw.replace(one, b"\\" + one)
    return b"(" + raw.replace(b"\r", b"\\r") + b")"


def test_version_and_ids_are_read() -> None:
    found = scan_trailer(raw_pdf(plain_objects(), trailer=id_trailer(), version=b"1.4"))
    assert found.pdf_version == "1.4"
    assert (found.permanent_id, found.update_id) == (ID_FIRST.hex(), ID_SECOND.hex())
    assert not found.encrypted


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_ids_written_as_literal_strings_are_the_same_as_in_hex(first: bytes, second: bytes) -> None:
    as_hex = scan_trailer(id_trailer(first, second))
    as_literal = scan_trailer(b"/ID[" + literal(first) + b" " + literal(second) + b"]")
    ids = attrgetter("permanent_id", "update_id")
    assert ids(as_hex) == ids(as_literal)
    assert as_hex.permanent_id == (first.hex() or None)


def test_octal_escapes_in_an_id_are_undone() -> None:
    assert scan_trailer(rb"/ID[(\101\7\n\q) <4>]").permanent_id == "41070a71"


def test_an_odd_number_of_digits_is_filled_up() -> None:
    assert scan_trailer(rb"/ID[<ab> <abc>]").update_id == "abc0"


def test_the_newest_trailer_wins() -> None:
    data = id_trailer(b"old", b"old") + b" " + id_trailer(b"new", b"new") + b"/IDTree 5 0 R"
    assert scan_trailer(data).permanent_id == b"new".hex()


def test_a_linearized_file_tells_its_pages() -> None:
    found = scan_trailer(linearized_pdf())
    assert (found.linearized, found.page_count) == (True, 2)


def test_encryption_is_seen() -> None:
    assert scan_trailer(encrypted_pdf(user="secret")).encrypted


def test_junk_before_the_header_is_cut_when_readers_would_not_skip_it() -> None:
    data = text_pdf()
    assert strip_leading_junk(b"x" * 2_000 + data) == data
    assert strip_leading_junk(b"x" * 100 + data) == b"x" * 100 + data
    assert strip_leading_junk(b"no header") == b"no header"


@given(st.binary(max_size=300))
def test_no_bytes_are_an_error(data: bytes) -> None:
    scan_trailer(data)


@pytest.mark.parametrize(
    "pattern", [b"/ID", b"/ID[", b"/ID[(((", b"/Linearized ", b"/N ", b"%PDF-"]
)
def test_hostile_repetition_takes_little_time(pattern: bytes) -> None:
    began = time.process_time()
    scan_trailer(pattern * (3_000_000 // len(pattern)))
    assert time.process_time() - began < 1
