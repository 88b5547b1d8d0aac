"""Extraction of complete PDFs: valid, damaged and hostile."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fixtures.pdfs import (
    ID_FIRST,
    broken_xref_pdf,
    doubling_form_pdf,
    encrypted_pdf,
    form_pdf,
    image_pdf,
    javascript_pdf,
    looped_form_pdf,
    looped_tree_pdf,
    missing_page_pdf,
    no_pages_pdf,
    outlined_pdf,
    scanned_pdf,
    tagged_pdf,
    text_pdf,
    truncated_pdf,
    xmp_pdf,
)
from fonds.extract.pdf.extraction import extract_pdf, extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits, name_extractor
from fonds.isolation.pool import open_unnamed_body
from fonds.model.archive import OpenBody
from fonds.model.disposition import Reason
from fonds.model.errors import TransientError
from fonds.model.pdf import PAGE0_FORM, PdfExtraction, PdfStatus
from fonds.model.pdf_extra import OutlineEntry, PdfExtra, XmpSummary

LIMITS = PdfLimits()


def extract(data: bytes, limits: PdfLimits = LIMITS) -> PdfExtraction:
    return extract_pdf_bytes(data, limits)


def get_extra(extraction: PdfExtraction, *names: str) -> tuple[object, ...]:
    assert extraction.pdf_extra is not None
    return tuple(getattr(extraction.pdf_extra, name) for name in names)


def test_all_data_of_a_valid_file_is_extracted() -> None:
    extraction = extract(
        text_pdf(("first page here", "second page"), info={"Title": "T"}, crop=(0, 492, 200.5, 792))
    )
    assert extraction.status is PdfStatus.SUCCESS
    assert extraction.text == "first page here\fsecond page"
    assert extraction.pdf_info == {"Title": "T"}
    assert extraction.thumbnails.get(PAGE0_FORM) is not None
    assert extraction.error_msg is None
    assert get_extra(extraction, "page_count", "word_count", "word_count_whitespace") == (2, 5, 5)
    assert get_extra(extraction, "page0_width", "page0_height", "page0_rotation") == (
        200.5,
        300.0,
        0,
    )
    assert get_extra(extraction, "pages_unreadable", "repaired", "encrypted") == (0, False, False)


def test_a_rotated_page_has_its_rotated_size() -> None:
    extraction = extract(text_pdf(rotate=90))
    assert get_extra(extraction, "page0_width", "page0_height", "page0_rotation") == (
        792.0,
        612.0,
        90,
    )


def test_a_file_without_text_has_no_words_but_a_thumbnail() -> None:
    extraction = extract(image_pdf())
    assert (extraction.status, extraction.text) == (PdfStatus.SUCCESS, None)
    assert get_extra(extraction, "word_count", "word_count_whitespace") == (0, 0)
    assert extraction.thumbnails.get(PAGE0_FORM) is not None


def test_too_much_text_keeps_all_other_data() -> None:
    extraction = extract(
        text_pdf(("abcdef", "ghi"), info={"Title": "T"}), replace(LIMITS, text_max_chars=4)
    )
    assert extraction.status is PdfStatus.TEXT_TRUNCATED
    assert extraction.text == "abcd"
    assert extraction.pdf_info == {"Title": "T"}
    assert extraction.thumbnails.get(PAGE0_FORM) is not None
    assert get_extra(extraction, "page_count", "word_count") == (2, 1)


def test_text_and_thumbnail_can_be_left_out() -> None:
    extraction = extract(text_pdf(), replace(LIMITS, pages_max=0, thumbnails=()))
    assert (extraction.text, extraction.thumbnails.get(PAGE0_FORM)) == (None, None)
    assert extraction.status is PdfStatus.TEXT_TRUNCATED
    assert get_extra(extraction, "page_count", "page0_width", "word_count") == (1, 612.0, None)


def test_a_missing_page_makes_the_extraction_partial() -> None:
    extraction = extract(missing_page_pdf())
    assert extraction.status is PdfStatus.PARTIAL
    assert extraction.text == "plain words\f\fplain words"
    assert get_extra(extraction, "page_count", "pages_unreadable") == (3, 1)
    assert extraction.error_msg == "unreadable pages: 1; the first ones: 2"


def test_broken_cross_references_are_repaired() -> None:
    extraction = extract(broken_xref_pdf())
    assert (extraction.status, extraction.text) == (PdfStatus.SUCCESS, "plain words")
    assert get_extra(extraction, "permanent_id") == (ID_FIRST.hex(),)


def test_a_truncated_file_keeps_the_pages_that_are_there() -> None:
    extraction = extract(truncated_pdf())
    assert extraction.status is PdfStatus.SUCCESS
    assert extraction.text == "first page of two\fsecond page of two"


@pytest.mark.parametrize("junk", [b"\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 5_000])
def test_junk_before_the_header_is_ignored(junk: bytes) -> None:
    extraction = extract(junk + text_pdf())
    assert (extraction.status, extraction.text) == (PdfStatus.SUCCESS, "Fonds keeps what it reads.")


@pytest.mark.parametrize("revision", [3, 6])
def test_a_locked_file_keeps_its_ids_and_version(revision: int) -> None:
    extraction = extract(encrypted_pdf(user="secret", revision=revision))
    assert extraction.status is PdfStatus.ENCRYPTED
    assert extraction.status.reason is Reason.ENCRYPTED_PDF
    assert (extraction.text, extraction.thumbnails.get(PAGE0_FORM), extraction.pdf_info) == (
        None,
        None,
        None,
    )
    version, permanent_id, encrypted = get_extra(
        extraction, "pdf_version", "permanent_id", "encrypted"
    )
    assert re.fullmatch(r"1\.\d", str(version))
    assert re.fullmatch(r"[0-9a-f]{32}", str(permanent_id))
    assert encrypted is True


@pytest.mark.parametrize("owner", ["boss", ""])
def test_a_file_with_an_owner_password_only_is_read(owner: str) -> None:
    extraction = extract(encrypted_pdf(owner=owner))
    assert (extraction.status, extraction.text) == (PdfStatus.SUCCESS, "secret words")


def test_an_empty_owner_password_opens_a_file_with_a_user_password() -> None:
    extraction = extract(encrypted_pdf(user="secret", owner="", revision=6))
    assert (extraction.status, extraction.text) == (PdfStatus.SUCCESS, "secret words")


def test_a_file_without_pages_is_empty_after_any_other_file() -> None:
    for earlier_body in (b"<html>", encrypted_pdf(user="secret"), text_pdf()):
        extract(earlier_body)
        assert extract(no_pages_pdf()).status is PdfStatus.EMPTY_PDF


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", PdfStatus.EMPTY_BLOB),
        (b"%PDF-1.4", PdfStatus.PARSE_ERROR),
        (b"1 0 obj<</Type/Page>>", PdfStatus.PARSE_ERROR),
        (b"<html></html>", PdfStatus.NOT_PDF),
        (bytes(5_000), PdfStatus.NOT_PDF),
    ],
)
def test_other_files_are_distinguished_from_damaged_pdfs(data: bytes, status: PdfStatus) -> None:
    extraction = extract(data)
    assert extraction.status is status
    assert extraction.error_msg


def test_a_page_tree_with_a_loop_ends() -> None:
    assert extract(looped_tree_pdf()).status is PdfStatus.PARTIAL


def test_a_form_that_doubles_at_every_level_ends() -> None:
    extraction = extract(doubling_form_pdf(40))
    assert extraction.status is PdfStatus.SUCCESS
    assert extraction.thumbnails.get(PAGE0_FORM) is not None


@pytest.mark.parametrize(
    "data",
    [looped_form_pdf(), form_pdf(), form_pdf(has_xfa=True), javascript_pdf("open")],
    ids=["own kid", "empty", "xfa", "script"],
)
def test_forms_and_scripts_are_read_like_other_files(data: bytes) -> None:
    extraction = extract(data)
    assert extraction.status is PdfStatus.SUCCESS
    assert extraction.thumbnails.get(PAGE0_FORM) is not None


def test_a_file_above_the_size_limit_is_not_opened() -> None:
    extraction = extract(text_pdf(), replace(LIMITS, size_max_bytes=100))
    assert extraction.status is PdfStatus.TOO_LARGE
    assert extraction.pdf_extra is None


def test_xmp_is_kept() -> None:
    assert extract(xmp_pdf(b"<x:xmpmeta/>")).meta_xml == "<x:xmpmeta/>"


def test_a_body_is_read_from_an_open_file(tmp_path: Path) -> None:
    data = text_pdf(("here",))
    with open_unnamed_body(data, tmp_path) as body:
        assert list(tmp_path.iterdir()) == []
        assert extract_pdf(body, LIMITS).text == "here"
        # The second read, as after a crash, starts at the beginning of the file.
        assert extract_pdf(body, LIMITS).text == "here"


def test_an_open_body_is_read_only(tmp_path: Path) -> None:
    with open_unnamed_body(b"bytes", tmp_path) as body, pytest.raises(OSError, match="descriptor"):
        os.write(body.descriptor, b"others")


def test_a_size_over_the_limit_is_rejected_without_reading() -> None:
    assert extract_pdf(OpenBody(-1, 2**40), LIMITS).status is PdfStatus.TOO_LARGE


def test_an_unreadable_or_truncated_body_is_transient(tmp_path: Path) -> None:
    with pytest.raises(TransientError, match="cannot read the PDF"):
        extract_pdf(OpenBody(-1, 1), LIMITS)
    with open_unnamed_body(b"%PDF", tmp_path) as body, pytest.raises(TransientError, match="4 of"):
        extract_pdf(replace(body, size_bytes=5), LIMITS)


def test_the_extractor_names_itself_and_its_libraries() -> None:
    name = name_extractor(LIMITS)
    versions = r"\(pdfium \d+, pikepdf [\d.]+, qpdf [\d.]+\)"
    assert re.fullmatch(rf"fonds-pdf/\d+ {versions} limits/[0-9a-f]{{12}}", name)
    assert name_extractor(LIMITS) == name
    assert name_extractor(replace(LIMITS, pages_max=3)) != name


@settings(max_examples=examples(20), deadline=None)
@given(st.data())
def test_a_file_cut_or_changed_anywhere_ends_in_a_status(data: st.DataObject) -> None:
    raw = bytearray(text_pdf(("one page", "another"), info={"Title": "T"}))
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    extraction = extract(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    assert isinstance(extraction.status, PdfStatus)
    assert (extraction.status.reason is None) or extraction.error_msg


def test_outline_and_page_labels_are_read() -> None:
    extra = extract(outlined_pdf()).pdf_extra or PdfExtra()
    assert extra.page_labels == ("i", "ii", "A-1")
    assert extra.outline == (
        OutlineEntry(0, "Chapter one", 0),
        OutlineEntry(1, "Section one", 1),
        OutlineEntry(0, "Chapter two", 2),
    )


def test_a_file_without_labels_has_none() -> None:
    extra = extract(text_pdf()).pdf_extra or PdfExtra()
    assert (extra.outline, extra.page_labels) == (None, None)


def test_an_outline_with_a_loop_ends() -> None:
    extra = extract(outlined_pdf(is_looped=True)).pdf_extra or PdfExtra()
    outline = extra.outline or ()
    assert [entry.title for entry in outline][:1] == ["Chapter one"]
    assert len(outline) <= 1_000


def test_the_language_is_detected_or_for_short_texts_declared() -> None:
    text = "The committee has decided that the report will be published in the spring of this year."
    assert (extract(text_pdf((text,))).pdf_extra or PdfExtra()).language == "en"
    assert (extract(tagged_pdf()).pdf_extra or PdfExtra()).language == "pl"


@pytest.mark.parametrize(
    ("pages", "origin"),
    [
        ((), None),
        (("text",), "born-digital"),
        (("image",), "scanned"),
        (("image", "image", "text"), "scanned"),
        (("image", "text"), "born-digital"),
        (("image", "text", "text"), "born-digital"),
        (("image", "recognised"), "scanned"),
        (("recognised",), "scanned-with-text"),
    ],
)
def test_scans_are_distinguished_from_born_digital_files(
    pages: tuple[str, ...], origin: str | None
) -> None:
    extra = extract(scanned_pdf(pages)).pdf_extra or PdfExtra()
    assert extra.origin == origin


def test_the_fields_of_xmp_are_returned_next_to_the_packet() -> None:
    xmp = b"""<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'
        xmlns:dc='http://purl.org/dc/elements/1.1/'><rdf:Description>
        <dc:title><rdf:Alt><rdf:li xml:lang='x-default'>A title</rdf:li></rdf:Alt></dc:title>
        </rdf:Description></rdf:RDF>"""
    assert (extract(xmp_pdf(xmp)).pdf_extra or PdfExtra()).xmp == XmpSummary(title="A title")


def test_rights_are_read_from_xmp_and_info() -> None:
    info = {"Copyright": "© 2024 Ada Stroom. CC BY 4.0", "Title": "© no"}
    assert [
        (right.subject, right.value, right.stated_in)
        for right in (extract(text_pdf(info=info)).pdf_extra or PdfExtra()).rights or ()
    ] == [
        ("license", "cc-by-4.0", "document information of the PDF"),
        ("holder", "Ada Stroom", "document information of the PDF"),
    ]
    xmp = b"""<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'
        xmlns:dc='http://purl.org/dc/elements/1.1/'><rdf:Description dc:rights='CC0'/></rdf:RDF>"""
    extra = extract(xmp_pdf(xmp)).pdf_extra or PdfExtra()
    assert [right.value for right in extra.rights or ()] == ["cc0-1.0"]
    assert extra.xmp is None
    assert (extract(text_pdf()).pdf_extra or PdfExtra()).rights is None
