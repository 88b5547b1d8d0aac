"""Build SQL conditions and sort orders from Python mappings: column filters, sort columns and
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BindParameter, Column, ColumnElement, FromClause, Select, Table

from fonds.model.rows.row import (
    NotInTable,
    Prefix,
    QueryCondition,
    Row,
    TableCondition,
    TimeRange,
)
from fonds.model.stored_json import clean_text
from fonds.stores.records.column_types import CleanText, UtcTime
from fonds.stores.records.tables import get_table

VALUES_MAX = 30_000
"""Maximum values in one SQL condition. SQLite allows 32,766 parameters per statement, PostgreSQL
65,535.
"""

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)

GetSource = Callable[[type[Row]], FromClause]
"""Function that returns what to read for a row type: its table, or a query for its visible rows."""


def build_conditions(
    table: Any, where: Mapping[str, object] | None, get_source: GetSource = get_table
) -> list[ColumnElement[bool]]:
    """Build one SQL condition per column of `where`, which maps column names to the values to
    match.

    A value is a single value, several values, None (SQL null), a QueryCondition or a bind
    parameter. `get_source` finds the tables of `InTable` and `NotInTable`. Raises ValueError for an
    unknown column, more than 30,000 values, a Prefix on a column that is not text, and a TimeRange
    on a column that is not a time.
    """
    return [
        _build_match(get_column(table, name), value, get_source)
        for name, value in (where or {}).items()
    ]


def get_column(table: Any, name: str) -> Column[Any]:
    """Return a table's column by name. Raises ValueError if the table has no such column."""
    column: Column[Any] | None = table.c.get(name)
    if column is None:
        names = ", ".join(table.c.keys())
        raise ValueError(f"{table.name} has no column {name!r}, only {names}")
    return column


def build_count(
    table: Any,
    group_columns: Sequence[str],
    where: Mapping[str, object] | None,
    count_max: int | None,
    get_source: GetSource = get_table,
) -> Select[Any]:
    """Build a query that counts the rows matching `where`, grouped by `group_columns`.

    With `count_max`, at most that many rows are counted, over all groups. Raises ValueError for an
    unknown column.
    """
    groups: list[ColumnElement[Any]] = [get_column(table, name) for name in group_columns]
    conditions = build_conditions(table, where, get_source)
    if count_max is None:
        query = sa.select(*groups, sa.func.count()).select_from(table).where(*conditions)
        return query.group_by(*groups)
    inner_columns = groups or [sa.literal_column("1").label("one")]
    limited_rows = (
        sa.select(*inner_columns).select_from(table).where(*conditions).limit(count_max).subquery()
    )
    columns = [limited_rows.c[group.name] for group in groups]
    return sa.select(*columns, sa.func.count()).select_from(limited_rows).group_by(*columns)


@dataclass(frozen=True, slots=True)
class IndexRange:
    """One of the queries that together find sorted rows. A database index returns the rows of the
    query in order.

    - `conditions`: SQL conditions on rows, all of which must hold.
    - `order`: SQL expressions to sort by.
    """

    conditions: Sequence[ColumnElement[bool]]
    order: Sequence[ColumnElement[Any]]


