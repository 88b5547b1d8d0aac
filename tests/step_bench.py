"""The embedded stores for testing a step, and captures of bodies in a WARC or in loose files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fixtures.warcs import gzip_records, http_response, list_offsets, revisit
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.extract.mime import describe
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.entry import build_capture_entry
from fonds.model.file import FileMeta, IdentifiedCapture
from fonds.model.rows import CdxRow, EntryRow
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.stores.blobs import FolderBlobs
from fonds.stores.journal_table.schema import JOURNAL as SCHEMA
from fonds.stores.records.sql import SqlRecords, open_sqlite
from fonds.stores.table.sqlite import SqliteTable

MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
LATER = MOMENT + timedelta(days=1)
JOURNAL = "t-journal-extract-0-test"
PAGE = b"<!doctype html><title>A page</title><p>The river rose over the wall at night.</p>"
OTHER_PAGE = PAGE.replace(b"river", b"tide")
PDF = b"%PDF-1.7\n%nothing more is needed to be taken for one\n%%EOF\n"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40)
PAGE_MAX_BYTES, PDF_MAX_BYTES = 2_000, 4_000


def page_file(body: bytes = PAGE) -> FileMeta:
    return describe(body, "text/html")


def pdf_file(body: bytes = PDF) -> FileMeta:
    return describe(body, "application/pdf")


def identify_capture(capture: Capture, body: bytes = PAGE) -> IdentifiedCapture:
    return IdentifiedCapture(capture, describe(body, capture.mime))


@dataclass
class Bench:
    """The stores of one test below `home`."""

    home: Path
    table: SqliteTable
    records: SqlRecords
    blobs: FolderBlobs
    index: TantivyIndex
    archive: FolderArchive
    file_count: int = 0

    def in_warc(self, *bodies: bytes, mime: str = "text/html", **response: Any) -> list[Capture]:
        """Write a WARC with one response per body; return the captures as a source would."""
        headers = response.pop("headers", (("Content-Type", mime),))
        return self.in_records(
            *(http_response(body, headers=headers, **response) for body in bodies), mime=mime
        )

    def in_records(self, *records: bytes, mime: str = "text/html") -> list[Capture]:
        self.file_count += 1
        path = self.home / f"crawl-{self.file_count}.warc.gz"
        members = [gzip_records([record]) for record in records]
        path.write_bytes(b"".join(members))
        return [
            Capture(
                id=f"w{self.file_count}-{number}",
                input_id=f"w{self.file_count}",
                place=Place(PlaceKind.WARC, str(path), offset, len(member)),
                url=f"http://news.example/{self.file_count}/{number}",
                captured_at=MOMENT,
                record_type="response",
                mime=mime,
            )
            for number, (offset, member) in enumerate(
                zip(list_offsets(members), members, strict=True)
            )
        ]

    def write_revisit(self, digest: str | None) -> Capture:
        """Write a WARC with a revisit record; return its capture with the given digest."""
        (capture,) = self.in_records(revisit())
        return replace(capture, record_type="revisit", mime=None, digest=digest)

    def write_file(self, body: bytes = PAGE, mime: str | None = "text/html") -> Capture:
        """Write a loose file and return its capture."""
        self.file_count += 1
        path = self.home / f"loose-{self.file_count}"
        path.write_bytes(body)
        return Capture(
            id=f"f{self.file_count}",
            input_id=f"f{self.file_count}",
            place=Place(PlaceKind.FILE, str(path)),
            url=path.as_uri(),
            captured_at=MOMENT,
            record_type="file",
            mime=mime,
        )

    def enter(self, *captures: Capture, pipeline: str = "library") -> None:
        """Record the entries of captures in the ledger, as the intake does."""
        new_entries = [build_capture_entry(capture) for capture in captures]
        rows = [
            EntryRow(
                *(entry.id, pipeline, entry.kind, entry.input_id, entry.url),
                *(entry.seen_datetime14, entry.place, entry.collection, LATER),
            )
            for entry in new_entries
        ]
        self.records.ledger.enter([], rows, ["identify"])

    def cdx(self) -> dict[str, CdxRow]:
        """Return the rows of `cdx` by capture id."""
        return {row.capture_id: row for row in self.records.find(CdxRow)}

    def cells(self) -> dict[bytes, dict[str, bytes]]:
        return dict(self.table.scan(JOURNAL))

    def close(self) -> None:
        for store in (self.table, self.records, self.index):
            store.close()


def open_bench(home: Path) -> Bench:
    """Open stores below `home`; a migrated `records.sqlite` may already exist there."""
    table = SqliteTable(home / "table.sqlite")
    table.declare(JOURNAL, SCHEMA.names)
    return Bench(
        home,
        table,
        open_sqlite(home / "records.sqlite"),
        FolderBlobs(home / "blobs"),
        TantivyIndex(home / "index"),
        FolderArchive(home / "archive", ArchiveOptions(body_max_bytes=100_000)),
    )
