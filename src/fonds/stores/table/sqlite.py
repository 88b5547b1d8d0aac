"""Wide-row table in one SQLite file: an SQL row per cell, and an index of keys and columns.

The index is separate from the values. In a table clustered by key (`WITHOUT ROWID`), SQLite would
read a large cell completely just to skip it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from fonds.model.errors import ConfigurationError, DamagedRowError
from fonds.ports.scan import iter_chunks
from fonds.stores.sqlite_file import FileLayout, SqliteFile
from fonds.stores.table.rows import (
    ColumnSelection,
    check_conditions,
    check_families,
    check_key,
    find_prefix_end,
    reject_extra_families,
    select_cells,
    select_columns,
)

_AFTER_COLON = ";"
_VALUE = "CAST(value AS BLOB)"
_CELL = f"CAST(name AS TEXT), {_VALUE}"
"""SQL of the name and value of a cell. Another program may have stored a text or a number instead
of bytes: SQLite allows any type in any column. Fonds then reads the bytes of its text, so that the
audit compares them like other bytes.
"""

_LAYOUT = FileLayout(
    noun="table store",
    application_id=0x466F5462,
    version=2,
    schema="""
CREATE TABLE tables (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, families TEXT NOT NULL);
CREATE TABLE cells (
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (number, key, name)
)
""",
)


class SqliteTable:
    """Wide-row table in a SQLite file.

    Implements the interface Table (`ports/stores.py`). SQLite compares keys byte by byte, in the
    same order as HBase.
    """

    def __init__(self, path: Path) -> None:
        """Open the SQLite file, creating it if missing. Raises ConfigurationError if it cannot be
        opened or is not a table store.
        """
        self._file = SqliteFile(path, _LAYOUT)

    def declare(
        self, table: str, families: Sequence[str], *, compressions: Mapping[str, str] | None = None
    ) -> None:
        """Create the table with these column families, or add missing families to it.

        Raises ConfigurationError if `families` is empty, a name is invalid, or the table has
        families that are not in `families`. In a read-only file nothing is created.
        """
        declared_families = sorted(set(families))
        if not declared_families or any(
            not family or ":" in family for family in declared_families
        ):
            raise ConfigurationError(
                f"Table {table!r} needs families whose names are not empty and have no colon,"
                f" not {families!r}"
            )
        if self._file.read_only:
            with self._file.read_connection() as connection:
                _, existing = _find_table(connection, table)
            reject_extra_families(table, existing, declared_families)
            return
        with self._file.write_transaction() as connection:
            connection.execute(
                "INSERT INTO tables (name, families) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (table, json.dumps(declared_families)),
            )
            number, existing = _find_table(connection, table)
            reject_extra_families(table, existing, declared_families)
            if existing != set(declared_families):
                parameters = (json.dumps(declared_families), number)
                connection.execute("UPDATE tables SET families = ? WHERE number = ?", parameters)

    def list_tables(self) -> dict[str, frozenset[str]]:
        """Return the column families of all tables in the file, by table name."""
        with self._file.read_connection() as connection:
            rows = connection.execute("SELECT name, families FROM tables ORDER BY name").fetchall()
        return {name: frozenset(_decode_families(name, families)) for name, families in rows}

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Write the cells of all rows, or none. `where_equal` maps row keys to expected values: a
        cell is then written only if its stored value is equal.

        Raises ValueError for a key that is empty or too long for HBase.
        """
        check_conditions(where_equal)
        if not rows:
            return
        with self._file.write_transaction() as connection:
            number, families = _find_table(connection, table)
            cells = _iter_cells(table, number, families, rows)
            if where_equal is None:
                connection.executemany(
                    "INSERT INTO cells (number, key, name, value) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (number, key, name) DO UPDATE SET value = excluded.value",
                    cells,
                )
            else:
                connection.executemany(
                    f"UPDATE cells SET value = ? WHERE number = ? AND key = ? AND name = ? AND {_VALUE} = ?",  # noqa: S608
                    [
                        (value, table_number, key, column, where_equal[key])
                        for table_number, key, column, value in cells
                    ],
                )

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the cells of the existing rows of a table with these keys, by row key. `columns`
        limits the cells to columns or families.
        """
        with self._file.read_connection() as connection:
            number, families = _find_table(connection, table)
            condition, names = _build_columns_condition(select_columns(table, families, columns))
            rows: dict[bytes, dict[str, bytes]] = {key: {} for key in keys}
            for chunk in iter_chunks(iter(rows)):
                marks = ", ".join("?" * len(chunk))
                query = f"SELECT key, {_CELL} FROM cells WHERE number = ? AND key IN ({marks}){condition}"  # noqa: S608
                for key, name, value in connection.execute(query, (number, *chunk, *names)):
                    rows[key][name] = value
        return {key: cells for key, cells in rows.items() if cells}

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Return up to `count_max` rows of a table whose keys begin with `prefix` and sort after
        `after`, in key order. `columns` limits the cells to columns or families. Other rows are not
        read.
        """
        end = find_prefix_end(prefix)
        # The next possible key is the key and a zero byte.
        start = prefix if after is None else max(prefix, after + b"\x00")
        result: list[tuple[bytes, dict[str, bytes]]] = []
        with self._file.read_connection() as connection:
            number, families = _find_table(connection, table)
            selection = select_columns(table, families, columns)
            cells = connection.execute(*_build_scan(number, selection, start, end))
            rows = _iter_rows(cells)
            while len(result) < count_max and (row := next(rows, None)) is not None:
                result.append(row)
            cells.close()
        return result

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Delete whole rows of a table, or only their cells in `columns`. After an error nothing is
        deleted.
        """
        with self._file.write_transaction() as connection:
            number, families = _find_table(connection, table)
            condition = "" if columns is None else " AND name = ?"
            names = (
                [()]
                if columns is None
                else [
                    (name_to_delete,) for name_to_delete in select_cells(table, families, columns)
                ]
            )
            connection.executemany(
                f"DELETE FROM cells WHERE number = ? AND key = ?{condition}",  # noqa: S608 (ours)
                [(number, key, *name) for key in keys for name in names],
            )

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted cells from the SQLite file. Return what remains."""
        return self._file.purge()

    def close(self) -> None:
        """Close the SQLite file that contains the tables."""
        self._file.close()


