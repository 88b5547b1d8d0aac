"""The wide-row table in one SQLite file: a row of SQL for each cell, clustered by key and column."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from fonds.model.errors import ConfigurationError
from fonds.sqlite_file import Layout, SqliteFile
from fonds.stores.table.rows import check_families, check_key, end_of_prefix

"""HBase's limit; kept here so that every row can move there."""

_SCAN = "SELECT key, name, value FROM cells WHERE number = ? AND key >= ?"
_SCAN_TO_THE_END = f"{_SCAN} ORDER BY key, name"
_SCAN_UP_TO = f"{_SCAN} AND key < ? ORDER BY key, name"

_LAYOUT = Layout(
    noun="table store",
    application_id=0x466F5462,
    version=1,
    schema="""
CREATE TABLE tables (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, families TEXT NOT NULL);
CREATE TABLE cells (
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (number, key, name)
) WITHOUT ROWID
""",
)


class SqliteTable:
    """Implements the port Table. SQLite compares blobs byte by byte, which is the order HBase has."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigurationError when the file cannot be opened or is no table store."""
        self._file = SqliteFile(path, _LAYOUT)

    def declare(self, table: str, families: Sequence[str]) -> None:
        """Make the table exist. Raises ConfigurationError for other families than it has, or none."""
        wanted = sorted(set(families))
        if not wanted or any(not family or ":" in family for family in wanted):
            raise ConfigurationError(
                f"table {table!r}: families are names without a colon, not {families!r}"
            )
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO tables (name, families) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (table, json.dumps(wanted)),
            )
            _, found = _declared(connection, table)
        if found != set(wanted):
            raise ConfigurationError(
                f"table {table!r} has the families {sorted(found)}, not {wanted}; use another table name."
            )

    def put(self, table: str, rows: Sequence[tuple[bytes, Mapping[str, bytes]]]) -> None:
        """All rows or none. Raises ValueError for a key that is empty or longer than HBase takes."""
        if not rows:
            return
        with self._file.writing() as connection:
            number, families = _declared(connection, table)
            connection.executemany(
                "INSERT INTO cells (number, key, name, value) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (number, key, name) DO UPDATE SET value = excluded.value",
                _cells(table, number, families, rows),
            )

    def get(self, table: str, keys: Sequence[bytes]) -> dict[bytes, dict[str, bytes]]:
        """The rows that exist; keys may repeat."""
        with self._file.reading() as connection:
            number, _ = _declared(connection, table)
            rows = {
                key: connection.execute(
                    "SELECT name, value FROM cells WHERE number = ? AND key = ?", (number, key)
                ).fetchall()
                for key in keys
            }
        return {key: dict(cells) for key, cells in rows.items() if cells}

    def scan(
        self, table: str, prefix: bytes = b"", *, after: bytes | None = None, count_max: int = 1000
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Rows are read until `count_max` are whole; the rest of the table is not touched."""
        end = end_of_prefix(prefix)
        # The next key after any key is that key and a zero byte.
        start = prefix if after is None else max(prefix, after + b"\x00")
        found: list[tuple[bytes, dict[str, bytes]]] = []
        with self._file.reading() as connection:
            number, _ = _declared(connection, table)
            if end is None:
                cells = connection.execute(_SCAN_TO_THE_END, (number, start))
            else:
                cells = connection.execute(_SCAN_UP_TO, (number, start, end))
            rows = _rows(cells)
            while len(found) < count_max and (row := next(rows, None)) is not None:
                found.append(row)
            cells.close()
        return found

    def delete(self, table: str, keys: Sequence[bytes]) -> None:
        """Remove whole rows, all or none."""
        with self._file.writing() as connection:
            number, _ = _declared(connection, table)
            connection.executemany(
                "DELETE FROM cells WHERE number = ? AND key = ?", [(number, key) for key in keys]
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _declared(connection: sqlite3.Connection, table: str) -> tuple[int, set[str]]:
    row = connection.execute(
        "SELECT number, families FROM tables WHERE name = ?", (table,)
    ).fetchone()
    if row is None:
        raise ConfigurationError(f"there is no table {table!r}; declare it first.")
    return row[0], set(json.loads(row[1]))


def _cells(
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


def _rows(
    cells: Iterator[tuple[bytes, str, bytes]],
) -> Iterator[tuple[bytes, dict[str, bytes]]]:
    for key, group in groupby(cells, key=itemgetter(0)):
        yield key, {name: value for _, name, value in group}
