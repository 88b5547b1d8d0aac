"""Processes that work off random pipelines and die between any two acts, and what must be true afterwards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any

from fonds.audit.audit import audit_accounts
from fonds.model.disposition import PENDING
from fonds.model.entry import Entry
from fonds.model.message import Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow, TallyRow
from fonds.model.step import Pipeline
from fonds.model.tallies import ENTRIES_BY_SOURCE
from fonds.pipelines.runtime.binding import (
    bind,
    build_subscriptions,
    list_public_topics,
    name_topic,
)
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.intake import EntryGate, Intake, IntakeCounts, QueueMarks
from fonds.pipelines.runtime.loops import BatchLoop
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.ports import Records, Stores
from random_pipelines import (
    RETRY,
    TURNS_MAX,
    DeadError,
    Plan,
    Steps,
    Thing,
    entry_content,
    expected,
)

POLL = "0123456789ab.000001"
IDLE_MAX_S = 240.0
"""For so long nothing may end: a broker that misses a dead reader gives its messages out by then."""


@dataclass
class Mortal:
    """Stands before a queue or a ledger and lets the process die before or after an act."""

    real: Any
    plan: Plan
    acts: Iterator[int]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.real, name)
        if name in ("get_depth", "declare", "close", "recount"):
            return real

        def act(*args: Any, **kwargs: Any) -> Any:
            number = next(self.acts)
            if number in self.plan.deaths and number % 2 == 0:
                raise DeadError
            answer = real(*args, **kwargs)
            if number in self.plan.deaths:
                raise DeadError
            return answer

        return act


@dataclass
class Source:
    """Links of some kind, found by one poll of a source: nothing here is a capture."""

    pipeline: Pipeline
    count: int

    def iter_inputs(self) -> Iterator[InputRow]:
        now = datetime(2026, 3, 14, tzinfo=UTC)
        yield InputRow(POLL, "links", "poll", "1", 0, 0, {}, 0, False, None, now)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        for number in range(row.position, self.count):
            yield number
            content = entry_content(self.pipeline, number)
            thing = Thing(content, self.pipeline.entry.tag or "")
            yield Entry(content, row.input_id, "link", content, thing)


@dataclass
class World:
    """One queue and one ledger, and the processes that work on them one after the other."""

    plan: Plan
    open_queue: Callable[[], Any]
    records: Records
    ledger: Any
    clock: Callable[[], datetime]
    pass_time: Callable[[], None]
    acts: Iterator[int]
    steps: Steps
    idle_max: int = 1

    def declare(self, queue: Any, pipeline: Pipeline) -> None:
        """Everything a pipeline reads, and what it writes for others."""
        prefix = self.plan.prefix
        queue.declare(build_subscriptions(pipeline, prefix), list_public_topics(pipeline, prefix))

    def enter(self) -> None:
        """Every pipeline gets its entries, however often whoever enters them dies."""
        for pipeline in self.plan.pipelines:
            finished = False
            while not finished:
                queue = self.open_queue()
                self.declare(queue, pipeline)
                try:
                    self._intake(pipeline, queue).run(
                        Source(pipeline, self.plan.entries), IntakeCounts()
                    )
                    finished = True
                except DeadError:
                    pass
                finally:
                    queue.close()

    def _intake(self, pipeline: Pipeline, queue: Any) -> Intake:
        topic = name_topic(pipeline, pipeline.entry, self.plan.prefix)
        readers = tuple(
            subscription
            for subscription in build_subscriptions(pipeline, self.plan.prefix)
            if subscription.topic == topic
        )
        stages = tuple(stage.name for stage in pipeline.stages if stage.reads == pipeline.entry)
        gate = EntryGate(pipeline.name, topic, readers, stages, pipeline.entry.public)
        return Intake(
            queue=self._mortal(queue),
            records=self.records,
            ledger=self._mortal(self.ledger),
            gate=gate,
            marks=QueueMarks(10_000, 5_000),
            clock=self.clock,
            stopping=lambda: False,
        )

    def work(self) -> None:
        """Processes work in turns until nothing is left; one that dies is followed by another.

        Turns in which something ended are bounded in number; those that wait for a broker, which may be many
        or few, by the time that passed since.
        """
        processes = self._processes()
        idle = turns = 0
        busy_s = time.monotonic()
        while turns < TURNS_MAX and time.monotonic() - busy_s < IDLE_MAX_S:
            settled = 0
            for number in list(processes):
                try:
                    settled += processes[number].turn()
                except DeadError:
                    processes[number].die()
                    processes[number] = self._process(number)
            idle = 0 if settled else idle + 1
            if settled:
                turns, busy_s = turns + 1, time.monotonic()
            if idle:
                self.pass_time()
                if idle >= self.idle_max and self._is_over(processes):
                    break
        else:
            raise AssertionError(f"not over after {turns} turns and {idle} in which nothing ended")
        for process in processes.values():
            process.die()

    def _is_over(self, processes: Mapping[int, Process]) -> bool:
        open_rows = self.records.count(DispositionRow, (), {"is_open": True})[()]
        return not open_rows and not any(process.waiting() for process in processes.values())

    def _processes(self) -> dict[int, Process]:
        return {number: self._process(number) for number in range(self.plan.processes)}

    def _process(self, number: int) -> Process:
        """Process n has every n-th stage of each pipeline, so that some messages cross and some do not."""
        queue = self.open_queue()
        for pipeline in self.plan.pipelines:
            self.declare(queue, pipeline)
        mortal, ledger = self._mortal(queue), self._mortal(self.ledger)
        loops, readers = [], []
        local: list[str] = []
        bound = []
        for pipeline in self.plan.pipelines:
            steps = {stage.name: self.steps.step(pipeline, stage) for stage in pipeline.stages}
            for n, one in enumerate(bind(pipeline, steps, self.plan.prefix)):
                if n % self.plan.processes == number:
                    bound.append(one)
                    local.append(one.subscription.incoming)
                    readers.append(one.subscription)
        handover = Handover(mortal, ledger, local, self.plan.bounds)
        for one in bound:
            loops.append(BatchLoop(StageIO(one, mortal, ledger, handover, self.clock), RETRY))
        return Process(queue, loops, readers, handover)

    def _mortal(self, real: Any) -> Any:
        return Mortal(real, self.plan, self.acts)


@dataclass
class Process:
    """The loops of one process on a queue handle of its own."""

    queue: Any
    loops: list[BatchLoop]
    readers: list[Subscription]
    handover: Handover

    def turn(self) -> int:
        """Every loop has its turn once; how many messages were worked."""
        return sum(loop.run_once(0.0) for loop in self.loops)

    def waiting(self) -> bool:
        """Whether the queue holds anything for it, or it holds anything itself."""
        return bool(
            self.handover.pending_count
            or any(self.queue.get_depth(r).pending for r in self.readers)
        )

    def die(self) -> None:
        """Nothing is flushed and nothing given back: the queue notices the end by itself."""
        self.queue.close()


def check(world: World, queue: Any) -> None:
    """The books balance, and what was worked is what had to be worked."""
    plan, records = world.plan, world.records
    rows = list(records.find(DispositionRow))
    assert [row for row in rows if row.is_open or row.verdict == PENDING] == []
    by_content: Counter[tuple[str, str, str, str]] = Counter()
    about = {(one[0], sha1(one[2].encode()).hexdigest()): one[2] for one in expected(plan)}
    for row in rows:
        by_content[
            row.pipeline, row.step, about.get((row.pipeline, row.about or ""), "?"), row.verdict
        ] += 1
    stages = {p.name: {s.name: s for s in p.stages} for p in plan.pipelines}
    assert _counts(by_content) == _counts(expected(plan))
    assert set(world.steps.worked) == {key[:3] for key in expected(plan)}
    assert world.ledger.recount() == []
    readers = {p.name: build_subscriptions(p, plan.prefix) for p in plan.pipelines}
    nothing: Any = None
    stores = Stores(queue, nothing, records, world.ledger, nothing, nothing, nothing, "journal")
    found = audit_accounts(stores, readers)
    assert found.fault_texts == []
    assert found.is_balanced
    for name, accounts in found.steps.items():
        for step, one in accounts.items():
            assert one.received == one.done + one.dropped + one.quarantined, (name, step)
    by_source: Counter[tuple[str, str]] = Counter()
    for one in records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE, "first": POLL[:12]}):
        by_source[one.pipeline, one.second] += one.count
    assert +by_source == Counter(records.count(EntryRow, ("pipeline", "outcome")))
    outcomes = records.count(EntryRow, ("pipeline",))
    assert outcomes == {(p.name,): plan.entries for p in plan.pipelines}
    assert stages


def _counts(found: Counter[tuple[str, str, str, str]]) -> Counter[tuple[str, str, str]]:
    """By pipeline, stage and verdict: of several children of one parent the row names the first's content."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for (pipeline, stage, _, verdict), count in found.items():
        counts[pipeline, stage, verdict] += count
    return counts
