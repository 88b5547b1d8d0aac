"""Index documents built from rows and texts: titles, dates, and robustness against any row."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.derivatives import pdf, story
from fonds.derivatives.documents import DocumentOrigin, encode_text
from fonds.derivatives.pdf import INDEXED, TITLE_MAX_CHARS
from fonds.model.pdf import PdfStatus
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import PdfMetaRow, StoryMetaRow
from fonds.model.stored_json import decode_stored
from fonds.model.story_json import build_story

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
ORIGIN = DocumentOrigin("http://e.org/a/pa%20per.pdf?x=1", "e.org", "floods")
PDF = PdfMetaRow(
    "a" * 40, NOON, "success", True, 3, 700, 841.0, 595.0, None, NOON, "1.7",
    PdfMetadata(title="A title", language="de"), "pdf/1", None,
)  # fmt: skip
STORY = StoryMetaRow(
    "b" * 40, "c" * 64, "20240229000000", NOON, "success", "http://x.org/a", "x.org",
    "2024-02-29", "de", "Titel", 12,
    build_story({"content_metadata": {"parsed_date": "2024-03-01T02:03:04+01:00"}}), "page/1",
)  # fmt: skip
TEXT = b"\f \nFirst line\nsecond"


def test_only_files_that_were_read_are_indexed() -> None:
    assert {"success", "text-truncated", "partial"} == INDEXED
    assert {str(status) for status in PdfStatus if status.reason is None} == INDEXED


def test_a_pdf_document_has_the_values_of_row_text_and_origin() -> None:
    document = pdf.build_document(PDF, TEXT, ORIGIN)
    assert (document.sha1hex, document.url, document.collection) == ("a" * 40, ORIGIN.url, "floods")
    assert (document.canonical_domain, document.language) == ("e.org", "de")
    assert (document.article_title, document.text_content) == ("A title", TEXT.decode())
    assert (document.publication_date, document.indexed_date) == (date(2024, 5, 6), NOON)
    assert (document.page_count, document.word_count, document.has_thumbnail) == (3, 700, True)


@pytest.mark.parametrize(
    ("pdf_title", "text", "title"),
    [
        (" Stated ", TEXT, "Stated"),
        ("", TEXT, "First line"),
        ("\x00 \x00", TEXT, "First line"),
        (None, b" \n\f", "pa per.pdf"),
        (["no text"], None, "pa per.pdf"),
        ("x" * 1000, None, "x" * TITLE_MAX_CHARS),
    ],
)
def test_the_title_is_stated_or_the_first_line_or_the_file_name(
    pdf_title: object, text: bytes | None, title: str
) -> None:
    row = replace(PDF, metadata=decode_stored(PdfMetadata, {"title": pdf_title}))
    assert pdf.build_document(row, text, ORIGIN).article_title == title


def test_the_publication_day_is_in_utc() -> None:
    late = datetime(2024, 5, 6, 23, tzinfo=timezone(timedelta(hours=-5)))
    document = pdf.build_document(replace(PDF, pdf_created=late), None, ORIGIN)
    assert document.publication_date == date(2024, 5, 7)
    assert pdf.build_document(replace(PDF, pdf_created=None), None, ORIGIN).publication_date is None


def test_a_story_document_has_the_values_of_row_and_text() -> None:
    document = story.build_document(STORY, b"Das Wasser", ORIGIN)
    assert (document.url, document.canonical_domain) == ("http://x.org/a", "x.org")
    assert (document.article_title, document.language) == ("Titel", "de")
    assert (document.publication_date, document.word_count) == (date(2024, 2, 29), 12)
    assert document.id == document.story_id
    assert (document.story_id, document.collection) == ("c" * 64, "floods")
    assert document.text_content == "Das Wasser"
    assert document.indexed_date == datetime(2024, 3, 1, 1, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"content_metadata": None},
        {"content_metadata": {"parsed_date": "soon"}},
        {"content_metadata": {"parsed_date": 17}},
        {"content_metadata": {"parsed_date": "2024-13-01"}},
    ],
)
def test_a_story_without_a_valid_parse_time_uses_the_time_of_its_row(
    values: dict[str, object],
) -> None:
    assert (
        story.build_document(replace(STORY, story=build_story(values)), None, ORIGIN).indexed_date
        == NOON
    )


@pytest.mark.parametrize(
    ("parsed_date", "hour"),
    [("2024-03-01T02:03:04", 2), ("2024-03-01", 0), ("2024-03-01T02:03:04Z", 2)],
)
def test_a_time_without_a_zone_is_in_utc_as_in_media_cloud(parsed_date: str, hour: int) -> None:
    values = {"content_metadata": {"parsed_date": parsed_date}}
    indexed_date = story.build_document(
        replace(STORY, story=build_story(values)), None, ORIGIN
    ).indexed_date
    assert (indexed_date.tzinfo, indexed_date.date(), indexed_date.hour) == (
        UTC,
        date(2024, 3, 1),
        hour,
    )


@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters()))
def test_any_text_becomes_a_storable_document(title: str, url: str, text: str) -> None:
    blob = encode_text(text)
    document = pdf.build_document(
        replace(PDF, metadata=PdfMetadata(title=title)), blob, DocumentOrigin(url, "", url)
    )
    page = story.build_document(
        replace(STORY, article_title=title, url=url), blob, DocumentOrigin(url, "", url)
    )
    stored_texts = (
        document.article_title,
        document.url,
        document.collection,
        page.article_title,
        page.url,
    )
    for stored_text in stored_texts:
        assert "\x00" not in (stored_text or "")
        assert (stored_text or "").encode().decode() == stored_text
    assert document.text_content == page.text_content == blob.decode()
