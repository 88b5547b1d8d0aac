"""Text that pages hold and do not show, and pages that show nothing."""

from __future__ import annotations

import pytest

from fixtures.pdfs import drawn_pdf, plain_objects, raw_pdf, scanned_pdf, text_pdf
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.model.pdf import PdfExtraction, PdfStatus

SEEN = b"BT /F1 12 Tf 14 TL 72 700 Td " + b"(words that are seen by all) Tj T* " * 5 + b"ET "
SEEN_TEXT = "\n".join(["words that are seen by all"] * 5)


def extract(data: bytes) -> PdfExtraction:
    return extract_pdf_bytes(data, PdfLimits(thumbnails=()))


def unseen(found: PdfExtraction) -> object:
    return (found.pdf_extra or {})["unseen"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"BT /F1 12 Tf 700 300 Td (beside the page) Tj ET", "off-page"),
        (b"BT /F1 12 Tf 72 -50 Td (beside the page) Tj ET", "off-page"),
        (b"BT 3 Tr /F1 12 Tf 72 300 Td (beside the page) Tj ET", "invisible"),
    ],
)
def test_what_is_not_seen_is_kept_apart(content: bytes, why: str) -> None:
    found = extract(drawn_pdf(SEEN + content))
    assert found.text == SEEN_TEXT
    assert unseen(found) == [{"page": 0, "why": why, "text": "beside the page"}]


def test_what_the_crop_box_cuts_away_is_not_seen() -> None:
    found = extract(text_pdf(("kept\n\n\n\n\n\n\n\ncut away",), crop=(0, 650, 612, 792)))
    assert found.text == "kept"
    assert unseen(found) == [{"page": 0, "why": "off-page", "text": "cut away"}]


def test_a_page_all_of_whose_text_is_invisible_keeps_it() -> None:
    found = extract(drawn_pdf(b"3 Tr " + SEEN))
    assert (found.text, unseen(found)) == (SEEN_TEXT, None)


def test_the_recognised_text_of_a_scan_is_its_text() -> None:
    found = extract(scanned_pdf(["recognised"]))
    assert (found.text or "").startswith("words that somebody reads")
    assert unseen(found) is None


def test_little_of_what_is_not_seen_is_kept() -> None:
    hidden = b"BT 3 Tr /F1 1 Tf 72 300 Td (%s) Tj ET" % (b"x" * 30_000)
    shown = b"BT 0 Tr /F1 1 Tf 0.1 TL 72 700 Td %s ET" % (b"(" + b"word " * 10_000 + b") Tj")
    (one,) = (extract(drawn_pdf(shown + hidden)).pdf_extra or {})["unseen"]
    assert len(one["text"]) == 20_000


def lost_page(content: bytes) -> bytes:
    """A page whose content pdfium does not find: its cross reference leads elsewhere."""
    data = raw_pdf(plain_objects(content))
    start = data.index(b"4 0 obj")
    return data.replace(b"%010d 00000 n" % start, b"%010d 00000 n" % (start + 40))


def test_a_first_page_that_gave_nothing_is_repaired() -> None:
    found = extract(lost_page(b"BT /F1 12 Tf 72 700 Td (plain words) Tj ET"))
    assert found.text == "plain words"
    assert (found.pdf_extra or {})["repaired"] is True


def test_a_page_that_gives_nothing_though_it_draws_is_said() -> None:
    found = extract(drawn_pdf(b"[ " * 600 + b"(words) Tj"))
    assert found.text is None
    assert found.status is PdfStatus.PARTIAL
    assert found.error_msg == "cannot read pages that are not empty: 1"


def test_a_page_that_is_empty_is_no_failure() -> None:
    found = extract(text_pdf(("",)))
    assert (found.status, found.text, found.error_msg) == (PdfStatus.SUCCESS, None, None)


def test_a_word_that_the_edge_of_the_page_cuts_is_seen() -> None:
    found = extract(drawn_pdf(b"BT /F1 60 Tf 400 300 Td (outstanding) Tj ET"))
    assert (found.text, unseen(found)) == ("outstanding", None)
