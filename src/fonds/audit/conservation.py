"""The books: every message of every step is accounted for, and every input with its entries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fonds.audit.fault import AuditCheck, AuditFault
from fonds.derivatives.kind import DerivativeKind
from fonds.derivatives.kinds import KINDS
from fonds.model.disposition import Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.ports import Records
from fonds.ports.scan import CHUNK

# What is done at a sink is held against the row it wrote.


_SINKS: Mapping[str, Sequence[DerivativeKind]] = {
    step: [kind for kind in KINDS if step in kind.sinks]
    for step in {step for kind in KINDS for step in kind.sinks}
}


@dataclass(slots=True)
class SinkCheck:
    """Holds each message done at a kind's sink against the row it wrote, some hundred at a time."""

    records: Records
    began: datetime
    _pending: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, row: DispositionRow) -> Iterator[AuditFault]:
        """Remember a disposition; the faults that are found now."""
        if row.verdict != Verdict.DONE or not row.about or row.step.partition("-")[0] not in _SINKS:
            return
        if row.settled_at and row.settled_at > self.began:
            return
        held = self._pending[row.step]
        held.append(row.about)
        if len(held) >= CHUNK:
            yield from self._check_stage(row.step)

    def check_rest(self) -> Iterator[AuditFault]:
        """The faults among those not looked at yet."""
        for stage in sorted(self._pending):
            yield from self._check_stage(stage)

    def _check_stage(self, stage: str) -> Iterator[AuditFault]:
        about, self._pending[stage] = sorted(set(self._pending[stage])), []
        step, _, tag = stage.partition("-")
        for kind in _SINKS[step]:
            rows = {row.sha1hex: row for row in self.records.get(kind.row, about)}
            for key in about:
                if not kind.is_written(rows.get(key), tag):
                    told = f"{stage} is done with {key} and {kind.row.TABLE} does not say so"
                    yield AuditFault(AuditCheck.ROW, key, told)


NAMES_MAX = 5
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

    def build_json(self) -> dict[str, int]:
        """The object of `fonds audit --json` for this step."""
        return {
            "in": self.received,
            "done": self.done,
            "dropped": self.dropped,
            "quarantined": self.quarantined,
            "pending": self.pending,
        }


@dataclass(slots=True)
class StepCounter:
    """One step while rows are counted; `expected` are unsettled and should be in the queue.

    `quarantined` counts what went into quarantine before the audit began.
    """

    received: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    expected: int = 0
    expected_ids: list[str] = field(default_factory=list)
    quarantined: int = 0

    def count_message(self, row: DispositionRow, started_at: datetime) -> None:
        """Count one message."""
        self.received += 1
        if not row.is_open:
            self.ended[row.verdict] += 1
            self.quarantined += row.verdict == Verdict.QUARANTINED and _find_time(row) <= started_at
        elif _find_time(row) <= started_at:
            self.expected += 1
            if len(self.expected_ids) < NAMES_MAX:
                self.expected_ids.append(row.message_id)


def _find_time(row: DispositionRow) -> datetime:
    return row.settled_at or row.promised_at


def build_accounts(
    records: Records,
    pipelines: Mapping[str, Sequence[Subscription]],
    started_at: datetime,
    report_fault: Tell,
) -> dict[tuple[str, str], StepCounter]:
    """Every step of these pipelines, in their order, and whatever else stands on their books.

    What is done at a sink is held against its row on the way.
    """
    found = {
        (name, parse_subscription_name(one)[1]): StepCounter()
        for name, readers in pipelines.items()
        for one in readers
    }
    done = SinkCheck(records, started_at)
    for row in records.find(DispositionRow, {"pipeline": list(pipelines)}):
        found.setdefault((row.pipeline, row.step), StepCounter()).count_message(row, started_at)
        for fault in done.add(row):
            report_fault(fault)
    for fault in done.check_rest():
        report_fault(fault)
    return found


def check_account(
    pipeline: str, step: str, account: StepCounter, depth: Depth, entering: int, report_fault: Tell
) -> StepAccount:
    """Hold a step's account against its queue: what is owed waits there, what is set apart lies there."""
    lost = max(0, account.expected - depth.pending - entering)
    name = f"{pipeline}.{step}"
    if lost:
        among = ", ".join(account.expected_ids)
        told = f"{name}: {lost} of {account.expected} unsettled messages are in no queue (among {among})"
        report_fault(AuditFault(AuditCheck.UNSETTLED, name, told, pipeline, step), lost)
    short = account.quarantined - depth.quarantined
    if short > 0:
        told = f"{name}: {short} quarantined messages are not in quarantine"
        report_fault(AuditFault(AuditCheck.QUARANTINE, name, told, pipeline, step), short)
    ended = account.ended
    return StepAccount(
        received=account.received,
        done=ended[Verdict.DONE],
        dropped=ended[Verdict.DROPPED],
        quarantined=ended[Verdict.QUARANTINED],
        pending=account.received - ended.total() - lost,
        missing=lost,
    )


def check_inputs(records: Records, pipelines: Sequence[str], report_fault: Tell) -> dict[str, int]:
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
            report_fault(AuditFault(AuditCheck.INPUT_COUNT, row.input_id, told, row.pipeline))
    for pipeline, input_id in sorted(counts.keys() - known):
        if input_id:
            _check_inputless(records, pipeline, input_id, counts[pipeline, input_id], report_fault)
    return dict(entering)


def _check_inputless(
    records: Records, pipeline: str, input_id: str, count: int, report_fault: Tell
) -> None:
    """Entries whose input is not on the books; while one is pending an intake may be about to write it."""
    where = {"pipeline": pipeline, "input_id": input_id}
    if records.count(EntryRow, (), {**where, "outcome": "pending"})[()]:
        return
    if records.get(InputRow, [(input_id, pipeline)]):
        return
    place = next((row.place for row in records.find(EntryRow, where, count_max=1)), None)
    told = f"input {input_id} ({pipeline}) is not on the books and has {count} entries, as {place}"
    report_fault(AuditFault(AuditCheck.INPUT_ROW, input_id, told, pipeline))
