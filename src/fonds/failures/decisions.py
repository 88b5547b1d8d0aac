"""What people decide about failures: to try them again, or to accept them as final.

Both take messages out of quarantine a batch at a time, and the ledger has it before anything can end anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from uuid import uuid4

from fonds.failures.entries import FailureQuery, list_failed_entries
from fonds.model.disposition import Reason, Verdict
from fonds.model.entry import is_unread
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.rows import (
    CrashedPdfRow,
    DecisionRow,
    DispositionRow,
    EntryRow,
    FailureNoteRow,
    InputRow,
    TallyRow,
)
from fonds.model.step import Pipeline
from fonds.model.tallies import COUNTED_AS
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.pipelines.runtime.quarantine import build_decided_row, requeue, take_messages
from fonds.ports import Records, Stores

NOTE_MAX_CHARS = 500


INPUT_REASONS = (str(Reason.MISSING_SOURCE), str(Reason.UNREADABLE_SOURCE), str(Reason.TOO_LARGE))
INPUTS_A_QUERY = 500
ENTRIES_MAX = 100_000
"""Entries of retried messages that are reported one by one."""


class FailureAct(StrEnum):
    """What can be done about a failure."""

    RETRY = "retry"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class RetryResult:
    """How many messages were put back to work, and the keys of their entries, `ENTRIES_MAX` at most.
    `inputs` are ids of inputs that could not be read, and are read again."""

    count: int
    entries: Sequence[tuple[str, str]]
    inputs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DecisionPlan:
    """What a decision would do, told before it is done: to how many failures, of which `sample` is the
    newest, and which stages would run again."""

    count: int
    sample: EntryRow | None
    stages: Sequence[str]

    @property
    def precondition(self) -> str:
        """What has to be done first, so that trying again can end otherwise; "" where it cannot."""
        if self.reads_input:
            return ""
        return Reason(self.sample.reason).again if self.sample and self.sample.reason else ""

    @property
    def reads_input(self) -> bool:
        """Whether an input could not be read, which no message can be tried again for."""
        return self.sample is not None and is_unread(self.sample.entry_id)


def build_plan(stores: Stores, query: FailureQuery, pipeline: Pipeline | None) -> DecisionPlan:
    """What deciding about these failures would do; `pipeline` is theirs, None for one there is no more."""
    rows, count = list_failed_entries(stores.records, query, count_max=1)
    sample = rows[0] if rows else None
    stages = list_stages_from(pipeline, sample.step or "") if pipeline and sample else []
    return DecisionPlan(count, sample, stages)


def list_stages_from(pipeline: Pipeline, name: str) -> list[str]:
    """The stage of this name and all that may get something of what it makes, in the pipeline's order."""
    reached = {name}
    for _ in pipeline.stages:
        written = {
            topic for stage in pipeline.stages if stage.name in reached for topic in stage.writes
        }
        reached |= {stage.name for stage in pipeline.stages if stage.reads in written}
    return [stage.name for stage in pipeline.stages if stage.name in reached]


def retry(
    stores: Stores,
    readers: Iterable[Subscription],
    query: FailureQuery,
    clock: Callable[[], datetime],
) -> RetryResult:
    """Put the messages of these failures back to work. What stopped a reader is forgotten of their files:
    else it would be remembered, and nothing be read. Failures of inputs (`list_unread_inputs`) stay as
    they are: they end when their paths are read."""
    count, entries = 0, dict[tuple[str, str], None]()
    for reader, chosen in _iter_chosen(stores, readers, query, leaves_inputs=True):
        _remove_crash_rows(stores, [one.message for one in chosen])
        requeue(stores.queue, stores.ledger, reader, chosen, clock())
        count += len(chosen)
        pipeline = parse_subscription_name(reader)[0]
        room = ENTRIES_MAX - len(entries)
        entries |= dict.fromkeys([(one.message.entry, pipeline) for one in chosen][:room])
    return RetryResult(count, list(entries))


