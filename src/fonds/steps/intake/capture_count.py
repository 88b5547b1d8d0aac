"""How often a body was met, noted where crawlers look: `c` in `f:c` of its file."""

from __future__ import annotations

from collections.abc import Sequence

from fonds.formats.journal import F_C, recounted, row_key
from fonds.model.rows import CdxRow
from fonds.ports import Records, Table

ROUNDS_MAX = 10
"""Others may write this often in between."""


def note_capture_counts(
    table: Table, records: Records, journal: str, sha1hexes: Sequence[str]
) -> None:
    """Count the captures of these files, revisits too, as `cdx` has them; the same however often it is done.

    A count is written only where the cell is as it was read: a place another writes meanwhile stays. Who
    wrote looks again: of several who note captures of one file at the same moment the last to write sees
    the rows of all others.
    """
    keys = [row_key(one) for one in sorted(set(sha1hexes))]
    for _ in range(ROUNDS_MAX):
        there = table.get(journal, keys, [F_C]) if keys else {}
        if not there:
            return
        counts = records.count(CdxRow, ("sha1hex",), {"sha1hex": [key.hex() for key in there]})
        counted = [
            (key, {F_C: after})
            for key, row in there.items()
            if (after := recounted(row[F_C], counts.get((key.hex(),), 1))) != row[F_C]
        ]
        if not counted:
            return
        table.put(journal, counted, before={key: there[key][F_C] for key, _ in counted})
        keys = [key for key, _ in counted]
