"""Run random pipelines with processes that die between any two acts, and check the ledger
afterwards."""

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
    expected_dispositions,
)

POLL = "0123456789ab.000001"
IDLE_MAX_S = 240.0
"""Longest time without any progress; a broker redelivers the messages of a dead reader earlier."""


@dataclass
class Mortal:
    """Wrapper of a queue or ledger that lets the process die before or after an act."""

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
    """Links found by one poll of a source; no entry here is a capture."""

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
    """One queue, one ledger, and the processes that work on them in turn."""

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
        """Declare everything that a pipeline reads, and what it writes for others."""
        prefix = self.plan.prefix
        queue.declare(build_subscriptions(pipeline, prefix), list_public_topics(pipeline, prefix))

    def enter(self) -> None:
        """Enter the entries of every pipeline, restarting the intake whenever it dies."""
        for pipeline in self.plan.pipelines:
            is_finished = False
            while not is_finished:
                queue = self.open_queue()
                self.declare(queue, pipeline)
                try:
                    self._intake(pipeline, queue).run(
                        Source(pipeline, self.plan.entries), IntakeCounts()
                    )
                    is_finished = True
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
        """Run the processes in turns until nothing is pending; replace each one that dies.

        The number of turns with progress is bounded. Turns without progress, which wait for a
        broker, are bounded by time instead.
        """
        processes = self._processes()
        idle = turns = 0
        busy_s = time.monotonic()
        while turns < TURNS_MAX and time.monotonic() - busy_s < IDLE_MAX_S:
            processed_count = 0
            for number in list(processes):
                try:
                    processed_count += processes[number].turn()
                except DeadError:
                    processes[number].die()
                    processes[number] = self._process(number)
            idle = 0 if processed_count else idle + 1
            if processed_count:
                turns, busy_s = turns + 1, time.monotonic()
            if idle:
                self.pass_time()
                if idle >= self.idle_max and self._is_over(processes):
                    break
        else:
            raise AssertionError(f"not over after {turns} turns and {idle} without progress")
        for process in processes.values():
            process.die()

    def _is_over(self, processes: Mapping[int, Process]) -> bool:
        open_count = self.records.count(DispositionRow, (), {"is_open": True})[()]
        return not open_count and not any(process.has_pending() for process in processes.values())

    def _processes(self) -> dict[int, Process]:
        return {number: self._process(number) for number in range(self.plan.processes)}

    def _process(self, number: int) -> Process:
        """Create process `number`, which runs every n-th stage, so that only some messages cross
        processes."""
        queue = self.open_queue()
        for pipeline in self.plan.pipelines:
            self.declare(queue, pipeline)
        mortal_queue, ledger = self._mortal(queue), self._mortal(self.ledger)
        loops, readers = [], []
        local: list[str] = []
        bound_stages = []
        for pipeline in self.plan.pipelines:
            steps = {stage.name: self.steps.step(pipeline, stage) for stage in pipeline.stages}
            for n, bound_stage in enumerate(bind(pipeline, steps, self.plan.prefix)):
                if n % self.plan.processes == number:
                    bound_stages.append(bound_stage)
                    local.append(bound_stage.subscription.incoming)
                    readers.append(bound_stage.subscription)
        handover = Handover(mortal_queue, ledger, local, self.plan.bounds)
        for bound_stage in bound_stages:
            loops.append(
                BatchLoop(StageIO(bound_stage, mortal_queue, ledger, handover, self.clock), RETRY)
            )
        return Process(queue, loops, readers, handover)

    def _mortal(self, real: Any) -> Any:
        return Mortal(real, self.plan, self.acts)


@dataclass
class Process:
    """The loops of one process, on its own connection to the queue."""

    queue: Any
    loops: list[BatchLoop]
    readers: list[Subscription]
    handover: Handover

    def turn(self) -> int:
        """Run each loop once and return the number of processed messages."""
        return sum(loop.run_once(0.0) for loop in self.loops)

    def has_pending(self) -> bool:
        """Return whether the queue or the handover holds messages for this process."""
        return bool(
            self.handover.pending_count
            or any(self.queue.get_depth(r).pending for r in self.readers)
        )

    def die(self) -> None:
        """End without flushing or returning messages; the queue must notice by itself."""
        self.queue.close()


def check(world: World, queue: Any) -> None:
    """Check that the ledger balances and that exactly the expected work was done."""
    plan, records = world.plan, world.records
    rows = list(records.find(DispositionRow))
    assert [row for row in rows if row.is_open or row.verdict == PENDING] == []
    by_content: Counter[tuple[str, str, str, str]] = Counter()
    about = {
        (item[0], sha1(item[2].encode()).hexdigest()): item[2]
        for item in expected_dispositions(plan)
    }
    for row in rows:
        by_content[
            row.pipeline, row.step, about.get((row.pipeline, row.about or ""), "?"), row.verdict
        ] += 1
    stages = {p.name: {s.name: s for s in p.stages} for p in plan.pipelines}
    assert _count_verdicts(by_content) == _count_verdicts(expected_dispositions(plan))
    assert set(world.steps.work_counts) == {key[:3] for key in expected_dispositions(plan)}
    assert world.ledger.recount() == []
    readers = {p.name: build_subscriptions(p, plan.prefix) for p in plan.pipelines}
    unused: Any = None
    stores = Stores(queue, unused, records, world.ledger, unused, unused, unused, "journal")
    audit = audit_accounts(stores, readers)
    assert audit.fault_texts == []
    assert audit.is_balanced
    for pipeline_name, accounts in audit.steps.items():
        for step_name, item in accounts.items():
            assert item.received == item.done + item.dropped + item.quarantined, (
                pipeline_name,
                step_name,
            )
    by_source: Counter[tuple[str, str]] = Counter()
    for item in records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE, "first": POLL[:12]}):
        by_source[item.pipeline, item.second] += item.count
    assert +by_source == Counter(records.count(EntryRow, ("pipeline", "outcome")))
    outcomes = records.count(EntryRow, ("pipeline",))
    assert outcomes == {(p.name,): plan.entries for p in plan.pipelines}
    assert stages


def _count_verdicts(rows: Counter[tuple[str, str, str, str]]) -> Counter[tuple[str, str, str]]:
    """Count by pipeline, stage and verdict.

    A row names the content of the first child only, so the content is left out.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for (pipeline, stage, _, verdict), count in rows.items():
        counts[pipeline, stage, verdict] += count
    return counts