def list_unread_inputs(records: Records, query: FailureQuery) -> list[InputRow]:
    """Return the inputs among these failures that could not be read, `ENTRIES_MAX` at most."""
    if query.keys:
        found: Iterable[EntryRow] = list_failed_entries(records, query)[0]
    else:
        reasons = [one for one in INPUT_REASONS if query.reason in (None, one)]
        found = (
            records.find(EntryRow, {**query.build_quarantine_filter(), "reason": reasons})
            if reasons
            else ()
        )
    rows = islice((row for row in found if is_unread(row.entry_id)), ENTRIES_MAX)
    inputs: list[InputRow] = []
    while some := list(islice(rows, INPUTS_A_QUERY)):
        inputs += records.get(InputRow, [(row.input_id, row.pipeline) for row in some])
    return inputs


def accept(
    stores: Stores,
    readers: Iterable[Subscription],
    query: FailureQuery,
    clock: Callable[[], datetime],
    note: str = "",
) -> int:
    """End these failures as dropped, `accepted`, and let go of their messages; how many. `note` stands on
    the books with what had failed."""
    count = 0
    for reader, chosen in _iter_chosen(stores, readers, query):
        now = clock()
        stores.ledger.write([_build_accepted_row(one.message, reader, note, now) for one in chosen])
        stores.queue.settle(chosen)
        count += len(chosen)
    return count


def _build_accepted_row(
    message: Message, reader: Subscription, note: str, now: datetime
) -> DispositionRow:
    said = f": {note[:NOTE_MAX_CHARS]}" if note else ""
    before = f"{message.headers.get('reason', '')}: {message.headers.get('detail', '')}"
    detail = f"accepted as final{said}; before: {before}"
    return build_decided_row(message, reader, Verdict.DROPPED, str(Reason.ACCEPTED), detail, now)


def _iter_chosen(
    stores: Stores,
    readers: Iterable[Subscription],
    query: FailureQuery,
    *,
    leaves_inputs: bool = False,
) -> Iterable[tuple[Subscription, list[Delivery]]]:
    for reader in readers:
        pipeline, step = parse_subscription_name(reader)
        if query.pipeline in (None, pipeline) and query.step in (None, step):

            def wanted(
                messages: Sequence[Message], at: tuple[str, str] = (pipeline, step)
            ) -> set[str]:
                ids = _select_messages(stores, query, at, messages)
                inputs = {one.id for one in messages if leaves_inputs and is_unread(one.entry)}
                return ids - inputs

            for chosen in take_messages(stores.queue, reader, wanted):
                yield reader, chosen


def _select_messages(
    stores: Stores, query: FailureQuery, step: tuple[str, str], messages: Sequence[Message]
) -> set[str]:
    """The ids of those messages that are asked for. A group has the messages that decided its entries."""
    keys = set(query.keys)
    fit = [
        one
        for one in messages
        if query.reason in (None, one.headers.get("reason"))
        and (not keys or keys & {one.about, one.entry, one.id})
    ]
    if query.group and fit:
        entries = sorted({one.entry for one in fit})
        of_group = {"pipeline": step[0], "step": step[1], "failure_group": query.group}
        rows = stores.records.find(EntryRow, {**of_group, "entry_id": entries})
        deciding = {(row.entry_id, row.message_id) for row in rows}
        fit = [one for one in fit if (one.entry, one.id) in deciding]
    return {one.id for one in fit}


def _remove_crash_rows(stores: Stores, messages: Collection[Message]) -> None:
    files = sorted({one.about for one in messages if one.about})
    stops = stores.records.find(CrashedPdfRow, {"sha1hex": files})
    stores.records.delete(CrashedPdfRow, [(row.sha1hex, row.extractor) for row in stops])


