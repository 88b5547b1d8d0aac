"""Filled form fields, notes and links."""

from __future__ import annotations

import pypdfium2

from fixtures.pdf_annotations import filled_pdf, linked_pdf, noted_pdf
from fixtures.pdfs import text_pdf
from fonds.extract.pdf.annotations import NO_ANNOTATIONS, read_annotations
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.model.pdf import PdfExtraction
from fonds.model.pdf_extra import PdfExtra


def extract(data: bytes) -> PdfExtraction:
    return extract_pdf_bytes(data, PdfLimits(thumbnails=()))


def test_filled_fields_follow_the_text_of_the_page() -> None:
    extraction = extract(filled_pdf())
    assert (extraction.text or "").split("\n") == [
        "Please fill in",
        "[field name] Lucía Garzas",
        "[field yes] Yes",
        "[field land] Spain",
    ]
    assert (extraction.pdf_extra or PdfExtra()).written_on == 3


def test_a_note_on_a_page_is_marked() -> None:
    assert extract(noted_pdf("seen by me")).text == "Please fill in\n[note] seen by me"


def test_a_hidden_note_is_ignored() -> None:
    assert extract(noted_pdf("seen by me", flags=2)).text == "Please fill in"


def test_a_very_long_note_is_ignored() -> None:
    assert extract(noted_pdf("x" * 30_000)).text == "Please fill in"


def test_links_are_read_only_on_request() -> None:
    with pypdfium2.PdfDocument(
        linked_pdf("https://a.example/1", "https://b.example/2")
    ) as document:
        page = document[0]
        assert read_annotations(page) == NO_ANNOTATIONS
        annotations = read_annotations(page, with_links=True)
        page.close()
    assert annotations.links == ("https://a.example/1", "https://b.example/2")


def test_a_page_without_annotations_keeps_its_text() -> None:
    assert extract(text_pdf(("plain",))).text == "plain"
