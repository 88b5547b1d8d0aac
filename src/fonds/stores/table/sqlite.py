"""The wide-row table in one SQLite file: a row of SQL for each cell, and an index of keys and columns.

The index lies apart from the values: clustered by key (`WITHOUT ROWID`), SQLite would read a large cell
whole to learn that it is not the one looked for.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from fonds.model.errors import ConfigurationError
from fonds.stores.sqlite_file import FileLayout, SqliteFile
from fonds.stores.table.rows import (
    ColumnSelection,
    check_cells,
    check_conditions,
    check_families,
    check_key,
    find_prefix_end,
    reject_extra_families,
    select_columns,
)

_AFTER_COLON = ";"

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
    """Implements the port Table. SQLite compares blobs byte by byte, which is the order HBase has."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigurationError when the file cannot be opened or is no table store."""
        self._file = SqliteFile(path, _LAYOUT)

    def declare(
        self, table: str, families: Sequence[str], *, compressions: Mapping[str, str] | None = None
    ) -> None:
        """Make the table exist, with families that are new to it. Raises ConfigurationError for fewer
        families than it has, or none."""
        wanted = sorted(set(families))
        if not wanted or any(not family or ":" in family for family in wanted):
            raise ConfigurationError(
                f"table {table!r}: families are names without a colon, not {families!r}"
            )
        if self._file.read_only:
            with self._file.read_connection() as connection:
                _, found = _find_table(connection, table)
            reject_extra_families(table, found, wanted)
            return
        with self._file.write_transaction() as connection:
            connection.execute(
                "INSERT INTO tables (name, families) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (table, json.dumps(wanted)),
            )
            number, found = _find_table(connection, table)
            reject_extra_families(table, found, wanted)
            if found != set(wanted):
                changed = (json.dumps(wanted), number)
                connection.execute("UPDATE tables SET families = ? WHERE number = ?", changed)

    def list_tables(self) -> dict[str, frozenset[str]]:
        """The tables in this file."""
        with self._file.read_connection() as connection:
            rows = connection.execute("SELECT name, families FROM tables ORDER BY name").fetchall()
        return {name: frozenset(json.loads(families)) for name, families in rows}

    def put(
        self,
        table: str,
        rows: Sequence[tuple[bytes, Mapping[str, bytes]]],
        *,
        where_equal: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """All rows or none. Raises ValueError for a key that is empty or longer than HBase takes."""
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
                    "UPDATE cells SET value = ? WHERE number = ? AND key = ? AND name = ? AND value = ?",
                    [
                        (value, one, key, column, where_equal[key])
                        for one, key, column, value in cells
                    ],
                )

    def get(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist; keys may repeat."""
        with self._file.read_connection() as connection:
            number, families = _find_table(connection, table)
            named, names = _build_columns_condition(select_columns(table, families, columns))
            asked = f"SELECT name, value FROM cells WHERE number = ? AND key = ?{named}"  # noqa: S608
            rows = {
                key: connection.execute(asked, (number, key, *names)).fetchall() for key in keys
            }
        return {key: dict(cells) for key, cells in rows.items() if cells}

    def scan(
        self,
        table: str,
        prefix: bytes = b"",
        *,
        after: bytes | None = None,
        count_max: int = 1000,
        columns: Sequence[str] | None = None,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Rows are read until `count_max` are whole; the rest of the table is not touched."""
        end = find_prefix_end(prefix)
        # The next key after any key is that key and a zero byte.
        start = prefix if after is None else max(prefix, after + b"\x00")
        found: list[tuple[bytes, dict[str, bytes]]] = []
        with self._file.read_connection() as connection:
            number, families = _find_table(connection, table)
            picked = select_columns(table, families, columns)
            cells = connection.execute(*_build_scan(number, picked, start, end))
            rows = _iter_rows(cells)
            while len(found) < count_max and (row := next(rows, None)) is not None:
                found.append(row)
            cells.close()
        return found

    def delete(
        self, table: str, keys: Sequence[bytes], columns: Sequence[str] | None = None
    ) -> None:
        """Remove whole rows or cells, all or none."""
        with self._file.write_transaction() as connection:
            number, families = _find_table(connection, table)
            named = "" if columns is None else " AND name = ?"
            names = (
                [()]
                if columns is None
                else [(one,) for one in check_cells(table, families, columns)]
            )
            connection.executemany(
                f"DELETE FROM cells WHERE number = ? AND key = ?{named}",  # noqa: S608 (ours)
                [(number, key, *name) for key in keys for name in names],
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _find_table(connection: sqlite3.Connection, table: str) -> tuple[int, set[str]]:
    row = connection.execute(
        "SELECT number, families FROM tables WHERE name = ?", (table,)
    ).fetchone()
    if row is None:
        raise ConfigurationError(f"there is no table {table!r}; declare it first.")
    return row[0], set(json.loads(row[1]))


def _build_scan(
    number: int, columns: ColumnSelection | None, start: bytes, end: bytes | None
) -> tuple[str, Sequence[object]]:
    """The statement of a scan from one key to before another, and its values.

    Where columns are picked it steps from key to key in the index and reads these cells of each row alone: a
    row may have a million others, as a cluster has its documents.
    """
    bounds = () if end is None else (end,)
    if columns is None:
        bound = "" if end is None else " AND key < ?"
        whole = f"SELECT key, name, value FROM cells WHERE number = ? AND key >= ?{bound} ORDER BY key, name"  # noqa: S608
        return whole, (number, start, *bounds)
    within = "steps.key IS NOT NULL" if end is None else "steps.key < ?"
    named, names = _build_columns_condition(columns)
    picked = (
        "WITH RECURSIVE steps(key) AS ("  # noqa: S608 (conditions of ours)
        "SELECT min(key) FROM cells WHERE number = ? AND key >= ? UNION ALL"
        " SELECT (SELECT min(key) FROM cells WHERE number = ? AND key > steps.key)"
        f" FROM steps WHERE {within})"
        " SELECT cells.key, name, value FROM steps CROSS JOIN cells"
        f" ON cells.number = ? AND cells.key = steps.key WHERE {within}{named}"
    )
    return picked, (number, start, number, *bounds, number, *bounds, *names)


def _build_columns_condition(columns: ColumnSelection | None) -> tuple[str, list[str]]:
    """The condition that picks the columns, and its values. SQLite compares names byte by byte."""
    if columns is None:
        return "", []
    ways = ["name >= ? AND name < ?"] * len(columns.families)
    values = [bound for one in columns.families for bound in (f"{one}:", f"{one}{_AFTER_COLON}")]
    if columns.names or not ways:
        ways.append(f"name IN ({', '.join('?' * len(columns.names))})")
    return f" AND ({' OR '.join(ways)})", [*values, *columns.names]


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
