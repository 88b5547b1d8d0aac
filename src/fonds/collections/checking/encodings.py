"""Vectors that encoders made, against the texts in whose rows they are kept."""

from __future__ import annotations

from collections.abc import Sequence

from fonds.collections.changing.encoding import holds
from fonds.collections.changing.writing import Changes
from fonds.collections.documents import ENCODED
from fonds.collections.names import Name
from fonds.collections.tables import DOCUMENTS, Cells, text

AT_ONCE = 200
TOLD = "keep a vector an encoder made of another text, or a damaged one"


def wrong(cells: Cells) -> list[str]:
    """The columns of a document's row whose vector is not of its text, or is damaged."""
    said = text(cells, "main:text")
    return [column for column in ENCODED if cells.get(column) and not holds(cells[column], said)]


def forget_wrong(changes: Changes, name: Name) -> int:
    """Remove those of a collection; in how many documents there were any."""
    count, tables = 0, changes.tables
    for page in tables.pages(
        DOCUMENTS, name.row, ["main:id", "main:text", *ENCODED], page_rows=AT_ONCE
    ):
        suspects = [row for row, cells in page if wrong(cells)]
        if suspects:
            count += _forget(changes, name, suspects)
    return count


def _forget(changes: Changes, name: Name, rows: Sequence[bytes]) -> int:
    """Looked at once more while nobody else may change them."""
    tables = changes.tables
    with changes.held(name) as held:
        there = tables.rows(DOCUMENTS, rows, ["main:text", *ENCODED])
        found = {row: columns for row, cells in there.items() if (columns := wrong(cells))}
        changes.claims.check(held.claim)
        for row, columns in found.items():
            tables.delete(DOCUMENTS, [row], columns)
    return len(found)
