"""Info dictionary, XMP, ids and traits."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pikepdf import Dictionary, Name

from depth import examples
from fixtures.pdfs import (
    ID_FIRST,
    ID_SECOND,
    broken_xref_pdf,
    drawn_pdf,
    encrypted_pdf,
    form_pdf,
    id_trailer,
    javascript_pdf,
    linearized_pdf,
    looped_form_pdf,
    mapped_pdf,
    plain_objects,
    raw_pdf,
    tagged_pdf,
    text_pdf,
    xmp_pdf,
)
from fonds.extract.pdf.structure import PdfStructure, decode_info_value, read_structure


def read(data: bytes) -> PdfStructure:
    return read_structure(data, xmp_max_bytes=1_000_000)


def make_pdf_with_info(info: bytes) -> bytes:
    """Return a file with this Info object."""
    return raw_pdf([*plain_objects(), info], trailer=b"/Info 6 0 R")


def test_all_keys_of_info_are_kept_and_dates_are_iso() -> None:
    pdf_structure = read(
        text_pdf(
            info={
                "Title": "On Fonds",
                "doi": "10.1000/182",
                "CrossMarkDomains[1]": "example.org",
                "CreationDate": "D:20200326012657-07'00'",
                "SourceModified": "D:20200101",
                "ModDate": "yesterday",
            }
        )
    )
    assert pdf_structure.info == {
        "Title": "On Fonds",
        "doi": "10.1000/182",
        "CrossMarkDomains[1]": "example.org",
        "CreationDate": "2020-03-26T08:26:57Z",
        "SourceModified": "2020-01-01T00:00:00Z",
        "ModDate": "yesterday",
    }


def test_a_file_without_info_has_none() -> None:
    assert read(text_pdf()).info is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"(text)", "text"),
        (b"<feff0041>", "A"),
        (b"(nul\\000led)", "nulled"),
        (b"/True", "True"),
        (b"true", "true"),
        (b"7", "7"),
        (b"1.50", "1.50"),
        (b"[(a) (b) 3]", "a; b; 3"),
    ],
)
def test_simple_values_are_returned_as_text(value: bytes, text: str) -> None:
    assert read(make_pdf_with_info(b"<</Odd " + value + b">>")).info == {"Odd": text}


@pytest.mark.parametrize("value", [b"<</A 1>>", b"null", b"2 0 R", b"77 0 R"])
def test_other_values_are_ignored(value: bytes) -> None:
    assert read(make_pdf_with_info(b"<</Title(t)/Odd " + value + b">>")).info == {"Title": "t"}


def test_an_info_that_is_no_dictionary_is_ignored() -> None:
    assert read(make_pdf_with_info(b"[1 2]")).info is None


@settings(max_examples=examples(20))
@given(st.binary(max_size=60))
def test_any_bytes_in_a_title_are_accepted(raw: bytes) -> None:
    pdf_structure = read(make_pdf_with_info(b"<</Title<" + raw.hex().encode() + b">>>"))
    assert pdf_structure.info is not None
    pdf_structure.info["Title"].encode()


def test_python_values_are_formatted_as_in_pdf() -> None:
    assert decode_info_value(True) == "true"
    assert decode_info_value(Decimal("2.50")) == "2.50"
    assert decode_info_value(None) is None


def test_ids_are_lower_case_hex() -> None:
    pdf_structure = read(raw_pdf(plain_objects(), trailer=id_trailer()))
    assert pdf_structure.extra.permanent_id == ID_FIRST.hex()
    assert pdf_structure.extra.update_id == ID_SECOND.hex()


@pytest.mark.parametrize("trailer", [b"", b"/ID[]", b"/ID 7", b"/ID[<> <>]", b"/ID[1 2]"])
def test_missing_or_odd_ids_are_none(trailer: bytes) -> None:
    pdf_structure = read(raw_pdf(plain_objects(), trailer=trailer))
    assert pdf_structure.extra.permanent_id is None


def test_the_catalog_may_raise_the_version() -> None:
    objects = plain_objects()
    objects[0] = b"<</Type/Catalog/Pages 2 0 R/Version/1.10>>"
    assert read(raw_pdf(objects, version=b"1.4")).extra.pdf_version == "1.10"


def test_xmp_is_returned_without_padding() -> None:
    assert read(xmp_pdf(b"\xef\xbb\xbf<x>\xc3\xa9</x>   \n\n")).meta_xml == "<x>é</x>"


def test_xmp_in_utf_16_is_read() -> None:
    assert read(xmp_pdf("<x>é</x>".encode("utf-16"))).meta_xml == "<x>é</x>"


def test_xmp_over_the_limit_is_dropped_and_other_data_is_kept() -> None:
    pdf_structure = read_structure(xmp_pdf(b"<x>" + b"y" * 500 + b"</x>"), xmp_max_bytes=100)
    assert pdf_structure.meta_xml is None
    assert pdf_structure.extra.encrypted is False


def test_a_decompression_bomb_in_xmp_is_not_unpacked() -> None:
    bomb = xmp_pdf(bytes(100_000_000), is_compressed=True)
    pdf_structure = read_structure(bomb, xmp_max_bytes=2**40)
    assert pdf_structure.meta_xml is None
    assert pdf_structure.error is None


@pytest.mark.parametrize("location", ["names", "open", "page", "annotation", "field"])
def test_javascript_is_found_in_every_location(location: str) -> None:
    assert read(javascript_pdf(location)).extra.javascript is True


def test_a_plain_file_has_no_traits() -> None:
    extra = read(text_pdf()).extra
    for trait in ("javascript", "tagged", "suspects", "encrypted", "linearized"):
        assert getattr(extra, trait) is False
    assert extra.form == "none"
    assert extra.encryption is None
    assert extra.attachment_count == 0


def test_tags_and_language_are_returned() -> None:
    extra = read(tagged_pdf()).extra
    assert (extra.tagged, extra.suspects, extra.user_properties) == (True, True, False)
    assert extra.language_declared == "pl-PL"


def test_embedding_of_fonts_is_returned() -> None:
    assert read(text_pdf()).extra.fonts_embedded == "none"
    assert read(drawn_pdf(b"", Font=Dictionary())).extra.fonts_embedded is None
    assert read(mapped_pdf("x")).extra.fonts_embedded == "none"
    embedded = Dictionary(Type=Name.Font, Subtype=Name.Type3)
    missing = Dictionary(Type=Name.Font, Subtype=Name.Type1)
    assert read(drawn_pdf(b"", Font=Dictionary(A=embedded))).extra.fonts_embedded == "all"
    mixed = Dictionary(A=embedded, B=missing)
    assert read(drawn_pdf(b"", Font=mixed)).extra.fonts_embedded == "some"


def test_kinds_of_forms_are_distinguished() -> None:
    assert read(form_pdf()).extra.form == "AcroForm"
    assert read(form_pdf(has_xfa=True)).extra.form == "XFA"


def test_fields_of_a_form_with_a_loop_are_not_counted() -> None:
    assert read(looped_form_pdf()).extra.form_field_count is None
    assert read(form_pdf()).extra.form_field_count == 0


def test_linearized_files_are_marked() -> None:
    assert read(linearized_pdf()).extra.linearized is True


def test_an_owner_password_keeps_the_file_readable_and_returns_permissions() -> None:
    pdf_structure = read(encrypted_pdf(owner="boss"))
    assert pdf_structure.info == {"Title": "Sealed"}
    assert pdf_structure.extra.encrypted is True
    assert pdf_structure.extra.encryption is not None
    assert pdf_structure.extra.encryption.can_copy is False
    assert pdf_structure.extra.encryption.key_bits == 256


def test_a_file_with_a_user_password_keeps_only_data_of_the_bytes() -> None:
    pdf_structure = read(encrypted_pdf(user="secret"))
    assert pdf_structure.is_locked
    assert pdf_structure.info is None
    assert pdf_structure.extra.encrypted is True
    assert pdf_structure.extra.permanent_id is not None
    assert pdf_structure.extra.form is None


def test_broken_cross_references_are_repaired() -> None:
    assert read(broken_xref_pdf()).extra.permanent_id == ID_FIRST.hex()


@settings(max_examples=examples(20), deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_accepted(data: bytes) -> None:
    read(b"%PDF-1.4\n" + data)


@settings(max_examples=examples(20), deadline=None)
@given(st.data())
def test_a_file_with_changed_bytes_is_accepted(data: st.DataObject) -> None:
    raw = bytearray(javascript_pdf("field"))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(raw))


def test_the_fixtures_are_valid_for_qpdf() -> None:
    for raw in (text_pdf(), tagged_pdf(), form_pdf(), linearized_pdf()):
        with pikepdf.open(BytesIO(raw)) as pdf:
            assert pdf.check_pdf_syntax() == []
