"""persist_pdf_text: what is kept of a PDF, and that a failure never takes the place of a success."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from empty_records import open_records
from fixtures.pdfs import image_pdf
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.ingest.steps.persist_pdf import (
    PersistPdfTextStep,
    PersistThumbnailStep,
)
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.file import FileMeta
from fonds.model.keys import build_text_blob_key
from fonds.model.pdf import PAGE0_FORM, PdfStatus, PdfText, Thumbnail
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
    pdf_extra={"page_count": 2, "word_count": 4, "pdf_version": "1.7"},
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


def _row(step: PersistPdfTextStep) -> PdfMetaRow:
    (row,) = step.records.get(PdfMetaRow, [KEY])
    return row


def _made(step: PersistPdfTextStep) -> PdfMetaRow:
    step([READ])
    return _row(step)


def test_text_row_and_document_are_kept(step: PersistPdfTextStep) -> None:
    assert len(step([READ])) == 1
    row = _row(step)
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


def test_without_title_and_text_the_name_of_the_file_is_the_title(step: PersistPdfTextStep) -> None:
    step([replace(READ, text=None)])
    assert step.index.get([KEY])[KEY].article_title == "pa per.pdf"


def test_the_language_is_kept_so_that_the_index_can_be_made_again(step: PersistPdfTextStep) -> None:
    step([replace(READ, text=None, pdf_extra={"language": "pt"})])
    assert encode_stored(_row(step).metadata)["language"] == "pt"
    assert step.index.get([KEY])[KEY].language == "pt"


def test_of_two_titles_the_one_that_says_something_is_kept(step: PersistPdfTextStep) -> None:
    step([replace(READ, pdf_info={"Title": " A title ", "TITLE": " "})])
    assert encode_stored(_row(step).metadata)["title"] == "A title"
    assert step.index.get([KEY])[KEY].article_title == "A title"


def test_a_failure_is_noted_and_not_indexed(step: PersistPdfTextStep) -> None:
    step([FAILED])
    assert (_row(step).status, _row(step).error_msg) == ("error-timeout", "took too long")
    assert step.index.get([KEY]) == {}


@pytest.mark.parametrize("status", [one for one in PdfStatus if one.reason is not None])
def test_a_failure_never_takes_the_place_of_a_success(
    step: PersistPdfTextStep, status: PdfStatus
) -> None:
    step([READ])
    step([replace(FAILED, status=status)])
    assert (_row(step).status, _row(step).extractor) == ("success", "reader 1")
    assert step.blobs.get(build_text_blob_key(KEY)) is not None
    assert KEY in step.index.get([KEY])


def test_a_failure_leaves_alone_what_was_partly_read(step: PersistPdfTextStep) -> None:
    """Pages that could not be read leave a message and no words; the outcome is a success all the same."""
    extra = {"page_count": 2, "word_count": None}
    step([replace(READ, status=PdfStatus.PARTIAL, text=None, pdf_extra=extra, error_msg="page 1")])
    step([FAILED])
    assert (_row(step).status, _row(step).error_msg) == ("partial", "page 1")


def test_a_success_takes_the_place_of_a_failure(step: PersistPdfTextStep) -> None:
    step([FAILED])
    step([READ])
    assert (_row(step).status, _row(step).error_msg) == ("success", None)
    assert KEY in step.index.get([KEY])


def test_a_result_takes_the_place_of_a_row_of_another_program(step: PersistPdfTextStep) -> None:
    step.records.put([replace(_made(step), status="text-too-large", extractor="")])
    step([FAILED])
    assert (_row(step).status, _row(step).extractor) == ("error-timeout", "reader 2")


def test_pages_without_words_have_a_count_of_words(step: PersistPdfTextStep) -> None:
    body = image_pdf()
    read = extract_pdf_bytes(body, PdfLimits())
    step([replace(READ, text=read.text, pdf_extra=read.pdf_extra, status=read.status)])
    assert (_row(step).status, _row(step).word_count) == ("success", 0)
    assert step.index.get([KEY])[KEY].word_count == 0
    (found,) = step.index.search(SearchQuery("text:none")).hits
    assert found.document.id == KEY


def test_that_the_bytes_could_not_be_had_says_nothing_of_the_file(step: PersistPdfTextStep) -> None:
    step([replace(FAILED, status=PdfStatus.ENCRYPTED)])
    step([replace(FAILED, status=PdfStatus.ERROR_SOURCE)])
    assert _row(step).status == "encrypted"
    assert [one.status for one in step.records.find(CrashedPdfRow)] == []


def test_what_stopped_a_reader_is_remembered_by_its_extractor_for_a_while(
    step: PersistPdfTextStep,
) -> None:
    step([READ])
    step([FAILED])
    (stop,) = step.records.find(CrashedPdfRow)
    assert stop == CrashedPdfRow(
        KEY, "reader 2", "error-timeout", "took too long", MOMENT, MOMENT + timedelta(days=30)
    )
    assert _row(step).status == "success"


def test_a_row_speaks_of_a_thumbnail_exactly_when_it_is_there(step: PersistPdfTextStep) -> None:
    pictures = PersistThumbnailStep(step.blobs, step.records)
    step([READ])
    assert not _row(step).has_page0_thumbnail
    pictures([Thumbnail(KEY, PAGE0_FORM, b"picture")])
    assert _row(step).has_page0_thumbnail
    step([replace(FAILED, status=PdfStatus.ENCRYPTED), replace(READ, page0_thumbnail=False)])
    assert _row(step).has_page0_thumbnail


def test_a_picture_before_its_row_is_noted_too_and_other_forms_are_not(
    step: PersistPdfTextStep,
) -> None:
    pictures, other = PersistThumbnailStep(step.blobs, step.records), "2" * 40
    pictures([Thumbnail(KEY, PAGE0_FORM, b"picture"), Thumbnail(other, "360px-png", b"picture")])
    step([READ, replace(READ, sha1hex=other)])
    told = {row.sha1hex: row.has_page0_thumbnail for row in step.records.find(PdfMetaRow)}
    assert told == {KEY: True, other: False}
    assert step.blobs.get(f"thumbnail/pdf/22/22/{other}.360px.png") == b"picture"


def test_a_picture_that_is_stored_while_the_row_is_written_is_noted(tmp_path: Path) -> None:
    """Its step finds no row yet, and the first look at the blobs found no picture yet."""
    records, blobs = open_records(tmp_path / "records.sqlite"), FolderBlobs(tmp_path / "blobs")

    class Meanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(records, name)

        def put(self, rows: Sequence[Row]) -> None:
            PersistThumbnailStep(blobs, records)([Thumbnail(KEY, PAGE0_FORM, b"picture")])
            records.put(rows)

    PersistPdfTextStep(Meanwhile(), blobs, TantivyIndex(tmp_path / "index"), lambda: MOMENT, 30.0)(
        [READ]
    )
    (row,) = records.get(PdfMetaRow, [KEY])
    records.close()
    assert row.has_page0_thumbnail


def test_what_was_found_stands_in_the_row_with_where_it_was(step: PersistPdfTextStep) -> None:
    found = {
        "title": "Of the page",
        "title_from": "page",
        "authors": ["A", "B"],
        "authors_from": "xmp",
    }
    extra = {
        **found,
        "doi": None,
        "text_truncated": True,
        "word_count": 4,
        "word_count_whitespace": 3,
        "unseen": [{"page": 0, "why": "off-page", "text": "beside"}],
        "written_on": 2,
    }
    info = {"Title": "Microsoft Word - draft.doc", "doi": "none"}
    step([replace(READ, pdf_info=info, pdf_extra=extra)])
    assert encode_stored(_row(step).metadata) == {
        **found,
        "text_truncated": True,
        "word_count_whitespace": 3,
        "unseen_chars": 6,
        "written_on": 2,
    }
    assert step.index.get([KEY])[KEY].article_title == "Of the page"


def test_a_newer_failure_takes_the_place_of_an_older_one(step: PersistPdfTextStep) -> None:
    step([replace(FAILED, extractor="reader 1")])
    step([FAILED])
    assert _row(step).extractor == "reader 2"


def test_done_twice_is_done_once(step: PersistPdfTextStep) -> None:
    step([READ])
    once = _row(step)
    step([READ, READ])
    assert _row(step) == once
    assert step.index.count() == 1
