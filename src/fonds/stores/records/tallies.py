"""Counts of rows, kept in the transaction that changes them, so that nobody has to count a million.

Whoever changes what is counted takes a turn first: two writers who each looked before the other wrote
would count one row twice. SQLite's write lock is that turn already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from fonds.model.entry import LINK
from fonds.model.rows import ROWS, DispositionRow, EntryRow, InputRow, Row, TallyRow
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
    SOURCE_CHARACTERS,
    encode_step_reason,
    find_source_id,
    format_day,
    format_hour,
)
from fonds.stores.records.conditions import match_keys
from fonds.stores.records.row_writes import build_insert, iter_chunks
from fonds.stores.records.tables import get_table, list_key_columns

# Tallies of links by their source, out of the rows the ledger writes: for one row, and in SQL for all.


Counting = tuple[str, Sequence[ColumnElement[Any]], Sequence[ColumnElement[bool]]]


def iter_entry_groups(row: EntryRow) -> Iterator[tuple[str, str, str, str, str]]:
    """What one entry counts in: nothing where no poll found it."""
    source = find_source_id(row.kind, row.input_id)
    if source is not None:
        why = encode_step_reason(row.outcome, row.step, row.reason)
        yield ENTRIES_BY_SOURCE, row.pipeline, source, row.outcome, why


def build_entry_counting() -> Counting:
    """The same of all entries: what is counted, its pipeline and values, and of which rows."""
    entry = get_table(EntryRow).c
    number = sa.literal_column
    source = sa.func.substr(entry.input_id, number("1"), number(str(SOURCE_CHARACTERS)))
    point = sa.func.substr(entry.input_id, number(str(SOURCE_CHARACTERS + 1)), number("1"))
    step, reason = (sa.func.coalesce(one, _build_text("")) for one in (entry.step, entry.reason))
    # Grouped by, it must be said alike in both places; parameters never are to PostgreSQL.
    why = sa.case(
        (entry.outcome == _build_text("pending"), _build_text("")),
        else_=step.op("||")(_build_text(" ")).op("||")(reason),
    )
    of_polls = (
        entry.kind == LINK,
        sa.func.length(entry.input_id) >= POLL_MIN_CHARS,
        point == POINT,
    )
    return ENTRIES_BY_SOURCE, (entry.pipeline, source, entry.outcome, why), of_polls


def _build_text(value: str) -> ColumnElement[str]:
    return sa.literal_column(f"'{value}'", sa.Text)


# Tallies by day and hour, out of the rows the ledger writes: for one row, and in SQL for all of them.


Group = tuple[str, str, str, str, str]
DAY_CHARACTERS, HOUR_CHARACTERS = 10, 13


class _TimePrefix(FunctionElement[str]):
    """The first characters of a time as text, in UTC: its day or its hour."""

    type = sa.Text()
    inherit_cache = True


@compiles(_TimePrefix, "sqlite")
def _in_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    at, count = (compiler.process(one, **options) for one in element.clauses)
    return f"substr({at}, 1, {count})"


@compiles(_TimePrefix, "postgresql")
def _in_postgresql(element: Any, compiler: Any, **options: Any) -> str:
    at, count = (compiler.process(one, **options) for one in element.clauses)
    return f"left(to_char({at} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24'), {count})"


def build_day_column(column: ColumnElement[Any]) -> ColumnElement[str]:
    """What `format_day` says of a column."""
    return _build_cut(column, DAY_CHARACTERS)


def build_hour_column(column: ColumnElement[Any]) -> ColumnElement[str]:
    """What `format_hour` says of a column."""
    return _build_cut(column, HOUR_CHARACTERS)


def _build_cut(column: ColumnElement[Any], count: int) -> ColumnElement[str]:
    # Grouped by, it must be said alike in both places; parameters never are to PostgreSQL.
    cut = _TimePrefix(column, sa.literal_column(str(count), sa.Integer))
    return sa.func.coalesce(cut, _build_constant(""))


def _build_constant(text: str) -> ColumnElement[str]:
    return sa.literal_column(f"'{text}'", sa.Text)


def iter_entry_time_groups(row: EntryRow) -> Iterator[Group]:
    """What one entry counts in; of those that are not over the reason is not told."""
    reason = row.reason or "" if row.outcome != "pending" else ""
    yield ENTRIES_BY_DAY, row.pipeline, format_day(row.entered_at), row.outcome, reason
    if row.failure_group is not None:
        yield FAILURES_BY_DAY, row.pipeline, row.failure_group, format_day(row.settled_at), ""


def iter_disposition_groups(row: DispositionRow) -> Iterator[Group]:
    """What one message counts in."""
    yield MESSAGES_BY_HOUR, row.pipeline, row.step, format_hour(row.promised_at), ARRIVED
    if not row.is_open:
        yield MESSAGES_BY_HOUR, row.pipeline, row.step, format_hour(row.settled_at), ENDED


def build_input_group(row: InputRow, reason: str) -> Group:
    """What an input's tally of one reason counts in."""
    return INPUTS_BY_DAY, row.pipeline, format_day(row.updated), reason, ""


