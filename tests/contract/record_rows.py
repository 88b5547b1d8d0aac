"""Rows for the suites of the records; each builder fills in the fields that a test does not set."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fonds.model.capture import RssEntry
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import CdxRow, FileMetaRow, PdfMetaRow, Row, StoryMetaRow
from fonds.model.story import Story

NOON = datetime(2024, 5, 6, 12, 0, 0, 123456, UTC)


def file_row(number: int, **changes: Any) -> FileMetaRow:
    row = FileMetaRow(
        f"{number:040x}", "b" * 64, "c" * 32, 2**40, "application/pdf", "capture", NOON
    )
    return replace(row, **changes)


def cdx_row(path: str, offset: int, **changes: Any) -> CdxRow:
    row = CdxRow(
        f"{path}:{offset}", "a" * 40, "http://x.org/", "org,x)/", "org,x)/", "20240506120000",
        "text/html", 200, path, None, offset, NOON,
    )  # fmt: skip
    return replace(row, **changes)


def pdf_row(**changes: Any) -> PdfMetaRow:
    row = PdfMetaRow(
        "a" * 40, NOON, "success", True, 3, 700, 841.875, 595.25, "0f1e", NOON - timedelta(days=900),
        "1.7", PdfMetadata(title="Über", unknown={"pages": [1, None, {"deep": True}]}), "pdf/1", None,
    )  # fmt: skip
    return replace(row, **changes)


def story_row(**changes: Any) -> StoryMetaRow:
    row = StoryMetaRow(
        "a" * 40, "story-1", "20240506120000", NOON, "success", "http://x.org/a", "x.org",
        "2024-05-06", "de", "Titel", 12, Story(rss_entry=RssEntry(title="Titel")), "page/1",
    )  # fmt: skip
    return replace(row, **changes)


def key(row: Row) -> Any:
    """Return the key of a row as `get` and `delete` accept it."""
    values = tuple(getattr(row, name) for name in row.KEY)
    return values if len(values) > 1 else values[0]
