"""Turns what a caller asks for (`where`, `order`, keys) into SQL conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BindParameter, Column, ColumnElement, Select, Table

from fonds.model.rows.row import Prefix, TimeRange
from fonds.stores.records.column_types import CleanText, UtcTime, clean_text

VALUES_MAX = 30_000
"""Alternatives in one condition; SQLite takes 32,766 values in a statement, PostgreSQL 65,535."""

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def build_conditions(table: Table, where: Mapping[str, object] | None) -> list[ColumnElement[bool]]:
    """One condition for each column named; a value may be a place for one, or for several.

    Raises ValueError for an unknown column, too many values, a prefix of what is no text, and a stretch of
    time of what is no time.
    """
    return [_build_match(get_column(table, name), value) for name, value in (where or {}).items()]


def get_column(table: Table, name: str) -> Column[Any]:
    """The column of this name. Raises ValueError when there is none."""
    found = table.c.get(name)
    if found is None:
        known = ", ".join(table.c.keys())
        raise ValueError(f"{table.name} has no column {name!r}, only {known}")
    return found


def build_count(
    table: Any,
    group_columns: Sequence[str],
    where: Mapping[str, object] | None,
    count_max: int | None,
) -> Select[Any]:
    """How many rows there are by these columns, of `count_max` rows at most.

    Raises ValueError for an unknown column.
    """
    groups: list[ColumnElement[Any]] = [get_column(table, name) for name in group_columns]
    wanted = build_conditions(table, where)
    if count_max is None:
        query = sa.select(*groups, sa.func.count()).select_from(table).where(*wanted)
        return query.group_by(*groups)
    chosen = groups or [sa.literal_column("1").label("one")]
    some = sa.select(*chosen).select_from(table).where(*wanted).limit(count_max).subquery()
    columns = [some.c[one.name] for one in groups]
    return sa.select(*columns, sa.func.count()).select_from(some).group_by(*columns)


@dataclass(frozen=True, slots=True)
class IndexRange:
    """A part of what is asked for that an index gives in its order: conditions, and the order."""

    conditions: Sequence[ColumnElement[bool]]
    order: Sequence[ColumnElement[Any]]


def build_index_ranges(
    table: Table,
    order: Sequence[str],
    key: Sequence[Column[Any]],
    after: Mapping[str, object] | None = None,
) -> list[IndexRange]:
    """Rows in the order of `order` (`name` ascending, `-name` descending) and then of the key, behind the
    values of `after`; what is absent sorts lowest everywhere.

    Where the first column may be absent, there are two stretches: no database has an index in which both
    stand as they should. Raises ValueError for an unknown column, and one that `after` lacks.
    """
    named = [(get_column(table, name.removeprefix("-")), name.startswith("-")) for name in order]
    chosen = {one.name for one, _ in named}
    columns = [*named, *((one, False) for one in key if one.name not in chosen)]
    values = None if after is None else [_get_value(after, one) for one, _ in columns]
    (first, descending), rest = columns[0], columns[1:]
    if not _is_nullable(first):
        return [
            IndexRange(_build_bound(columns, values), [_build_direction(*one) for one in columns])
        ]
    behind = [] if values is None else _build_later(rest, values[1:])
    absent = IndexRange([first.is_(None)], [_build_direction(*one) for one in rest])
    present = IndexRange(
        [first.is_not(None)],
        [first.desc() if descending else first.asc(), *(_build_direction(*one) for one in rest)],
    )
    if values is None:
        return [present, absent] if descending else [absent, present]
    if values[0] is None:
        left = IndexRange([*absent.conditions, *behind], absent.order)
        return [left] if descending else [left, present]
    left = IndexRange(_build_bound(columns, values), present.order)
    return [left, absent] if descending else [left]


def _is_nullable(column: Column[Any]) -> bool:
    """Whether a column may have nothing; what is computed in a query always has a value."""
    return bool(getattr(column, "nullable", False))


_Directed = tuple[Column[Any], bool]


def _get_value(after: Mapping[str, object], column: Column[Any]) -> object:
    if column.name not in after:
        raise ValueError(f"where to begin is not said for {column.name!r}")
    return after[column.name]


def _build_bound(
    columns: Sequence[_Directed], values: Sequence[object] | None
) -> list[ColumnElement[bool]]:
    """Rows behind `values`. Columns of one direction are compared at once, which an index over the first of
    them serves to the row; else the first column bounds them by itself."""
    if values is None:
        return []
    if len({descending for _, descending in columns}) == 1 and not any(
        _is_nullable(one) for one, _ in columns
    ):
        ordered = [one for one, _ in columns]
        return [before_key(ordered, values) if columns[0][1] else after_key(ordered, values)]
    first, descending = columns[0]
    edge = first <= values[0] if descending else first >= values[0]
    return [edge, *_build_later(columns, values)]


def _build_later(
    columns: Sequence[_Directed], values: Sequence[object]
) -> list[ColumnElement[bool]]:
    """Rows that differ from `values` first in a column where they come later; none when there is none."""
    (one, descending), value = columns[0], values[0]
    later = _build_beyond(one, descending, value)
    if len(columns) == 1:
        return [later]
    same = one.is_(None) if value is None else one == value
    return [sa.or_(later, sa.and_(same, *_build_later(columns[1:], values[1:])))]


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
    """Rows whose key is one of `values`: plain values, or tuples for a composed key."""
    if len(key) == 1:
        return key[0].in_(values)
    # Asked for pairs alone, SQLite reads the whole table; the first column leads it to the index.
    firsts = [value[0] for value in values]  # type: ignore[index]
    return sa.and_(key[0].in_(firsts), sa.tuple_(*key).in_(values))


def after_key(key: Sequence[Column[Any]], last: Sequence[object]) -> ColumnElement[bool]:
    """Rows that come after the key `last` in the order of keys."""
    if len(key) == 1:
        return key[0] > last[0]
    return sa.tuple_(*key) > sa.tuple_(*_bind_values(key, last))


def before_key(key: Sequence[Column[Any]], first: Sequence[object]) -> ColumnElement[bool]:
    """Rows that come before the key `first` in the order of keys."""
    return sa.tuple_(*key) < sa.tuple_(*_bind_values(key, first))


def _bind_values(key: Sequence[Column[Any]], values: Sequence[object]) -> list[ColumnElement[Any]]:
    """Values of these columns; a place for one stays one."""
    return [
        value if isinstance(value, BindParameter) else sa.literal(value, one.type)
        for one, value in zip(key, values, strict=True)
    ]


def find_prefix_end(prefix: str) -> str | None:
    """The smallest text after all that begin with `prefix`, by code points; None when there is none."""
    for length in range(len(prefix), 0, -1):
        following = ord(prefix[length - 1]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST:
            return prefix[: length - 1] + chr(following)
    return None


def _build_match(column: Column[Any], value: object) -> ColumnElement[bool]:
    if isinstance(value, BindParameter):
        return column.in_(value) if value.expanding else column == value
    if not isinstance(value, (list, tuple, set, frozenset)):
        return _build_single_match(column, value)
    if len(value) > VALUES_MAX:
        raise ValueError(
            f"{len(value)} values for {column.name} are more than {VALUES_MAX}: ask in parts"
        )
    plain = [
        each for each in value if each is not None and not isinstance(each, Prefix | TimeRange)
    ]
    special = [
        _build_single_match(column, each)
        for each in value
        if each is None or isinstance(each, Prefix | TimeRange)
    ]
    return sa.or_(column.in_(plain), *special) if plain else sa.or_(sa.false(), *special)


def _build_single_match(column: Column[Any], value: object) -> ColumnElement[bool]:
    if value is None:
        return column.is_(None)
    if isinstance(value, Prefix):
        if not isinstance(column.type, CleanText):
            raise ValueError(f"{column.name} is no text that could begin with {value.text!r}")
        return sa.and_(*_iter_prefix_match(column, clean_text(value.text)))
    if isinstance(value, TimeRange):
        if not isinstance(column.type, UtcTime):
            raise ValueError(
                f"{column.name} is no time that could be within {value.first} and later"
            )
        return column.between(value.first, value.last)
    return column == value


def _iter_prefix_match(column: Column[Any], prefix: str) -> Iterator[ColumnElement[bool]]:
    """A range instead of LIKE: nothing to escape, letter case counts, and any index serves it."""
    yield column >= prefix
    end = find_prefix_end(prefix)
    if end is not None:
        yield column < end
