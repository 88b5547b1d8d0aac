"""Load rows of the SQL database by primary key, and insert or replace rows, inside a transaction of
the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Insert, Table

from fonds.model.rows import Row
from fonds.stores.records.conditions import match_keys
from fonds.stores.records.tables import get_table, list_key_columns

KEYS_PER_STATEMENT = 500
Key = tuple[Any, ...]
T = TypeVar("T")


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


@cache
def build_upsert(dialect: str, kind: type[Row]) -> Insert:
    """Return an SQL statement that inserts a row, or replaces the row with the same key. Statements
    are cached per dialect and row type.
    """
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


@cache
def build_insert_new(dialect: str, kind: type[Row]) -> Insert:
    """Return an SQL statement that inserts a row unless a row with the same key exists. Statements
    are cached per dialect and row type.
    """
    statement = build_insert(dialect, get_table(kind))
    insert_statement: Insert = statement.on_conflict_do_nothing(index_elements=kind.KEY)
    return insert_statement


def iter_chunks(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split primary keys into chunks of up to 500 keys, for one SQL statement each."""
    for start in range(0, len(keys), KEYS_PER_STATEMENT):
        yield keys[start : start + KEYS_PER_STATEMENT]


def get_key(row: Row) -> Key:
    """Return the primary key of a row, as a tuple of the values of its key columns."""
    return tuple(getattr(row, name) for name in row.KEY)


def load(connection: Connection, kind: type[Any], keys: Iterable[Key]) -> dict[Key, Any]:
    """Load the rows of the type `kind` with these primary keys; return those that exist, by key."""
    unique_keys, rows = list(dict.fromkeys(keys)), {}
    for chunk in iter_chunks(unique_keys):
        query = sa.select(*get_table(kind).c).where(match_keys(list_key_columns(kind), chunk))
        for values in connection.execute(query):
            row = kind(*values)
            rows[get_key(row)] = row
    return rows


def insert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert rows of the type `kind`, whose primary keys must not exist yet."""
    values = build_values(kind, rows)
    if values:
        connection.execute(sa.insert(get_table(kind)), values)


def upsert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Insert rows of the type `kind`, replacing stored rows with the same primary key."""
    values = build_values(kind, rows)
    if values:
        connection.execute(build_upsert(connection.dialect.name, kind), values)


def build_values(kind: type[Any], rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the values of rows by column name, sorted by key, so that two writers never
    deadlock.
    """
    names = [field.name for field in fields(kind)]
    return [{name: getattr(row, name) for name in names} for row in sorted(rows, key=get_key)]
