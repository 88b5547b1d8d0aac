"""Tallies by day and hour, out of the rows the ledger writes: for one row, and in SQL for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from fonds.model.by_time import (
    CAME,
    ENDED,
    ENTRIES_BY_DAY,
    FAILURES_BY_DAY,
    INPUTS_BY_DAY,
    MESSAGES_BY_HOUR,
    day_of,
    hour_of,
)
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.stores.records.schema.tables import table_of

Group = tuple[str, str, str, str, str]
DAY_CHARACTERS, HOUR_CHARACTERS = 10, 13


class _Cut(FunctionElement[str]):
    """The first characters of a time as text, in UTC: its day or its hour."""

    type = sa.Text()
    inherit_cache = True


@compiles(_Cut, "sqlite")
def _in_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    at, count = (compiler.process(one, **options) for one in element.clauses)
    return f"substr({at}, 1, {count})"


@compiles(_Cut, "postgresql")
def _in_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    at, count = (compiler.process(one, **options) for one in element.clauses)
    return f"left(to_char({at} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24'), {count})"


def day_column(at: ColumnElement[Any]) -> ColumnElement[str]:
    """What `day_of` says of a column."""
    return _cut(at, DAY_CHARACTERS)


def hour_column(at: ColumnElement[Any]) -> ColumnElement[str]:
    """What `hour_of` says of a column."""
    return _cut(at, HOUR_CHARACTERS)


def _cut(at: ColumnElement[Any], count: int) -> ColumnElement[str]:
    # Grouped by, it must be said alike in both places; parameters never are to PostgreSQL.
    cut = _Cut(at, sa.literal_column(str(count), sa.Integer))
    return sa.func.coalesce(cut, _constant(""))


def _constant(text: str) -> ColumnElement[str]:
    return sa.literal_column(f"'{text}'", sa.Text)


def of_entry(row: EntryRow) -> Iterator[Group]:
    """What one entry counts in; of those that are not over the reason is not told."""
    reason = row.reason or "" if row.outcome != "pending" else ""
    yield ENTRIES_BY_DAY, row.pipeline, day_of(row.entered_at), row.outcome, reason
    if row.failure_group is not None:
        yield FAILURES_BY_DAY, row.pipeline, row.failure_group, day_of(row.settled_at), ""


def of_disposition(row: DispositionRow) -> Iterator[Group]:
    """What one message counts in."""
    yield MESSAGES_BY_HOUR, row.pipeline, row.step, hour_of(row.promised_at), CAME
    if not row.is_open:
        yield MESSAGES_BY_HOUR, row.pipeline, row.step, hour_of(row.settled_at), ENDED


def of_input(row: InputRow, reason: str) -> Group:
    """What an input's tally of one reason counts in."""
    return INPUTS_BY_DAY, row.pipeline, day_of(row.updated), reason, ""


Counting = tuple[str, Sequence[ColumnElement[Any]], Sequence[ColumnElement[bool]]]


def of_entries() -> list[Counting]:
    """The same of all entries: what is counted, its pipeline and values, and of which rows."""
    entry = table_of(EntryRow).c
    over = entry.outcome != _constant("pending")
    reason = sa.func.coalesce(sa.case((over, entry.reason), else_=None), _constant(""))
    by_day = (entry.pipeline, day_column(entry.entered_at), entry.outcome, reason)
    failed = (entry.pipeline, entry.failure_group, day_column(entry.settled_at))
    return [
        (ENTRIES_BY_DAY, by_day, ()),
        (FAILURES_BY_DAY, failed, (entry.failure_group.is_not(None),)),
    ]


def of_dispositions() -> list[Counting]:
    """The same of all messages."""
    ended = table_of(DispositionRow).c
    # No bare constant: PostgreSQL groups by none.
    came, over = (sa.func.coalesce(_constant(word), _constant("")) for word in (CAME, ENDED))
    return [
        (MESSAGES_BY_HOUR, (ended.pipeline, ended.step, hour_column(ended.promised_at), came), ()),
        (
            MESSAGES_BY_HOUR,
            (ended.pipeline, ended.step, hour_column(ended.settled_at), over),
            (sa.not_(ended.is_open),),
        ),
    ]
