"""The books: every message of every step is accounted for, and every input with its entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fonds.library.checks.fault import Check, Fault
from fonds.library.checks.sinks import DoneAtSinks
from fonds.model.disposition import Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.ports import Records
from fonds.runtime.binding import stage_of

NAMED_MAX = 5
NO_DEPTH = Depth(0, 0, 0, 0)

Tell = Callable[..., None]
"""Takes a fault, and how many messages it stands for."""


@dataclass(frozen=True, slots=True)
class StepAccount:
    """One step: in = done + dropped + quarantined + pending + missing, and missing must be 0."""

    received: int
    done: int
    dropped: int
    quarantined: int
    pending: int
    missing: int

    def as_json(self) -> dict[str, int]:
        """The object of `fonds audit --json` for this step."""
        return {
            "in": self.received,
            "done": self.done,
            "dropped": self.dropped,
            "quarantined": self.quarantined,
            "pending": self.pending,
        }


@dataclass(slots=True)
class Account:
    """One step while rows are counted; `owed` are unsettled and should be in the queue.

    `apart` counts what went into quarantine before the audit began.
    """

    received: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    owed: int = 0
    owed_ids: list[str] = field(default_factory=list)
    apart: int = 0

    def note(self, row: DispositionRow, began: datetime) -> None:
        """Count one message."""
        self.received += 1
        if not row.is_open:
            self.ended[row.verdict] += 1
            self.apart += row.verdict == Verdict.QUARANTINED and _since(row) <= began
        elif _since(row) <= began:
            self.owed += 1
            if len(self.owed_ids) < NAMED_MAX:
                self.owed_ids.append(row.message_id)


def _since(row: DispositionRow) -> datetime:
    return row.settled_at or row.promised_at


def accounts(
    records: Records,
    pipelines: Mapping[str, Sequence[Subscription]],
    began: datetime,
    tell: Tell,
) -> dict[tuple[str, str], Account]:
    """Every step of these pipelines, in their order, and whatever else stands on their books.

    What is done at a sink is held against its row on the way.
    """
    found = {
        (name, stage_of(one)[1]): Account()
        for name, readers in pipelines.items()
        for one in readers
    }
    done = DoneAtSinks(records, began)
    for row in records.find(DispositionRow, {"pipeline": list(pipelines)}):
        found.setdefault((row.pipeline, row.step), Account()).note(row, began)
        for fault in done.note(row):
            tell(fault)
    for fault in done.rest():
        tell(fault)
    return found


def settle(
    pipeline: str, step: str, account: Account, depth: Depth, entering: int, tell: Tell
) -> StepAccount:
    """Hold a step's account against its queue: what is owed waits there, what is set apart lies there."""
    lost = max(0, account.owed - depth.pending - entering)
    name = f"{pipeline}.{step}"
    if lost:
        among = ", ".join(account.owed_ids)
        told = (
            f"{name}: {lost} of {account.owed} unsettled messages are in no queue (among {among})"
        )
        tell(Fault(Check.UNSETTLED, name, told, pipeline, step), lost)
    short = account.apart - depth.quarantined
    if short > 0:
        told = f"{name}: {short} quarantined messages are not in quarantine"
        tell(Fault(Check.QUARANTINE, name, told, pipeline, step), short)
    ended = account.ended
    return StepAccount(
        received=account.received,
        done=ended[Verdict.DONE],
        dropped=ended[Verdict.DROPPED],
        quarantined=ended[Verdict.QUARANTINED],
        pending=account.received - ended.total() - lost,
        missing=lost,
    )


def inputs(records: Records, pipelines: Sequence[str], tell: Tell) -> dict[str, int]:
    """How many entries of each pipeline are on the books and may have no message yet.

    The intake writes entries down, then sends them, then moves its mark: stopped in between, it sends
    them when it goes on.
    """
    where = {"pipeline": list(pipelines)}
    counts = records.count(EntryRow, ("pipeline", "input_id"), where)
    entering: Counter[str] = Counter()
    for (pipeline, input_id), count in counts.items():
        entering[pipeline] += count if input_id else 0
    known = set()
    for row in records.find(InputRow, where):
        known.add((row.pipeline, row.input_id))
        count = counts.get((row.pipeline, row.input_id), 0)
        entering[row.pipeline] -= count if row.finished else min(count, row.entries)
        if row.finished and count != row.entries:
            told = f"{row.path}: {row.entries} entries were read and {count} are on the books"
            tell(Fault(Check.INPUT_COUNT, row.input_id, told, row.pipeline))
    for pipeline, input_id in sorted(counts.keys() - known):
        if input_id:
            _inputless(records, pipeline, input_id, counts[pipeline, input_id], tell)
    return dict(entering)


def _inputless(records: Records, pipeline: str, input_id: str, count: int, tell: Tell) -> None:
    """Entries whose input is not on the books; while one is pending an intake may be about to write it."""
    where = {"pipeline": pipeline, "input_id": input_id}
    if records.count(EntryRow, (), {**where, "outcome": "pending"})[()]:
        return
    if records.get(InputRow, [(input_id, pipeline)]):
        return
    place = next((row.place for row in records.find(EntryRow, where, count_max=1)), None)
    told = f"input {input_id} ({pipeline}) is not on the books and has {count} entries, as {place}"
    tell(Fault(Check.INPUT_ROW, input_id, told, pipeline))
