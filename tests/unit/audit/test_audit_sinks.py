"""Messages that are done at a storing step (sink) are compared with the rows that it wrote."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fonds.audit.conservation import check_sinks
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.persist_pdf import PersistPdfTextStep, PersistThumbnailStep
from fonds.model.pdf import PAGE0_FORM, PdfStatus, PdfText, Thumbnail
from fonds.model.pdf_extra import PdfExtra
from fonds.model.rows import DispositionRow
from fonds.model.story import ContentMetadata, ParsedPage, Story
from step_bench import PAGE, PDF, Bench, page_file, pdf_file

STARTED_AT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
PDF_SHA1, PAGE_SHA1 = pdf_file().sha1, page_file().sha1


def build_disposition(step: str, about: str, verdict: str = "done") -> DispositionRow:
    before_start_at = STARTED_AT - timedelta(seconds=1)
    return DispositionRow(
        message_id="c",
        pipeline="library",
        step=step,
        entry_id="c",
        parent_id="c",
        parent_step="parse",
        verdict=verdict,
        is_open=False,
        reason=None,
        detail="",
        about=about,
        attempt=0,
        promised_at=before_start_at,
        settled_at=before_start_at,
    )


def list_fault_messages(bench: Bench, *rows: DispositionRow) -> list[str]:
    """Record dispositions, and return the faults of their steps."""
    bench.records.put(rows)
    steps = {row.step for row in rows}
    faults = check_sinks(bench.records, ["library"], steps, STARTED_AT)
    return [fault.message for fault in faults]


def persist_pdf_text(bench: Bench) -> None:
    (capture,) = bench.in_warc(PDF, mime="application/pdf")
    result = PdfText(
        sha1hex=PDF_SHA1,
        status=PdfStatus.SUCCESS,
        text="The weir gave way",
        page0_thumbnail=True,
        meta_xml=None,
        pdf_info=None,
        pdf_extra=PdfExtra(page_count=1, word_count=4, pdf_version="1.7"),
        file_meta=pdf_file(),
        source=capture,
        extractor="reader 1",
    )
    PersistPdfTextStep(bench.records, bench.blobs, bench.index, lambda: STARTED_AT, 30.0)([result])


def import_story(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    story = Story(content_metadata=ContentMetadata(text_content="The river rose over the wall"))
    page = ParsedPage(capture, page_file(), story, "5" * 64, "reader 1")
    ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: STARTED_AT)([page])


def test_a_missing_row_of_a_sink_is_reported(bench: Bench) -> None:
    rows = [
        build_disposition("persist_pdf_text", PDF_SHA1),
        build_disposition("import_story", PAGE_SHA1),
    ]
    assert list_fault_messages(bench, *rows) == [
        f"import_story is done with {PAGE_SHA1}, but story_meta does not show it",
        f"import_story is done with {PAGE_SHA1}, but text_sketch does not show it",
        f"persist_pdf_text is done with {PDF_SHA1}, but pdf_meta does not show it",
        f"persist_pdf_text is done with {PDF_SHA1}, but text_sketch does not show it",
    ]
    persist_pdf_text(bench)
    import_story(bench)
    assert list_fault_messages(bench, *rows) == []


def test_a_missing_thumbnail_flag_is_reported(bench: Bench) -> None:
    disposition = build_disposition("persist_thumbnail", PDF_SHA1)
    assert list_fault_messages(bench, disposition) == []  # the text is not stored yet
    persist_pdf_text(bench)
    assert list_fault_messages(bench, disposition) == [
        f"persist_thumbnail is done with {PDF_SHA1}, but pdf_meta does not show it"
    ]
    assert (
        list_fault_messages(bench, replace(disposition, step="persist_thumbnail-360px-webp")) == []
    )
    thumbnail = Thumbnail(PDF_SHA1, PAGE0_FORM, b"picture")
    PersistThumbnailStep(bench.blobs, bench.records)([thumbnail])
    assert list_fault_messages(bench, disposition) == []


@pytest.mark.parametrize(
    "row",
    [
        build_disposition("import_story", PAGE_SHA1, "quarantined"),
        build_disposition("import_story", ""),
        build_disposition("parse_story", PAGE_SHA1),
        replace(
            build_disposition("import_story", PAGE_SHA1),
            settled_at=STARTED_AT + timedelta(seconds=1),
        ),
    ],
)
def test_dispositions_without_a_row_or_settled_after_the_start_are_ignored(
    bench: Bench, row: DispositionRow
) -> None:
    assert list_fault_messages(bench, row) == []


def test_many_missing_rows_are_reported_once_each(bench: Bench) -> None:
    dispositions = [
        replace(build_disposition("import_story", f"{n // 2:040x}"), message_id=f"{n}")
        for n in range(2400)
    ]
    messages = list_fault_messages(bench, *dispositions)
    assert len(messages) == len(set(messages)) == 2 * 1200


def test_other_pipelines_are_ignored(bench: Bench) -> None:
    disposition = replace(build_disposition("import_story", PAGE_SHA1), pipeline="other")
    assert list_fault_messages(bench, disposition) == []
