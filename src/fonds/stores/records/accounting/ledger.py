"""The ledger in the records' database: what entered, how each message ended, and what follows of it.

An entry's outcome and the tallies change in the transaction that writes the dispositions, so that they
are right to the last message while work goes on. Nothing here looks at more rows than it was given,
except where a heavier ending is taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from fonds.model.disposition import PENDING, Reason
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.stores.records.accounting import recounting, tallies
from fonds.stores.records.accounting.outcomes import (
    heaviest,
    outcome,
    rank,
    unnamed,
    unweighed,
    weight,
)
from fonds.stores.records.engine import translated, writing
from fonds.stores.records.rows_io import Key, insert, key_of, load, upsert
from fonds.stores.records.schema.tables import table_of

Rows = dict[Key, DispositionRow]


class SqlLedger:
    """Implements the port Ledger."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def enter(
        self, inputs: Sequence[InputRow], entries: Sequence[EntryRow], steps: Sequence[str]
    ) -> set[str]:
        """As the port says, in one transaction."""
        with translated(self._engine), writing(self._engine) as connection, connection.begin():
            tallies.take_turn(connection)
            known = load(connection, EntryRow, [key_of(one) for one in entries])
            fresh = {key_of(one): one for one in entries if key_of(one) not in known}
            insert(connection, EntryRow, fresh.values())
            deltas = Counter(group for row in fresh.values() for group in tallies.of_row(row))
            tallies.add(connection, deltas)
            first = [_first(row, step) for row in fresh.values() for step in steps]
            _write(connection, first)
            _put_inputs(connection, inputs)
            return {row.entry_id for row in fresh.values()} | _unsettled(connection, known, steps)

    def write(self, rows: Sequence[DispositionRow]) -> None:
        """As the port says, in one transaction."""
        if not rows:
            return
        with translated(self._engine), writing(self._engine) as connection, connection.begin():
            tallies.take_turn(connection)
            _write(connection, rows)

    def recount(self, *, mend: bool = False) -> list[str]:
        """As the port says; it looks at every row."""
        with translated(self._engine), writing(self._engine) as connection, connection.begin():
            tallies.take_turn(connection)
            return recounting.recount(connection, mend=mend)


@dataclass(slots=True)
class _Change:
    """What a batch of dispositions does to one entry."""

    opened: int = 0
    ended: list[DispositionRow] = field(default_factory=list)
    taken_back: bool = False

    def weigh(self, old: DispositionRow | None, new: DispositionRow) -> None:
        """Note that `new` takes the place of `old`."""
        self.opened += new.is_open - (old is not None and old.is_open)
        self.taken_back = self.taken_back or (
            old is not None and weight(old) > 0 and rank(old) > rank(new)
        )
        self.ended.append(new)


def _write(connection: Connection, told: Sequence[DispositionRow]) -> None:
    rows = [unnamed(row) for row in told]
    known = load(connection, DispositionRow, [key_of(row) for row in rows])
    before = dict(known)
    changed: Rows = {}
    for row in rows:
        there = known.get(key_of(row))
        merged = _merged(there, row)
        if merged is not None:
            known[key_of(row)] = changed[key_of(row)] = merged
    changes: dict[Key, _Change] = {}
    deltas: Counter[tallies.Group] = Counter()
    for key, row in changed.items():
        old = before.get(key)
        changes.setdefault((row.entry_id, row.pipeline), _Change()).weigh(old, row)
        deltas.update(tallies.of_disposition(row))
        if old is not None:
            deltas.subtract(tallies.of_disposition(old))
    upsert(connection, DispositionRow, changed.values())
    _change_entries(connection, changes, deltas)
    tallies.add(connection, deltas)


def _merged(there: DispositionRow | None, row: DispositionRow) -> DispositionRow | None:
    """The row as it is to stand; None when it stands already. A promise never undoes an ending."""
    if there is None:
        return row
    named = there if there.parent_id is not None else row
    if row.verdict == PENDING:
        row = there
    found = replace(
        row,
        parent_id=named.parent_id,
        parent_step=named.parent_step,
        promised_at=min(there.promised_at, row.promised_at),
    )
    return None if found == there else found


def _change_entries(
    connection: Connection, changes: Mapping[Key, _Change], deltas: Counter[tallies.Group]
) -> None:
    known = load(connection, EntryRow, list(changes))
    updated = []
    for key, change in changes.items():
        old = known.get(key)
        if old is None:
            # Messages of an entry nobody wrote down; a recount names them.
            continue
        now = replace(old, open_count=old.open_count + change.opened)
        if change.taken_back:
            new = outcome(unweighed(now), heaviest(_all_of(connection, key)))
        else:
            new = outcome(now, heaviest(change.ended))
        deltas.subtract(tallies.of_row(old))
        deltas.update(tallies.of_row(new))
        updated.append(new)
        if new.reason == Reason.TAKEN_DOWN:
            _forget_about(connection, key)
    upsert(connection, EntryRow, updated)


def _forget_about(connection: Connection, key: Key) -> None:
    """What earlier messages of an entry were about is that which was taken down."""
    row = table_of(DispositionRow)
    of_entry = (row.c.entry_id == key[0], row.c.pipeline == key[1])
    connection.execute(sa.update(row).where(*of_entry).values(about=None))


def _all_of(connection: Connection, key: Key) -> list[DispositionRow]:
    ended = table_of(DispositionRow)
    rows = connection.execute(
        sa.select(*ended.c).where(ended.c.entry_id == key[0], ended.c.pipeline == key[1])
    )
    return [DispositionRow(*row) for row in rows]


def _unsettled(connection: Connection, known: Mapping[Key, Any], steps: Sequence[str]) -> set[str]:
    """Which of these entries have a first message that is still open, or was never written down."""
    keys = [(entry_id, pipeline, step) for entry_id, pipeline in known for step in steps]
    rows = load(connection, DispositionRow, keys)
    settled = {key for key, row in rows.items() if not row.is_open}
    return {
        entry_id for entry_id, pipeline, step in keys if (entry_id, pipeline, step) not in settled
    }


def _first(entry: EntryRow, step: str) -> DispositionRow:
    """What is promised of an entry when it enters: its message at a step that reads what enters."""
    return DispositionRow(
        message_id=entry.entry_id,
        pipeline=entry.pipeline,
        step=step,
        entry_id=entry.entry_id,
        parent_id=None,
        parent_step=None,
        verdict=PENDING,
        is_open=True,
        reason=None,
        detail="",
        about=None,
        attempt=0,
        promised_at=entry.entered_at,
        settled_at=None,
    )


def _put_inputs(connection: Connection, inputs: Sequence[InputRow]) -> None:
    newest = {key_of(row): row for row in inputs}
    known = load(connection, InputRow, list(newest))
    deltas: Counter[tallies.Group] = Counter()
    for key, row in newest.items():
        deltas.update(tallies.of_input(row))
        if key in known:
            deltas.subtract(tallies.of_input(known[key]))
    upsert(connection, InputRow, newest.values())
    tallies.add(connection, deltas)
