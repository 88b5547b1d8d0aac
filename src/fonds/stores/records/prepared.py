"""What `find` and `count` are asked for, as statements that were made before: making one takes longer than
SQLite takes to answer it.

A statement is kept for each shape: which columns are compared with a value, with several, or with nothing.
The values themselves are handed over with it. What has another shape is made for the one time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Select

from fonds.model.rows import Row
from fonds.model.rows.row import Prefix, Within
from fonds.stores.records.conditions import VALUES_MAX, column, conditions, counted, stretches

R = TypeVar("R", bound=Row)

STATEMENTS_KEPT = 512
EVERY_ROW = 2**62
_LIMIT = "rows_max"
_NONE, _ONE, _SEVERAL = "none", "one", "several"

Shape = tuple[tuple[str, str], ...]
"""Columns, and what each is compared with."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its values."""

    query: Select[Any]
    values: Mapping[str, object]

    def run(self, connection: Connection, rows_max: int | None = None) -> Any:
        """The result: `rows_max` rows at most, all for None."""
        limit = EVERY_ROW if rows_max is None else rows_max
        return connection.execute(self.query, {**self.values, _LIMIT: limit})


@dataclass(frozen=True, slots=True)
class Asked(Generic[R]):
    """What `find` is asked for."""

    kind: type[R]
    where: Mapping[str, object] | None
    order: Sequence[str]
    after: Mapping[str, object] | None

    def of(self, table: Any) -> list[Statement]:
        """The statements, one after the other. Raises ValueError for an unknown column."""
        where, after = _shape(self.where), _shape(self.after)
        if where is None or after is None:
            made = _made(self.kind, table, self.where, self.order, self.after)
            return [Statement(one, {}) for one in made]
        behind = None if self.after is None else after
        queries = _kept(self.kind, table, where, tuple(self.order), behind)
        values = _values("where", self.where) | _values("after", self.after)
        return [Statement(one, values) for one in queries]


def count_of(
    table: Any, by: Sequence[str], where: Mapping[str, object] | None, count_max: int | None
) -> Statement:
    """How many rows there are by these columns, of `count_max` rows at most.

    Raises ValueError for an unknown column.
    """
    shape = _shape(where)
    if shape is None or count_max is not None:
        return Statement(counted(table, by, where, count_max), {})
    return Statement(_kept_count(table, tuple(by), shape), _values("where", where))


def _shape(named: Mapping[str, object] | None) -> Shape | None:
    """None for what is made for the one time."""
    shape = []
    for name, value in (named or {}).items():
        if isinstance(value, Prefix | Within):
            return None
        if isinstance(value, (list, tuple, set, frozenset)):
            if not value or len(value) > VALUES_MAX or not all(map(_is_plain, value)):
                return None
            shape.append((name, _SEVERAL))
        else:
            shape.append((name, _NONE if value is None else _ONE))
    return tuple(shape)


def _is_plain(value: object) -> bool:
    return value is not None and not isinstance(value, Prefix | Within)


def _values(place: str, named: Mapping[str, object] | None) -> dict[str, object]:
    return {
        f"{place}_{name}": list(value) if isinstance(value, (set, frozenset)) else value
        for name, value in (named or {}).items()
        if value is not None
    }


@lru_cache(maxsize=STATEMENTS_KEPT)
def _kept(
    kind: type[Row], table: Any, where: Shape, order: tuple[str, ...], after: Shape | None
) -> tuple[Select[Any], ...]:
    behind = None if after is None else _places(table, "after", after)
    return tuple(_made(kind, table, _places(table, "where", where), order, behind))


@lru_cache(maxsize=STATEMENTS_KEPT)
def _kept_count(table: Any, by: tuple[str, ...], where: Shape) -> Select[Any]:
    return counted(table, by, _places(table, "where", where), None)


def _places(table: Any, place: str, shape: Shape) -> dict[str, object]:
    """A place for the value of each column, and None where there is nothing. Raises ValueError for a column
    there is not, but for one that stands behind others, of which only those are looked at that order them."""
    return {
        name: None
        if what == _NONE
        else sa.bindparam(
            f"{place}_{name}", type_=column(table, name).type, expanding=what == _SEVERAL
        )
        for name, what in shape
        if place == "where" or name in table.c
    }


def _made(
    kind: type[Row],
    table: Any,
    where: Mapping[str, object] | None,
    order: Sequence[str],
    after: Mapping[str, object] | None,
) -> list[Select[Any]]:
    key = [table.c[name] for name in kind.KEY]
    query = (
        sa.select(*table.c)
        .where(*conditions(table, where))
        .limit(sa.bindparam(_LIMIT, type_=sa.BigInteger))
    )
    parts = stretches(table, order, key, after)
    return [query.where(*part.where).order_by(*part.order) for part in parts]
