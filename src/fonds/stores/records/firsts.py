"""The first row of each of many conditions, in few statements: each part reads one row of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, FromClause

from fonds.model.rows import Row
from fonds.stores.records.conditions import column, conditions, stretches

R = TypeVar("R", bound=Row)

CONDITIONS_A_STATEMENT = 100
"""SQLite takes 500 parts in one statement, and a condition has two where a column may be absent."""
SIZES = (1, 2, 4, 8, 16, 25, 32, 64, CONDITIONS_A_STATEMENT)
STATEMENTS_KEPT = 64
ONE: ColumnElement[int] = sa.literal_column("1", sa.Integer)
"""Said in the statement itself: two hundred further values take as long as what is looked for."""


def first_rows(
    connection: Connection,
    source: FromClause,
    kind: type[R],
    wheres: Sequence[Mapping[str, object]],
    order: Sequence[str],
) -> list[R | None]:
    """The first row of each condition in this order, None where none fits.

    Raises ValueError for an unknown column.
    """
    found: list[R | None] = []
    for start in range(0, len(wheres), CONDITIONS_A_STATEMENT):
        some = wheres[start : start + CONDITIONS_A_STATEMENT]
        if _alike(some):
            statement, values = _ready(source, kind, some, tuple(order))
        else:
            asked = [conditions(source, where) for where in some]  # type: ignore[arg-type]
            statement, values = _statement(source, kind, asked, order), {}
        rows = {at: kind(*row) for at, *row in connection.execute(statement, values)}
        found += [rows.get(2 * at, rows.get(2 * at + 1)) for at in range(len(some))]
    return found


def _alike(wheres: Sequence[Mapping[str, object]]) -> bool:
    """Whether all ask one value of the same columns: one statement then serves any values."""
    return all(where.keys() == wheres[0].keys() for where in wheres) and all(
        isinstance(value, str) for where in wheres for value in where.values()
    )


def _ready(
    source: Any, kind: type[R], wheres: Sequence[Mapping[str, object]], order: tuple[str, ...]
) -> tuple[Any, dict[str, object]]:
    """A statement made before, and the values for it; what it has places for beyond these is asked twice."""
    size = next(one for one in SIZES if one >= len(wheres))
    names = tuple(wheres[0])
    padded = [*wheres, *[wheres[-1]] * (size - len(wheres))]
    values = {_named(n, name): where[name] for n, where in enumerate(padded) for name in names}
    return _with_places(source, kind, names, size, order), values


@lru_cache(maxsize=STATEMENTS_KEPT)
def _with_places(
    source: Any, kind: type[R], names: tuple[str, ...], size: int, order: tuple[str, ...]
) -> Any:
    """Made once for each size: making it takes several times as long as running it."""
    columns = [column(source, name) for name in names]
    asked = [
        [one == sa.bindparam(_named(n, one.name), type_=one.type) for one in columns]
        for n in range(size)
    ]
    return _statement(source, kind, asked, order)


def _named(number: int, name: str) -> str:
    return f"{name}_{number}"


def _statement(
    source: Any,
    kind: type[R],
    asked: Sequence[Sequence[ColumnElement[bool]]],
    order: Sequence[str],
) -> Any:
    """Two places for each condition, the second for rows in which what is ordered by is absent, or not."""
    parts = stretches(source, order, [source.c[name] for name in kind.KEY])
    selects = []
    for number, where in enumerate(asked):
        for place, part in enumerate(parts):
            at = sa.literal_column(str(2 * number + place), sa.Integer)
            one = sa.select(at.label("at"), *source.c).where(*where, *part.where)
            selects.append(sa.select(one.order_by(*part.order).limit(ONE).subquery()))
    return sa.union_all(*selects)
