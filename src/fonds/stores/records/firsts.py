"""The first row of each of many conditions, in few statements: each part reads one row of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, FromClause

from fonds.model.rows import Row
from fonds.stores.records.conditions import conditions, stretches

R = TypeVar("R", bound=Row)

CONDITIONS_A_STATEMENT = 100
"""SQLite takes 500 parts in one statement, and a condition has two where a column may be absent."""


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
        found += _of_statement(connection, source, kind, some, order)
    return found


def _of_statement(
    connection: Connection,
    source: Any,
    kind: type[R],
    wheres: Sequence[Mapping[str, object]],
    order: Sequence[str],
) -> list[R | None]:
    parts = stretches(source, order, [source.c[name] for name in kind.KEY])
    selects = []
    for number, where in enumerate(wheres):
        for place, part in enumerate(parts):
            at = sa.literal_column(str(number * len(parts) + place), sa.Integer)
            one = sa.select(at.label("at"), *source.c).where(
                *conditions(source, where), *part.where
            )
            selects.append(sa.select(one.order_by(*part.order).limit(1).subquery()))
    rows: dict[int, R] = {}
    for at, *values in connection.execute(sa.union_all(*selects)):
        rows[at] = kind(*values)
    return [
        next((rows[at] for at in range(first, first + len(parts)) if at in rows), None)
        for first in range(0, len(wheres) * len(parts), len(parts))
    ]
