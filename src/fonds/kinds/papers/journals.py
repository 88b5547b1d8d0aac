"""The journal a paper appeared in, out of whatever read the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fonds.bibliography.paper import Journal
from fonds.kinds.papers.grobid import said
from fonds.model.prepared import prepared
from fonds.model.rows import BibliographyRow, GrobidRow, JatsRow
from fonds.model.rows.row import Row
from fonds.ports import Records

Reading = BibliographyRow | GrobidRow | JatsRow
_WORST_FIRST: tuple[type[Reading], ...] = (BibliographyRow, GrobidRow, JatsRow)


def journals(records: Records, sha1hexes: Sequence[str]) -> Mapping[str, Journal]:
    """Return the journal of each paper that states one, by SHA-1.

    What an article in JATS states counts most, then what GROBID read, then our own reading.
    """
    return _journals(row for kind in _WORST_FIRST for row in records.get(kind, sha1hexes))


def journal_of(rows: Iterable[Row | None]) -> Journal | None:
    """Return the journal that rows of one paper name, chosen as `journals` chooses."""
    readings = [row for row in rows if isinstance(row, Reading)]
    readings.sort(key=lambda row: _WORST_FIRST.index(type(row)))
    return next(iter(_journals(readings).values()), None)


def _journals(rows: Iterable[Reading]) -> dict[str, Journal]:
    found: dict[str, Journal] = {}
    for row in rows:
        try:
            found[row.sha1hex] = msgspec.convert(
                said(row.metadata).get("journal"), prepared(Journal)
            )
        except msgspec.ValidationError:
            continue
    return found
