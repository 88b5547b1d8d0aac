"""Derives every outcome and tally anew from the dispositions, and says or mends what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.rows import DispositionRow, EntryRow, TallyRow
from fonds.stores.records.accounting import tallies
from fonds.stores.records.accounting.outcomes import heaviest, outcome, unweighed
from fonds.stores.records.rows_io import upsert
from fonds.stores.records.schema.tables import table_of

DIFFERENCES_MAX = 1_000
PAGE_ROWS = 1_000


def recount(connection: Connection, *, mend: bool) -> list[str]:
    """What differs, a sentence each, a thousand at most; with `mend` it is put right."""
    told = _entries(connection, mend)
    told += _orphans(connection)
    expected, stored = tallies.recount(connection), tallies.stored(connection)
    for group in sorted(expected.keys() | stored.keys()):
        if expected.get(group, 0) != stored.get(group, 0):
            told.append(
                f"tally {' '.join(filter(None, group))}: {stored.get(group, 0)} stands there and"
                f" {expected.get(group, 0)} were counted"
            )
    if mend:
        connection.execute(sa.delete(table_of(TallyRow)))
        tallies.add(connection, expected)
    return told[:DIFFERENCES_MAX]


def _entries(connection: Connection, mend: bool) -> list[str]:
    """Entries whose outcome is not what their dispositions say."""
    told: list[str] = []
    for page in _pages(connection):
        wrong = []
        for entry, rows in page:
            opened = sum(row.is_open for row in rows)
            bare = replace(unweighed(entry), open_count=opened, about=_about(rows))
            expected = outcome(bare, heaviest(rows))
            if replace(entry, about=expected.about) == expected:
                continue
            wrong.append(expected)
            told.append(
                f"entry {entry.entry_id} ({entry.pipeline}) stands as {entry.outcome} with"
                f" {entry.open_count} open; its dispositions say {expected.outcome} with {opened} open"
            )
        if mend:
            upsert(connection, EntryRow, wrong)
    return told


def _about(rows: Sequence[DispositionRow]) -> str | None:
    """What the entry was found to be about: what its messages said last."""
    said = [row for row in rows if row.about]
    last = max(said, key=lambda row: row.settled_at or row.promised_at, default=None)
    return last.about if last else None


def _pages(connection: Connection) -> Iterator[list[tuple[EntryRow, list[DispositionRow]]]]:
    """Every entry with its dispositions, a page of entries at a time."""
    entries, ended = table_of(EntryRow), table_of(DispositionRow)
    last: tuple[Any, ...] | None = None
    while True:
        query = sa.select(*entries.c).order_by(entries.c.entry_id, entries.c.pipeline)
        if last is not None:
            query = query.where(
                sa.tuple_(entries.c.entry_id, entries.c.pipeline) > sa.tuple_(*last)
            )
        page = [EntryRow(*row) for row in connection.execute(query.limit(PAGE_ROWS))]
        if not page:
            return
        ids = sorted({one.entry_id for one in page})
        rows = connection.execute(
            sa.select(*ended.c)
            .where(ended.c.entry_id.in_(ids))
            .order_by(ended.c.entry_id, ended.c.pipeline)
        )
        grouped = {
            key: list(group)
            for key, group in groupby(
                (DispositionRow(*row) for row in rows), key=lambda row: (row.entry_id, row.pipeline)
            )
        }
        yield [(entry, grouped.get((entry.entry_id, entry.pipeline), [])) for entry in page]
        last = (sa.literal(page[-1].entry_id), sa.literal(page[-1].pipeline))


def _orphans(connection: Connection) -> list[str]:
    """Dispositions of entries that are not on the books."""
    entries, ended = table_of(EntryRow).alias("e"), table_of(DispositionRow)
    query = (
        sa.select(ended.c.entry_id, ended.c.pipeline, sa.func.count())
        .select_from(
            ended.outerjoin(
                entries,
                sa.and_(
                    entries.c.entry_id == ended.c.entry_id, entries.c.pipeline == ended.c.pipeline
                ),
            )
        )
        .where(entries.c.entry_id.is_(None))
        .group_by(ended.c.entry_id, ended.c.pipeline)
        .limit(DIFFERENCES_MAX)
    )
    return [
        f"entry {entry_id} ({pipeline}) is not on the books and has {count} dispositions"
        for entry_id, pipeline, count in connection.execute(query)
    ]
