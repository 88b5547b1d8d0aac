"""A small pipeline on the real queue and records: numbers are doubled, doubles are kept."""

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
    """The step everything goes well with."""
    return Result(items=(Double(item.value * 2, f"{item.value:040x}", item.note),))


def doubles(items: Sequence[Number]) -> list[Result]:
    """The same for a batch."""
    return [double(item) for item in items]


@dataclass
class Clock:
    """A time that passes when told to."""

    now_s: float = 1_700_000_000.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)

    def seconds(self) -> float:
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds


@dataclass
class RaisesOnce:
    """Stands before a queue or a store: `method`, called for the `nth` time, raises `error` once.

    With `after` the real method has done its work by then, as when an answer is lost on its way.
    """

    real: Any
    method: str
    error: Exception
    nth: int = 1
    after: bool = False
    calls: int = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return self._raising(found) if name == self.method else found

    def _raising(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls != self.nth:
                return function(*args, **kwargs)
            if self.after:
                function(*args, **kwargs)
            raise self.error

        return called


@dataclass
class Spy:
    """Notes the calls of both stores in one list."""

    real: Any
    calls: list[str]

    def __getattr__(self, name: str) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(f"{name} {args[0]}" if isinstance(args[0], str) else name)
            return getattr(self.real, name)(*args, **kwargs)

        return called


@dataclass
class Workplace:
    """Queue and records of one test, and what is asked of them over and over."""

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
        """A loop whose endings are written as soon as they are there."""
        chosen_queue: Queue = queue or self.queue
        chosen_ledger: Ledger = ledger or self.ledger
        handover = Handover(chosen_queue, chosen_ledger, local, bounds)
        hand = StageIO(
            bound or self.bound(step, batch=batch),
            chosen_queue,
            chosen_ledger,
            handover,
            self.clock,
        )
        return BatchLoop(hand, retry, observe)

    @property
    def ledger(self) -> Ledger:
        return self.records.ledger

    def enter(self, *values: int, note: str = "") -> list[str]:
        """Put numbers to work as an intake does: on the books first, then on the queue."""
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

    def ended(self) -> dict[str, tuple[str, str | None]]:
        """Verdict and reason of what has ended at the first step, or is to come back there, by id."""
        rows = self.records.find(DispositionRow, {"step": "double"})
        return {r.message_id: (r.verdict, r.reason) for r in rows if r.verdict != PENDING}

    def outcomes(self) -> dict[str, str]:
        return {row.entry_id: row.outcome for row in self.records.find(EntryRow)}

    def get_depth(self, place: int = 0) -> Depth:
        return self.queue.get_depth(self.subscriptions[place])

    def taken(self, address: str) -> list[Message]:
        """Everything ready at an address, taken and settled."""
        deliveries = self.queue.receive(address, 1000, 0.0)
        self.queue.settle(deliveries)
        return [delivery.message for delivery in deliveries]


def keep(items: Sequence[Double]) -> list[Result]:
    """The last step: nothing comes of it."""
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
