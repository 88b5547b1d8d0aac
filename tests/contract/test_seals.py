"""Seals of tables: they follow every change by Fonds, and show every change by another program."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_type_hints

import pytest
import sqlalchemy as sa

from fonds.model.ledger_difference import CountDifference
from fonds.model.row_change import RowChange
from fonds.model.rows import Row
from fonds.model.tallies import SEAL
from fonds.stores.records.engine import connect_to_write
from fonds.stores.records.seals import SEALED
from fonds.stores.records.sql import SqlRecords
from fonds.stores.records.tables import get_table
from row_values import build_row, build_value

KINDS = sorted(SEALED, key=lambda kind: kind.TABLE)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.TABLE)


def key(row: Row) -> Any:
    values = tuple(getattr(row, name) for name in row.KEY)
    return values if len(values) > 1 else values[0]


def find_broken_seals(records: SqlRecords) -> list[str]:
    return [
        difference.group[2]
        for difference in records.ledger.recount()
        if isinstance(difference, CountDifference) and difference.group[0] == SEAL
    ]


def alter(records: SqlRecords, statement: Any) -> None:
    """Run a statement as another program would."""
    with connect_to_write(records._engine) as connection, connection.begin():
        # PostgreSQL does not count inserted rows.
        assert connection.execute(statement).rowcount in (1, -1)


@each_kind
def test_every_change_by_fonds_keeps_the_seal(records: SqlRecords, kind: type[Row]) -> None:
    rows = [build_row(kind, number) for number in range(2, 6)]
    records.put(rows)
    assert find_broken_seals(records) == []
    records.put(rows[:2])
    records.put([build_row(kind, 7), rows[2]], replace=False)
    column = next(c.name for c in fields(kind) if c.name not in kind.KEY)  # type: ignore[arg-type]
    value = getattr(rows[0], column)
    records.change(kind, [key(row) for row in rows[1:]], {column: value})
    records.change_each(
        kind,
        [
            RowChange(key(rows[0]), {column: getattr(rows[3], column)}, {}),
            RowChange(key(rows[1]), None, {}),
            RowChange(key(build_row(kind, 99)), None, {}),
        ],
    )
    records.delete(kind, [key(rows[2]), key(build_row(kind, 99))])
    assert find_broken_seals(records) == []
    assert records.count(kind)[()] == 3
    again = SqlRecords(records._engine.url)
    assert find_broken_seals(again) == []
    again.close()


@each_kind
def test_every_change_by_another_program_breaks_the_seal(
    records: SqlRecords, kind: type[Row]
) -> None:
    row = build_row(kind, 4)
    records.put([row, build_row(kind, 2)])
    table = get_table(kind)
    is_row = sa.and_(*(table.c[name] == getattr(row, name) for name in kind.KEY))
    for column in table.columns:
        if column.name in kind.KEY:
            continue
        other = build_value(column.name, get_type_hints(kind)[column.name], 6)
        if other == getattr(row, column.name):
            continue
        alter(records, sa.update(table).where(is_row).values({column.name: other}))
        assert find_broken_seals(records) == [kind.TABLE], column.name
        old = getattr(row, column.name)
        alter(records, sa.update(table).where(is_row).values({column.name: old}))
        assert find_broken_seals(records) == [], column.name
    alter(records, sa.delete(table).where(is_row))
    assert find_broken_seals(records) == [kind.TABLE]
    records.put([row])
    assert find_broken_seals(records) == [kind.TABLE], "a write by Fonds must not hide the change"
    added_row = build_row(kind, 8)
    values = {c.name: getattr(added_row, c.name) for c in table.columns}
    alter(records, sa.insert(table).values(values))
    assert find_broken_seals(records) == [kind.TABLE]


def test_a_repair_of_counts_does_not_accept_a_broken_seal(records: SqlRecords) -> None:
    kind = KINDS[0]
    row = build_row(kind, 4)
    records.put([row])
    table = get_table(kind)
    alter(records, sa.delete(table))
    records.ledger.recount(repair=True)
    assert find_broken_seals(records) == [kind.TABLE]


def test_a_failed_write_leaves_the_seal(records: SqlRecords) -> None:
    kind = next(kind for kind in KINDS if kind.KEY[0] == "sha1hex")
    records.put([build_row(kind, 4)])
    with pytest.raises(sa.exc.IntegrityError):
        records.put([build_row(kind, 5), replace(build_row(kind, 6), sha1hex="short")])  # type: ignore[type-var]
    assert find_broken_seals(records) == []


def test_accepted_rows_are_sealed_again(records: SqlRecords) -> None:
    kind, other_kind = KINDS[:2]
    records.put([build_row(kind, 4), build_row(kind, 6), build_row(other_kind, 4)])
    for changed_kind in (kind, other_kind):
        column = get_table(changed_kind).c[changed_kind.KEY[0]]
        value = getattr(build_row(changed_kind, 4), changed_kind.KEY[0])
        alter(records, sa.delete(get_table(changed_kind)).where(column == value))
    assert sorted(find_broken_seals(records)) == sorted([kind.TABLE, other_kind.TABLE])
    records.ledger.accept_rows(kind)
    assert find_broken_seals(records) == [other_kind.TABLE]
    records.put([build_row(kind, 8)])
    assert find_broken_seals(records) == [other_kind.TABLE]
