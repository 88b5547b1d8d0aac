"""What is done at a sink is held against the row it wrote."""

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

BEGAN = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
PDF, PAGE = "1" * 40, "2" * 40


def done(step: str, about: str, verdict: str = "done") -> DispositionRow:
    parents, before = ("c", "parse"), BEGAN - timedelta(seconds=1)
    facts = (verdict, False, None, "", about, 0, before, before)
    return DispositionRow("c", "library", step, "c", *parents, *facts)


def found(bench: Bench, *rows: DispositionRow) -> list[str]:
    check = SinkCheck(bench.records, BEGAN)
    faults = [fault for row in rows for fault in check.add(row)] + list(check.check_rest())
    return [fault.message for fault in faults]


def pdf_row(pictured: bool) -> PdfMetaRow:
    facts = (*(None,) * 8, "reader 1", None)
    return PdfMetaRow(PDF, BEGAN, "success", pictured, *facts)  # type: ignore[arg-type]


def test_a_row_that_a_sink_should_have_written_and_is_not_there_is_named(bench: Bench) -> None:
    rows = [done("persist_pdf_text", PDF), done("import_story", PAGE)]
    assert found(bench, *rows) == [
        f"import_story is done with {PAGE}, but story_meta does not show it",
        f"import_story is done with {PAGE}, but text_sketch does not show it",
        f"persist_pdf_text is done with {PDF}, but pdf_meta does not show it",
        f"persist_pdf_text is done with {PDF}, but text_sketch does not show it",
    ]
    story = (PAGE, "3" * 64, "20240305060708", BEGAN, "success", "http://e.org/", "")
    row = StoryMetaRow(*story, None, None, None, 1, Story(), "x")
    of_pdf = build_file_sketch(pdf_row(False), "20240305060708", "http://e.org/", "")
    bench.records.put([pdf_row(False), row, build_page_sketch(row, "words"), of_pdf])
    assert found(bench, *rows) == []


def test_a_thumbnail_that_the_row_does_not_speak_of_is_named(bench: Bench) -> None:
    stored = done("persist_thumbnail", PDF)
    assert found(bench, stored) == []  # the text has not come
    bench.records.put([pdf_row(False)])
    assert found(bench, stored) == [
        f"persist_thumbnail is done with {PDF}, but pdf_meta does not show it"
    ]
    assert found(bench, replace(stored, step="persist_thumbnail-360px-webp")) == []
    bench.records.put([pdf_row(True)])
    assert found(bench, stored) == []


@pytest.mark.parametrize(
    "row",
    [
        done("import_story", PAGE, "quarantined"),
        done("import_story", ""),
        done("parse_story", PAGE),
        replace(done("import_story", PAGE), settled_at=BEGAN + timedelta(seconds=1)),
    ],
)
def test_what_promises_no_row_or_ended_later_is_left_alone(
    bench: Bench, row: DispositionRow
) -> None:
    assert found(bench, row) == []


def test_many_are_asked_for_together(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conservation, "CHUNK", 2)
    rows = [done("import_story", f"{n:040x}") for n in range(5)]
    assert len({told.partition(", but ")[0] for told in found(bench, *rows)}) == 5
