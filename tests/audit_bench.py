"""A small library whose books and stores agree, for the tests of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from fonds.formats.journal import encode_integer
from fonds.library.audit import Audit, audit
from fonds.model.blob import Blob
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import text_blob_key, thumbnail_blob_key
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
    StoryMetaRow,
)
from fonds.ports import Stores
from fonds.stores.blobs.folder import FolderBlobs
from fonds.stores.index.tantivy_index import TantivyIndex
from fonds.stores.table.sqlite import SqliteTable
from small_pipeline import SUMS, Workplace

MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
PDF, PAGE, STORY = "1" * 40, "2" * 40, "3" * 64


@pytest.fixture
def stores(place: Workplace, tmp_path: Path) -> Iterator[Stores]:
    table = SqliteTable(tmp_path / "table.sqlite")
    table.declare("journal", ["file"])
    yield Stores(
        queue=place.queue,
        table=table,
        records=place.records,
        ledger=place.ledger,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index=TantivyIndex(tmp_path / "index"),
        archive=cast(Any, None),
        journal="journal",
    )
    table.close()


@pytest.fixture
def library(stores: Stores) -> Stores:
    """A PDF and a page, everything about them in its place."""
    stores.blobs.put([Blob(text_blob_key(PDF), b"words", "text/plain")])
    stores.blobs.put([Blob(thumbnail_blob_key(PDF), b"jpeg", "image/jpeg")])
    stores.blobs.put([Blob(text_blob_key(PAGE), b"words", "text/plain")])
    stores.index.put([document_of(PDF, Kind.PDF), document_of(PAGE, Kind.STORY)])
    stores.table.put(
        "journal", [(bytes.fromhex(one), {"file:size": encode_integer(5)}) for one in (PDF, PAGE)]
    )
    stores.records.put([*rows_of(PDF), *rows_of(PAGE), pdf_row(), story_row()])
    return stores


def document_of(sha1hex: str, kind: Kind) -> IndexDocument:
    id_ = STORY if kind is Kind.STORY else sha1hex
    return IndexDocument(
        id_, sha1hex, kind, "http://e.org/", "e.org", None, None, None, "w", MOMENT
    )


def rows_of(sha1hex: str) -> list[Any]:
    place = (f"/{sha1hex}.warc", 10, 0)
    return [
        FileMetaRow(sha1hex, "0" * 64, "0" * 32, 5, "text/html", "c", MOMENT),
        CdxRow("c", sha1hex, "http://e.org/", "s", "0" * 40, "20240305060708", "m", *place, MOMENT),
    ]


def pdf_row() -> PdfMetaRow:
    sizes = (1, 1, None, None)
    return PdfMetaRow(PDF, MOMENT, "success", True, *sizes, None, None, None, None, "x", None)


def story_row() -> StoryMetaRow:
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
        {},
        "x",
    )


def audited(place: Workplace, stores: Stores) -> Audit:
    return audit(stores, {SUMS.name: place.subscriptions})


def worked_off(place: Workplace, count: int = 4) -> list[str]:
    ids = place.enter(*range(count))
    place.loop().turn(0.0)
    return ids


def finished_input(entries: int) -> InputRow:
    """The input all numbers come from, read to its end."""
    return input_of("input", "/w", entries, finished=True)


def input_of(input_id: str, path: str, entries: int, *, finished: bool) -> InputRow:
    facts = ("warc", "1:1", 0, entries, {}, 0, finished, None, MOMENT, SUMS.name)
    return InputRow(input_id, path, *facts)


def ended(
    message_id: str, step: str, verdict: str, reason: str | None = None, about: str | None = None
) -> DispositionRow:
    parents, attempt = (None, None), 0
    return DispositionRow(
        *(message_id, SUMS.name, step, message_id, *parents),
        *(verdict, False, reason, "", about, attempt, MOMENT, MOMENT),
    )
