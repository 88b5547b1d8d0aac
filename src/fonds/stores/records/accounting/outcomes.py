"""What the dispositions of an entry's messages say of the entry: pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from fonds.model.disposition import PENDING, Reason, Verdict
from fonds.model.failure import failure_group
from fonds.model.rows import DispositionRow, EntryRow
from fonds.model.takedown import REDACTED

WEIGHTS: Mapping[str, int] = {Verdict.DONE: 1, Verdict.DROPPED: 2, Verdict.QUARANTINED: 3}
"""How much an ending says of its entry; what is open weighs nothing."""
OUTCOMES = {weight: str(verdict) for verdict, weight in WEIGHTS.items()}


def weight(row: DispositionRow) -> int:
    """How much the ending says of its entry."""
    return WEIGHTS.get(row.verdict, 0)


def heaviest(rows: Iterable[DispositionRow]) -> DispositionRow | None:
    """The ending that decides: of the heaviest the latest; None when all are open."""
    ended = [row for row in rows if weight(row)]
    return max(ended, key=rank, default=None)


def unnamed(row: DispositionRow) -> DispositionRow:
    """The ending as it is written: of what was taken down the books do not say what it is."""
    if row.reason != Reason.TAKEN_DOWN:
        return row
    return replace(row, about=None, detail=REDACTED)


Rank: TypeAlias = tuple[int, bool, datetime, str, str]


def rank(row: DispositionRow) -> Rank:
    """Sort key of an ending; the largest decides. One with a reason says more than one without."""
    at = row.settled_at or row.promised_at
    return weight(row), row.reason is not None, at, row.step, row.message_id


def outcome(entry: EntryRow, ending: DispositionRow | None) -> EntryRow:
    """The entry with what `ending` says of it, if it outranks what stands there."""
    row = entry
    if ending is not None and (row.settled_at is None or rank(ending) >= _standing(row)):
        row = replace(
            row,
            weight=weight(ending),
            reason=ending.reason,
            step=ending.step,
            message_id=ending.message_id,
            about=ending.about or row.about,
            detail=ending.detail,
            settled_at=ending.settled_at,
            failure_group=_group(entry, ending),
        )
    if row.reason == Reason.TAKEN_DOWN:
        row = replace(row, url=REDACTED, place=None, about=None, detail=REDACTED)
    over = row.weight == WEIGHTS[Verdict.QUARANTINED] or (row.open_count == 0 and row.weight > 0)
    return replace(row, outcome=OUTCOMES[row.weight] if over else PENDING)


def _group(entry: EntryRow, ending: DispositionRow) -> str | None:
    """The group of a failure; None for an ending that is none."""
    if ending.verdict != Verdict.QUARANTINED:
        return None
    return failure_group(ending.step, ending.reason or "", ending.detail, entry.url)


def _standing(row: EntryRow) -> Rank:
    at = row.settled_at or row.entered_at
    return row.weight, row.reason is not None, at, row.step or "", row.message_id or ""


def unweighed(entry: EntryRow) -> EntryRow:
    """The entry as if nothing had been said of it."""
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
