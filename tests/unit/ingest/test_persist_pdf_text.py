"""persist_pdf_text: what is stored of a PDF, and that a failure never replaces a success."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from empty_records import open_records
from fixtures.pdfs import image_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.ingest.steps.persist_pdf import (
    PersistPdfTextStep,
    PersistThumbnailStep,
)
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.file import FileMeta
from fonds.model.keys import build_text_blob_key
from fonds.model.pdf import PAGE0_FORM, PdfStatus, PdfText, Thumbnail
from fonds.model.pdf_extra import HiddenReason, HiddenText, PdfExtra
from fonds.model.rows import CrashedPdfRow, PdfMetaRow, Row
from fonds.model.search import SearchQuery
from fonds.model.stored_json import encode_stored
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.stores.blobs import FolderBlobs

MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
KEY = "1" * 40
CAPTURE = Capture(
    "c", "i", Place(PlaceKind.WARC, "/w", 0), "http://e.org/a/pa%20per.pdf", MOMENT, "response"
)
READ = PdfText(
    sha1hex=KEY,
    status=PdfStatus.SUCCESS,
    text="\n  First line\nmore words",
    page0_thumbnail=True,
    meta_xml=None,
    pdf_info={"Title": " ", "CreationDate": "2020-02-03T04:05:06+00:00", "Author": "A. Writer"},
    pdf_extra=PdfExtra(page_count=2, word_count=4, pdf_version="1.7"),
    file_meta=FileMeta(5, "application/pdf", "PDF", "application/pdf", KEY, "2" * 32, "3" * 64),
    source=CAPTURE,
    extractor="reader 1",
)
FAILED = replace(
    READ,
    status=PdfStatus.ERROR_TIMEOUT,
    text=None,
    page0_thumbnail=False,
    pdf_info=None,
    pdf_extra=None,
    extractor="reader 2",
    error_msg="took too long",
)


@pytest.fixture
def step(tmp_path: Path) -> Iterator[PersistPdfTextStep]:
    records = open_records(tmp_path / "records.sqlite")
    blobs, index = FolderBlobs(tmp_path / "blobs"), TantivyIndex(tmp_path / "index")
    yield PersistPdfTextStep(records, blobs, index, lambda: MOMENT, 30.0)
    records.close()


def get_row(step: PersistPdfTextStep) -> PdfMetaRow:
    (row,) = step.records.get(PdfMetaRow, [KEY])
    return row


def persist_success(step: PersistPdfTextStep) -> PdfMetaRow:
    step([READ])
    return get_row(step)


def test_text_row_and_document_are_stored(step: PersistPdfTextStep) -> None:
    assert len(step([READ])) == 1
    row = get_row(step)
    assert (row.status, row.page_count, row.word_count, row.has_page0_thumbnail) == (
        "success",
        2,
        4,
        False,
    )
    assert row.pdf_created == datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert encode_stored(row.metadata)["author"] == "A. Writer"
    assert step.blobs.get(build_text_blob_key(KEY)) == b"\n  First line\nmore words"
    document = step.index.get([KEY])[KEY]
    assert document.publication_date == date(2020, 2, 3)
    assert (document.url, document.article_title) == (CAPTURE.url, "First line")


def test_the_file_name_is_the_title_of_a_pdf_without_title_and_text(
    step: PersistPdfTextStep,
) -> None:
    step([replace(READ, text=None)])
    assert step.index.get([KEY])[KEY].article_title == "pa per.pdf"


def test_the_language_is_stored_for_a_reindex(step: PersistPdfTextStep) -> None:
    step([replace(READ, text=None, pdf_extra=PdfExtra(language="pt"))])
    assert encode_stored(get_row(step).metadata)["language"] == "pt"
    assert step.index.get([KEY])[KEY].language == "pt"


def test_an_empty_title_does_not_hide_another_title(step: PersistPdfTextStep) -> None:
    step([replace(READ, pdf_info={"Title": " A title ", "TITLE": " "}, pdf_extra=None)])
    assert encode_stored(get_row(step).metadata)["title"] == "A title"
    assert step.index.get([KEY])[KEY].article_title == "A title"


def test_a_failure_is_recorded_and_not_indexed(step: PersistPdfTextStep) -> None:
    step([FAILED])
    assert (get_row(step).status, get_row(step).error_msg) == ("error-timeout", "took too long")
    assert step.index.get([KEY]) == {}


@pytest.mark.parametrize("status", [status for status in PdfStatus if status.reason is not None])
def test_a_failure_never_replaces_a_success(step: PersistPdfTextStep, status: PdfStatus) -> None:
    step([READ])
    step([replace(FAILED, status=status)])
    assert (get_row(step).status, get_row(step).extractor) == ("success", "reader 1")
    assert step.blobs.get(build_text_blob_key(KEY)) is not None
    assert KEY in step.index.get([KEY])


def test_a_failure_never_replaces_a_partial_success(step: PersistPdfTextStep) -> None:
    """Unreadable pages leave a message and no text; the outcome is still a success."""
    extra = PdfExtra(page_count=2)
    step([replace(READ, status=PdfStatus.PARTIAL, text=None, pdf_extra=extra, error_msg="page 1")])
    step([FAILED])
    assert (get_row(step).status, get_row(step).error_msg) == ("partial", "page 1")


def test_a_success_replaces_a_failure(step: PersistPdfTextStep) -> None:
    step([FAILED])
    step([READ])
    assert (get_row(step).status, get_row(step).error_msg) == ("success", None)
    assert KEY in step.index.get([KEY])


def test_a_result_replaces_a_row_of_another_program(step: PersistPdfTextStep) -> None:
    step.records.put([replace(persist_success(step), status="text-too-large", extractor="")])
    step([FAILED])
    assert (get_row(step).status, get_row(step).extractor) == ("error-timeout", "reader 2")


def test_a_pdf_without_words_has_word_count_zero(step: PersistPdfTextStep) -> None:
    body = image_pdf()
    extraction = extract_pdf_bytes(body, PdfLimits())
    step(
        [
            replace(
                READ, text=extraction.text, pdf_extra=extraction.pdf_extra, status=extraction.status
            )
        ]
    )
    assert (get_row(step).status, get_row(step).word_count) == ("success", 0)
    assert step.index.get([KEY])[KEY].word_count == 0
    (hit,) = step.index.search(SearchQuery("text:none")).hits
    assert hit.document.id == KEY


def test_a_missing_source_does_not_replace_a_failure_of_the_file(step: PersistPdfTextStep) -> None:
    step([replace(FAILED, status=PdfStatus.ENCRYPTED)])
    step([replace(FAILED, status=PdfStatus.ERROR_SOURCE)])
    assert get_row(step).status == "encrypted"
    assert [row.status for row in step.records.find(CrashedPdfRow)] == []


def test_a_crash_is_remembered_for_the_extractor_for_a_limited_time(
    step: PersistPdfTextStep,
) -> None:
    step([READ])
    step([FAILED])
    (stop,) = step.records.find(CrashedPdfRow)
    assert stop == CrashedPdfRow(
        KEY, "reader 2", "error-timeout", "took too long", MOMENT, MOMENT + timedelta(days=30)
    )
    assert get_row(step).status == "success"


def test_has_page0_thumbnail_is_set_only_when_the_thumbnail_is_stored(
    step: PersistPdfTextStep,
) -> None:
    pictures = PersistThumbnailStep(step.blobs, step.records)
    step([READ])
    assert not get_row(step).has_page0_thumbnail
    pictures([Thumbnail(KEY, PAGE0_FORM, b"picture")])
    assert get_row(step).has_page0_thumbnail
    step([replace(FAILED, status=PdfStatus.ENCRYPTED), replace(READ, page0_thumbnail=False)])
    assert get_row(step).has_page0_thumbnail


def test_a_thumbnail_stored_before_its_row_is_recorded_and_other_forms_are_not(
    step: PersistPdfTextStep,
) -> None:
    pictures, other_key = PersistThumbnailStep(step.blobs, step.records), "2" * 40
    pictures(
        [Thumbnail(KEY, PAGE0_FORM, b"picture"), Thumbnail(other_key, "360px-png", b"picture")]
    )
    step([READ, replace(READ, sha1hex=other_key)])
    has_thumbnail = {row.sha1hex: row.has_page0_thumbnail for row in step.records.find(PdfMetaRow)}
    assert has_thumbnail == {KEY: True, other_key: False}
    assert step.blobs.get(f"thumbnail/pdf/22/22/{other_key}.360px.png") == b"picture"


def test_a_thumbnail_stored_while_the_row_is_written_is_recorded(tmp_path: Path) -> None:
    """The text step checks the blobs before the thumbnail is stored, and the thumbnail step finds no row."""
    records, blobs = open_records(tmp_path / "records.sqlite"), FolderBlobs(tmp_path / "blobs")

    class RecordsWithThumbnail:
        def __getattr__(self, name: str) -> Any:
            return getattr(records, name)

        def put(self, rows: Sequence[Row]) -> None:
            PersistThumbnailStep(blobs, records)([Thumbnail(KEY, PAGE0_FORM, b"picture")])
            records.put(rows)

    PersistPdfTextStep(
        RecordsWithThumbnail(), blobs, TantivyIndex(tmp_path / "index"), lambda: MOMENT, 30.0
    )([READ])
    (row,) = records.get(PdfMetaRow, [KEY])
    records.close()
    assert row.has_page0_thumbnail


def test_detected_metadata_is_stored_with_its_sources(step: PersistPdfTextStep) -> None:
    extra = PdfExtra(
        title="Of the page",
        title_from="page",
        authors=("A", "B"),
        authors_from="xmp",
        text_truncated=True,
        word_count=4,
        word_count_whitespace=3,
        unseen=(HiddenText(0, HiddenReason.OFF_PAGE, "beside"),),
        written_on=2,
    )
    info = {"Title": "Microsoft Word - draft.doc", "doi": "none"}
    step([replace(READ, pdf_info=info, pdf_extra=extra)])
    assert encode_stored(get_row(step).metadata) == {
        "title": "Of the page",
        "title_from": "page",
        "authors": ["A", "B"],
        "authors_from": "xmp",
        "text_truncated": True,
        "word_count_whitespace": 3,
        "unseen_chars": 6,
        "written_on": 2,
    }
    assert step.index.get([KEY])[KEY].article_title == "Of the page"


def test_a_newer_failure_replaces_an_older_one(step: PersistPdfTextStep) -> None:
    step([replace(FAILED, extractor="reader 1")])
    step([FAILED])
    assert get_row(step).extractor == "reader 2"


def test_persisting_twice_stores_one_row(step: PersistPdfTextStep) -> None:
    step([READ])
    first_row = get_row(step)
    step([READ, READ])
    assert get_row(step) == first_row
    assert step.index.count() == 1
