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
from sqlalchemy import Connection

from fonds.model.failure import COUNTED_AS
from fonds.model.rows import (
    ROWS,
    DispositionRow,
    EntryRow,
    InputRow,
    Row,
    TallyRow,
)
from fonds.stores.records.accounting import by_source, by_time
from fonds.stores.records.conditions import keyed
from fonds.stores.records.rows_io import chunks, inserting
from fonds.stores.records.schema.tables import key_columns, table_of

_TURN = 0x466F54616C
_TALLIES = table_of(TallyRow)

Group = tuple[str, str, str, str, str]
"""What is counted, the pipeline, and three values of its rows; '' for none."""

COUNTED: Mapping[type[Row], tuple[str, ...]] = {
    row: row.COUNTED_BY for row in ROWS if hasattr(row, "COUNTED_BY")
}
"""Rows that are written one by one and counted by these columns. The ledger counts its own."""


def take_turn(connection: Connection) -> None:
    """Wait until no other transaction is changing tallies, and keep others waiting until this one ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TURN)))


def add(connection: Connection, deltas: Mapping[Group, int]) -> None:
    """Add to the tallies; the caller has taken its turn."""
    rows = [
        dict(zip(TallyRow.KEY, group, strict=True), count=delta)
        for group, delta in sorted(deltas.items())
        if delta
    ]
    if not rows:
        return
    insert = inserting(connection.dialect.name, _TALLIES)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=list(TallyRow.KEY),
            set_={"count": _TALLIES.c.count + insert.excluded.count},
        ),
        rows,
    )


@contextmanager
def counting(
    connection: Connection, changed: Mapping[type[Row], Sequence[object]]
) -> Iterator[None]:
    """Keep the tallies of the rows with these keys, which are written inside."""
    kinds = {kind: keys for kind, keys in changed.items() if kind in COUNTED and keys}
    if not kinds:
        yield
        return
    take_turn(connection)
    before = _counts(connection, kinds)
    yield
    after = _counts(connection, kinds)
    after.subtract(before)
    add(connection, after)


def _counts(connection: Connection, kinds: Mapping[type[Row], Sequence[object]]) -> Counter[Group]:
    counts: Counter[Group] = Counter()
    for kind, keys in kinds.items():
        for chunk in chunks(keys):
            wanted = keyed(key_columns(kind), chunk)
            counts.update(_grouped(connection, kind, COUNTED[kind], wanted))
    return counts


def _grouped(
    connection: Connection, kind: type[Row], by: Sequence[str], *wanted: Any
) -> dict[Group, int]:
    columns = [table_of(kind).c[name] for name in by]
    query = sa.select(*columns, sa.func.count()).where(*wanted).group_by(*columns)
    return {_group(kind.TABLE, "", row[:-1]): row[-1] for row in connection.execute(query)}


def _group(counted: str, pipeline: str, values: Sequence[Any]) -> Group:
    first, second, third = (*(str(value or "") for value in values), "", "", "")[:3]
    return counted, pipeline, first, second, third


def of_entry(pipeline: str, outcome: str, reason: str | None, step: str | None) -> Group:
    """Entries are counted by outcome, reason and step; of those that are not over only how many."""
    over = outcome != "pending"
    return _group(EntryRow.TABLE, pipeline, (outcome, reason if over else "", step if over else ""))


def of_failure(pipeline: str, group: str, step: str | None, reason: str | None) -> Group:
    """What is quarantined is counted by the group it belongs to; a group has one step and one reason."""
    return _group(COUNTED_AS, pipeline, (group, step, reason))


def of_row(row: EntryRow) -> list[Group]:
    """All that one entry counts in."""
    counted = [of_entry(row.pipeline, row.outcome, row.reason, row.step)]
    if row.failure_group is not None:
        counted.append(of_failure(row.pipeline, row.failure_group, row.step, row.reason))
    return [*counted, *by_time.of_entry(row), *by_source.of_entry(row)]


def of_disposition(row: DispositionRow) -> list[Group]:
    """All that one message counts in."""
    return [of_verdict(row.pipeline, row.step, row.verdict), *by_time.of_disposition(row)]


def of_verdict(pipeline: str, step: str, verdict: str) -> Group:
    """Messages are counted by step and verdict, the promised among them."""
    return _group(DispositionRow.TABLE, pipeline, (step, verdict))


def of_input(row: InputRow) -> Counter[Group]:
    """What a source counted and did not emit is counted by reason, and by day."""
    counted: Counter[Group] = Counter()
    for reason, count in row.tally.items():
        counted[_group(InputRow.TABLE, row.pipeline, (reason,))] += count
        counted[by_time.of_input(row, reason)] += count
    return counted


def recount(connection: Connection) -> Counter[Group]:
    """Every tally, counted anew from the rows."""
    found: Counter[Group] = Counter()
    for kind, by in COUNTED.items():
        found.update(_grouped(connection, kind, by))
    entry, ended = table_of(EntryRow).c, table_of(DispositionRow).c
    by_outcome = (entry.pipeline, entry.outcome, entry.reason, entry.step)
    for *values, count in connection.execute(
        sa.select(*by_outcome, sa.func.count()).group_by(*by_outcome)
    ):
        found[of_entry(*values)] += count
    by_group = (entry.pipeline, entry.failure_group, entry.step, entry.reason)
    for *values, count in connection.execute(
        sa.select(*by_group, sa.func.count())
        .where(entry.failure_group.is_not(None))
        .group_by(*by_group)
    ):
        found[of_failure(*values)] += count
    by_verdict = (ended.pipeline, ended.step, ended.verdict)
    for *values, count in connection.execute(
        sa.select(*by_verdict, sa.func.count()).group_by(*by_verdict)
    ):
        found[of_verdict(*values)] += count
    inputs = table_of(InputRow)
    for row in connection.execute(sa.select(inputs).where(inputs.c.tally_count > 0)):
        found.update(of_input(InputRow(*row)))
    several = (*by_time.of_entries(), *by_time.of_dispositions(), by_source.of_entries())
    for counted, values_by, where in several:
        query = sa.select(*values_by, sa.func.count()).where(*where).group_by(*values_by)
        for pipeline, *values, count in connection.execute(query):
            found[_group(counted, pipeline, values)] += count
    return found


def stored(connection: Connection) -> dict[Group, int]:
    """Every tally as it stands, but those that are 0."""
    columns = [_TALLIES.c[name] for name in (*TallyRow.KEY, "count")]
    rows = connection.execute(sa.select(*columns).where(_TALLIES.c.count != 0))
    return {(row[0], row[1], row[2], row[3], row[4]): row[5] for row in rows}
