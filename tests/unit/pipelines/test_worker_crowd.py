"""Concurrent steps: each message ends once, in any order, and is released if it did not end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from empty_records import open_records
from fonds.model.disposition import DONE, Reason, Verdict, defer, retry
from fonds.model.errors import PermanentError, StoreUnavailableError
from fonds.model.message import Message
from fonds.model.rows import DispositionRow, EntryRow
from fonds.model.step import Pipeline, Result, Stage, Topic
from fonds.pipelines.runtime.binding import bind, build_subscriptions
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.loops import ConcurrentLoop
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker import RetryPolicy
from fonds.queues.messages.envelope import encode
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.records.sql import SqlRecords


@dataclass(frozen=True, slots=True)
class Job:
    name: str

    @property
    def about(self) -> str:
        return self.name


@dataclass
class ControlledStep:
    """A concurrent step whose jobs end on request."""

    free_slots: int = 3
    started: dict[int, Job] = field(default_factory=dict)
    ends: list[tuple[int, Result | Exception]] = field(default_factory=list)
    failures_left: int = 0
    forgotten: list[int] = field(default_factory=list)
    closed: bool = False

    def begin(self, items: Sequence[tuple[int, Job]]) -> None:
        self.started |= dict(items)
        self.free_slots -= len(items)

    def collect_finished(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        if self.failures_left:
            self.failures_left -= 1
            raise StoreUnavailableError("away")
        ends, self.ends = self.ends, []
        return ends

    def end(self, name: str, end: Result | Exception) -> None:
        (number,) = (number for number, job in self.started.items() if job.name == name)
        del self.started[number]
        self.free_slots += 1
        self.ends.append((number, end))

    def forget(self, numbers: Sequence[int]) -> None:
        self.forgotten += numbers

    def close(self) -> None:
        self.closed = True


JOBS = Topic("jobs", Job)
PIPELINE = Pipeline("p", JOBS, (Stage("shop", JOBS, is_concurrent=True, batch_max=10),))
(READER,) = build_subscriptions(PIPELINE, "t")


@dataclass
class World:
    queue: SqliteQueue
    records: SqlRecords
    shop: ControlledStep
    loop: ConcurrentLoop

    def enter(self, *names: str) -> None:
        now = datetime.now(UTC)
        rows = [
            EntryRow(name, "p", "link", "i", name, None, None, "default", now) for name in names
        ]
        self.records.ledger.enter([], rows, ["shop"])
        self.queue.put(READER.topic, [Message(name, encode(Job(name))) for name in names])

    def verdicts(self) -> dict[str, tuple[str, str | None]]:
        self.loop.io.handover.flush()
        return {
            row.message_id: (row.verdict, row.reason) for row in self.records.find(DispositionRow)
        }


@pytest.fixture
def world(tmp_path: Path) -> Any:
    queue = SqliteQueue(tmp_path / "queue.sqlite")
    queue.declare([READER])
    records = open_records(tmp_path / "records.sqlite")
    shop = ControlledStep()
    (bound,) = bind(PIPELINE, {"shop": shop}, "t")
    handover = Handover(queue, records.ledger)
    stage_io = StageIO(bound, queue, records.ledger, handover, lambda: datetime.now(UTC))
    yield World(queue, records, shop, ConcurrentLoop(stage_io, RetryPolicy(count_max=1)))
    queue.close()
    records.close()


def test_a_step_starts_at_most_its_free_slots(world: World) -> None:
    world.enter("a", "b", "c", "d")
    world.loop.run_once(0.0)
    assert [job.name for job in world.shop.started.values()] == ["a", "b", "c"]
    world.shop.end("b", Result())
    assert world.loop.run_once(0.0) == 1
    world.loop.run_once(0.0)
    assert {job.name for job in world.shop.started.values()} == {"a", "c", "d"}
    assert world.verdicts()["b"] == (DONE.verdict, None)


@pytest.mark.parametrize(
    ("end", "verdict", "reason"),
    [
        (Result(), Verdict.DONE, None),
        (Result(defer(Reason.NOT_YET, "later", 60.0)), Verdict.DEFERRED, Reason.NOT_YET),
        (Result(retry(Reason.THROTTLED, "later", 60.0)), Verdict.RETRIED, Reason.THROTTLED),
        (PermanentError(Reason.BAD_URL, "no"), Verdict.DROPPED, Reason.BAD_URL),
        (PermanentError(Reason.BOMB, "no"), Verdict.QUARANTINED, Reason.BOMB),
        (StoreUnavailableError("away"), Verdict.RETRIED, Reason.STORE_UNAVAILABLE),
        (RuntimeError("a bug"), Verdict.RETRIED, Reason.INTERNAL_ERROR),
    ],
)
def test_each_end_is_recorded_like_that_of_a_plain_step(
    world: World, end: Result | Exception, verdict: Verdict, reason: Reason | None
) -> None:
    world.enter("a")
    world.loop.run_once(0.0)
    world.shop.end("a", end)
    assert world.loop.run_once(0.0) == 1
    assert world.verdicts()["a"] == (verdict, reason)


def test_repeatedly_throttled_messages_are_dropped_and_failed_ones_quarantined(
    world: World,
) -> None:
    for name, reason in (("a", Reason.THROTTLED), ("b", Reason.STORE_UNAVAILABLE)):
        now = datetime.now(UTC)
        row = EntryRow(name, "p", "link", "i", name, None, None, "default", now)
        world.records.ledger.enter([], [row], ["shop"])
        world.queue.put(READER.topic, [Message(name, encode(Job(name)), attempt=1)])
        world.loop.run_once(0.0)
        world.shop.end(name, Result(retry(reason, "no", 0.0)))
        world.loop.run_once(0.0)
    assert world.verdicts() == {
        "a": (Verdict.DROPPED, Reason.THROTTLED),
        "b": (Verdict.QUARANTINED, Reason.STORE_UNAVAILABLE),
    }


def test_an_unavailable_store_keeps_all_messages_leased(world: World) -> None:
    world.enter("a")
    world.loop.run_once(0.0)
    world.shop.end("a", Result())
    world.shop.failures_left = 2
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            world.loop.run_once(0.0)
    assert world.loop.run_once(0.0) == 1
    assert world.verdicts()["a"] == (Verdict.DONE, None)


def test_an_unreadable_message_is_quarantined_at_once(world: World) -> None:
    now = datetime.now(UTC)
    row = EntryRow("bad", "p", "link", "i", "bad", None, None, "default", now)
    world.records.ledger.enter([], [row], ["shop"])
    world.queue.put(READER.topic, [Message("bad", b"not a job")])
    world.loop.run_once(0.0)
    world.loop.run_once(0.0)
    assert world.verdicts()["bad"] == (Verdict.QUARANTINED, Reason.INTERNAL_ERROR)
    assert world.shop.started == {}


def test_unfinished_messages_are_released_when_the_loop_ends(world: World) -> None:
    world.enter("a", "b")
    world.loop.run_once(0.0)
    world.loop.release()
    assert sorted(world.shop.forgotten) == [0, 1]
    assert world.shop.closed
    assert world.queue.get_depth(READER).ready == 2
