"""Rows by key inside a transaction: loaded, inserted, and written over those that are there."""

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
    """An INSERT that can say what to do with rows that are there, in the database's own dialect.

    The other one is not loaded: that takes as long as all the rest.
    """
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


@cache
def build_upsert(dialect: str, kind: type[Row]) -> Insert:
    """A row in the place of the one with its key. Made once for each kind, as the one below."""
    statement = build_insert(dialect, get_table(kind))
    if all(each.name in kind.KEY for each in get_table(kind).columns):
        return build_insert_new(dialect, kind)
    changed = {each.name: each for each in statement.excluded if each.name not in kind.KEY}
    made: Insert = statement.on_conflict_do_update(index_elements=kind.KEY, set_=changed)
    return made


@cache
def build_insert_new(dialect: str, kind: type[Row]) -> Insert:
    """A row, unless one with its key is there."""
    statement = build_insert(dialect, get_table(kind))
    made: Insert = statement.on_conflict_do_nothing(index_elements=kind.KEY)
    return made


def iter_chunks(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many keys as one statement takes."""
    for start in range(0, len(keys), KEYS_PER_STATEMENT):
        yield keys[start : start + KEYS_PER_STATEMENT]


def get_key(row: Row) -> Key:
    """The primary key of a row."""
    return tuple(getattr(row, name) for name in row.KEY)


def load(connection: Connection, kind: type[Any], keys: Iterable[Key]) -> dict[Key, Any]:
    """The rows that exist, by key."""
    wanted, found = list(dict.fromkeys(keys)), {}
    for chunk in iter_chunks(wanted):
        query = sa.select(*get_table(kind).c).where(match_keys(list_key_columns(kind), chunk))
        for values in connection.execute(query):
            row = kind(*values)
            found[get_key(row)] = row
    return found


def insert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Rows whose keys are not there yet."""
    values = build_values(kind, rows)
    if values:
        connection.execute(sa.insert(get_table(kind)), values)


def upsert(connection: Connection, kind: type[Row], rows: Iterable[Row]) -> None:
    """Rows, each in the place of the one with its key."""
    values = build_values(kind, rows)
    if values:
        connection.execute(build_upsert(connection.dialect.name, kind), values)


def build_values(kind: type[Any], rows: Iterable[Row]) -> list[dict[str, Any]]:
    """In the order of keys, so that two writers never wait in a ring."""
    names = [field.name for field in fields(kind)]
    return [{name: getattr(row, name) for name in names} for row in sorted(rows, key=get_key)]
