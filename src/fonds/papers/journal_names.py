"""Find the journal of a paper in its bibliography from JATS, GROBID or Fonds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fonds.model.bibliography import Journal
from fonds.model.rows import BibliographyRow, GrobidRow, JatsRow
from fonds.model.rows.row import Row
from fonds.ports import Records

Reading = BibliographyRow | GrobidRow | JatsRow
_WORST_FIRST: tuple[type[Reading], ...] = (BibliographyRow, GrobidRow, JatsRow)


def find_journals(records: Records, sha1hexes: Sequence[str]) -> Mapping[str, Journal]:
    """Return the journal of each paper whose bibliography names one, by SHA-1.

    The bibliography of a JATS article is preferred, then that of GROBID, then that of Fonds.
    """
    return _collect_journals(row for kind in _WORST_FIRST for row in records.get(kind, sha1hexes))


def choose_journal(rows: Iterable[Row | None]) -> Journal | None:
    """Return the journal that the rows of one paper name; None if they name none.

    The row of a JATS article is preferred, then that of GROBID, then that of Fonds.
    """
    readings = [row for row in rows if isinstance(row, Reading)]
    readings.sort(key=lambda row: _WORST_FIRST.index(type(row)))
    return next(iter(_collect_journals(readings).values()), None)


def _collect_journals(rows: Iterable[Reading]) -> dict[str, Journal]:
    return {
        row.sha1hex: row.metadata.head.journal
        for row in rows
        if row.metadata and row.metadata.head.journal
    }
