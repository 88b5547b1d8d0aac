"""persist_bibliography: what was read of a paper beside its text, into the table and the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from fonds.bibliography.own_reading import VERSION
from fonds.bibliography.paper import Paper, biblio, to_json
from fonds.bibliography.quality import quality
from fonds.formats.journal import (
    GROBID_QUALITY,
    GROBID_STATUS,
    paper_cells,
    row_key,
)
from fonds.kinds.fixity import fixity_of_row
from fonds.kinds.papers.bibliography import NOT_READ, NOTHING_FOUND, SUCCESS
from fonds.model.paper import GrobidStatus, Unmatched
from fonds.model.pdf import PdfText, StatusClass
from fonds.model.prepared import prepared
from fonds.model.rows import BibliographyRow, GrobidRow
from fonds.model.step import Output, Result
from fonds.ports import Records, Table

EMITS = (Output(Unmatched),)
_WEIGHTS = {SUCCESS: 2, NOTHING_FOUND: 1, NOT_READ: 0}


@dataclass(frozen=True, slots=True)
class PersistBibliography:
    """Cells first, then rows. What GROBID read of the same file stays in its cells."""

    table: Table
    records: Records
    journal: str
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[PdfText]) -> list[Result]:
        """Idempotent by SHA-1; what found less never replaces what found more.
        What was kept is to be matched."""
        now = self.clock()
        keys = [item.sha1hex for item in items]
        weights = {
            row.sha1hex: _WEIGHTS.get(row.status, 0)
            for row in self.records.get(BibliographyRow, keys)
        }
        kept: dict[str, tuple[BibliographyRow, Paper | None]] = {}
        for item in items:
            row, paper = _row(item, now)
            if _WEIGHTS[row.status] >= weights.get(item.sha1hex, 0):
                weights[item.sha1hex] = _WEIGHTS[row.status]
                kept[item.sha1hex] = row, paper
        asked = {row.sha1hex: row.status for row in self.records.get(GrobidRow, list(kept))}
        cells = [
            (row_key(row.sha1hex), _cells(row, paper, asked.get(row.sha1hex)))
            for row, paper in kept.values()
            if paper is not None and asked.get(row.sha1hex) != GrobidStatus.SUCCESS
        ]
        self.table.put(self.journal, cells)
        rows = [row for row, _ in kept.values()]
        self.records.put([*rows, *map(fixity_of_row, rows)])
        fresh = {
            key
            for key, (_, paper) in kept.items()
            if paper is not None and asked.get(key) != GrobidStatus.SUCCESS
        }
        return [
            Result(items=(Unmatched(item.sha1hex),) if item.sha1hex in fresh else ())
            for item in items
        ]


def _row(item: PdfText, now: datetime) -> tuple[BibliographyRow, Paper | None]:
    paper = _paper((item.pdf_extra or {}).get("bibliography"))
    if item.status.status_class is not StatusClass.OK or paper is None:
        return BibliographyRow(
            item.sha1hex, now, NOT_READ, None, None, None, None, 0, None, VERSION
        ), None
    status = SUCCESS if paper.title or paper.citations else NOTHING_FOUND
    row = BibliographyRow(
        sha1hex=item.sha1hex,
        updated=now,
        status=status,
        quality=str(quality(paper)),
        title=paper.title,
        doi=paper.doi,
        arxiv_id=paper.arxiv_id,
        reference_count=len(paper.citations),
        metadata=biblio(paper),
        extractor=paper.grobid_version,
    )
    return row, paper


def _paper(found: Any) -> Paper | None:
    if not isinstance(found, dict):
        return None
    try:
        return msgspec.convert(found, prepared(Paper))
    except msgspec.ValidationError:
        return None


def _cells(row: BibliographyRow, paper: Paper, asked: str | None) -> dict[str, bytes]:
    """The full text lies in the blobs, so both JSONs are the same. Where GROBID was asked and failed, the
    status is its."""
    whole = to_json(paper)
    cells = {
        **paper_cells(whole, whole)[0],
        GROBID_QUALITY: (row.quality or "").encode(),
    }
    if asked is None:
        told = {"status": row.status, "extractor": row.extractor}
        cells[GROBID_STATUS] = msgspec.json.encode(told)
    return cells
