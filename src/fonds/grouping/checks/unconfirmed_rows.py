"""Rows of collections whose values nothing else confirms: their checks, and their acceptance.

These are documents, rules, configurations, and the decisions of curators. Fonds cannot restore
them. A person who has checked changed rows accepts them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fonds.grouping.changes.writer import CollectionWriter, LeasedCollection, clear_collection
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.checksums import COVERED, build_checksum_cell, has_valid_checksum, sum_rows
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName
from fonds.grouping.register import (
    build_register_cells,
    build_register_row,
    is_registered,
    iter_register_faults,
)
from fonds.grouping.stored.keys import parse_collection_row
from fonds.grouping.tables import (
    COLLECTIONS,
    CONFIGURATIONS,
    DOCUMENTS,
    EXCLUSIONS,
    REGISTER,
    THEMES,
    Cells,
    Tables,
    is_collection_row,
    iter_collection_rows,
)
from fonds.model.checksums import format_checksum, parse_checksum

BATCH_SIZE = 200
NAMED_MAX = 3
"""Maximum number of changed documents that a message names."""


def check_head(tables: Tables, name: CollectionName, cells: Cells) -> Iterator[Damage]:
    """Check the row of a collection, and the decisions of its curators.

    `cells`: cells of the collection's row.
    """
    if not has_valid_checksum(COLLECTIONS, name.row, cells):
        yield Damage(Remedy.ACCEPT, "its rule, name or times were changed by another program")
    if _sum_curation(tables, name) != parse_checksum(cells.get(Column.CURATION)):
        message = "its exclusions, or names and pins of its themes, were changed by another program"
        yield Damage(Remedy.ACCEPT, message)
    if not is_registered(tables, COLLECTIONS, name.row):
        yield Damage(Remedy.ACCEPT, "it is not in the register of collections")


def build_document_damage(ids: Sequence[str]) -> Damage:
    """Return the damage of documents whose checksums do not agree with their cells."""
    names = ", ".join(ids[:NAMED_MAX]) + (", …" if len(ids) > NAMED_MAX else "")
    return Damage(Remedy.ACCEPT, f"{len(ids):,} documents were changed by another program: {names}")


def iter_namespace_faults(tables: Tables) -> Iterator[tuple[str, str]]:
    """Iterate over removed collections, and over changed and removed configurations.

    Each item is the name, NAMESPACE/NAME, and a message.
    """
    if not tables.is_complete():
        return
    for fault in iter_register_faults(tables):
        yield str(fault.name), fault.message
    for row, _ in _iter_changed_configurations(tables):
        name = CollectionName(*parse_collection_row(row))
        yield str(name), f"the configuration {name} was changed by another program"


def accept_rows(writer: CollectionWriter) -> int:
    """Accept the rows of all collections and configurations as they are now. Return how many
    were changed.

    What remains of a removed collection is removed too.
    Raises LeaseConflictError if another process changes a collection for too long.
    """
    count, tables = 0, writer.tables
    for fault in list(iter_register_faults(tables)):
        count += 1
        if fault.table == COLLECTIONS:
            with writer.lease(fault.name, long=True) as collection:
                if not is_collection_row(collection.cells):
                    clear_collection(tables, fault.name)
                    continue
        register_row = build_register_row(fault.table, fault.row)
        if tables.get_row(fault.table, fault.row, [MAIN_FAMILY]) is None:
            tables.delete(REGISTER, [register_row])
        else:
            tables.put(REGISTER, [(register_row, build_register_cells(fault.name))])
    changed_rows = list(_iter_changed_configurations(tables))
    tables.put(
        CONFIGURATIONS,
        [(row, build_checksum_cell(CONFIGURATIONS, row, cells)) for row, cells in changed_rows],
    )
    count += len(changed_rows)
    for name, _ in iter_collection_rows(tables):
        with writer.lease(name, long=True) as collection:
            if is_collection_row(collection.cells):
                count += _accept_documents(writer, collection) + _accept_head(writer, collection)
    return count


def _accept_documents(writer: CollectionWriter, collection: LeasedCollection) -> int:
    count, tables = 0, writer.tables
    columns = [*sorted(COVERED[DOCUMENTS]), Column.CHECKSUM]
    for page in tables.iter_pages(DOCUMENTS, collection.name.row, columns, page_rows=BATCH_SIZE):
        puts = [
            (row, build_checksum_cell(DOCUMENTS, row, cells))
            for row, cells in page
            if not has_valid_checksum(DOCUMENTS, row, cells)
        ]
        writer.leases.check(collection.lease)
        tables.put(DOCUMENTS, puts)
        count += len(puts)
    return count


def _accept_head(writer: CollectionWriter, collection: LeasedCollection) -> int:
    tables, name = writer.tables, collection.name
    if not any(check_head(tables, name, collection.cells)):
        return 0
    curation_cell = {Column.CURATION: format_checksum(_sum_curation(tables, name))}
    checksum_cell = build_checksum_cell(
        COLLECTIONS, name.row, {**collection.cells, **curation_cell}
    )
    writer.leases.check(collection.lease)
    register_row = build_register_row(COLLECTIONS, name.row)
    tables.put(REGISTER, [(register_row, build_register_cells(name))])
    tables.put(COLLECTIONS, [(name.row, curation_cell | checksum_cell)])
    return 1


def _sum_curation(tables: Tables, name: CollectionName) -> int:
    total = sum(
        sum_rows(tables.iter_rows(table, name.row, [MAIN_FAMILY])) for table in (EXCLUSIONS, THEMES)
    )
    return parse_checksum(format_checksum(total))


def _iter_changed_configurations(tables: Tables) -> Iterator[tuple[bytes, Cells]]:
    for row, cells in tables.iter_rows(CONFIGURATIONS, b"", [MAIN_FAMILY]):
        if not has_valid_checksum(CONFIGURATIONS, row, cells):
            yield row, cells
