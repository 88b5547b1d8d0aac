"""Write the cells of papers in the wide table, one column family at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.ports import Table


def put_family(
    table: Table, journal: str, rows: Sequence[tuple[bytes, Mapping[str, bytes]]]
) -> None:
    """Write cells of one column family, and delete the other cells of the family in these rows."""
    if not rows:
        return
    table.put(journal, rows)
    (family,) = {column.partition(":")[0] for _, cells in rows for column in cells}
    stored_rows = table.get(journal, [key for key, _ in rows], [f"{family}:"])
    for key, cells in rows:
        if stale_columns := sorted(stored_rows.get(key, {}).keys() - cells.keys()):
            table.delete(journal, [key], stale_columns)
