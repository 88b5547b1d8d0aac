"""Tallies of links by their source, out of the rows the ledger writes: for one row, and in SQL for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement

from fonds.model.by_source import (
    ENTRIES_BY_SOURCE,
    POINT,
    POLL_CHARACTERS_MIN,
    SOURCE_CHARACTERS,
    source_of,
    told,
)
from fonds.model.entry import LINK
from fonds.model.rows import EntryRow
from fonds.stores.records.schema.tables import table_of

Counting = tuple[str, Sequence[ColumnElement[Any]], Sequence[ColumnElement[bool]]]


def of_entry(row: EntryRow) -> Iterator[tuple[str, str, str, str, str]]:
    """What one entry counts in: nothing where no poll found it."""
    source = source_of(row.kind, row.input_id)
    if source is not None:
        why = told(row.outcome, row.step, row.reason)
        yield ENTRIES_BY_SOURCE, row.pipeline, source, row.outcome, why


def of_entries() -> Counting:
    """The same of all entries: what is counted, its pipeline and values, and of which rows."""
    entry = table_of(EntryRow).c
    number = sa.literal_column
    source = sa.func.substr(entry.input_id, number("1"), number(str(SOURCE_CHARACTERS)))
    point = sa.func.substr(entry.input_id, number(str(SOURCE_CHARACTERS + 1)), number("1"))
    step, reason = (sa.func.coalesce(one, _text("")) for one in (entry.step, entry.reason))
    # Grouped by, it must be said alike in both places; parameters never are to PostgreSQL.
    why = sa.case(
        (entry.outcome == _text("pending"), _text("")),
        else_=step.op("||")(_text(" ")).op("||")(reason),
    )
    of_polls = (
        entry.kind == LINK,
        sa.func.length(entry.input_id) >= POLL_CHARACTERS_MIN,
        point == POINT,
    )
    return ENTRIES_BY_SOURCE, (entry.pipeline, source, entry.outcome, why), of_polls


def _text(value: str) -> ColumnElement[str]:
    return sa.literal_column(f"'{value}'", sa.Text)
