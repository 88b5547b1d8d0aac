"""Decisions of people about failures: retry them, accept them as final, or write a note about a
failure group.

Retrying and accepting take messages out of quarantine in batches. The ledger records each batch
before its messages can be processed further.
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
"""Maximum number of entries that the result of a retry lists, and of unreadable input files that a
list of them contains.
"""


class FailureAct(StrEnum):
    """What a person can do with failures: send them through their step again, or accept them as
    final.
    """

    RETRY = "retry"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class RetryResult:
    """Result of retrying failures.

    `count`: number of messages put back on their queues.
    `entries`: keys (entry id and pipeline) of the entries of these messages, at most 100,000.
    `inputs`: ids of input files that could not be read and are read again.
    """

    count: int
    entries: Sequence[tuple[str, str]]
    inputs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DecisionPlan:
    """Preview of a decision about failures.

    `count`: number of failures that the decision applies to.
    `sample`: one of these failures, the newest if the query has no keys; None if there are none.
    `stages`: names of the pipeline stages that would run again.
    """

    count: int
    sample: EntryRow | None
    stages: Sequence[str]

    @property
    def precondition(self) -> str:
        """What a person must do before a retry of the failures can succeed; "" if nothing is
        known.
        """
        if self.reads_input:
            return ""
        return Reason(self.sample.reason).retry_hint if self.sample and self.sample.reason else ""

    @property
    def reads_input(self) -> bool:
        """Whether the failure is an unreadable input file. Such a file has no message that could be
        retried, so the file is read again.
        """
        return self.sample is not None and is_unread(self.sample.entry_id)


def build_plan(stores: Stores, query: FailureQuery, pipeline: Pipeline | None) -> DecisionPlan:
    """Build a preview of a decision about the failures that match a query.

    `pipeline`: pipeline of the failures, for the stages that would run again; None if it no longer
        exists.
    """
    rows, count = list_failed_entries(stores.records, query, count_max=1)
    sample = rows[0] if rows else None
    stages = list_stages_from(pipeline, sample.step or "") if pipeline and sample else []
    return DecisionPlan(count, sample, stages)


def list_stages_from(pipeline: Pipeline, name: str) -> list[str]:
    """Return the names of a stage and all stages downstream of it, in pipeline order."""
    names = {name}
    for _ in pipeline.stages:
        topics = {
            topic for stage in pipeline.stages if stage.name in names for topic in stage.writes
        }
        names |= {stage.name for stage in pipeline.stages if stage.reads in topics}
    return [stage.name for stage in pipeline.stages if stage.name in names]


def retry(
    stores: Stores,
    readers: Iterable[Subscription],
    query: FailureQuery,
    clock: Callable[[], datetime],
) -> RetryResult:
    """Put the quarantined messages of the matching failures back on the queues of their steps.

    `query`: filter for the failures.
    `readers`: subscriptions whose quarantine is searched.
    `clock`: returns the current time, aware UTC.

    Also deletes the records of crashes of the matching PDFs, because a PDF with a recorded crash is
    not read again. Skips failures of unreadable input files (`list_unread_inputs`); such a failure
    ends when its path is read again.
    """
    count, entries = 0, dict[tuple[str, str], None]()
    for reader, deliveries in _iter_chosen(stores, readers, query, leaves_inputs=True):
        _remove_crash_rows(stores, [delivery.message for delivery in deliveries])
        requeue(stores.queue, stores.ledger, reader, deliveries, clock())
        count += len(deliveries)
        pipeline = parse_subscription_name(reader)[0]
        room = ENTRIES_MAX - len(entries)
        entries |= dict.fromkeys(
            [(delivery.message.entry, pipeline) for delivery in deliveries][:room]
        )
    return RetryResult(count, list(entries))


def list_unread_inputs(records: Records, query: FailureQuery) -> list[InputRow]:
    """Return the rows of the unreadable input files among the failures that match the query.

    At most 100,000 rows are returned.
    """
    if query.keys:
        rows_found: Iterable[EntryRow] = list_failed_entries(records, query)[0]
    else:
        reasons = [reason for reason in INPUT_REASONS if query.reason in (None, reason)]
        rows_found = (
            records.find(EntryRow, {**query.build_quarantine_filter(), "reason": reasons})
            if reasons
            else ()
        )
    rows = islice((row for row in rows_found if is_unread(row.entry_id)), ENTRIES_MAX)
    inputs: list[InputRow] = []
    while batch := list(islice(rows, INPUTS_A_QUERY)):
        inputs += records.get(InputRow, [(row.input_id, row.pipeline) for row in batch])
    return inputs


def accept(
    stores: Stores,
    readers: Iterable[Subscription],
    query: FailureQuery,
    clock: Callable[[], datetime],
    note: str = "",
) -> int:
    """Accept the matching failures as final: end them as dropped, with the reason `accepted`.

    `readers`: subscriptions whose quarantine is searched.
    `clock`: returns the current time, aware UTC.
    `note`: reason given by a person. The ledger stores it together with the original failure.

    Returns the number of messages removed from quarantine.
    """
    count = 0
    for reader, deliveries in _iter_chosen(stores, readers, query):
        now = clock()
        stores.ledger.write(
            [_build_accepted_row(delivery.message, reader, note, now) for delivery in deliveries]
        )
        stores.queue.settle(deliveries)
        count += len(deliveries)
    return count


def _build_accepted_row(
    message: Message, reader: Subscription, note: str, now: datetime
) -> DispositionRow:
    note_text = f": {note[:NOTE_MAX_CHARS]}" if note else ""
    previous = f"{message.headers.get('reason', '')}: {message.headers.get('detail', '')}"
    detail = f"accepted as final{note_text}; before: {previous}"
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

            def select(
                messages: Sequence[Message], step_key: tuple[str, str] = (pipeline, step)
            ) -> set[str]:
                ids = _select_messages(stores, query, step_key, messages)
                inputs = {
                    message.id for message in messages if leaves_inputs and is_unread(message.entry)
                }
                return ids - inputs

            for deliveries in take_messages(stores.queue, reader, select):
                yield reader, deliveries


def _select_messages(
    stores: Stores, query: FailureQuery, step: tuple[str, str], messages: Sequence[Message]
) -> set[str]:
    """Return the ids of those of `messages`, which are quarantined, that match the query.

    `step` is the pipeline and the step of the messages. If the query names a failure group, only
    messages that decided the outcome of their entry match.
    """
    keys = set(query.keys)
    matches = [
        message
        for message in messages
        if query.reason in (None, message.headers.get("reason"))
        and (not keys or keys & {message.about, message.entry, message.id})
    ]
    if query.group and matches:
        entries = sorted({message.entry for message in matches})
        group_filter = {"pipeline": step[0], "step": step[1], "failure_group": query.group}
        rows = stores.records.find(EntryRow, {**group_filter, "entry_id": entries})
        deciding = {(row.entry_id, row.message_id) for row in rows}
        matches = [message for message in matches if (message.entry, message.id) in deciding]
    return {message.id for message in matches}


def _remove_crash_rows(stores: Stores, messages: Collection[Message]) -> None:
    files = sorted({message.about for message in messages if message.about})
    stops = stores.records.find(CrashedPdfRow, {"sha1hex": files})
    stores.records.delete(CrashedPdfRow, [(row.sha1hex, row.extractor) for row in stops])


def execute_decision(
    stores: Stores,
    readers: Iterable[Subscription],
    decision: DecisionRow,
    clock: Callable[[], datetime],
) -> DecisionRow:
    """Execute a decision of a person about failures once, and return the decision's row with end
    time and number of failures.

    `readers`: subscriptions whose quarantine is searched.

    A further call with the same decision id returns the stored row and does nothing. If the process
    dies midway, the row has no end time, and the failures not reached stay in quarantine.
    """
    own_decision = replace(decision, taken_by=uuid4().hex)
    stores.records.put([own_decision], replace=False)
    (stored_decision,) = stores.records.get(DecisionRow, [decision.decision_id])
    if stored_decision.taken_by != own_decision.taken_by:
        return stored_decision
    query = build_failure_query(own_decision)
    if own_decision.act == FailureAct.RETRY:
        count = retry(stores, readers, query, clock).count
    else:
        count = accept(stores, readers, query, clock, own_decision.note)
    finished_decision = replace(own_decision, ended_at=clock(), count=count)
    stores.records.put([finished_decision])
    return finished_decision


def build_failure_query(row: DecisionRow) -> FailureQuery:
    """Return the query that finds the failures to which a decision applies."""
    keys = (row.entry_id,) if row.entry_id else ()
    return FailureQuery(pipeline=row.pipeline, keys=keys, group=row.failure_group)


# Notes and owners of failure groups; kept until a person clears them


NOTES_MAX = 1_000
OWNER_MAX_CHARS, NOTE_TEXT_MAX_CHARS = 100, 500


def set_note(
    records: Records,
    pipeline: str,
    group: str,
    *,
    note: str,
    owner: str,
    author: str,
    moment: datetime,
) -> FailureNoteRow | None:
    """Set the note and the owner of a failure group, and return the stored row.

    `author`: person who writes the note.
    `moment`: time of writing, aware UTC.

    If note and owner are both empty, the row is deleted and None is returned. Raises ValueError if
    the group has neither failures nor a note, if a text is too long, or if 1,000 groups already
    have a note.
    """
    note, owner = " ".join(note.split()), " ".join(owner.split())
    if len(note) > NOTE_TEXT_MAX_CHARS or len(owner) > OWNER_MAX_CHARS:
        raise ValueError(
            f"a note can have at most {NOTE_TEXT_MAX_CHARS} characters, and an owner {OWNER_MAX_CHARS}"
        )
    previous_notes = records.get(FailureNoteRow, [(pipeline, group)])
    if not note and not owner:
        records.delete(FailureNoteRow, [(pipeline, group)])
        return None
    step, reason = (
        (previous_notes[0].step, previous_notes[0].reason)
        if previous_notes
        else _find_group(records, pipeline, group)
    )
    if not previous_notes and records.count(FailureNoteRow)[()] >= NOTES_MAX:
        raise ValueError(
            f"the limit of {NOTES_MAX:,} groups with a note is reached. "
            "Remove notes of settled groups first"
        )
    row = FailureNoteRow(pipeline, group, step, reason, note, owner, author, moment)
    records.put([row])
    return row


def _find_group(records: Records, pipeline: str, group: str) -> tuple[str, str]:
    where = {"counted": COUNTED_AS, "pipeline": pipeline, "first": group}
    for row in records.find(TallyRow, where):
        if row.count > 0:
            return row.second, row.third
    raise ValueError(f"the pipeline {pipeline} has no failures in a group named {group}")


def list_pipelines(records: Records, group: str) -> list[str]:
    """Return the names of the pipelines in which a failure group has failures or a note."""
    failure_tallies = records.find(TallyRow, {"counted": COUNTED_AS, "first": group})
    notes = records.find(FailureNoteRow, {"failure_group": group})
    return sorted(
        {row.pipeline for row in failure_tallies if row.count > 0} | {row.pipeline for row in notes}
    )


def list_settled_notes(records: Records) -> list[FailureNoteRow]:
    """Return the notes on failure groups that have no failures left, oldest first.

    `records` must include rows that are hidden from readers: failures of files under embargo count
    too.
    """
    notes = list(records.find(FailureNoteRow, order=("noted_at",), count_max=NOTES_MAX))
    keys = [
        (COUNTED_AS, note.pipeline, note.failure_group, note.step, note.reason) for note in notes
    ]
    tallies: Sequence[TallyRow] = records.get(TallyRow, keys) if keys else []
    failing_groups = {(row.pipeline, row.first) for row in tallies if row.count > 0}
    return [note for note in notes if (note.pipeline, note.failure_group) not in failing_groups]