def build_index_ranges(
    table: Table,
    order: Sequence[str],
    key: Sequence[Column[Any]],
    after: Mapping[str, object] | None = None,
) -> list[IndexRange]:
    """Build the conditions and sort orders of the queries for rows sorted by `order`, then by
    `key`.

    - `order`: column names: `name` ascending, `-name` descending.
    - `after`: values of the last row already read, by sort and key column; only later rows match.
      None matches all rows.

    A null sorts lowest on every database. Usually there is one query. If the first column is
    nullable there can be two, because no database has an index that sorts both null and other
    values as needed. Raises ValueError for an unknown column, or a column missing in `after`.
    """
    columns_in_order = [
        (get_column(table, name.removeprefix("-")), name.startswith("-")) for name in order
    ]
    ordered_names = {column.name for column, _ in columns_in_order}
    columns = [
        *columns_in_order,
        *((column, False) for column in key if column.name not in ordered_names),
    ]
    values = None if after is None else [_get_value(after, column) for column, _ in columns]
    (first, descending), later_columns = columns[0], columns[1:]
    if not _is_nullable(first):
        return [
            IndexRange(
                _build_bound(columns, values), [_build_direction(*column) for column in columns]
            )
        ]
    later_conditions = [] if values is None else _build_later(later_columns, values[1:])
    # PostgreSQL uses an index that begins with the first column only for an order that names it,
    # though all its values are null here.
    null_range = IndexRange(
        [first.is_(None)],
        [first.asc(), *(_build_direction(*column) for column in later_columns)],
    )
    value_range = IndexRange(
        [first.is_not(None)],
        [
            first.desc() if descending else first.asc(),
            *(_build_direction(*column) for column in later_columns),
        ],
    )
    if values is None:
        return [value_range, null_range] if descending else [null_range, value_range]
    if values[0] is None:
        remaining = IndexRange([*null_range.conditions, *later_conditions], null_range.order)
        return [remaining] if descending else [remaining, value_range]
    remaining = IndexRange(_build_bound(columns, values), value_range.order)
    return [remaining, null_range] if descending else [remaining]


def _is_nullable(column: Column[Any]) -> bool:
    """Return whether a database column may be null. A column that is computed in a query counts as
    not nullable.
    """
    return bool(getattr(column, "nullable", False))


_Directed = tuple[Column[Any], bool]


def _get_value(start_values: Mapping[str, object], column: Column[Any]) -> object:
    if column.name not in start_values:
        raise ValueError(f"no start value for {column.name!r}")
    return start_values[column.name]


def _build_bound(
    columns: Sequence[_Directed], values: Sequence[object] | None
) -> list[ColumnElement[bool]]:
    """Build the SQL conditions for rows that sort after the values `values` of the sort columns.

    If all columns have the same sort direction and none is nullable, they are compared as a tuple,
    for which the database uses an index on the first columns. Otherwise one more condition, on the
    first column, limits the rows that the database reads. Returns [] if `values` is None.
    """
    if values is None:
        return []
    if len({descending for _, descending in columns}) == 1 and not any(
        _is_nullable(column) for column, _ in columns
    ):
        bound_columns = [column for column, _ in columns]
        return [
            before_key(bound_columns, values) if columns[0][1] else after_key(bound_columns, values)
        ]
    first, descending = columns[0]
    edge = first <= values[0] if descending else first >= values[0]
    return [edge, *_build_later(columns, values)]


def _build_later(
    columns: Sequence[_Directed], values: Sequence[object]
) -> list[ColumnElement[bool]]:
    """Build the SQL condition for rows that sort after the values `values` of the sort columns.

    A row sorts later if it has a later value in the first column in which it differs.
    """
    (column, descending), value = columns[0], values[0]
    later = _build_beyond(column, descending, value)
    if len(columns) == 1:
        return [later]
    is_equal = column.is_(None) if value is None else column == value
    return [sa.or_(later, sa.and_(is_equal, *_build_later(columns[1:], values[1:])))]


def _build_beyond(column: Column[Any], descending: bool, value: object) -> ColumnElement[bool]:
    if not descending:
        return column.is_not(None) if value is None else column > value
    if value is None:
        return sa.false()
    return sa.or_(column < value, column.is_(None)) if _is_nullable(column) else column < value


def _build_direction(column: Column[Any], descending: bool) -> ColumnElement[Any]:
    if descending:
        return column.desc().nulls_last() if _is_nullable(column) else column.desc()
    return column.asc().nulls_first() if _is_nullable(column) else column.asc()


def match_keys(key: Sequence[Column[Any]], values: Sequence[object]) -> ColumnElement[bool]:
    """Build the SQL condition for rows whose key is one of `values`. Values are tuples if the key
    has several columns.
    """
    if len(key) == 1:
        return key[0].in_(values)
    # Given only tuples, SQLite would scan the whole table; the first column leads it to the index.
    first_values = [value[0] for value in values]  # type: ignore[index]
    return sa.and_(key[0].in_(first_values), sa.tuple_(*key).in_(values))


