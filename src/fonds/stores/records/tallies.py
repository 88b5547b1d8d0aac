"""Tallies: stored counts of table rows, so that no page of Fonds counts millions of rows.

`counters.py` defines which counts there are. They change in the same transaction as the counted
rows. A writer locks the counts first: two writers that each read before the other wrote would count
one row twice. On SQLite the write lock has the same effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.rows import DispositionRow, EntryRow, InputRow, Row, TallyRow
from fonds.model.stored_json import clean_text
from fonds.stores.records.counters import (
    COUNTED,
    Group,
    build_entry_group,
    build_failure_group,
    build_group,
    build_verdict_group,
    count_input_groups,
    list_disposition_countings,
    list_entry_countings,
)
from fonds.stores.records.row_statements import (
    Key,
    get_select_statement,
    get_write_statement,
)
from fonds.stores.records.row_writes import build_insert
from fonds.stores.records.tables import get_table

_LOCK_KEY = 0x466F54616C
_TALLIES = get_table(TallyRow)


def lock_tallies(connection: Connection) -> None:
    """Lock the stored row counts against other writers until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))


def add(connection: Connection, deltas: Mapping[Group, int]) -> None:
    """Add a difference to each stored row count; a missing count is created.

    `deltas` are the differences by group: counter name, pipeline and three values. The caller must
    hold the lock of `lock_tallies`.
    """
    rows = [(*group, delta) for group, delta in sorted(deltas.items()) if delta]
    statement = get_write_statement(
        connection,
        add,
        _TALLIES,
        partial(_build_addition, connection.dialect.name),
    )
    statement.run(connection, rows)


def subtract(connection: Connection, groups: Iterable[Group]) -> None:
    """Subtract one from the stored row count of a group for each time that it is in `groups`.

    The caller must hold the lock of `lock_tallies`.
    """
    add(connection, {group: -count for group, count in Counter(groups).items()})


def _build_addition(dialect: str) -> Any:
    """Return an SQL statement that adds a number to a stored count, which it creates if missing."""
    insert = build_insert(dialect, _TALLIES)
    return insert.on_conflict_do_update(
        index_elements=list(TallyRow.KEY),
        set_={"count": _TALLIES.c.count + insert.excluded.count},
    )


def load_groups(connection: Connection, kind: type[Row], keys: Sequence[Key]) -> dict[Key, Group]:
    """Return the group in which each existing row of the type `kind` with one of these keys is
    counted, by key.

    Returns nothing for a type whose rows are not counted. Otherwise locks the stored counts until
    the transaction ends, so that the caller may change the rows and their counts.
    """
    if kind not in COUNTED or not keys:
        return {}
    lock_tallies(connection)
    statement = get_select_statement(connection, kind, (*kind.KEY, *COUNTED[kind]))
    key_size = len(kind.KEY)
    return {
        row[:key_size]: build_group(kind.TABLE, "", row[key_size:])
        for row in zip(*statement.load(connection, list(dict.fromkeys(keys))), strict=True)
    }


def get_row_group(row: Row) -> Group:
    """Return the group in which a row is counted. Its type must be one of the counted types."""
    values = [getattr(row, name) for name in COUNTED[type(row)]]
    return build_group(
        row.TABLE, "", [clean_text(value) if isinstance(value, str) else value for value in values]
    )


def _count_grouped(
    connection: Connection, kind: type[Row], group_columns: Sequence[str], *conditions: Any
) -> dict[Group, int]:
    columns = [get_table(kind).c[name] for name in group_columns]
    query = sa.select(*columns, sa.func.count()).where(*conditions).group_by(*columns)
    return {build_group(kind.TABLE, "", row[:-1]): row[-1] for row in connection.execute(query)}


def recount(connection: Connection) -> Counter[Group]:
    """Count all rows of the counted tables again. Return the counts by group: counter name,
    pipeline and three values.
    """
    counts: Counter[Group] = Counter()
    for kind, columns in COUNTED.items():
        counts.update(_count_grouped(connection, kind, columns))
    entry, disposition = get_table(EntryRow).c, get_table(DispositionRow).c
    by_outcome = (entry.pipeline, entry.outcome, entry.reason, entry.step)
    for *values, count in connection.execute(
        sa.select(*by_outcome, sa.func.count()).group_by(*by_outcome)
    ):
        counts[build_entry_group(*values)] += count
    by_group = (entry.pipeline, entry.failure_group, entry.step, entry.reason)
    for *values, count in connection.execute(
        sa.select(*by_group, sa.func.count())
        .where(entry.failure_group.is_not(None))
        .group_by(*by_group)
    ):
        counts[build_failure_group(*values)] += count
    by_verdict = (disposition.pipeline, disposition.step, disposition.verdict)
    for *values, count in connection.execute(
        sa.select(*by_verdict, sa.func.count()).group_by(*by_verdict)
    ):
        counts[build_verdict_group(*values)] += count
    inputs = get_table(InputRow)
    for row in connection.execute(sa.select(inputs).where(inputs.c.tally_count > 0)):
        counts.update(count_input_groups(InputRow(*row)))
    for counter, value_columns, where in (*list_entry_countings(), *list_disposition_countings()):
        query = sa.select(*value_columns, sa.func.count()).where(*where).group_by(*value_columns)
        for pipeline, *values, count in connection.execute(query):
            counts[build_group(counter, pipeline, values)] += count
    return counts


def load_tallies(connection: Connection) -> dict[Group, int]:
    """Return all stored row counts that are not 0, by group: counter name, pipeline and three
    values.
    """
    columns = [_TALLIES.c[name] for name in (*TallyRow.KEY, "count")]
    rows = connection.execute(sa.select(*columns).where(_TALLIES.c.count != 0))
    return {(row[0], row[1], row[2], row[3], row[4]): row[5] for row in rows}
