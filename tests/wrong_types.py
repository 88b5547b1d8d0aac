"""Alterations of a home that store a value of another type: a text for a number, bytes for a text.

SQLite stores any type in any column. There is one alteration per column of each table of each SQLite
file, and per column of each wide table.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from alterations import Alteration, connect, keep_file, list_tables, replace_ids, shorten

TEXT_TYPES = ("TEXT", "VARCHAR")
LENGTHS = (2, 14, 32, 40, 64)
"""Lengths that a constraint of a column may require."""
WRONG_TEXTS: Sequence[Any] = (*("{" * length for length in LENGTHS), 7)
WRONG_BYTES: Sequence[Any] = [b"\xff" * length for length in LENGTHS]


class RefusedError(Exception):
    """Error for a column in which SQLite stores no value of another type."""


def list_wrong_types(home: Path) -> list[Alteration]:
    """Return all alterations; structural ones last, because they need stores opened after them."""
    cells = [*_iter_cells(home / "table.sqlite")]
    files = (
        (home / "records.sqlite", "records", False),
        (home / "blobs" / "texts.sqlite", "texts", False),
        (home / "table.sqlite", "table", True),
        (home / "queue.sqlite", "queue", True),
    )
    columns = [
        alteration
        for path, store, is_structural in files
        for alteration in _iter_columns(path, store, is_structural)
    ]
    return sorted([*cells, *columns], key=lambda alteration: alteration.is_structural)


def _iter_columns(path: Path, store: str, is_structural: bool) -> Iterator[Alteration]:
    alter = _alter_closed_file if is_structural else _alter_column
    with connect(path) as connection:
        for table in list_tables(connection):
            info = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
            for _, column, declared_type, *_ in info:
                # The last text is one of a document. Others are compared with nothing.
                order = f'ORDER BY "{column}" IS NULL, 1 {"DESC" if store == "texts" else ""}'
                row = connection.execute(f'SELECT * FROM "{table}" {order} LIMIT 1').fetchone()
                if row is not None and not (declared_type == "INTEGER" and len(info) == 1):
                    names = [name for _, name, *_ in info]
                    yield Alteration(
                        f"{store} {table}.{column}",
                        partial(alter, path, table, column, names, row, declared_type),
                        is_structural,
                    )


@contextmanager
def _alter_column(
    path: Path,
    table: str,
    column: str,
    names: Sequence[str],
    row: Sequence[Any],
    declared_type: str,
) -> Iterator[None]:
    number = names.index(column)
    is_text = isinstance(row[number], str) or (row[number] is None and declared_type == "TEXT")
    values = WRONG_BYTES if is_text and declared_type in TEXT_TYPES else WRONG_TEXTS
    others = ([*row[:number], value, *row[number + 1 :]] for value in values)
    altered = next((other for other in others if _update(path, table, names, row, other)), None)
    if altered is None:
        raise RefusedError
    try:
        yield
    finally:
        assert _update(path, table, names, altered, row), (table, altered)


@contextmanager
def _alter_closed_file(path: Path, *column: Any) -> Iterator[None]:
    """Alter a column of a file that no program has open, and put the file back at the end."""
    with keep_file(path):
        with _alter_column(path, *column):
            copy = path.with_name(f"{path.name}.altered")
            shutil.copy2(path, copy)
        copy.replace(path)
        yield


def _update(
    path: Path, table: str, names: Sequence[str], row: Sequence[Any], other: Sequence[Any]
) -> bool:
    """Replace a row by another. Return whether SQLite allowed it."""
    columns = ", ".join(f'"{name}" = ?' for name in names)
    where = " AND ".join(f'"{name}" IS ?' for name in names)
    statement = f'UPDATE "{table}" SET {columns} WHERE {where}'
    try:
        with connect(path) as connection:
            return connection.execute(statement, (*other, *row)).rowcount == 1
    except sqlite3.IntegrityError:
        return False


def _iter_cells(path: Path) -> Iterator[Alteration]:
    with connect(path) as connection:
        for number, table in connection.execute("SELECT number, name FROM tables ORDER BY name"):
            query = "SELECT key, name, value FROM cells WHERE number = ? ORDER BY name, key"
            cells = {
                f"table {shorten(table)}.{replace_ids(name)}": (number, key, name, value)
                for key, name, value in connection.execute(query, (number,)).fetchall()
            }
            names = ("number", "key", "name", "value")
            for name, cell in cells.items():
                yield Alteration(
                    name, partial(_alter_column, path, "cells", "value", names, cell, "BLOB")
                )
