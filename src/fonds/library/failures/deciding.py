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

from fonds.library.failures.failed import Asked, failed_entries
from fonds.model.disposition import Reason, Verdict
from fonds.model.entry import is_unread
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.rows import DecisionRow, DispositionRow, EntryRow, InputRow, StoppedRow
from fonds.model.step import Pipeline
from fonds.ports import Records, Stores
from fonds.runtime.binding import stage_of
from fonds.runtime.quarantine import ended_by_hand, put_back, taken_out

NOTE_CHARACTERS_MAX = 500


INPUT_REASONS = (str(Reason.MISSING_SOURCE), str(Reason.UNREADABLE_SOURCE), str(Reason.TOO_LARGE))
INPUTS_A_QUERY = 500
ENTRIES_MAX = 100_000
"""Entries of retried messages that are reported one by one."""


class Act(StrEnum):
    """What can be done about a failure."""

    RETRY = "retry"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Retried:
    """How many messages were put back to work, and the keys of their entries, `ENTRIES_MAX` at most.
    `inputs` are ids of inputs that could not be read, and are read again."""

    count: int
    entries: Sequence[tuple[str, str]]
    inputs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a decision would do, told before it is done: to how many failures, of which `sample` is the
    newest, and which stages would run again."""

    count: int
    sample: EntryRow | None
    stages: Sequence[str]

    @property
    def again(self) -> str:
        """What has to be done first, so that trying again can end otherwise; "" where it cannot."""
        if self.reads_input:
            return ""
        return Reason(self.sample.reason).again if self.sample and self.sample.reason else ""

    @property
    def reads_input(self) -> bool:
        """Whether an input could not be read, which no message can be tried again for."""
        return self.sample is not None and is_unread(self.sample.entry_id)


def planned(stores: Stores, asked: Asked, pipeline: Pipeline | None) -> Plan:
    """What deciding about these failures would do; `pipeline` is theirs, None for one there is no more."""
    rows, count = failed_entries(stores.records, asked, count_max=1)
    sample = rows[0] if rows else None
    stages = stages_from(pipeline, sample.step or "") if pipeline and sample else []
    return Plan(count, sample, stages)


def stages_from(pipeline: Pipeline, name: str) -> list[str]:
    """The stage of this name and all that may get something of what it makes, in the pipeline's order."""
    reached = {name}
    for _ in pipeline.stages:
        written = {
            topic for stage in pipeline.stages if stage.name in reached for topic in stage.writes
        }
        reached |= {stage.name for stage in pipeline.stages if stage.reads in written}
    return [stage.name for stage in pipeline.stages if stage.name in reached]


def retry(
    stores: Stores, readers: Iterable[Subscription], asked: Asked, clock: Callable[[], datetime]
) -> Retried:
    """Put the messages of these failures back to work. What stopped a reader is forgotten of their files:
    else it would be remembered, and nothing be read. Failures of inputs (`unread_inputs`) stay as they are:
    they end when their paths are read.
    """
    count, entries = 0, dict[tuple[str, str], None]()
    for reader, chosen in _chosen(stores, readers, asked, leaves_inputs=True):
        _forget_stops(stores, [one.message for one in chosen])
        put_back(stores.queue, stores.ledger, reader, chosen, clock())
        count += len(chosen)
        pipeline = stage_of(reader)[0]
        room = ENTRIES_MAX - len(entries)
        entries |= dict.fromkeys([(one.message.entry, pipeline) for one in chosen][:room])
    return Retried(count, list(entries))


def unread_inputs(records: Records, asked: Asked) -> list[InputRow]:
    """Return the inputs among these failures that could not be read, `ENTRIES_MAX` at most."""
    if asked.keys:
        found: Iterable[EntryRow] = failed_entries(records, asked)[0]
    else:
        reasons = [one for one in INPUT_REASONS if asked.reason in (None, one)]
        found = records.find(EntryRow, {**asked.where(), "reason": reasons}) if reasons else ()
    rows = islice((row for row in found if is_unread(row.entry_id)), ENTRIES_MAX)
    inputs: list[InputRow] = []
    while some := list(islice(rows, INPUTS_A_QUERY)):
        inputs += records.get(InputRow, [(row.input_id, row.pipeline) for row in some])
    return inputs