def _find_table(connection: sqlite3.Connection, table: str) -> tuple[int, set[str]]:
    row = connection.execute(
        "SELECT number, families FROM tables WHERE name = ?", (table,)
    ).fetchone()
    if row is None:
        raise ConfigurationError(f"No table {table!r}; declare it first.")
    return row[0], _decode_families(table, row[1])


def _decode_families(table: str, families: Any) -> set[str]:
    try:
        return set(json.loads(families))
    except (ValueError, TypeError):
        raise DamagedRowError(
            f"The column families of the table {table} cannot be read: {families!r}. Another "
            "program or a broken disk changed them. Restore table.sqlite from a backup."
        ) from None


def _build_scan(
    number: int, columns: ColumnSelection | None, start: bytes, end: bytes | None
) -> tuple[str, Sequence[object]]:
    """Build the SQL query for rows with keys from `start` to before `end`, and its parameters.

    If only some columns are selected, the query steps through the keys in the index and reads only
    their cells. A row may have a million other cells, such as a row of a cluster with one cell per
    document.
    """
    bounds = () if end is None else (end,)
    if columns is None:
        bound = "" if end is None else " AND key < ?"
        query = f"SELECT key, {_CELL} FROM cells WHERE number = ? AND key >= ?{bound} ORDER BY key, name"  # noqa: S608
        return query, (number, start, *bounds)
    end_condition = "steps.key IS NOT NULL" if end is None else "steps.key < ?"
    condition, names = _build_columns_condition(columns)
    stepping_query = (
        "WITH RECURSIVE steps(key) AS ("  # noqa: S608 (conditions of ours)
        "SELECT min(key) FROM cells WHERE number = ? AND key >= ? UNION ALL"
        " SELECT (SELECT min(key) FROM cells WHERE number = ? AND key > steps.key)"
        f" FROM steps WHERE {end_condition})"
        f" SELECT cells.key, {_CELL} FROM steps CROSS JOIN cells"
        f" ON cells.number = ? AND cells.key = steps.key WHERE {end_condition}{condition}"
    )
    return stepping_query, (number, start, number, *bounds, number, *bounds, *names)


def _build_columns_condition(columns: ColumnSelection | None) -> tuple[str, list[str]]:
    """Return the SQL condition for cells of the selected columns and families, and its parameters.

    The condition is empty if all columns are selected. SQLite compares names byte by byte.
    """
    if columns is None:
        return "", []
    alternatives = ["name >= ? AND name < ?"] * len(columns.families)
    values = [
        bound for family in columns.families for bound in (f"{family}:", f"{family}{_AFTER_COLON}")
    ]
    if columns.names or not alternatives:
        alternatives.append(f"name IN ({', '.join('?' * len(columns.names))})")
    return f" AND ({' OR '.join(alternatives)})", [*values, *columns.names]


def _iter_cells(
    table: str,
    number: int,
    families: set[str],
    rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
) -> Iterator[tuple[int, bytes, str, bytes]]:
    for key, cells in rows:
        check_key(key)
        check_families(table, families, cells)
        for name, value in cells.items():
            yield number, key, name, value


def _iter_rows(
    cells: Iterator[tuple[bytes, str, bytes]],
) -> Iterator[tuple[bytes, dict[str, bytes]]]:
    for key, group in groupby(cells, key=itemgetter(0)):
        yield key, {name: value for _, name, value in sorted(group)}