def list_entry_countings() -> list[Counting]:
    """The same of all entries: what is counted, its pipeline and values, and of which rows."""
    entry = get_table(EntryRow).c
    over = entry.outcome != _build_constant("pending")
    reason = sa.func.coalesce(sa.case((over, entry.reason), else_=None), _build_constant(""))
    by_day = (entry.pipeline, build_day_column(entry.entered_at), entry.outcome, reason)
    failed = (entry.pipeline, entry.failure_group, build_day_column(entry.settled_at))
    return [
        (ENTRIES_BY_DAY, by_day, ()),
        (FAILURES_BY_DAY, failed, (entry.failure_group.is_not(None),)),
    ]


def list_disposition_countings() -> list[Counting]:
    """The same of all messages."""
    ended = get_table(DispositionRow).c
    # No bare constant: PostgreSQL groups by none.
    came, over = (
        sa.func.coalesce(_build_constant(word), _build_constant("")) for word in (ARRIVED, ENDED)
    )
    return [
        (
            MESSAGES_BY_HOUR,
            (ended.pipeline, ended.step, build_hour_column(ended.promised_at), came),
            (),
        ),
        (
            MESSAGES_BY_HOUR,
            (ended.pipeline, ended.step, build_hour_column(ended.settled_at), over),
            (sa.not_(ended.is_open),),
        ),
    ]


_LOCK_KEY = 0x466F54616C
_TALLIES = get_table(TallyRow)

"""What is counted, the pipeline, and three values of its rows; '' for none."""

COUNTED: Mapping[type[Row], tuple[str, ...]] = {
    row: row.COUNTED_BY for row in ROWS if hasattr(row, "COUNTED_BY")
}
"""Rows that are written one by one and counted by these columns. The ledger counts its own."""