def execute_decision(
    stores: Stores,
    readers: Iterable[Subscription],
    decision: DecisionRow,
    clock: Callable[[], datetime],
) -> DecisionRow:
    """Do what was decided, once: whoever comes with the same key later gets the decision as it stands.

    A process that dies in between leaves it begun; what it had not come to is still among the failures.
    """
    mine = replace(decision, taken_by=uuid4().hex)
    stores.records.put([mine], replace=False)
    (there,) = stores.records.get(DecisionRow, [decision.decision_id])
    if there.taken_by != mine.taken_by:
        return there
    asked = build_failure_query(mine)
    if mine.act == FailureAct.RETRY:
        count = retry(stores, readers, asked, clock).count
    else:
        count = accept(stores, readers, asked, clock, mine.note)
    ended = replace(mine, ended_at=clock(), count=count)
    stores.records.put([ended])
    return ended


def build_failure_query(row: DecisionRow) -> FailureQuery:
    """The failures a decision is about."""
    keys = (row.entry_id,) if row.entry_id else ()
    return FailureQuery(pipeline=row.pipeline, keys=keys, group=row.failure_group)


# What people note about groups of failures, and whom these are left to; kept until a person clears it.
#
# At most 1,000 groups have a note at a time.


NOTES_MAX = 1_000
OWNER_MAX_CHARS, WORDS_MAX_CHARS = 100, 500


def set_note(
    records: Records,
    pipeline: str,
    group: str,
    *,
    note: str,
    owner: str,
    columns: str,
    moment: datetime,
) -> FailureNoteRow | None:
    """Note this about a group, in the place of what was noted; without note and owner nothing is noted any
    more. The note as it stands, None for none.

    Raises ValueError with a sentence for a group there is not, and for words that are too many.
    """
    note, owner = " ".join(note.split()), " ".join(owner.split())
    if len(note) > WORDS_MAX_CHARS or len(owner) > OWNER_MAX_CHARS:
        raise ValueError(
            f"a note has at most {WORDS_MAX_CHARS} characters, and an owner {OWNER_MAX_CHARS}"
        )
    before = records.get(FailureNoteRow, [(pipeline, group)])
    if not note and not owner:
        records.delete(FailureNoteRow, [(pipeline, group)])
        return None
    step, reason = (
        (before[0].step, before[0].reason) if before else _find_group(records, pipeline, group)
    )
    if not before and records.count(FailureNoteRow)[()] >= NOTES_MAX:
        raise ValueError(f"{NOTES_MAX:,} groups have a note: clear those that are settled first")
    row = FailureNoteRow(pipeline, group, step, reason, note, owner, columns, moment)
    records.put([row])
    return row


def _find_group(records: Records, pipeline: str, group: str) -> tuple[str, str]:
    where = {"counted": COUNTED_AS, "pipeline": pipeline, "first": group}
    for row in records.find(TallyRow, where):
        if row.count > 0:
            return row.second, row.third
    raise ValueError(f"the pipeline {pipeline} has no failures of a group {group}")


def list_pipelines(records: Records, group: str) -> list[str]:
    """The pipelines that have failures of a group, or a note on it."""
    failed = records.find(TallyRow, {"counted": COUNTED_AS, "first": group})
    noted = records.find(FailureNoteRow, {"failure_group": group})
    return sorted(
        {row.pipeline for row in failed if row.count > 0} | {row.pipeline for row in noted}
    )


def list_settled_notes(records: Records) -> list[FailureNoteRow]:
    """The notes on groups of which no failure is left, the oldest first. `records` are whole: what is hidden
    from readers has failed all the same."""
    notes = list(records.find(FailureNoteRow, order=("noted_at",), count_max=NOTES_MAX))
    keys = [(COUNTED_AS, one.pipeline, one.failure_group, one.step, one.reason) for one in notes]
    tallies: Sequence[TallyRow] = records.get(TallyRow, keys) if keys else []
    left = {(row.pipeline, row.first) for row in tallies if row.count > 0}
    return [one for one in notes if (one.pipeline, one.failure_group) not in left]
