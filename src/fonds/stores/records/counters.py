"""Counters: the counts of table rows that Fonds keeps, and which rows each of them counts.

Each count belongs to a group, which consists of a counter name, a pipeline and three text values.
`tallies.py` keeps the counts in the database.

The groups are defined twice, and both definitions must agree: in Python for one row, and in SQL for
all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from fonds.model.entry import LINK
from fonds.model.rows import ROWS, DispositionRow, EntryRow, InputRow, Row
from fonds.model.tallies import (
    ARRIVED,
    COUNTED_AS,
    ENDED,
    ENTRIES_BY_DAY,
    ENTRIES_BY_SOURCE,
    FAILURES_BY_DAY,
    INPUTS_BY_DAY,
    MESSAGES_BY_HOUR,
    POINT,
    POLL_MIN_CHARS,
    SOURCE_CHARS,
    encode_step_reason,
    find_source_id,
    format_day,
    format_hour,
)
from fonds.stores.records.column_types import build_constant
from fonds.stores.records.tables import get_table

Group = tuple[str, str, str, str, str]
"""Counter name, pipeline and three text values ('' if unused)."""

Counting = tuple[str, Sequence[ColumnElement[Any]], Sequence[ColumnElement[bool]]]
"""SQL definition of a counter: its name, the columns to group by (the pipeline first), and the
conditions for rows.
"""

COUNTED: Mapping[type[Row], tuple[str, ...]] = {
    row: row.COUNTED_BY for row in ROWS if hasattr(row, "COUNTED_BY")
}
"""Columns by which rows are counted, by row type. Counts of entries, messages and inputs are not
included: the ledger keeps those.
"""


def build_group(counter: str, pipeline: str, values: Sequence[Any]) -> Group:
    """Return the group of a count. Missing values, and None, become ''.

    `values`: up to three values.
    """
    first, second, third = (*(str(value or "") for value in values), "", "", "")[:3]
    return counter, pipeline, first, second, third


def build_entry_group(pipeline: str, outcome: str, reason: str | None, step: str | None) -> Group:
    """Return the key of the stored count that counts an entry by outcome, reason and step.

    Pending entries are counted without reason and step.
    """
    is_final = outcome != "pending"
    return build_group(
        EntryRow.TABLE, pipeline, (outcome, reason if is_final else "", step if is_final else "")
    )


def build_failure_group(pipeline: str, group: str, step: str | None, reason: str | None) -> Group:
    """Return the key of the stored count of quarantined entries in a failure group.

    A failure group is a set of similar failures, which have the same step and reason.
    """
    return build_group(COUNTED_AS, pipeline, (group, step, reason))


def list_entry_groups(row: EntryRow) -> list[Group]:
    """Return the keys of all stored counts in which an entry is counted."""
    groups = [build_entry_group(row.pipeline, row.outcome, row.reason, row.step)]
    if row.failure_group is not None:
        groups.append(build_failure_group(row.pipeline, row.failure_group, row.step, row.reason))
    return [*groups, *_iter_entry_time_groups(row), *_iter_source_groups(row)]


def list_disposition_groups(row: DispositionRow) -> list[Group]:
    """Return the keys of all stored counts in which a message is counted."""
    return [
        build_verdict_group(row.pipeline, row.step, row.verdict),
        *_iter_disposition_time_groups(row),
    ]


def build_verdict_group(pipeline: str, step: str, verdict: str) -> Group:
    """Return the key of the stored count that counts messages by step and by how they ended.

    Messages that have not ended count as pending.
    """
    return build_group(DispositionRow.TABLE, pipeline, (step, verdict))


def count_input_groups(row: InputRow) -> Counter[Group]:
    """Return how many items of an input were counted without an entry row of their own.

    The result has the keys of the stored counts: by reason, and by day and reason.
    """
    counts: Counter[Group] = Counter()
    for reason, count in row.tally.items():
        counts[build_group(InputRow.TABLE, row.pipeline, (reason,))] += count
        counts[_build_input_day_group(row, reason)] += count
    return counts


def _iter_source_groups(row: EntryRow) -> Iterator[Group]:
    """Yield the key of the stored count that counts an entry by the followed source that listed it.

    Yields nothing if the entry does not come from a followed source (a polled feed, sitemap or
    page).
    """
    source = find_source_id(row.kind, row.input_id)
    if source is not None:
        step_and_reason = encode_step_reason(row.outcome, row.step, row.reason)
        yield ENTRIES_BY_SOURCE, row.pipeline, source, row.outcome, step_and_reason


def _iter_entry_time_groups(row: EntryRow) -> Iterator[Group]:
    """Yield the keys of the stored counts that count an entry by day.

    The first counts it by the day of its arrival, with outcome and reason (none if pending). A
    failed entry is also counted by failure group and the day on which it failed.
    """
    reason = row.reason or "" if row.outcome != "pending" else ""
    yield ENTRIES_BY_DAY, row.pipeline, format_day(row.entered_at), row.outcome, reason
    if row.failure_group is not None:
        yield FAILURES_BY_DAY, row.pipeline, row.failure_group, format_day(row.settled_at), ""


def _iter_disposition_time_groups(row: DispositionRow) -> Iterator[Group]:
    """Yield the keys of the stored counts that count a message by hour.

    A message is counted in the hour of its arrival and, once it has ended, in the hour of its end.
    """
    yield MESSAGES_BY_HOUR, row.pipeline, row.step, format_hour(row.promised_at), ARRIVED
    if not row.is_open:
        yield MESSAGES_BY_HOUR, row.pipeline, row.step, format_hour(row.settled_at), ENDED


def _build_input_day_group(row: InputRow, reason: str) -> Group:
    """Return the group that counts one reason in the tally of an input, by day."""
    return INPUTS_BY_DAY, row.pipeline, format_day(row.updated), reason, ""


DAY_CHARS, HOUR_CHARS = 10, 13


class _TimePrefix(FunctionElement[str]):
    """SQL expression for the first characters of a UTC time as text: its day or hour."""

    type = sa.Text()
    inherit_cache = True


@compiles(_TimePrefix, "sqlite")
def _in_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    time_sql, count = (compiler.process(clause, **options) for clause in element.clauses)
    # Only tables with short times are counted by time.
    return f"substr(datetime({time_sql} / 1000000, 'unixepoch'), 1, {count})"


@compiles(_TimePrefix, "postgresql")
def _in_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    time_sql, count = (compiler.process(clause, **options) for clause in element.clauses)
    return f"left(to_char({time_sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24'), {count})"


def build_day_column(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return SQL for the UTC day of a time column, `YYYY-MM-DD`, as `format_day` does in Python.
    Null becomes "".
    """
    return _build_cut(column, DAY_CHARS)


