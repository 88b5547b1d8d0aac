"""Rows by key inside a transaction: loaded, inserted, and written over those that are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from fonds.model.rows import Row
from fonds.stores.records.conditions import keyed
from fonds.stores.records.schema import key_columns, table_of

KEYS_PER_STATEMENT = 500
Key = tuple[str, ...]


def inserting(dialect: str, table: Table) -> Any:
    """An INSERT that can say what to do with rows that are there, in the database's own dialect.

    The other one is not loaded: that takes as long as all the rest.
    """
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def key_of(row: Row) -> Key:
    """The primary key of a row."""
    return tuple(getattr(row, name) for name in row.KEY)


def load(connection: Connection, kind: type[Any], keys: Iterable[Key]) -> dict[Key, Any]:
    """The rows that exist, by key."""
    wanted, found = list(dict.fromkeys(keys)), {}
    for start in range(0, len(wanted), KEYS_PER_STATEMENT):
        chunk = wanted[start : start + KEYS_PER_STATEMENT]
        query = sa.select(*table_of(kind).c).where(keyed(key_columns(kind), chunk))
        for values in connection.execute(query):
            row = kind(*values)
            found[key_of(row)] = row
    return found


def insert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Rows whose keys are not there yet."""
    values = _values(kind, rows)
    if values:
        connection.execute(sa.insert(table_of(kind)), values)


def upsert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Rows, each in the place of the one with its key."""
    values = _values(kind, rows)
    if not values:
        return
    statement = inserting(connection.dialect.name, table_of(kind))
    others = {
        column.name: statement.excluded[column.name]
        for column in table_of(kind).c
        if column.name not in kind.KEY
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=list(kind.KEY), set_=others), values
    )


def _values(kind: type[Any], rows: Iterable[Row]) -> list[dict[str, Any]]:
    """In the order of keys, so that two writers never wait in a ring."""
    names = [field.name for field in fields(kind)]
    return [{name: getattr(row, name) for name in names} for row in sorted(rows, key=key_of)]
