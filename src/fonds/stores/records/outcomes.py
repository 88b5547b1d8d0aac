"""Derive the outcome of an entry from the dispositions of its messages, and check all recorded
outcomes and row counts.

A disposition is the row that says how one message ended at one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.disposition import PENDING, Reason, Verdict
from fonds.model.ledger_difference import (
    CountDifference,
    LedgerDifference,
    MissingEntry,
    OutcomeDifference,
)
from fonds.model.restrictions import REDACTED
from fonds.model.rows import DispositionRow, EntryRow, TallyRow
from fonds.model.tallies import SEAL, compute_failure_group
from fonds.stores.records import tallies
from fonds.stores.records.counters import Group
from fonds.stores.records.row_statements import fetch_rows
from fonds.stores.records.row_writes import upsert
from fonds.stores.records.seals import compute_seals
from fonds.stores.records.tables import get_table

WEIGHTS: Mapping[str, int] = {Verdict.DONE: 1, Verdict.DROPPED: 2, Verdict.QUARANTINED: 3}
"""Precedence of message verdicts for the outcome of an entry; the highest decides. Open messages
have no precedence.
"""
OUTCOMES = {weight: str(verdict) for verdict, weight in WEIGHTS.items()}


def weigh_ending(row: DispositionRow) -> int:
    """Return how much the result of a message counts when the outcome of its entry is derived.

    A higher number takes precedence. Returns 0 for a message that still needs work.
    """
    return WEIGHTS.get(row.verdict, 0)


def choose_heaviest(rows: Iterable[DispositionRow]) -> DispositionRow | None:
    """Return the disposition that decides the outcome of an entry: the one that `rank_ending` ranks
    highest. Return None if all messages are open.
    """
    final_rows = [row for row in rows if weigh_ending(row)]
    return max(final_rows, key=rank_ending, default=None)


def clear_about(row: DispositionRow) -> DispositionRow:
    """Remove the description of a file from a disposition if the file was removed by a takedown.

    Returns the disposition without subject and detail; any other disposition is returned unchanged.
    The ledger must not describe removed content.
    """
    if row.reason != Reason.TAKEN_DOWN:
        return row
    return replace(row, about=None, detail=REDACTED)


Rank: TypeAlias = tuple[int, bool, datetime, str, str]


def rank_ending(row: DispositionRow) -> Rank:
    """Return the sort key of a disposition; the largest decides the outcome of the entry.

    The key compares the precedence of the verdict, then whether there is a reason, then the time,
    step and message id.
    """
    ranked_at = row.settled_at or row.promised_at
    return weigh_ending(row), row.reason is not None, ranked_at, row.step, row.message_id


def apply_ending(entry: EntryRow, ending: DispositionRow | None) -> EntryRow:
    """Return the entry with the outcome that the disposition `ending` gives it.

    The recorded outcome is kept if it ranks higher, or if `ending` is None. An entry is final if it
    is quarantined, or if no message needs work and a message has ended. Otherwise its outcome is
    pending. If the reason is a takedown, the URL and other descriptions are erased.
    """
    row = entry
    if ending is not None and (row.settled_at is None or rank_ending(ending) >= _rank_entry(row)):
        row = replace(
            row,
            weight=weigh_ending(ending),
            reason=ending.reason,
            step=ending.step,
            message_id=ending.message_id,
            about=ending.about or row.about,
            detail=ending.detail,
            settled_at=ending.settled_at,
            failure_group=_compute_group(entry, ending),
        )
    if row.reason == Reason.TAKEN_DOWN:
        row = replace(row, url=REDACTED, place=None, about=None, detail=REDACTED)
    is_final = row.weight == WEIGHTS[Verdict.QUARANTINED] or (
        row.open_count == 0 and row.weight > 0
    )
    return replace(row, outcome=OUTCOMES[row.weight] if is_final else PENDING)


def _compute_group(entry: EntryRow, ending: DispositionRow) -> str | None:
    """Return the id of the failure group of a message that ended as quarantined; None for any other
    verdict.
    """
    if ending.verdict != Verdict.QUARANTINED:
        return None
    return compute_failure_group(ending.step, ending.reason or "", ending.detail, entry.url)


def _rank_entry(row: EntryRow) -> Rank:
    ranked_at = row.settled_at or row.entered_at
    return row.weight, row.reason is not None, ranked_at, row.step or "", row.message_id or ""


def reset_outcome(entry: EntryRow) -> EntryRow:
    """Return the entry with the fields that explain its outcome, such as reason and step, set to
    None, and weight 0.
    """
    return replace(
        entry,
        weight=0,
        reason=None,
        step=None,
        message_id=None,
        about=None,
        detail=None,
        settled_at=None,
        failure_group=None,
    )


DIFFERENCES_MAX = 1_000
PAGE_ROWS = 1_000


def recount(connection: Connection, *, repair: bool) -> list[LedgerDifference]:
    """Compare the recorded outcomes of entries and all row counts with the dispositions.

    Returns up to 1,000 differences. With `repair`, all differences are corrected in the database.
    """
    differences: list[LedgerDifference] = [
        *_check_entries(connection, repair),
        *_find_missing_entries(connection),
    ]
    # Counted after the repair of the entries, which changes the counts.
    row_counts, stored_counts = tallies.recount(connection), tallies.load_tallies(connection)
    differences += _compare_counts(stored_counts, row_counts | compute_seals(connection))
    if repair:
        # A broken seal stays: what was changed by another program cannot be restored.
        counts = get_table(TallyRow)
        connection.execute(sa.delete(counts).where(counts.c.counted != SEAL))
        tallies.add(connection, row_counts)
    return differences[:DIFFERENCES_MAX]


def _compare_counts(
    stored_counts: Mapping[Group, int], row_counts: Mapping[Group, int]
) -> Iterator[CountDifference]:
    for group in sorted(stored_counts.keys() | row_counts.keys()):
        stored_count, row_count = stored_counts.get(group, 0), row_counts.get(group, 0)
        if stored_count != row_count:
            yield CountDifference(group, stored_count, row_count)


def _check_entries(connection: Connection, repair: bool) -> list[OutcomeDifference]:
    """Return the entries whose recorded outcome does not follow from their dispositions. With
    `repair`, correct those entries.

    The database leaves out the entries whose outcome is clearly right. The others are derived
    again.
    """
    differences: list[OutcomeDifference] = []
    for page in _iter_unclear_pages(connection):
        corrected_entries = []
        for entry, rows in page:
            open_count = sum(row.is_open for row in rows)
            bare_entry = replace(
                reset_outcome(entry), open_count=open_count, about=_find_about(rows)
            )
            derived_entry = apply_ending(bare_entry, choose_heaviest(rows))
            if replace(entry, about=derived_entry.about) == derived_entry:
                continue
            corrected_entries.append(derived_entry)
            differences.append(
                OutcomeDifference(
                    entry.entry_id,
                    entry.pipeline,
                    entry.outcome,
                    entry.open_count,
                    derived_entry.outcome,
                    open_count,
                )
            )
        if repair:
            upsert(connection, EntryRow, corrected_entries)
    return differences


def _find_about(rows: Sequence[DispositionRow]) -> str | None:
    """Return the subject of an entry's latest message that has a subject; None if no message has a
    subject.
    """
    rows_with_subject = [row for row in rows if row.about]
    latest = max(rows_with_subject, key=lambda row: row.settled_at or row.promised_at, default=None)
    return latest.about if latest else None


def _build_clear_condition() -> sa.ColumnElement[bool]:
    """Return the SQL condition for entries whose recorded outcome clearly follows from their
    dispositions.

    It is true only for done and dropped entries without open messages, whose deciding message
    exists, agrees and ranks highest, as in `rank_ending`. It may be NULL.
    """
    entry = get_table(EntryRow).c
    deciding, other = get_table(DispositionRow).alias().c, get_table(DispositionRow).alias().c
    agrees = sa.exists().where(
        deciding.message_id == entry.message_id,
        deciding.pipeline == entry.pipeline,
        deciding.step == entry.step,
        deciding.entry_id == entry.entry_id,
        deciding.verdict == entry.outcome,
        deciding.reason.is_not_distinct_from(entry.reason),
        deciding.detail == entry.detail,
        deciding.settled_at == entry.settled_at,
    )
    ranked_at = sa.func.coalesce(other.settled_at, other.promised_at)
    is_later = sa.tuple_(ranked_at, other.step, other.message_id) > sa.tuple_(
        entry.settled_at, entry.step, entry.message_id
    )
    outranks = sa.or_(
        other.verdict == str(Verdict.QUARANTINED),
        sa.and_(other.verdict == str(Verdict.DROPPED), entry.outcome == str(Verdict.DONE)),
        sa.and_(
            other.verdict == entry.outcome,
            sa.or_(
                sa.and_(other.reason.is_not(None), entry.reason.is_(None)),
                sa.and_(other.reason.is_(None) == entry.reason.is_(None), is_later),
            ),
        ),
    )
    is_contradicted = sa.exists().where(
        other.entry_id == entry.entry_id,
        other.pipeline == entry.pipeline,
        sa.or_(other.is_open, outranks),
    )
    return sa.and_(
        entry.open_count == 0,
        entry.failure_group.is_(None),
        sa.or_(entry.reason.is_(None), entry.reason != str(Reason.TAKEN_DOWN)),
        sa.or_(
            *(
                sa.and_(entry.outcome == str(verdict), entry.weight == WEIGHTS[verdict])
                for verdict in (Verdict.DONE, Verdict.DROPPED)
            )
        ),
        agrees,
        sa.not_(is_contradicted),
    )


def _iter_unclear_pages(
    connection: Connection,
) -> Iterator[list[tuple[EntryRow, list[DispositionRow]]]]:
    """Yield lists of up to 1,000 entries whose outcome must be derived again, each entry with all
    its dispositions.
    """
    entries, dispositions = get_table(EntryRow), get_table(DispositionRow)
    last_key: tuple[Any, ...] | None = None
    is_unclear = _build_clear_condition().is_not(True)
    while True:
        query = (
            sa.select(*entries.c).where(is_unclear).order_by(entries.c.entry_id, entries.c.pipeline)
        )
        if last_key is not None:
            query = query.where(
                sa.tuple_(entries.c.entry_id, entries.c.pipeline) > sa.tuple_(*last_key)
            )
        page = fetch_rows(connection, EntryRow, query.limit(PAGE_ROWS))
        if not page:
            return
        ids = sorted({page_entry.entry_id for page_entry in page})
        rows = fetch_rows(
            connection,
            DispositionRow,
            sa.select(*dispositions.c)
            .where(dispositions.c.entry_id.in_(ids))
            .order_by(dispositions.c.entry_id, dispositions.c.pipeline),
        )
        rows_by_entry = {
            key: list(group)
            for key, group in groupby(rows, key=lambda row: (row.entry_id, row.pipeline))
        }
        yield [(entry, rows_by_entry.get((entry.entry_id, entry.pipeline), [])) for entry in page]
        last_key = (sa.literal(page[-1].entry_id), sa.literal(page[-1].pipeline))


def _find_missing_entries(connection: Connection) -> list[MissingEntry]:
    """Return the entries that dispositions refer to but that have no row, at most 1,000."""
    entries, dispositions = get_table(EntryRow).alias("e"), get_table(DispositionRow)
    query = (
        sa.select(dispositions.c.entry_id, dispositions.c.pipeline, sa.func.count())
        .select_from(
            dispositions.outerjoin(
                entries,
                sa.and_(
                    entries.c.entry_id == dispositions.c.entry_id,
                    entries.c.pipeline == dispositions.c.pipeline,
                ),
            )
        )
        .where(entries.c.entry_id.is_(None))
        .group_by(dispositions.c.entry_id, dispositions.c.pipeline)
        .limit(DIFFERENCES_MAX)
    )
    return [
        MissingEntry(entry_id, pipeline, count)
        for entry_id, pipeline, count in connection.execute(query)
    ]
