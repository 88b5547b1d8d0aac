"""Load rows of the SQL database by primary key, and insert or replace rows, inside a transaction of
the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Insert, Table

from fonds.model.rows import Row
from fonds.stores.records.row_statements import (
    Key,
    get_key_reader,
    get_value_reader,
    get_write_statement,
    load_rows,
)
from fonds.stores.records.tables import get_table

R = TypeVar("R", bound=Row)


def build_insert(dialect: str, table: Table) -> Any:
    """Return an INSERT statement of the dialect `sqlite` or `postgresql`, to which a rule for
    existing rows can be added.

    Only the dialect in use is imported: importing the second would take as long as all other
    imports.
    """
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def build_plain_insert(dialect: str, kind: type[Row]) -> Insert:
    """Return an SQL statement that inserts a row, whose key must not exist yet."""
    statement: Insert = build_insert(dialect, get_table(kind))
    return statement


def build_upsert(dialect: str, kind: type[Row]) -> Insert:
    """Return an SQL statement that inserts a row, or replaces the row with the same key."""
    statement = build_insert(dialect, get_table(kind))
    if all(column.name in kind.KEY for column in get_table(kind).columns):
        return build_insert_new(dialect, kind)
    changed_columns = {
        column.name: column for column in statement.excluded if column.name not in kind.KEY
    }
    upsert_statement: Insert = statement.on_conflict_do_update(
        index_elements=kind.KEY, set_=changed_columns
    )
    return upsert_statement


def build_insert_new(dialect: str, kind: type[Row]) -> Insert:
    """Return an SQL statement that inserts a row unless a row with the same key exists."""
    statement = build_insert(dialect, get_table(kind))
    insert_statement: Insert = statement.on_conflict_do_nothing(index_elements=kind.KEY)
    return insert_statement


def get_key(row: Row) -> Key:
    """Return the primary key of a row, as a tuple of the values of its key columns."""
    return get_key_reader(type(row))(row)


def load(connection: Connection, kind: type[R], keys: Iterable[Key]) -> dict[Key, R]:
    """Load the rows of the type `kind` with these primary keys; return those that exist, by key."""
    rows = load_rows(connection, kind, keys)
    return dict(zip(map(get_key_reader(kind), rows), rows, strict=True))


def insert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert rows of the type `kind`, whose primary keys must not exist yet."""
    _write(connection, kind, rows, build_plain_insert)


def upsert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert rows of the type `kind`, replacing stored rows with the same primary key."""
    _write(connection, kind, rows, build_upsert)


def insert_new(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert rows of the type `kind`; keep stored rows with the same primary key."""
    _write(connection, kind, rows, build_insert_new)


def _write(
    connection: Connection,
    kind: type[Row],
    rows: Iterable[Row],
    build: Callable[[str, type[Row]], Insert],
) -> None:
    """Run an INSERT statement for rows, sorted by key, so that two writers never deadlock."""
    sorted_rows = sorted(rows, key=get_key_reader(kind))
    if not sorted_rows:
        return
    statement = get_write_statement(
        connection,
        (build, kind),
        get_table(kind),
        partial(build, connection.dialect.name, kind),
    )
    statement.run(connection, list(map(get_value_reader(kind), sorted_rows)))
