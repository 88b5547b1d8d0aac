"""Cached SQL statements for finding and counting rows. Building a statement takes longer than
SQLite takes to run it.

Statements are cached by shape: which columns are compared with one value, with several values, or
with null. The values are passed as parameters. Statements with other conditions are built each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Select

from fonds.model.rows import Row
from fonds.model.rows.row import QueryCondition
from fonds.stores.records.conditions import (
    VALUES_MAX,
    GetSource,
    build_conditions,
    build_count,
    build_index_ranges,
    get_column,
)
from fonds.stores.records.row_statements import fetch_rows
from fonds.stores.records.tables import get_table

R = TypeVar("R", bound=Row)

STATEMENT_CACHE_SIZE = 512
ROWS_MAX = 2**62
_LIMIT = "rows_max"
_NO_VALUE, _ONE_VALUE, _SEVERAL_VALUES = "none", "one", "several"

Shape = tuple[tuple[str, str], ...]
"""Pairs of a column name and what the column is compared with: `none` (null), `one` value or
`several` values.
"""


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """SQL query with the values of its parameters, by parameter name."""

    query: Select[Any]
    values: Mapping[str, object]

    def run(self, connection: Connection, rows_max: int | None = None) -> Any:
        """Run the query; return at most `rows_max` rows, or all if `rows_max` is None."""
        return connection.execute(self.query, self._get_values(rows_max))

    def fetch(self, connection: Connection, kind: type[R], rows_max: int) -> list[R]:
        """Run the query, which selects all columns of the type `kind`; return at most `rows_max`
        rows.
        """
        return fetch_rows(connection, kind, self.query, self._get_values(rows_max))

    def _get_values(self, rows_max: int | None) -> dict[str, object]:
        return {**self.values, _LIMIT: ROWS_MAX if rows_max is None else rows_max}


@dataclass(frozen=True, slots=True)
class FindRequest(Generic[R]):
    """Arguments of `SqlRecords.find`.

    `kind`: row type, which determines the table.
    `where`: values to match by column; None for all rows.
    `order`: columns to sort by, `-name` for descending.
    `after`: sort values of the last row already read; None to start at the first row.
    """

    kind: type[R]
    where: Mapping[str, object] | None
    order: Sequence[str]
    after: Mapping[str, object] | None

    def build_statements(self, get_source: GetSource = get_table) -> list[BoundStatement]:
        """Return the SQL statement that finds the requested rows, sorted. If the first sort column
        may be null, there can be two statements, to be run in this order.

        `get_source` returns the table to read of a row type. Raises ValueError for an unknown
        column.
        """
        table = get_source(self.kind)
        where, start_shape = _build_shape(self.where), _build_shape(self.after)
        if where is None or start_shape is None:
            conditions = build_conditions(table, self.where, get_source)
            selects = _build_select(self.kind, table, conditions, self.order, self.after)
            return [BoundStatement(query, {}) for query in selects]
        after_shape = None if self.after is None else start_shape
        queries = _build_cached_select(self.kind, table, where, tuple(self.order), after_shape)
        values = _build_values("where", self.where) | _build_values("after", self.after)
        return [BoundStatement(query, values) for query in queries]


def build_counts(
    kind: type[Row],
    columns: Sequence[str],
    where: Mapping[str, object] | None,
    count_max: int | None,
    get_source: GetSource = get_table,
) -> BoundStatement:
    """Build an SQL statement that counts the rows of a table that match `where`, grouped by
    `columns`.

    With `count_max`, at most that many rows are counted. Raises ValueError for an unknown column.
    """
    table, shape = get_source(kind), _build_shape(where)
    if shape is None or count_max is not None:
        return BoundStatement(build_count(table, columns, where, count_max, get_source), {})
    return BoundStatement(
        _build_cached_count(table, tuple(columns), shape), _build_values("where", where)
    )


def _build_shape(columns: Mapping[str, object] | None) -> Shape | None:
    """Return the shape of column conditions, which is their key in the cache of SQL statements.

    The shape says which columns are compared, and whether with null, one value or several values.
    Returns None for conditions whose statements are not cached.
    """
    shape = []
    for name, value in (columns or {}).items():
        if isinstance(value, QueryCondition):
            return None
        if isinstance(value, (list, tuple, set, frozenset)):
            if not value or len(value) > VALUES_MAX or not all(map(_is_plain, value)):
                return None
            shape.append((name, _SEVERAL_VALUES))
        else:
            shape.append((name, _NO_VALUE if value is None else _ONE_VALUE))
    return tuple(shape)


def _is_plain(value: object) -> bool:
    return value is not None and not isinstance(value, QueryCondition)


def _build_values(place: str, columns: Mapping[str, object] | None) -> dict[str, object]:
    return {
        f"{place}_{name}": list(value) if isinstance(value, (set, frozenset)) else value
        for name, value in (columns or {}).items()
        if value is not None
    }


@lru_cache(maxsize=STATEMENT_CACHE_SIZE)
def _build_cached_select(
    kind: type[Row], table: Any, shape: Shape, order: tuple[str, ...], after_shape: Shape | None
) -> tuple[Select[Any], ...]:
    after_values = None if after_shape is None else _build_parameters(table, "after", after_shape)
    conditions = build_conditions(table, _build_parameters(table, "where", shape))
    return tuple(_build_select(kind, table, conditions, order, after_values))


@lru_cache(maxsize=STATEMENT_CACHE_SIZE)
def _build_cached_count(table: Any, columns: tuple[str, ...], shape: Shape) -> Select[Any]:
    return build_count(table, columns, _build_parameters(table, "where", shape), None)


def _build_parameters(table: Any, place: str, shape: Shape) -> dict[str, object]:
    """Return a bind parameter by name of each column; None for a column that is compared with null.

    `place` is `where` (conditions) or `after` (values after which to start). It begins the
    parameter names. Raises ValueError for an unknown column in `where`; unknown columns in `after`
    are ignored.
    """
    return {
        name: None
        if value_kind == _NO_VALUE
        else sa.bindparam(
            f"{place}_{name}",
            type_=get_column(table, name).type,
            expanding=value_kind == _SEVERAL_VALUES,
        )
        for name, value_kind in shape
        if place == "where" or name in table.c
    }


def _build_select(
    kind: type[Row],
    table: Any,
    conditions: Sequence[ColumnElement[bool]],
    order: Sequence[str],
    after: Mapping[str, object] | None,
) -> list[Select[Any]]:
    key = [table.c[name] for name in kind.KEY]
    query = sa.select(*table.c).where(*conditions).limit(sa.bindparam(_LIMIT, type_=sa.BigInteger))
    parts = build_index_ranges(table, order, key, after)
    return [query.where(*part.conditions).order_by(*part.order) for part in parts]
