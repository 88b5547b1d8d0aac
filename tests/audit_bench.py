"""A small library whose ledger and stores agree, for the tests of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fonds.archive.store.folder import FolderArchive
from fonds.archive.table_places import build_cdx_row, build_first_cells
from fonds.audit.audit import AuditResult, run_audit
from fonds.derivatives.documents import DocumentOrigin
from fonds.derivatives.fixity import build_fixity, build_row_fixity
from fonds.derivatives.pdf import KIND as PDF_KIND
from fonds.derivatives.sketch import build_file_sketch, build_page_sketch, write_sketches
from fonds.derivatives.story import KIND as STORY_KIND
from fonds.model.archive import Blob
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.document import IndexDocument
from fonds.model.file import FileMeta, Kind
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.model.story import Story
from fonds.ports import Stores
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.stores.blobs import FolderBlobs
from fonds.stores.journal_table.cells import build_file_cells
from fonds.stores.table.sqlite import SqliteTable
from small_pipeline import SUMS, Workplace

MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
PDF, PAGE, STORY = "1" * 40, "2" * 40, "3" * 64


STEPS = {
    PDF: ("extract_pdf", "persist_pdf_text", "persist_thumbnail"),
    PAGE: ("parse_story", "import_story"),
}
TEXT_BLOB, PICTURE = b"words", b"jpeg"


@pytest.fixture
def stores(place: Workplace, tmp_path: Path) -> Iterator[Stores]:
    table = SqliteTable(tmp_path / "table.sqlite")
    table.declare("journal", ["f", "file"])
    yield Stores(
        queue=place.queue,
        table=table,
        records=place.records,
        ledger=place.ledger,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index=TantivyIndex(tmp_path / "index"),
        archive=FolderArchive(tmp_path / "archive"),
        journal="journal",
    )
    table.close()


@pytest.fixture
def library(stores: Stores, tmp_path: Path) -> Stores:
    """A PDF and a page in external WARCs, with all their rows, blobs and documents."""
    stores.blobs.put([Blob(build_text_blob_key(PDF), TEXT_BLOB, "text/plain")])
    stores.blobs.put([Blob(build_thumbnail_blob_key(PDF), PICTURE, "image/jpeg")])
    stores.blobs.put([Blob(build_text_blob_key(PAGE), TEXT_BLOB, "text/plain")])
    stores.index.put([build_document(PDF, Kind.PDF), build_document(PAGE, Kind.STORY)])
    for sha1hex in (PDF, PAGE):
        (tmp_path / f"{sha1hex}.warc").write_bytes(b"ten bytes.")
        capture, warc = build_capture(sha1hex, tmp_path)
        cells = build_file_cells(build_meta(sha1hex)) | build_first_cells(capture, warc)
        stores.table.put("journal", [(bytes.fromhex(sha1hex), cells)])
        stores.records.put(build_rows(sha1hex, tmp_path))
        record_as_done(stores, sha1hex, SUMS.name)
    stores.records.put([build_fixity(PDF, "thumbnail 180px-jpg", PICTURE)])
    put_with_fixity(stores, build_pdf_row())
    put_with_fixity(stores, build_story_row())
    text = TEXT_BLOB.decode()
    pdf_sketch = build_file_sketch(build_pdf_row(), "20240305060708", "http://e.org/", text)
    write_sketches(stores.records, [build_page_sketch(build_story_row(), text), pdf_sketch], ())
    return stores


def put_with_fixity(stores: Stores, row: Any) -> None:
    """Store a row with its fixity rows, as its sink does."""
    stores.records.put([row, build_row_fixity(row), build_fixity(row.sha1hex, "text", TEXT_BLOB)])


def record_as_done(stores: Stores, sha1hex: str, pipeline: str) -> None:
    """Record a file in the ledger of a pipeline as done at every step."""
    name = build_entry_name(sha1hex)
    (cdx,) = stores.records.find(CdxRow, {"sha1hex": sha1hex})
    place = f"{cdx.warc_path}:{cdx.warc_offset}"
    facts = ("capture", "", "http://e.org/", "20240305060708", place, "default", MOMENT)
    stores.ledger.enter([], [EntryRow(name, pipeline, *facts)], ())
    stores.ledger.write(
        [
            replace(build_disposition(name, step, "done", about=sha1hex), pipeline=pipeline)
            for step in STEPS[sha1hex]
        ]
    )


def delete_ledger_rows(stores: Stores, sha1hex: str, pipeline: str) -> None:
    """Remove all ledger rows of a file in a pipeline."""
    name = build_entry_name(sha1hex)
    stores.records.delete(DispositionRow, [(name, pipeline, step) for step in STEPS[sha1hex]])
    stores.records.delete(EntryRow, [(name, pipeline)])
    stores.ledger.recount(repair=True)


def build_entry_name(sha1hex: str) -> str:
    return f"capture-{sha1hex[:1]}"


def build_meta(sha1hex: str) -> FileMeta:
    return FileMeta(5, "text/html", "", "text/html", sha1hex, "0" * 32, "0" * 64)


def build_capture(sha1hex: str, folder: Path) -> tuple[Capture, Place]:
    warc = Place(PlaceKind.WARC, str(folder / f"{sha1hex}.warc"), 0, 10)
    name = build_entry_name(sha1hex)
    return Capture(name, "", warc, "http://e.org/", MOMENT, "response"), warc


def build_document(sha1hex: str, kind: Kind) -> IndexDocument:
    row = build_story_row() if kind is Kind.STORY else build_pdf_row()
    derivative_kind = STORY_KIND if kind is Kind.STORY else PDF_KIND
    assert derivative_kind.indexed is not None
    return derivative_kind.indexed.build_document(
        replace(row, sha1hex=sha1hex),
        TEXT_BLOB,
        DocumentOrigin("http://e.org/", "e.org", "default"),
    )


def build_rows(sha1hex: str, folder: Path) -> list[Any]:
    capture, warc = build_capture(sha1hex, folder)
    meta = build_meta(sha1hex)
    facts = (meta.sha256, meta.md5, meta.size, meta.mime)
    return [
        FileMetaRow(sha1hex, *facts, build_entry_name(sha1hex), MOMENT),
        build_cdx_row(capture, meta, warc, MOMENT),
    ]


def build_pdf_row() -> PdfMetaRow:
    sizes = (1, 1, None, None)
    return PdfMetaRow(PDF, MOMENT, "success", True, *sizes, None, None, None, None, "x", None)


def build_story_row() -> StoryMetaRow:
    return StoryMetaRow(
        PAGE,
        STORY,
        "20240305060708",
        MOMENT,
        "success",
        "http://e.org/",
        "",
        None,
        None,
        None,
        1,
        Story(),
        "x",
    )


def run_sums_audit(place: Workplace, stores: Stores) -> AuditResult:
    return run_audit(stores, {SUMS.name: place.subscriptions})


def enter_and_process(place: Workplace, count: int = 4) -> list[str]:
    ids = place.enter(*range(count))
    place.loop().run_once(0.0)
    return ids


def build_finished_input(entries: int) -> InputRow:
    """Build the row of the completely read input that all numbers come from."""
    return build_input("input", "/w", entries, finished=True)


def build_input(input_id: str, path: str, entries: int, *, finished: bool) -> InputRow:
    facts = ("links", "1:1", 0, entries, {}, 0, finished, None, MOMENT, SUMS.name)
    return InputRow(input_id, path, *facts)


def build_disposition(
    message_id: str, step: str, verdict: str, reason: str | None = None, about: str | None = None
) -> DispositionRow:
    no_parent, attempt = (None, None), 0
    return DispositionRow(
        *(message_id, SUMS.name, step, message_id, *no_parent),
        *(verdict, False, reason, "", about, attempt, MOMENT, MOMENT),
    )
