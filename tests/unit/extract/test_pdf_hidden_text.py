"""Hidden text of pages, and pages that show nothing."""

from __future__ import annotations

import pytest

from fixtures.pdfs import drawn_pdf, plain_objects, raw_pdf, scanned_pdf, text_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.model.pdf import PdfExtraction, PdfStatus
from fonds.model.pdf_extra import HiddenReason, HiddenText, PdfExtra

VISIBLE_CONTENT = (
    b"BT /F1 12 Tf 14 TL 72 700 Td " + b"(words that are seen by all) Tj T* " * 5 + b"ET "
)
VISIBLE_TEXT = "\n".join(["words that are seen by all"] * 5)


def extract(data: bytes) -> PdfExtraction:
    return extract_pdf_bytes(data, PdfLimits(thumbnails=()))


def get_hidden(extraction: PdfExtraction) -> tuple[HiddenText, ...] | None:
    return (extraction.pdf_extra or PdfExtra()).unseen


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"BT /F1 12 Tf 700 300 Td (beside the page) Tj ET", HiddenReason.OFF_PAGE),
        (b"BT /F1 12 Tf 72 -50 Td (beside the page) Tj ET", HiddenReason.OFF_PAGE),
        (b"BT 3 Tr /F1 12 Tf 72 300 Td (beside the page) Tj ET", HiddenReason.INVISIBLE),
    ],
)
def test_hidden_text_is_returned_separately(content: bytes, reason: HiddenReason) -> None:
    extraction = extract(drawn_pdf(VISIBLE_CONTENT + content))
    assert extraction.text == VISIBLE_TEXT
    assert get_hidden(extraction) == (HiddenText(0, reason, "beside the page"),)


def test_text_outside_the_crop_box_is_hidden() -> None:
    extraction = extract(text_pdf(("kept\n\n\n\n\n\n\n\ncut away",), crop=(0, 650, 612, 792)))
    assert extraction.text == "kept"
    assert get_hidden(extraction) == (HiddenText(0, HiddenReason.OFF_PAGE, "cut away"),)


def test_a_page_with_only_invisible_text_keeps_it() -> None:
    extraction = extract(drawn_pdf(b"3 Tr " + VISIBLE_CONTENT))
    assert (extraction.text, get_hidden(extraction)) == (VISIBLE_TEXT, None)


def test_the_recognized_text_of_a_scan_is_its_text() -> None:
    extraction = extract(scanned_pdf(["recognised"]))
    assert (extraction.text or "").startswith("words that somebody reads")
    assert get_hidden(extraction) is None


PICTURE = b"q 612 0 0 792 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q "
RECOGNIZED = (
    b"BT 3 Tr /F1 12 Tf 14 TL 72 600 Td " + b"(words that were recognized) Tj T* " * 5 + b"ET "
)
RECOGNIZED_TEXT = "\n".join(["words that were recognized"] * 5)
STAMP = b"BT 0 Tr /F1 8 Tf 72 20 Td (stamp) Tj ET "
OFF_PAGE = b"BT 0 Tr /F1 12 Tf 700 300 Td (beside the page) Tj ET "


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (PICTURE + RECOGNIZED, RECOGNIZED_TEXT),
        (PICTURE + RECOGNIZED + STAMP, RECOGNIZED_TEXT + "\nstamp"),
        (RECOGNIZED + PICTURE, RECOGNIZED_TEXT),
        (RECOGNIZED + STAMP + PICTURE, RECOGNIZED_TEXT + "\nstamp"),
    ],
    ids=["picture first", "stamped", "picture last", "stamped, picture last"],
)
def test_recognized_text_stays_wherever_the_picture_is(content: bytes, text: str) -> None:
    kept = extract(drawn_pdf(content))
    assert (kept.text, get_hidden(kept)) == (text, None)
    extraction = extract(drawn_pdf(content + OFF_PAGE))
    assert get_hidden(extraction) == (HiddenText(0, HiddenReason.OFF_PAGE, "beside the page"),)
    assert extraction.text == kept.text