def build_hour_column(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return SQL for the UTC hour of a time column, `YYYY-MM-DD HH`, as `format_hour` does in
    Python. Null becomes "".
    """
    return _build_cut(column, HOUR_CHARS)


def _build_cut(column: ColumnElement[Any], count: int) -> ColumnElement[str]:
    # A literal, because PostgreSQL requires identical expressions in SELECT and GROUP BY.
    time_prefix = _TimePrefix(column, sa.literal_column(str(count), sa.Integer))
    return sa.func.coalesce(time_prefix, build_constant(""))


def list_entry_countings() -> list[Counting]:
    """Return the SQL definitions of the counts of entries by day and by followed source."""
    entry = get_table(EntryRow).c
    is_final = entry.outcome != build_constant("pending")
    reason = sa.func.coalesce(sa.case((is_final, entry.reason), else_=None), build_constant(""))
    by_day = (entry.pipeline, build_day_column(entry.entered_at), entry.outcome, reason)
    by_failure_group = (entry.pipeline, entry.failure_group, build_day_column(entry.settled_at))
    return [
        (ENTRIES_BY_DAY, by_day, ()),
        (FAILURES_BY_DAY, by_failure_group, (entry.failure_group.is_not(None),)),
        _build_source_counting(),
    ]


def list_disposition_countings() -> list[Counting]:
    """Return the SQL definitions of the counts of messages by hour."""
    disposition = get_table(DispositionRow).c
    # Not a bare constant: PostgreSQL does not group by one.
    arrival, end = (
        sa.func.coalesce(build_constant(word), build_constant("")) for word in (ARRIVED, ENDED)
    )
    return [
        (
            MESSAGES_BY_HOUR,
            (
                disposition.pipeline,
                disposition.step,
                build_hour_column(disposition.promised_at),
                arrival,
            ),
            (),
        ),
        (
            MESSAGES_BY_HOUR,
            (
                disposition.pipeline,
                disposition.step,
                build_hour_column(disposition.settled_at),
                end,
            ),
            (sa.not_(disposition.is_open),),
        ),
    ]


def _build_source_counting() -> Counting:
    """Return the SQL definition of the counts of entries by followed source."""
    entry = get_table(EntryRow).c
    number = sa.literal_column
    source = sa.func.substr(entry.input_id, number("1"), number(str(SOURCE_CHARS)))
    point = sa.func.substr(entry.input_id, number(str(SOURCE_CHARS + 1)), number("1"))
    step, reason = (
        sa.func.coalesce(column, build_constant("")) for column in (entry.step, entry.reason)
    )
    # A literal, because PostgreSQL requires identical expressions in SELECT and GROUP BY.
    step_and_reason = sa.case(
        (entry.outcome == build_constant("pending"), build_constant("")),
        else_=step.op("||")(build_constant(" ")).op("||")(reason),
    )
    conditions = (
        entry.kind == LINK,
        sa.func.length(entry.input_id) >= POLL_MIN_CHARS,
        point == POINT,
    )
    return ENTRIES_BY_SOURCE, (entry.pipeline, source, entry.outcome, step_and_reason), conditions
