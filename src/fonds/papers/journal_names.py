"""The journal a paper appeared in, out of whatever read the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fonds.derivatives.grobid import parse_metadata
from fonds.model.encoding import prepare_type
from fonds.model.rows import BibliographyRow, GrobidRow, JatsRow
from fonds.model.rows.row import Row
from fonds.papers.bibliography.paper import Journal
from fonds.ports import Records

Reading = BibliographyRow | GrobidRow | JatsRow
_WORST_FIRST: tuple[type[Reading], ...] = (BibliographyRow, GrobidRow, JatsRow)


def find_journals(records: Records, sha1hexes: Sequence[str]) -> Mapping[str, Journal]:
    """Return the journal of each paper that states one, by SHA-1.

    What an article in JATS states counts most, then what GROBID read, then our own reading.
    """
    return _collect_journals(row for kind in _WORST_FIRST for row in records.get(kind, sha1hexes))


def choose_journal(rows: Iterable[Row | None]) -> Journal | None:
    """Return the journal that rows of one paper name, chosen as `find_journals` chooses."""
    readings = [row for row in rows if isinstance(row, Reading)]
    readings.sort(key=lambda row: _WORST_FIRST.index(type(row)))
    return next(iter(_collect_journals(readings).values()), None)


def _collect_journals(rows: Iterable[Reading]) -> dict[str, Journal]:
    found: dict[str, Journal] = {}
    for row in rows:
        try:
            found[row.sha1hex] = msgspec.convert(
                parse_metadata(row.metadata).get("journal"), prepare_type(Journal)
            )
        except msgspec.ValidationError:
            continue
    return found
