"""Filled fields, notes and links."""

from __future__ import annotations

import pypdfium2

from fixtures.pdf_annotations import filled_pdf, linked_pdf, noted_pdf
from fixtures.pdfs import text_pdf
from fonds.extract.pdf.annotations import NO_ANNOTATIONS, read_annotations
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.model.pdf import PdfExtraction


def extract(data: bytes) -> PdfExtraction:
    return extract_pdf_bytes(data, PdfLimits(thumbnails=()))


def test_what_was_filled_in_stands_behind_the_page_s_text_with_its_field() -> None:
    found = extract(filled_pdf())
    assert (found.text or "").split("\n") == [
        "Please fill in",
        "[field name] Lucía Garzas",
        "[field yes] Yes",
        "[field land] Spain",
    ]
    assert (found.pdf_extra or {})["written_on"] == 3


def test_text_set_on_a_page_is_marked_as_a_note() -> None:
    assert extract(noted_pdf("seen by me")).text == "Please fill in\n[note] seen by me"


def test_a_note_that_is_not_shown_is_not_read() -> None:
    assert extract(noted_pdf("seen by me", flags=2)).text == "Please fill in"


def test_an_endless_note_is_left_out() -> None:
    assert extract(noted_pdf("x" * 30_000)).text == "Please fill in"


def test_links_are_read_where_they_are_asked_for() -> None:
    with pypdfium2.PdfDocument(
        linked_pdf("https://a.example/1", "https://b.example/2")
    ) as document:
        page = document[0]
        assert read_annotations(page) == NO_ANNOTATIONS
        found = read_annotations(page, with_links=True)
        page.close()
    assert found.links == ("https://a.example/1", "https://b.example/2")


def test_a_page_nobody_wrote_on_is_as_it_was() -> None:
    assert extract(text_pdf(("plain",))).text == "plain"
