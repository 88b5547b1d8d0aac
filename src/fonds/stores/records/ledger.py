"""Ledger in the SQL database: record entries and messages, and keep outcomes and row counts up to
date.

An entry is a capture, link or message that entered a pipeline. A disposition is the row that says
how one message ended at one step. Outcomes of entries and row counts (tallies) change in the
transaction that writes the dispositions, so they are exact while work goes on. A write reads only
the rows of the entries and messages that it changes. But if a message ends again with a less
important result than before, all dispositions of its entry are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from fonds.model.disposition import PENDING, Reason
from fonds.model.ledger_difference import LedgerDifference
from fonds.model.rows import DispositionRow, EntryRow, InputRow, Row
from fonds.stores.records import counters, outcomes, tallies
from fonds.stores.records.engine import connect_to_write, translate_errors
from fonds.stores.records.input_checksums import accept_inputs, add_checksum
from fonds.stores.records.outcomes import (
    apply_ending,
    choose_heaviest,
    clear_about,
    rank_ending,
    reset_outcome,
    weigh_ending,
)
from fonds.stores.records.row_statements import Key, fetch_rows, get_key_reader
from fonds.stores.records.row_writes import get_key, insert, load, upsert
from fonds.stores.records.seals import renew_seal
from fonds.stores.records.tables import get_table

Rows = dict[Key, DispositionRow]


class SqlLedger:
    """Ledger in the SQL database: what entered a pipeline, and how each message ended.

    Implements the interface Ledger (`ports/records.py`).
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def enter(
        self, inputs: Sequence[InputRow], entries: Sequence[EntryRow], steps: Sequence[str]
    ) -> set[str]:
        """Record inputs and new entries, each entry with a pending message for each step in
        `steps`.

        All rows are written in one transaction. Returns the ids of the entries that are new, or
        whose first message has not ended, or is missing, at one of the steps.
        """
        with self._open_transaction() as connection:
            entries_by_key = {get_key(entry): entry for entry in entries}
            known_entries = load(connection, EntryRow, entries_by_key)
            new_entries = {
                key: entry for key, entry in entries_by_key.items() if key not in known_entries
            }
            insert(connection, EntryRow, new_entries.values())
            deltas = Counter(
                group for row in new_entries.values() for group in counters.list_entry_groups(row)
            )
            tallies.add(connection, deltas)
            promises = [_build_first(row, step) for row in new_entries.values() for step in steps]
            _write(connection, promises)
            _write_inputs(connection, inputs)
            return {row.entry_id for row in new_entries.values()} | _find_unsettled(
                connection, known_entries, steps
            )

    def write(self, rows: Sequence[DispositionRow]) -> None:
        """Record dispositions, and update outcomes of entries and row counts, in one
        transaction.
        """
        if not rows:
            return
        with self._open_transaction() as connection:
            _write(connection, rows)

    def recount(self, *, repair: bool = False) -> list[LedgerDifference]:
        """Derive all outcomes and row counts again from all dispositions; return the differences.

        With `repair`, the differences are corrected.
        """
        with self._open_transaction() as connection:
            return outcomes.recount(connection, repair=repair)

    def accept_rows(self, kind: type[Row]) -> None:
        """Seal a table with the rows that it has now, although another program changed them.

        Rows of `inputs` have a checksum each instead of a seal.
        """
        with self._open_transaction() as connection:
            if kind is InputRow:
                accept_inputs(connection)
            else:
                renew_seal(connection, kind)

    @contextmanager
    def _open_transaction(self) -> Iterator[Connection]:
        """Open a transaction that holds the lock of the row counts. Yield its connection."""
        with (
            translate_errors(self._engine),
            connect_to_write(self._engine) as connection,
            connection.begin(),
        ):
            tallies.lock_tallies(connection)
            yield connection


@dataclass(slots=True)
class _EntryChange:
    """Effect of a batch of dispositions (rows that say how messages ended) on one entry.

    - `open_count_change`: change in the number of the entry's messages that still need work; may be
      negative.
    - `dispositions`: the new dispositions, including those of messages that still need work.
    - `is_revoked`: whether a disposition was replaced by one that ranks lower. The outcome of the
      entry must then be derived from all its dispositions.
    """

    open_count_change: int = 0
    dispositions: list[DispositionRow] = field(default_factory=list)
    is_revoked: bool = False

    def add_change(self, old: DispositionRow | None, new: DispositionRow) -> None:
        """Take into account that the disposition `new` replaces the disposition `old` of the same
        message.

        `old` is None if the message had no disposition.
        """
        self.open_count_change += new.is_open - (old is not None and old.is_open)
        self.is_revoked = self.is_revoked or (
            old is not None and weigh_ending(old) > 0 and rank_ending(old) > rank_ending(new)
        )
        self.dispositions.append(new)