def accept(
    stores: Stores,
    readers: Iterable[Subscription],
    asked: Asked,
    clock: Callable[[], datetime],
    note: str = "",
) -> int:
    """End these failures as dropped, `accepted`, and let go of their messages; how many. `note` stands on
    the books with what had failed."""
    count = 0
    for reader, chosen in _chosen(stores, readers, asked):
        now = clock()
        stores.ledger.write([_accepted(one.message, reader, note, now) for one in chosen])
        stores.queue.settle(chosen)
        count += len(chosen)
    return count


def _accepted(message: Message, reader: Subscription, note: str, now: datetime) -> DispositionRow:
    said = f": {note[:NOTE_CHARACTERS_MAX]}" if note else ""
    before = f"{message.headers.get('reason', '')}: {message.headers.get('detail', '')}"
    detail = f"accepted as final{said}; before: {before}"
    return ended_by_hand(message, reader, Verdict.DROPPED, str(Reason.ACCEPTED), detail, now)


def _chosen(
    stores: Stores,
    readers: Iterable[Subscription],
    asked: Asked,
    *,
    leaves_inputs: bool = False,
) -> Iterable[tuple[Subscription, list[Delivery]]]:
    for reader in readers:
        pipeline, step = stage_of(reader)
        if asked.pipeline in (None, pipeline) and asked.step in (None, step):

            def wanted(
                messages: Sequence[Message], at: tuple[str, str] = (pipeline, step)
            ) -> set[str]:
                ids = _wanted(stores, asked, at, messages)
                inputs = {one.id for one in messages if leaves_inputs and is_unread(one.entry)}
                return ids - inputs

            for chosen in taken_out(stores.queue, reader, wanted):
                yield reader, chosen


def _wanted(
    stores: Stores, asked: Asked, at: tuple[str, str], messages: Sequence[Message]
) -> set[str]:
    """The ids of those messages that are asked for. A group has the messages that decided its entries."""
    keys = set(asked.keys)
    fit = [
        one
        for one in messages
        if asked.reason in (None, one.headers.get("reason"))
        and (not keys or keys & {one.about, one.entry, one.id})
    ]
    if asked.group and fit:
        entries = sorted({one.entry for one in fit})
        of_group = {"pipeline": at[0], "step": at[1], "failure_group": asked.group}
        rows = stores.records.find(EntryRow, {**of_group, "entry_id": entries})
        deciding = {(row.entry_id, row.message_id) for row in rows}
        fit = [one for one in fit if (one.entry, one.id) in deciding]
    return {one.id for one in fit}


def _forget_stops(stores: Stores, messages: Collection[Message]) -> None:
    files = sorted({one.about for one in messages if one.about})
    stops = stores.records.find(StoppedRow, {"sha1hex": files})
    stores.records.delete(StoppedRow, [(row.sha1hex, row.extractor) for row in stops])


def decide(
    stores: Stores,
    readers: Iterable[Subscription],
    wanted: DecisionRow,
    clock: Callable[[], datetime],
) -> DecisionRow:
    """Do what was decided, once: whoever comes with the same key later gets the decision as it stands.

    A process that dies in between leaves it begun; what it had not come to is still among the failures.
    """
    mine = replace(wanted, taken_by=uuid4().hex)
    stores.records.put([mine], replace=False)
    (there,) = stores.records.get(DecisionRow, [wanted.decision_id])
    if there.taken_by != mine.taken_by:
        return there
    asked = decided_about(mine)
    if mine.act == Act.RETRY:
        count = retry(stores, readers, asked, clock).count
    else:
        count = accept(stores, readers, asked, clock, mine.note)
    ended = replace(mine, ended_at=clock(), count=count)
    stores.records.put([ended])
    return ended


def decided_about(row: DecisionRow) -> Asked:
    """The failures a decision is about."""
    keys = (row.entry_id,) if row.entry_id else ()
    return Asked(pipeline=row.pipeline, keys=keys, group=row.failure_group)
