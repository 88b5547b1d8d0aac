"""What people note about groups of failures, and whom these are left to; kept until a person clears it.

At most 1,000 groups have a note at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fonds.model.failure import COUNTED_AS
from fonds.model.rows import FailureNoteRow, TallyRow
from fonds.ports import Records

NOTES_MAX = 1_000
OWNER_CHARACTERS_MAX, WORDS_CHARACTERS_MAX = 100, 500


def set_note(
    records: Records, pipeline: str, group: str, *, note: str, owner: str, by: str, at: datetime
) -> FailureNoteRow | None:
    """Note this about a group, in the place of what was noted; without note and owner nothing is noted any
    more. The note as it stands, None for none.

    Raises ValueError with a sentence for a group there is not, and for words that are too many.
    """
    note, owner = " ".join(note.split()), " ".join(owner.split())
    if len(note) > WORDS_CHARACTERS_MAX or len(owner) > OWNER_CHARACTERS_MAX:
        raise ValueError(
            f"a note has at most {WORDS_CHARACTERS_MAX} characters, and an owner {OWNER_CHARACTERS_MAX}"
        )
    before = records.get(FailureNoteRow, [(pipeline, group)])
    if not note and not owner:
        records.delete(FailureNoteRow, [(pipeline, group)])
        return None
    step, reason = (
        (before[0].step, before[0].reason) if before else _group(records, pipeline, group)
    )
    if not before and records.count(FailureNoteRow)[()] >= NOTES_MAX:
        raise ValueError(f"{NOTES_MAX:,} groups have a note: clear those that are settled first")
    row = FailureNoteRow(pipeline, group, step, reason, note, owner, by, at)
    records.put([row])
    return row


def _group(records: Records, pipeline: str, group: str) -> tuple[str, str]:
    where = {"counted": COUNTED_AS, "pipeline": pipeline, "first": group}
    for row in records.find(TallyRow, where):
        if row.count > 0:
            return row.second, row.third
    raise ValueError(f"the pipeline {pipeline} has no failures of a group {group}")


def pipelines_of(records: Records, group: str) -> list[str]:
    """The pipelines that have failures of a group, or a note on it."""
    failed = records.find(TallyRow, {"counted": COUNTED_AS, "first": group})
    noted = records.find(FailureNoteRow, {"failure_group": group})
    return sorted(
        {row.pipeline for row in failed if row.count > 0} | {row.pipeline for row in noted}
    )


def settled_notes(records: Records) -> list[FailureNoteRow]:
    """The notes on groups of which no failure is left, the oldest first. `records` are whole: what is hidden
    from readers has failed all the same."""
    notes = list(records.find(FailureNoteRow, order=("noted_at",), count_max=NOTES_MAX))
    keys = [(COUNTED_AS, one.pipeline, one.failure_group, one.step, one.reason) for one in notes]
    tallies: Sequence[TallyRow] = records.get(TallyRow, keys) if keys else []
    left = {(row.pipeline, row.first) for row in tallies if row.count > 0}
    return [one for one in notes if (one.pipeline, one.failure_group) not in left]