def lock_tallies(connection: Connection) -> None:
    """Wait until no other transaction is changing tallies, and keep others waiting until this one ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))


def add(connection: Connection, deltas: Mapping[Group, int]) -> None:
    """Add to the tallies; the caller has taken its turn."""
    rows = [
        dict(zip(TallyRow.KEY, group, strict=True), count=delta)
        for group, delta in sorted(deltas.items())
        if delta
    ]
    if not rows:
        return
    insert = build_insert(connection.dialect.name, _TALLIES)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=list(TallyRow.KEY),
            set_={"count": _TALLIES.c.count + insert.excluded.count},
        ),
        rows,
    )


@contextmanager
def keep_tallies(
    connection: Connection, changed: Mapping[type[Row], Sequence[object]]
) -> Iterator[None]:
    """Keep the tallies of the rows with these keys, which are written inside."""
    kinds = {kind: keys for kind, keys in changed.items() if kind in COUNTED and keys}
    if not kinds:
        yield
        return
    lock_tallies(connection)
    before = _count_groups(connection, kinds)
    yield
    after = _count_groups(connection, kinds)
    after.subtract(before)
    add(connection, after)


def _count_groups(
    connection: Connection, kinds: Mapping[type[Row], Sequence[object]]
) -> Counter[Group]:
    counts: Counter[Group] = Counter()
    for kind, keys in kinds.items():
        for chunk in iter_chunks(keys):
            wanted = match_keys(list_key_columns(kind), chunk)
            counts.update(_count_grouped(connection, kind, COUNTED[kind], wanted))
    return counts


def _count_grouped(
    connection: Connection, kind: type[Row], group_columns: Sequence[str], *conditions: Any
) -> dict[Group, int]:
    columns = [get_table(kind).c[name] for name in group_columns]
    query = sa.select(*columns, sa.func.count()).where(*conditions).group_by(*columns)
    return {_build_group(kind.TABLE, "", row[:-1]): row[-1] for row in connection.execute(query)}


def _build_group(counter: str, pipeline: str, values: Sequence[Any]) -> Group:
    first, second, third = (*(str(value or "") for value in values), "", "", "")[:3]
    return counter, pipeline, first, second, third


def build_entry_group(pipeline: str, outcome: str, reason: str | None, step: str | None) -> Group:
    """Entries are counted by outcome, reason and step; of those that are not over only how many."""
    over = outcome != "pending"
    return _build_group(
        EntryRow.TABLE, pipeline, (outcome, reason if over else "", step if over else "")
    )


def build_failure_group(pipeline: str, group: str, step: str | None, reason: str | None) -> Group:
    """What is quarantined is counted by the group it belongs to; a group has one step and one reason."""
    return _build_group(COUNTED_AS, pipeline, (group, step, reason))


def list_entry_groups(row: EntryRow) -> list[Group]:
    """All that one entry counts in."""
    counted = [build_entry_group(row.pipeline, row.outcome, row.reason, row.step)]
    if row.failure_group is not None:
        counted.append(build_failure_group(row.pipeline, row.failure_group, row.step, row.reason))
    return [*counted, *iter_entry_time_groups(row), *iter_entry_groups(row)]


def list_disposition_groups(row: DispositionRow) -> list[Group]:
    """All that one message counts in."""
    return [build_verdict_group(row.pipeline, row.step, row.verdict), *iter_disposition_groups(row)]


def build_verdict_group(pipeline: str, step: str, verdict: str) -> Group:
    """Messages are counted by step and verdict, the promised among them."""
    return _build_group(DispositionRow.TABLE, pipeline, (step, verdict))


def count_input_groups(row: InputRow) -> Counter[Group]:
    """What a source counted and did not emit is counted by reason, and by day."""
    counted: Counter[Group] = Counter()
    for reason, count in row.tally.items():
        counted[_build_group(InputRow.TABLE, row.pipeline, (reason,))] += count
        counted[build_input_group(row, reason)] += count
    return counted


def recount(connection: Connection) -> Counter[Group]:
    """Every tally, counted anew from the rows."""
    found: Counter[Group] = Counter()
    for kind, by in COUNTED.items():
        found.update(_count_grouped(connection, kind, by))
    entry, ended = get_table(EntryRow).c, get_table(DispositionRow).c
    by_outcome = (entry.pipeline, entry.outcome, entry.reason, entry.step)
    for *values, count in connection.execute(
        sa.select(*by_outcome, sa.func.count()).group_by(*by_outcome)
    ):
        found[build_entry_group(*values)] += count
    by_group = (entry.pipeline, entry.failure_group, entry.step, entry.reason)
    for *values, count in connection.execute(
        sa.select(*by_group, sa.func.count())
        .where(entry.failure_group.is_not(None))
        .group_by(*by_group)
    ):
        found[build_failure_group(*values)] += count
    by_verdict = (ended.pipeline, ended.step, ended.verdict)
    for *values, count in connection.execute(
        sa.select(*by_verdict, sa.func.count()).group_by(*by_verdict)
    ):
        found[build_verdict_group(*values)] += count
    inputs = get_table(InputRow)
    for row in connection.execute(sa.select(inputs).where(inputs.c.tally_count > 0)):
        found.update(count_input_groups(InputRow(*row)))
    several = (*list_entry_countings(), *list_disposition_countings(), build_entry_counting())
    for counted, values_by, where in several:
        query = sa.select(*values_by, sa.func.count()).where(*where).group_by(*values_by)
        for pipeline, *values, count in connection.execute(query):
            found[_build_group(counted, pipeline, values)] += count
    return found


def load_tallies(connection: Connection) -> dict[Group, int]:
    """Every tally as it stands, but those that are 0."""
    columns = [_TALLIES.c[name] for name in (*TallyRow.KEY, "count")]
    rows = connection.execute(sa.select(*columns).where(_TALLIES.c.count != 0))
    return {(row[0], row[1], row[2], row[3], row[4]): row[5] for row in rows}