def _write(connection: Connection, dispositions: Sequence[DispositionRow]) -> None:
    rows = [clear_about(row) for row in dispositions]
    keys = list(map(get_key_reader(DispositionRow), rows))
    current_rows = load(connection, DispositionRow, keys)
    previous_rows = dict(current_rows)
    changed_rows: Rows = {}
    for key, row in zip(keys, rows, strict=True):
        merged_row = _merge_row(current_rows.get(key), row)
        if merged_row is not None:
            current_rows[key] = changed_rows[key] = merged_row
    changes: dict[Key, _EntryChange] = {}
    deltas: Counter[counters.Group] = Counter()
    for key, row in changed_rows.items():
        old = previous_rows.get(key)
        changes.setdefault((row.entry_id, row.pipeline), _EntryChange()).add_change(old, row)
        deltas.update(counters.list_disposition_groups(row))
        if old is not None:
            deltas.subtract(counters.list_disposition_groups(old))
    upsert(connection, DispositionRow, changed_rows.values())
    _change_entries(connection, changes, deltas)
    tallies.add(connection, deltas)


def _merge_row(existing: DispositionRow | None, row: DispositionRow) -> DispositionRow | None:
    """Merge a new disposition with the stored one of the same message and step.

    Returns the row to write, or None if nothing changes. A disposition `pending`, which only
    announces a message, never replaces the record of how the message ended.
    """
    if existing is None:
        return row
    parent_source = existing if existing.parent_id is not None else row
    if row.verdict == PENDING:
        row = existing
    merged_row = replace(
        row,
        parent_id=parent_source.parent_id,
        parent_step=parent_source.parent_step,
        promised_at=min(existing.promised_at, row.promised_at),
    )
    return None if merged_row == existing else merged_row


def _change_entries(
    connection: Connection, changes: Mapping[Key, _EntryChange], deltas: Counter[counters.Group]
) -> None:
    known_entries = load(connection, EntryRow, list(changes))
    updated_entries = []
    for key, change in changes.items():
        old_entry = known_entries.get(key)
        if old_entry is None:
            # Messages of an entry that was never recorded; a recount reports them.
            continue
        recounted_entry = replace(
            old_entry, open_count=old_entry.open_count + change.open_count_change
        )
        if change.is_revoked:
            new_entry = apply_ending(
                reset_outcome(recounted_entry), choose_heaviest(_load_dispositions(connection, key))
            )
        else:
            new_entry = apply_ending(recounted_entry, choose_heaviest(change.dispositions))
        deltas.subtract(counters.list_entry_groups(old_entry))
        deltas.update(counters.list_entry_groups(new_entry))
        updated_entries.append(new_entry)
        if new_entry.reason == Reason.TAKEN_DOWN:
            _clear_about(connection, key)
    upsert(connection, EntryRow, updated_entries)


def _clear_about(connection: Connection, key: Key) -> None:
    """Erase the subject (column `about`) of all dispositions of an entry whose file was taken
    down.
    """
    row = get_table(DispositionRow)
    conditions = (row.c.entry_id == key[0], row.c.pipeline == key[1])
    connection.execute(sa.update(row).where(*conditions).values(about=None))


def _load_dispositions(connection: Connection, key: Key) -> list[DispositionRow]:
    dispositions = get_table(DispositionRow)
    query = sa.select(*dispositions.c).where(
        dispositions.c.entry_id == key[0], dispositions.c.pipeline == key[1]
    )
    return fetch_rows(connection, DispositionRow, query)


def _find_unsettled(
    connection: Connection, known_entries: Mapping[Key, Any], steps: Sequence[str]
) -> set[str]:
    """Return the ids of those known entries whose first message is still open, or missing, at one
    of `steps`.
    """
    keys = [(entry_id, pipeline, step) for entry_id, pipeline in known_entries for step in steps]
    rows = load(connection, DispositionRow, keys)
    settled_keys = {key for key, row in rows.items() if not row.is_open}
    return {
        entry_id
        for entry_id, pipeline, step in keys
        if (entry_id, pipeline, step) not in settled_keys
    }


def _build_first(entry: EntryRow, step: str) -> DispositionRow:
    """Build the row that records that an entry's first message is pending at `step`.

    `step` is a step that reads new entries.
    """
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


def _write_inputs(connection: Connection, inputs: Sequence[InputRow]) -> None:
    newest = {get_key(row): row for row in inputs}
    current_rows = load(connection, InputRow, list(newest))
    deltas: Counter[counters.Group] = Counter()
    for key, row in newest.items():
        deltas.update(counters.count_input_groups(row))
        if key in current_rows:
            deltas.subtract(counters.count_input_groups(current_rows[key]))
        newest[key] = add_checksum(row, current_rows.get(key))
    upsert(connection, InputRow, newest.values())
    tallies.add(connection, deltas)
