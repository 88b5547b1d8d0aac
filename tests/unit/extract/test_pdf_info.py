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
    form_of_itself_pdf,
    form_pdf,
    id_trailer,
    javascript_pdf,
    linearized_pdf,
    mapped_pdf,
    plain_objects,
    raw_pdf,
    tagged_pdf,
    text_pdf,
    xmp_pdf,
)
from fonds.extract.pdf.structure import PdfStructure, decode_info_value, read_structure


def structure(data: bytes) -> PdfStructure:
    return read_structure(data, xmp_max_bytes=1_000_000)


def with_info(info: bytes) -> bytes:
    """A file whose Info dictionary is this very object."""
    return raw_pdf([*plain_objects(), info], trailer=b"/Info 6 0 R")


def test_all_keys_are_kept_and_dates_are_iso() -> None:
    found = structure(
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
    assert found.info == {
        "Title": "On Fonds",
        "doi": "10.1000/182",
        "CrossMarkDomains[1]": "example.org",
        "CreationDate": "2020-03-26T08:26:57Z",
        "SourceModified": "2020-01-01T00:00:00Z",
        "ModDate": "yesterday",
    }


def test_a_file_without_info_has_none() -> None:
    assert structure(text_pdf()).info is None


@pytest.mark.parametrize(
    ("written", "text"),
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
def test_values_of_any_simple_type_are_told_as_text(written: bytes, text: str) -> None:
    assert structure(with_info(b"<</Odd " + written + b">>")).info == {"Odd": text}


@pytest.mark.parametrize("written", [b"<</A 1>>", b"null", b"2 0 R", b"77 0 R"])
def test_values_that_are_no_text_are_left_out(written: bytes) -> None:
    assert structure(with_info(b"<</Title(t)/Odd " + written + b">>")).info == {"Title": "t"}


def test_an_info_that_is_no_dictionary_is_none() -> None:
    assert structure(with_info(b"[1 2]")).info is None


@settings(max_examples=examples(20))
@given(st.binary(max_size=60))
def test_odd_bytes_in_a_title_never_raise(raw: bytes) -> None:
    found = structure(with_info(b"<</Title<" + raw.hex().encode() + b">>>"))
    assert found.info is not None
    found.info["Title"].encode()


def test_python_values_are_told_as_pdf_would() -> None:
    assert decode_info_value(True) == "true"
    assert decode_info_value(Decimal("2.50")) == "2.50"
    assert decode_info_value(None) is None


def test_ids_are_lower_case_hex() -> None:
    found = structure(raw_pdf(plain_objects(), trailer=id_trailer()))
    assert found.extra["permanent_id"] == ID_FIRST.hex()
    assert found.extra["update_id"] == ID_SECOND.hex()


@pytest.mark.parametrize("trailer", [b"", b"/ID[]", b"/ID 7", b"/ID[<> <>]", b"/ID[1 2]"])
def test_missing_or_odd_ids_are_none(trailer: bytes) -> None:
    found = structure(raw_pdf(plain_objects(), trailer=trailer))
    assert found.extra["permanent_id"] is None


def test_the_catalog_may_raise_the_version() -> None:
    objects = plain_objects()
    objects[0] = b"<</Type/Catalog/Pages 2 0 R/Version/1.10>>"
    assert structure(raw_pdf(objects, version=b"1.4")).extra["pdf_version"] == "1.10"


def test_xmp_comes_without_its_padding() -> None:
    assert structure(xmp_pdf(b"\xef\xbb\xbf<x>\xc3\xa9</x>   \n\n")).meta_xml == "<x>é</x>"


def test_xmp_in_utf_16_is_read() -> None:
    assert structure(xmp_pdf("<x>é</x>".encode("utf-16"))).meta_xml == "<x>é</x>"


def test_xmp_above_the_limit_is_left_out_and_costs_nothing_else() -> None:
    found = read_structure(xmp_pdf(b"<x>" + b"y" * 500 + b"</x>"), xmp_max_bytes=100)
    assert found.meta_xml is None
    assert found.extra["encrypted"] is False


def test_a_bomb_in_the_xmp_is_not_unpacked() -> None:
    bomb = xmp_pdf(bytes(100_000_000), packed=True)
    found = read_structure(bomb, xmp_max_bytes=2**40)
    assert found.meta_xml is None
    assert found.error is None


@pytest.mark.parametrize("where", ["names", "open", "page", "annotation", "field"])
def test_javascript_is_found_wherever_it_hangs(where: str) -> None:
    assert structure(javascript_pdf(where)).extra["javascript"] is True


def test_a_plain_file_has_no_traits() -> None:
    extra = structure(text_pdf()).extra
    for trait in ("javascript", "tagged", "suspects", "encrypted", "linearized"):
        assert extra[trait] is False
    assert extra["form"] == "none"
    assert extra["encryption"] is None
    assert extra["attachment_count"] == 0


def test_tags_and_language_are_told() -> None:
    extra = structure(tagged_pdf()).extra
    assert (extra["tagged"], extra["suspects"], extra["user_properties"]) == (True, True, False)
    assert extra["language_declared"] == "pl-PL"


def test_whether_fonts_are_embedded_is_told() -> None:
    assert structure(text_pdf()).extra["fonts_embedded"] == "none"
    assert structure(drawn_pdf(b"", Font=Dictionary())).extra["fonts_embedded"] is None
    assert structure(mapped_pdf("x")).extra["fonts_embedded"] == "none"
    carried = Dictionary(Type=Name.Font, Subtype=Name.Type3)
    left = Dictionary(Type=Name.Font, Subtype=Name.Type1)
    assert structure(drawn_pdf(b"", Font=Dictionary(A=carried))).extra["fonts_embedded"] == "all"
    both = Dictionary(A=carried, B=left)
    assert structure(drawn_pdf(b"", Font=both)).extra["fonts_embedded"] == "some"


def test_forms_are_told_apart() -> None:
    assert structure(form_pdf()).extra["form"] == "AcroForm"
    assert structure(form_pdf(xfa=True)).extra["form"] == "XFA"


def test_a_field_that_is_its_own_kid_cannot_be_counted() -> None:
    assert structure(form_of_itself_pdf()).extra["form_field_count"] is None
    assert structure(form_pdf()).extra["form_field_count"] == 0


def test_linearized_files_say_so() -> None:
    assert structure(linearized_pdf()).extra["linearized"] is True


def test_an_owner_password_leaves_all_readable_and_its_wishes_are_told() -> None:
    found = structure(encrypted_pdf(owner="boss"))
    assert found.info == {"Title": "Sealed"}
    assert found.extra["encrypted"] is True
    assert found.extra["encryption"]["copy"] is False
    assert found.extra["encryption"]["key_bits"] == 256


def test_a_user_password_leaves_what_the_bytes_tell() -> None:
    found = structure(encrypted_pdf(user="secret"))
    assert found.is_locked
    assert found.info is None
    assert found.extra["encrypted"] is True
    assert found.extra["permanent_id"] is not None
    assert found.extra["form"] is None


def test_broken_cross_references_are_found_again() -> None:
    assert structure(broken_xref_pdf()).extra["permanent_id"] == ID_FIRST.hex()


@settings(max_examples=examples(20), deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_are_an_error(data: bytes) -> None:
    structure(b"%PDF-1.4\n" + data)


@settings(max_examples=examples(20), deadline=None)
@given(st.data())
def test_a_file_with_any_few_bytes_changed_is_no_error(data: st.DataObject) -> None:
    raw = bytearray(javascript_pdf("field"))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    structure(bytes(raw))


def test_the_fixtures_are_what_qpdf_calls_sound() -> None:
    for raw in (text_pdf(), tagged_pdf(), form_pdf(), linearized_pdf()):
        with pikepdf.open(BytesIO(raw)) as pdf:
            assert pdf.check_pdf_syntax() == []
