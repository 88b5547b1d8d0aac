"""Checksums of rows of collections, whose values no other row has.

They are cells of these rows. The sum over the curation of a collection, its themes and exclusions,
is a cell of the collection's row, so that a removed decision is noticed too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from fonds.grouping.columns import Column
from fonds.grouping.tables import (
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    CONFIGURATIONS,
    DOCUMENTS,
    Cells,
)
from fonds.model.checksums import format_checksum, hash_cells, parse_checksum

_NAME = (Column.NAMESPACE, Column.COLLECTION_KEY)
_CLUSTERING = (*_NAME, Column.CONF, Column.TIMESTAMP)
_GROUPS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    COLLECTIONS: (
        _NAME,
        (Column.QUERY, Column.TEMPLATE),
        (Column.TEMPLATE_OF,),
        (Column.MODIFIED,),
        (Column.CURATION,),
    ),
    CONFIGURATIONS: ((Column.NAMESPACE, Column.NAME, Column.CONFIGURATION),),
    DOCUMENTS: (
        (
            *_NAME,
            Column.ID,
            Column.TEXT,
            Column.TITLE,
            Column.URL,
            Column.LANGUAGE,
            Column.TIME,
            Column.SEQUENCE,
            Column.DOCUMENT_ID,
            Column.VECTOR_DENSE,
        ),
    ),
    CLUSTERINGS: (
        (
            *_CLUSTERING,
            Column.CONFIGURATION,
            Column.BEGUN,
            Column.ENDED,
            Column.LEVELS,
            Column.DOCUMENTS,
            Column.CLUSTERS,
            Column.OUTLIERS,
            Column.TERMS,
            Column.UNKNOWN,
            Column.EVENTS,
            Column.MODEL,
        ),
        (Column.LATER, Column.LATER_OUTLIERS, Column.LATER_TERMS, Column.LATER_UNKNOWN),
    ),
    CLUSTERS: (
        (
            *_CLUSTERING,
            Column.LABEL,
            Column.ID,
            Column.LEVEL,
            Column.TERMS,
            Column.PARENT,
            Column.PARENT_LEVEL,
            Column.X,
            Column.Y,
        ),
    ),
}
"""Columns that the checksum of a row covers, by table. Columns of a group are written together.

The checksum is the sum of a hash of each group. Other columns are compared with other rows, or hold
the progress of work.
"""
COVERED: Mapping[str, frozenset[str]] = {
    table: frozenset(chain(*groups)) for table, groups in _GROUPS.items()
}
"""Columns that the checksum of a row covers, by table."""


def build_checksum_cell(table: str, row: bytes, cells: Cells) -> dict[str, bytes]:
    """Return the cell with the checksum of a row.

    `cells`: all covered cells of the row. Other cells are ignored.
    """
    return {Column.CHECKSUM: format_checksum(_sum_groups(row, cells, _GROUPS[table]))}


def build_changed_checksum_cell(
    table: str, row: bytes, cells_before: Cells, changed_cells: Cells
) -> dict[str, bytes]:
    """Return the cell with the checksum of a row after some of its cells are replaced.

    Return an empty dict if no covered cell is replaced. A wrong checksum stays wrong, so that a
    change by another program is still noticed. A missing one stays missing.
    `cells_before`: former cells, with the former values of all changed cells; empty for a new row.
    `changed_cells`: cells that replace them. They include all columns of their groups.
    """
    groups = [group for group in _GROUPS[table] if group[0] in changed_cells]
    if not groups:
        return {}
    if not cells_before:
        return build_checksum_cell(table, row, changed_cells)
    if Column.CHECKSUM not in cells_before:
        return {}
    total = parse_checksum(cells_before[Column.CHECKSUM])
    total += _sum_groups(row, changed_cells, groups) - _sum_groups(row, cells_before, groups)
    return {Column.CHECKSUM: format_checksum(total)}


def has_valid_checksum(table: str, row: bytes, cells: Cells) -> bool:
    """Return whether the checksum of a row agrees with its cells.

    `cells`: cells of the row, at least the checksum and all covered ones.
    """
    return build_checksum_cell(table, row, cells)[Column.CHECKSUM] == cells.get(Column.CHECKSUM)


def sum_rows(rows: Iterable[tuple[bytes, Cells]]) -> int:
    """Return the sum of the hashes of some rows. Rows without cells count as missing."""
    return sum(hash_cells(row, cells) for row, cells in rows if cells)


def _sum_groups(row: bytes, cells: Cells, groups: Iterable[tuple[str, ...]]) -> int:
    """Return the sum of the hashes of groups of cells. Groups without cells count nothing."""
    total = 0
    for group in groups:
        group_cells = {name: cells[name] for name in group if name in cells}
        if group_cells:
            total += hash_cells(row, group_cells)
    return total
