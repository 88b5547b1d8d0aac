"""Finished sinks are compared with the rows they wrote."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fonds.audit import conservation
from fonds.audit.conservation import SinkCheck
from fonds.derivatives.sketch import build_file_sketch, build_page_sketch
from fonds.model.rows import DispositionRow, PdfMetaRow, StoryMetaRow
from fonds.model.story import Story
from step_bench import Bench

STARTED_AT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
PDF, PAGE = "1" * 40, "2" * 40


def make_disposition(step: str, about: str, verdict: str = "done") -> DispositionRow:
    parents, before = ("c", "parse"), STARTED_AT - timedelta(seconds=1)
    facts = (verdict, False, None, "", about, 0, before, before)
    return DispositionRow("c", "library", step, "c", *parents, *facts)


def list_messages(bench: Bench, *rows: DispositionRow) -> list[str]:
    check = SinkCheck(bench.records, STARTED_AT)
    faults = [fault for row in rows for fault in check.add(row)] + list(check.check_rest())
    return [fault.message for fault in faults]


def make_pdf_row(has_thumbnail: bool) -> PdfMetaRow:
    facts = (*(None,) * 8, "reader 1", None)
    return PdfMetaRow(PDF, STARTED_AT, "success", has_thumbnail, *facts)  # type: ignore[arg-type]


def test_a_missing_row_of_a_sink_is_reported(bench: Bench) -> None:
    rows = [make_disposition("persist_pdf_text", PDF), make_disposition("import_story", PAGE)]
    assert list_messages(bench, *rows) == [
        f"import_story is done with {PAGE}, but story_meta does not show it",
        f"import_story is done with {PAGE}, but text_sketch does not show it",
        f"persist_pdf_text is done with {PDF}, but pdf_meta does not show it",
        f"persist_pdf_text is done with {PDF}, but text_sketch does not show it",
    ]
    story = (PAGE, "3" * 64, "20240305060708", STARTED_AT, "success", "http://e.org/", "")
    row = StoryMetaRow(*story, None, None, None, 1, Story(), "x")
    pdf_sketch = build_file_sketch(make_pdf_row(False), "20240305060708", "http://e.org/", "")
    bench.records.put([make_pdf_row(False), row, build_page_sketch(row, "words"), pdf_sketch])
    assert list_messages(bench, *rows) == []


def test_a_missing_thumbnail_flag_is_reported(bench: Bench) -> None:
    stored = make_disposition("persist_thumbnail", PDF)
    assert list_messages(bench, stored) == []  # the text is not stored yet
    bench.records.put([make_pdf_row(False)])
    assert list_messages(bench, stored) == [
        f"persist_thumbnail is done with {PDF}, but pdf_meta does not show it"
    ]
    assert list_messages(bench, replace(stored, step="persist_thumbnail-360px-webp")) == []
    bench.records.put([make_pdf_row(True)])
    assert list_messages(bench, stored) == []


@pytest.mark.parametrize(
    "row",
    [
        make_disposition("import_story", PAGE, "quarantined"),
        make_disposition("import_story", ""),
        make_disposition("parse_story", PAGE),
        replace(
            make_disposition("import_story", PAGE), settled_at=STARTED_AT + timedelta(seconds=1)
        ),
    ],
)
def test_dispositions_without_a_row_or_settled_later_are_ignored(
    bench: Bench, row: DispositionRow
) -> None:
    assert list_messages(bench, row) == []


def test_rows_are_read_in_batches(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conservation, "CHUNK", 2)
    rows = [make_disposition("import_story", f"{n:040x}") for n in range(5)]
    assert len({message.partition(", but ")[0] for message in list_messages(bench, *rows)}) == 5
