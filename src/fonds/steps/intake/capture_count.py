"""How often a body was met, noted where crawlers look: `c` in `f:c` of its file."""

from __future__ import annotations

from collections.abc import Sequence

from fonds.formats.journal import F_C, recounted, row_key
from fonds.model.rows import CdxRow
from fonds.ports import Records, Table


def note_capture_counts(
    table: Table, records: Records, journal: str, sha1hexes: Sequence[str]
) -> None:
    """Count the captures of these files, revisits too, as `cdx` has them; the same however often it is done.

    Of two who note captures of one file at the same moment the count of either may stay, until the file is
    met again.
    """
    wanted = sorted(set(sha1hexes))
    if not wanted:
        return
    there = table.get(journal, [row_key(one) for one in wanted], [F_C])
    if not there:
        return
    counts = records.count(CdxRow, ("sha1hex",), {"sha1hex": [key.hex() for key in there]})
    cells = [
        (key, {F_C: after})
        for key, row in there.items()
        if (after := recounted(row[F_C], counts.get((key.hex(),), 1))) != row[F_C]
    ]
    table.put(journal, cells)