def after_key(key: Sequence[Column[Any]], last: Sequence[object]) -> ColumnElement[bool]:
    """Build the SQL condition for rows whose key sorts after the key `last`."""
    if len(key) == 1:
        return key[0] > last[0]
    return sa.tuple_(*key) > sa.tuple_(*_bind_values(key, last))


def before_key(key: Sequence[Column[Any]], first: Sequence[object]) -> ColumnElement[bool]:
    """Build the SQL condition for rows whose key sorts before the key `first`."""
    return sa.tuple_(*key) < sa.tuple_(*_bind_values(key, first))


def _bind_values(key: Sequence[Column[Any]], values: Sequence[object]) -> list[ColumnElement[Any]]:
    """Convert each value to an SQL parameter with the type of its key column. Bind parameters are
    returned as they are.
    """
    return [
        value if isinstance(value, BindParameter) else sa.literal(value, column.type)
        for column, value in zip(key, values, strict=True)
    ]


def find_prefix_end(prefix: str) -> str | None:
    """Return the smallest text that sorts after all texts beginning with `prefix`, by code points.
    Return None if no such text exists.
    """
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST:
            return prefix[: length - 1] + chr(following)
    return None


def _build_match(column: Column[Any], value: object, get_source: GetSource) -> ColumnElement[bool]:
    if isinstance(value, BindParameter):
        return column.in_(value) if value.expanding else column == value
    if not isinstance(value, (list, tuple, set, frozenset)):
        return _build_single_match(column, value, get_source)
    if len(value) > VALUES_MAX:
        raise ValueError(
            f"{len(value)} values for {column.name} are more than {VALUES_MAX}; split the query"
        )
    plain = [item for item in value if item is not None and not isinstance(item, QueryCondition)]
    special = [
        _build_single_match(column, item, get_source)
        for item in value
        if item is None or isinstance(item, QueryCondition)
    ]
    return sa.or_(column.in_(plain), *special) if plain else sa.or_(sa.false(), *special)


def _build_single_match(
    column: Column[Any], value: object, get_source: GetSource
) -> ColumnElement[bool]:
    if value is None:
        return column.is_(None)
    if isinstance(value, TableCondition):
        return _build_join(column, value, get_source)
    if isinstance(value, Prefix):
        if not isinstance(column.type, CleanText):
            raise ValueError(
                f"{column.name} is not a text column, so it cannot start with {value.text!r}"
            )
        return sa.and_(*_iter_prefix_match(column, clean_text(value.text)))
    if isinstance(value, TimeRange):
        if not isinstance(column.type, UtcTime):
            raise ValueError(
                f"{column.name} is not a time column, so it cannot be filtered from {value.first}"
            )
        return column.between(value.first, value.last)
    return column == value


def _build_join(
    column: Column[Any], condition: TableCondition, get_source: GetSource
) -> ColumnElement[bool]:
    """Build the SQL condition for rows that have, or do not have, a matching row in a table."""
    table, other = column.table, get_source(condition.kind).alias()
    matches = [
        get_column(other, condition.column) == column,
        *(
            get_column(other, name) == get_column(table, own_name)
            for name, own_name in condition.equal.items()
        ),
        *build_conditions(other, condition.where, get_source),
    ]
    if get_source(condition.kind) is table:
        key = condition.kind.KEY
        matches.append(sa.or_(*(other.c[name] != table.c[name] for name in key)))
    has_match = sa.exists().where(*matches)
    if isinstance(condition, NotInTable):
        return sa.and_(column.is_not(None), sa.not_(has_match))
    return has_match


def _iter_prefix_match(column: Column[Any], prefix: str) -> Iterator[ColumnElement[bool]]:
    """Yield SQL conditions for values that begin with `prefix`, as a range.

    Unlike LIKE, a range needs no escaping, is case-sensitive, and can use any index of the column.
    """
    yield column >= prefix
    end = find_prefix_end(prefix)
    if end is not None:
        yield column < end
