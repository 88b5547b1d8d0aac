"""Pipeline step persist_bibliography: store the bibliography that Fonds read from each PDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fonds.derivatives.bibliography import NOT_READ, NOTHING_FOUND_STATUS, SUCCESS
from fonds.derivatives.fixity import build_cells_fixity, build_row_fixity
from fonds.model.bibliography import Paper
from fonds.model.encoding import prepare_type
from fonds.model.paper import GrobidStatus, UnmatchedPaper
from fonds.model.pdf import PdfText, StatusClass
from fonds.model.rows import BibliographyRow, GrobidRow
from fonds.model.step import Output, Result
from fonds.papers.bibliography.paper import VERSION, assess_quality, encode_paper, summarize_paper
from fonds.papers.paper_cells import put_family
from fonds.ports import Records, Table
from fonds.stores.journal_table.cells import (
    GROBID_METADATA,
    GROBID_QUALITY,
    GROBID_STATUS,
    GROBID_TEI_JSON,
    build_bibliography_cells,
)
from fonds.stores.journal_table.keys import build_row_key

EMITS = (Output(UnmatchedPaper),)
_WEIGHTS = {SUCCESS: 2, NOTHING_FOUND_STATUS: 1, NOT_READ: 0}


@dataclass(frozen=True, slots=True)
class PersistBibliographyStep:
    """Step that stores bibliographies which Fonds read from the text of PDFs.

    Cells of the wide-row table are written before SQL rows. Bibliographies read by Fonds are stored
    in the column family `bib0`, those read by GROBID in `grobid0`.

    - `table`: store with the wide-row tables.
    - `journal`: name of the wide-row table of files.
    - `clock`: function that returns the current time in UTC.
    """

    table: Table
    records: Records
    journal: str
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[PdfText]) -> list[Result]:
        """Store the bibliography of each PDF. Storing the same PDF again changes nothing.

        A bibliography is not stored if its status is lower than that of the stored one: the order
        is success, nothing found, not read. For each stored paper, a message to match it is
        emitted, unless GROBID has read the paper successfully.
        """
        now = self.clock()
        keys = [item.sha1hex for item in items]
        weights = {
            row.sha1hex: _WEIGHTS.get(row.status, 0)
            for row in self.records.get(BibliographyRow, keys)
        }
        stored_papers: dict[str, tuple[BibliographyRow, Paper | None]] = {}
        for item in items:
            row, paper = _build_row(item, now)
            if _WEIGHTS[row.status] >= weights.get(item.sha1hex, 0):
                weights[item.sha1hex] = _WEIGHTS[row.status]
                stored_papers[item.sha1hex] = row, paper
        grobid_statuses = {
            row.sha1hex: row.status for row in self.records.get(GrobidRow, list(stored_papers))
        }
        cells = {
            row.sha1hex: _build_cells(row, paper)
            for row, paper in stored_papers.values()
            if paper is not None
        }
        remove_own_reading_from_grobid0(self.table, self.journal, list(map(build_row_key, cells)))
        put_family(
            self.table, self.journal, [(build_row_key(key), value) for key, value in cells.items()]
        )
        rows = [row for row, _ in stored_papers.values()]
        parts = [build_cells_fixity(key, value) for key, value in cells.items()]
        self.records.put([*rows, *map(build_row_fixity, rows), *parts])
        unmatched_sha1hexes = {
            key
            for key, (_, paper) in stored_papers.items()
            if paper is not None and grobid_statuses.get(key) != GrobidStatus.SUCCESS
        }
        return [
            Result(
                items=(UnmatchedPaper(item.sha1hex),) if item.sha1hex in unmatched_sha1hexes else ()
            )
            for item in items
        ]


def _build_row(item: PdfText, now: datetime) -> tuple[BibliographyRow, Paper | None]:
    paper = item.pdf_extra.bibliography if item.pdf_extra else None
    if item.status.status_class is not StatusClass.OK or paper is None:
        return BibliographyRow(
            item.sha1hex, now, NOT_READ, None, None, None, None, 0, None, VERSION
        ), None
    status = SUCCESS if paper.title or paper.citations else NOTHING_FOUND_STATUS
    row = BibliographyRow(
        sha1hex=item.sha1hex,
        updated=now,
        status=status,
        quality=str(assess_quality(paper)),
        title=paper.title,
        doi=paper.doi,
        arxiv_id=paper.arxiv_id,
        reference_count=len(paper.citations),
        metadata=summarize_paper(paper),
        extractor=paper.grobid_version,
    )
    return row, paper


def _build_cells(row: BibliographyRow, paper: Paper) -> dict[str, bytes]:
    """Build the `bib0` cells of a paper: full JSON, JSON of the metadata, quality and status.

    The full text is stored as a blob, not in the cells. Both JSON cells are therefore equal.
    """
    encoded_paper = encode_paper(paper)
    status = {"status": row.status, "extractor": row.extractor}
    return build_bibliography_cells(encoded_paper, encoded_paper, row.quality or "", status)


def remove_own_reading_from_grobid0(table: Table, journal: str, keys: Sequence[bytes]) -> None:
    """Delete the `grobid0` cells of these row keys that contain bibliographies read by Fonds.

    Versions of Fonds without the column family `bib0` stored such bibliographies in `grobid0`.
    Cells that GROBID or another program wrote are kept.
    """
    columns = (GROBID_METADATA, GROBID_STATUS)
    rows = table.get(journal, keys, columns) if keys else {}
    reading = [key for key, cells in rows.items() if _is_ours(cells, GROBID_METADATA)]
    status = [key for key, cells in rows.items() if _is_ours(cells, GROBID_STATUS)]
    if reading:
        table.delete(journal, reading, [GROBID_METADATA, GROBID_TEI_JSON, GROBID_QUALITY])
    if status:
        table.delete(journal, status, [GROBID_STATUS])


class _PaperOrigin(msgspec.Struct):
    """Fields of a `grobid0` cell that name the extractor.

    The JSON of a paper uses `grobid_version`, the JSON of a status uses `extractor`.
    """

    grobid_version: str = ""
    extractor: str = ""


def _is_ours(cells: Mapping[str, bytes], column: str) -> bool:
    try:
        origin = msgspec.json.decode(cells.get(column, b"{}"), type=prepare_type(_PaperOrigin))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    program = VERSION.partition("/")[0] + "/"
    return origin.grobid_version.startswith(program) or origin.extractor.startswith(program)
