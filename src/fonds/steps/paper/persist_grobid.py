"""persist_grobid: what GROBID made of a PDF into the table, the blobs and the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.bibliography.tei_reading import BibliographyReading
from fonds.formats.journal import grobid_cells, paper_cells, row_key
from fonds.kinds.fixity import TEI, fixity_of, fixity_of_row
from fonds.model.blob import Blob
from fonds.model.errors import ChildError
from fonds.model.keys import tei_blob_key
from fonds.model.paper import GrobidOutput, GrobidStatus, Unmatched
from fonds.model.pdf import StatusClass
from fonds.model.rows import GrobidRow
from fonds.model.step import Output, Result
from fonds.ports import Blobs, Records, Table
from fonds.steps.paper.persist_bibliography import remove_own_reading_from_grobid0

EMITS = (Output(Unmatched),)
ERROR_MAX_CHARS = 1_024
_WEIGHTS = {StatusClass.OK: 2, StatusClass.CONTENT: 1, StatusClass.LIMIT: 1}
_NOTHING = BibliographyReading()


@dataclass(frozen=True, slots=True)
class PersistGrobid:
    """Blobs first, then cells, then rows, so that what a row promises is there. `read` takes TEI apart in an
    isolated process."""

    table: Table
    records: Records
    blobs: Blobs
    journal: str
    read: Callable[[bytes], BibliographyReading]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[GrobidOutput]) -> list[Result]:
        """Idempotent by SHA-1; a failure never replaces an earlier success.
        What was kept is to be matched."""
        now = self.clock()
        keys = [item.sha1hex for item in items]
        known = self.records.get(GrobidRow, keys)
        weights = {row.sha1hex: _weight(GrobidStatus(row.status)) for row in known}
        kept: dict[str, tuple[GrobidRow, bytes | None, BibliographyReading]] = {}
        for item in items:
            row, tei, reading = self._row(item, now)
            weight = _weight(GrobidStatus(row.status))
            if weight >= weights.get(item.sha1hex, 0):
                weights[item.sha1hex] = weight
                kept[item.sha1hex] = row, tei, reading
        self._keep(list(kept.values()))
        fresh = {key for key, (_, tei, _) in kept.items() if tei is not None}
        return [
            Result(items=(Unmatched(item.sha1hex),) if item.sha1hex in fresh else ())
            for item in items
        ]

    def _row(
        self, item: GrobidOutput, now: datetime
    ) -> tuple[GrobidRow, bytes | None, BibliographyReading]:
        """The row, the TEI where it is one, and what was read of it."""
        status, error, tei = item.status, item.error_msg, None
        reading = _NOTHING
        if status is GrobidStatus.SUCCESS:
            tei = (item.tei_xml or "").encode("utf-8", "replace")
            reading = self._read(tei)
            if reading.error is not None:
                status, error, tei = GrobidStatus.BAD_XML, reading.error, None
        row = GrobidRow(
            sha1hex=item.sha1hex,
            updated=now,
            grobid_version=reading.version or None,
            status_code=item.status_code,
            status=str(status),
            fatcat_release=reading.fatcat_release,
            metadata=reading.row or None,
            quality=reading.quality or None,
            extractor=item.extractor,
            error_msg=error[:ERROR_MAX_CHARS] if error else None,
        )
        return row, tei, reading

    def _read(self, tei: bytes) -> BibliographyReading:
        try:
            return self.read(tei)
        except ChildError as error:
            return BibliographyReading(error=error.detail)

    def _keep(self, kept: Sequence[tuple[GrobidRow, bytes | None, BibliographyReading]]) -> None:
        teis = [(row.sha1hex, tei) for row, tei, _ in kept if tei is not None]
        self.blobs.put([Blob(tei_blob_key(key), tei, "application/xml") for key, tei in teis])
        keys = [row_key(row.sha1hex) for row, _, _ in kept]
        remove_own_reading_from_grobid0(self.table, self.journal, keys)
        self.table.put(
            self.journal,
            [(row_key(row.sha1hex), _cells(row, tei, reading)) for row, tei, reading in kept],
        )
        rows = [row for row, _, _ in kept]
        parts = [fixity_of(key, TEI, tei) for key, tei in teis]
        self.records.put([*rows, *map(fixity_of_row, rows), *parts])


def _cells(row: GrobidRow, tei: bytes | None, reading: BibliographyReading) -> dict[str, bytes]:
    """What is too long for a cell lies in the blob alone, and `status` says so."""
    texts, left_out = paper_cells(reading.whole, reading.metadata, tei or b"")
    told = {
        "status": row.status,
        "status_code": row.status_code,
        "error_msg": row.error_msg,
        "grobid_version": row.grobid_version,
        "extractor": row.extractor,
        "left_out": " ".join(left_out) or None,
    }
    status = {name: value for name, value in told.items() if value is not None}
    return grobid_cells(status, row.status_code, row.quality, texts)


def _weight(status: GrobidStatus) -> int:
    return _WEIGHTS.get(status.status_class, 0)
