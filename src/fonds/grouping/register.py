"""Register of collections and configurations, by which the audit notices that one was removed.

It is a table with a row for each. The row of a collection is written before the collection's own
row, in the same logged change, and removed after the collection is marked as removed. The row of a
configuration is written after the configuration, and removed before it. So after a kill, too, each
row of the register has its collection or configuration, or a logged change that creates it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import parse_collection_row
from fonds.grouping.tables import (
    CHANGES,
    COLLECTIONS,
    CONFIGURATIONS,
    REGISTER,
    Tables,
    decode_text,
    encode_utf8,
)

REGISTERED = (COLLECTIONS, CONFIGURATIONS)
"""Tables whose rows are in the register."""


@dataclass(frozen=True, slots=True)
class RegisterFault:
    """Row of the register without its collection or configuration, or with a wrong name.

    `table`: table of the missing row. `name`: name of the collection, or NAMESPACE/CONFIGURATION.
    `row`: row key in that table.
    """

    table: str
    name: CollectionName
    row: bytes
    message: str


def build_register_row(table: str, row: bytes) -> bytes:
    """Return the key of the row that registers a row of another table."""
    return table.encode() + b"\0" + row


def build_register_cells(name: CollectionName) -> dict[str, bytes]:
    """Return the cells that register a collection, or a configuration as NAMESPACE/NAME."""
    return {Column.NAME: encode_utf8(name)}


def is_registered(tables: Tables, table: str, row: bytes) -> bool:
    """Return whether a row of another table is in the register."""
    return tables.get_row(REGISTER, build_register_row(table, row), [Column.NAME]) is not None


def iter_register_faults(tables: Tables) -> Iterator[RegisterFault]:
    """Iterate over rows of the register that have no collection or configuration."""
    for table in REGISTERED:
        prefix = build_register_row(table, b"")
        noun = "collection" if table == COLLECTIONS else "configuration"
        for page in tables.iter_pages(REGISTER, prefix, [Column.NAME]):
            rows = {row.removeprefix(prefix): cells for row, cells in page}
            existing_rows = tables.get_rows(table, list(rows), [MAIN_FAMILY])
            for row, cells in rows.items():
                name = CollectionName(*parse_collection_row(row))
                if row not in existing_rows and _is_missing(tables, table, row):
                    message = f"the {noun} {name} was removed by another program"
                elif decode_text(cells, Column.NAME) != str(name):
                    message = f"the {noun} {name} has another name in the register"
                else:
                    continue
                yield RegisterFault(table, name, row, message)


def _is_missing(tables: Tables, table: str, row: bytes) -> bool:
    """Return whether a registered row is missing, and no process is creating or removing it.

    A logged change may create a collection, even if the process that logged it is dead.
    """
    if table == COLLECTIONS and tables.get_page(CHANGES, row, [Column.REDO], count_max=1):
        return False
    is_present = tables.get_row(table, row, [MAIN_FAMILY]) is not None
    return not is_present and is_registered(tables, table, row)