def test_less_invisible_than_visible_text_is_hidden_without_a_picture() -> None:
    visible = VISIBLE_CONTENT + VISIBLE_CONTENT.replace(b"700", b"500")
    extraction = extract(drawn_pdf(visible + RECOGNIZED + OFF_PAGE))
    assert extraction.text == "\n".join([VISIBLE_TEXT, VISIBLE_TEXT])
    assert get_hidden(extraction) == (
        HiddenText(0, HiddenReason.OFF_PAGE, "beside the page"),
        HiddenText(0, HiddenReason.INVISIBLE, " ".join(RECOGNIZED_TEXT.split("\n"))),
    )


def test_a_word_is_hidden_only_if_all_its_letters_are() -> None:
    invisible_end = b"BT /F1 12 Tf 72 300 Td 3 Tr (half) Tj 0 Tr (seen all-) Tj 3 Tr (hidden) Tj ET"
    extraction = extract(
        drawn_pdf(
            VISIBLE_CONTENT + b"BT 3 Tr /F1 12 Tf 72 400 Td (none of it) Tj ET " + invisible_end
        )
    )
    assert extraction.text == VISIBLE_TEXT + "\nhalfseen all-hidden"
    assert get_hidden(extraction) == (HiddenText(0, HiddenReason.INVISIBLE, "none of it"),)


def test_an_invisible_word_across_the_edge_is_reported_in_both_parts() -> None:
    crossing = b"BT 3 Tr /F1 12 Tf 14 TL 585 500 Td " + b"(crossing) Tj T* " * 3 + b"ET"
    extraction = extract(drawn_pdf(VISIBLE_CONTENT + crossing))
    assert extraction.text == VISIBLE_TEXT
    assert get_hidden(extraction) == (
        HiddenText(0, HiddenReason.OFF_PAGE, "ing ing ing"),
        HiddenText(0, HiddenReason.INVISIBLE, "cross cross cross"),
    )


def test_hidden_text_is_limited() -> None:
    hidden = b"BT 3 Tr /F1 1 Tf 72 300 Td (%s) Tj ET" % (b"x" * 30_000)
    visible = b"BT 0 Tr /F1 1 Tf 0.1 TL 72 700 Td %s ET" % (b"(" + b"word " * 10_000 + b") Tj")
    (hidden_text,) = get_hidden(extract(drawn_pdf(visible + hidden))) or ()
    assert len(hidden_text.text) == 20_000


def make_lost_page(content: bytes) -> bytes:
    """Return a page whose content pdfium does not find, because its cross reference is wrong."""
    data = raw_pdf(plain_objects(content))
    start = data.index(b"4 0 obj")
    return data.replace(b"%010d 00000 n" % start, b"%010d 00000 n" % (start + 40))


def test_an_empty_first_page_is_repaired() -> None:
    extraction = extract(make_lost_page(b"BT /F1 12 Tf 72 700 Td (plain words) Tj ET"))
    assert extraction.text == "plain words"
    assert (extraction.pdf_extra or PdfExtra()).repaired is True


def test_a_page_that_draws_but_cannot_be_read_is_reported() -> None:
    extraction = extract(drawn_pdf(b"[ " * 600 + b"(words) Tj"))
    assert extraction.text is None
    assert extraction.status is PdfStatus.PARTIAL
    assert extraction.error_msg == "cannot read pages that are not empty: 1"


def test_an_empty_page_is_no_failure() -> None:
    extraction = extract(text_pdf(("",)))
    assert (extraction.status, extraction.text, extraction.error_msg) == (
        PdfStatus.SUCCESS,
        None,
        None,
    )


def test_a_word_at_the_edge_of_the_page_is_visible() -> None:
    extraction = extract(drawn_pdf(b"BT /F1 60 Tf 400 300 Td (outstanding) Tj ET"))
    assert (extraction.text, get_hidden(extraction)) == ("outstanding", None)
