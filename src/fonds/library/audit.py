"""Proves from the stores that nothing was lost: every step adds up, and what is done is really there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fonds.library.kept import DoneAtSinks, faults
from fonds.model.disposition import Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.ports import Records, Stores
from fonds.runtime.binding import stage_of

MISSING_MAX = 100
NAMED_MAX = 5


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
class Audit:
    """What the audit found: the steps of each pipeline, and its faults.

    `missing` names up to a hundred of them, `missing_count` counts all.
    """

    steps: dict[str, dict[str, StepAccount]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    missing_count: int = 0

    @property
    def balanced(self) -> bool:
        """Whether everything adds up and everything done is there."""
        return self.missing_count == 0

    def miss(self, what: str, count: int = 1) -> None:
        """Note a fault."""
        self.missing_count += count
        if len(self.missing) < MISSING_MAX:
            self.missing.append(what)


def audit(stores: Stores, pipelines: Mapping[str, Sequence[Subscription]]) -> Audit:
    """Check the books of these pipelines, then what the stores hold; each comes with its subscriptions.

    Streams every row once; safe beside running workers, whose messages in hand count as pending.
    """
    found = Audit()
    # A message promised before `began` and unsettled after it was in the queue when that was counted;
    # of what is promised later nothing is known yet.
    began = datetime.now(UTC)
    depths = {
        (name, stage_of(one)[1]): stores.queue.depth(one)
        for name, readers in pipelines.items()
        for one in readers
    }
    entering = _inputs(stores.records, list(pipelines), found)
    accounts = _accounts(stores.records, pipelines, began, found)
    for (pipeline, step), account in accounts.items():
        spare = entering.pop(pipeline, 0)
        _settle(pipeline, step, account, depths.get((pipeline, step), _NO_DEPTH), spare, found)
    for difference in stores.ledger.recount():
        found.miss(difference)
    for fault in faults(stores, began, _archiving(found)):
        found.miss(fault)
    return found


_NO_DEPTH = Depth(0, 0, 0, 0)


@dataclass(slots=True)
class _Account:
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


def _accounts(
    records: Records,
    pipelines: Mapping[str, Sequence[Subscription]],
    began: datetime,
    found: Audit,
) -> dict[tuple[str, str], _Account]:
    """Every step of these pipelines, in their order, and whatever else stands on their books.

    What is done at a sink is held against its row on the way.
    """
    accounts = {
        (name, stage_of(one)[1]): _Account()
        for name, readers in pipelines.items()
        for one in readers
    }
    done = DoneAtSinks(records, began)
    for row in records.find(DispositionRow, {"pipeline": list(pipelines)}):
        accounts.setdefault((row.pipeline, row.step), _Account()).note(row, began)
        for fault in done.note(row):
            found.miss(fault)
    for fault in done.rest():
        found.miss(fault)
    return accounts


def _settle(
    pipeline: str, step: str, account: _Account, depth: Depth, entering: int, found: Audit
) -> None:
    lost = max(0, account.owed - depth.pending - entering)
    name = f"{pipeline}.{step}"
    if lost:
        among = ", ".join(account.owed_ids)
        found.miss(
            f"{name}: {lost} of {account.owed} unsettled messages are in no queue (among {among})",
            lost,
        )
    short = account.apart - depth.quarantined
    if short > 0:
        found.miss(f"{name}: {short} quarantined messages are not in quarantine", short)
    ended = account.ended
    found.steps.setdefault(pipeline, {})[step] = StepAccount(
        received=account.received,
        done=ended[Verdict.DONE],
        dropped=ended[Verdict.DROPPED],
        quarantined=ended[Verdict.QUARANTINED],
        pending=account.received - ended.total() - lost,
        missing=lost,
    )


def _inputs(records: Records, pipelines: Sequence[str], found: Audit) -> dict[str, int]:
    """How many entries of each pipeline are on the books and may have no message yet.

    The intake writes entries down, then sends them, then moves its mark: stopped in between, it sends
    them when it goes on.
    """
    where = {"pipeline": list(pipelines)}
    counts = records.count(EntryRow, ("pipeline", "input_id"), where)
    entering: Counter[str] = Counter()
    for (pipeline, input_id), count in counts.items():
        entering[pipeline] += count if input_id else 0
    for row in records.find(InputRow, where):
        count = counts.get((row.pipeline, row.input_id), 0)
        entering[row.pipeline] -= count if row.finished else min(count, row.entries)
        if row.finished and count != row.entries:
            found.miss(f"{row.path}: {row.entries} entries were read and {count} are on the books")
    return dict(entering)


def _archiving(found: Audit) -> list[str] | None:
    """The pipelines whose files all lie in a WARC by now; None while something is still on its way."""
    pending = any(account.pending for steps in found.steps.values() for account in steps.values())
    return (
        None
        if pending
        else [name for name, steps in found.steps.items() if "archive_body" in steps]
    )


def as_json(found: Audit) -> dict[str, Any]:
    """The object of `fonds audit --json`."""
    return {
        "balanced": found.balanced,
        "missing": found.missing,
        "missing_count": found.missing_count,
        "steps": {
            pipeline: {name: account.as_json() for name, account in steps.items()}
            for pipeline, steps in found.steps.items()
        },
    }
