"""A small pipeline on the real queue and records: it doubles numbers and stores the results."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fonds.model.disposition import PENDING
from fonds.model.message import Depth, Message, Subscription
from fonds.model.rows import DispositionRow, EntryRow
from fonds.model.step import Pipeline, Result, Stage, Topic
from fonds.pipelines.runtime.binding import BoundStage, bind, build_subscriptions
from fonds.pipelines.runtime.handoff import Handover, HandoverLimits
from fonds.pipelines.runtime.loops import BatchLoop, Observer, ignore_batch
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker import RetryPolicy
from fonds.ports import Ledger, Queue
from fonds.queues.messages.envelope import encode
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.records.sql import SqlRecords, open_sqlite


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    note: str = ""

    @property
    def about(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Double:
    value: int
    sha1hex: str
    note: str = ""

    @property
    def about(self) -> str:
        return self.sha1hex


NUMBERS, DOUBLES = Topic("numbers", Number), Topic("doubles", Double)
SUMS = Pipeline(
    "sums",
    NUMBERS,
    (
        Stage("double", NUMBERS, (DOUBLES,), batch_max=10),
        Stage("keep", DOUBLES, sink=True, batch_max=10),
    ),
)
AT_ONCE = HandoverLimits(age_s=0.0)
RETRY = RetryPolicy(count_max=3, initial_s=5.0, max_s=60.0)


def double(item: Number) -> Result:
    """A step that always succeeds."""
    return Result(items=(Double(item.value * 2, f"{item.value:040x}", item.note),))


def doubles(items: Sequence[Number]) -> list[Result]:
    """The same step for a batch."""
    return [double(item) for item in items]


@dataclass
class Clock:
    """A clock that only moves when a test calls `pass_s`."""

    now_s: float = 1_700_000_000.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)

    def seconds(self) -> float:
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass
class RaisesOnce:
    """Wrapper of a queue or store whose `method` raises `error` on its `nth` call.

    With `after`, the real method runs first, as if its response were lost.
    """

    real: Any
    method: str
    error: Exception
    nth: int = 1
    after: bool = False
    calls: int = 0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.real, name)
        return self._wrap(attribute) if name == self.method else attribute

    def _wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def raise_once(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls != self.nth:
                return function(*args, **kwargs)
            if self.after:
                function(*args, **kwargs)
            raise self.error

        return raise_once


@dataclass
class Spy:
    """Wrapper of stores that records their calls in one list."""

    real: Any
    calls: list[str]

    def __getattr__(self, name: str) -> Any:
        def record_call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(f"{name} {args[0]}" if isinstance(args[0], str) else name)
            return getattr(self.real, name)(*args, **kwargs)

        return record_call


@dataclass
class Workplace:
    """Queue and records of one test, and shortcuts to use them."""

    queue: SqliteQueue
    records: SqlRecords
    clock: Clock
    subscriptions: list[Subscription] = field(default_factory=list)

    def bound(self, step: Callable[..., Any] = double, *, batch: bool = False) -> BoundStage:
        bound = bind(SUMS, {"double": step, "keep": keep}, "t")[0]
        return replace(bound, stage=replace(bound.stage, sink=batch))

    def loop(
        self,
        step: Callable[..., Any] = double,
        *,
        batch: bool = False,
        queue: Any = None,
        ledger: Any = None,
        bound: BoundStage | None = None,
        retry: RetryPolicy = RETRY,
        observe: Observer = ignore_batch,
        local: Collection[str] = (),
        bounds: HandoverLimits = AT_ONCE,
    ) -> BatchLoop:
        """Create a loop that writes dispositions immediately."""
        effective_queue: Queue = queue or self.queue
        effective_ledger: Ledger = ledger or self.ledger
        handover = Handover(effective_queue, effective_ledger, local, bounds)
        stage_io = StageIO(
            bound or self.bound(step, batch=batch),
            effective_queue,
            effective_ledger,
            handover,
            self.clock,
        )
        return BatchLoop(stage_io, retry, observe)

    @property
    def ledger(self) -> Ledger:
        return self.records.ledger

    def enter(self, *values: int, note: str = "") -> list[str]:
        """Enter numbers as an intake does: first in the ledger, then in the queue."""
        ids = [f"id-{value:03}" for value in values]
        facts = ("number", "input", "", "20240305060708", "", "")
        entered_at = self.clock()
        self.ledger.enter([], [EntryRow(i, "sums", *facts, entered_at) for i in ids], ["double"])
        self.queue.put(
            self.subscriptions[0].topic,
            [Message(i, encode(Number(v, note))) for i, v in zip(ids, values, strict=True)],
        )
        return ids

    def row(self, message_id: str, step: str = "double") -> DispositionRow | None:
        return next(iter(self.records.get(DispositionRow, [(message_id, "sums", step)])), None)

    def list_endings(self) -> dict[str, tuple[str, str | None]]:
        """Return verdict and reason of messages processed or returned at the first step, by id."""
        rows = self.records.find(DispositionRow, {"step": "double"})
        return {r.message_id: (r.verdict, r.reason) for r in rows if r.verdict != PENDING}

    def outcomes(self) -> dict[str, str]:
        return {row.entry_id: row.outcome for row in self.records.find(EntryRow)}

    def get_depth(self, index: int = 0) -> Depth:
        return self.queue.get_depth(self.subscriptions[index])

    def take_all(self, address: str) -> list[Message]:
        """Receive and settle all messages that are ready at an address."""
        deliveries = self.queue.receive(address, 1000, 0.0)
        self.queue.settle(deliveries)
        return [delivery.message for delivery in deliveries]


def keep(items: Sequence[Double]) -> list[Result]:
    """The last step; it has no output."""
    return [Result() for _ in items]


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty records, migrated once for all tests."""
    path = tmp_path_factory.mktemp("migrated") / "records.sqlite"
    open_sqlite(path).close()
    return path


@pytest.fixture
def place(tmp_path: Path, migrated: Path) -> Iterator[Workplace]:
    clock = Clock()
    shutil.copy(migrated, tmp_path / "records.sqlite")
    queue = SqliteQueue(tmp_path / "queue.sqlite", clock=clock.seconds)
    records = open_sqlite(tmp_path / "records.sqlite")
    readers = build_subscriptions(SUMS, "t")
    queue.declare(readers)
    yield Workplace(queue, records, clock, readers)
    queue.close()
    records.close()
