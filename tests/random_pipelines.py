"""Random pipelines worked off by random processes that die between any two acts: do the books balance?

A step here is a function of what it is given: what it makes of an item, and how the item ends, follow
from the item's content. So everything that must be worked is known beforehand, and the books of what
really happened can be held against it, message by message.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any

from hypothesis import strategies as st

from fonds.library.audit import audit
from fonds.model.disposition import (
    PENDING,
    Reason,
    deferred,
    dropped,
    quarantined,
    retried,
)
from fonds.model.entry import Entry
from fonds.model.errors import PermanentError, TransientError
from fonds.model.message import Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.model.step import Pipeline, Result, Stage, Topic
from fonds.ports import Records, Stores
from fonds.runtime.binding import bind, subscriptions, topic_name
from fonds.runtime.hand import Hand
from fonds.runtime.handover import Bounds, Handover
from fonds.runtime.intake import Entered, Gate, Intake, Marks
from fonds.runtime.loop import Loop
from fonds.runtime.working import RetryPolicy

RETRY = RetryPolicy(count_max=4, first_s=0.01, longest_s=0.05)
PREFIX = "t"
TURNS_MAX = 4_000
ENDINGS = ("done",) * 6 + ("dropped", "quarantined", "permanent")
DETOURS = ("none",) * 5 + ("retried", "deferred", "transient", "bug")


@dataclass(frozen=True, slots=True)
class Thing:
    """An item of any topic: `content` says where it came from, `tag` where it goes."""

    content: str
    tag: str

    @property
    def about(self) -> str:
        return sha1(self.content.encode()).hexdigest()


class DeadError(BaseException):
    """The process ends here: nothing of ours may catch it."""


@dataclass(frozen=True)
class Plan:
    """What is drawn: pipelines, how many entries each gets, who works where, and when somebody dies.

    `deaths` are numbers of acts on queue and ledger, counted over all processes; an even one dies
    before its act, an odd one after it took effect.
    """

    pipelines: tuple[Pipeline, ...]
    entries: int
    seed: int
    processes: int
    deaths: frozenset[int]
    bounds: Bounds


@st.composite
def plans(draw: st.DrawFn, *, entries_max: int = 4) -> Plan:
    """Pipelines of 1 to 6 stages with fan-in, fan-out, tags, public topics and several readers of one."""
    names = draw(st.sampled_from((("one",), ("one", "two"))))
    return Plan(
        pipelines=tuple(_pipeline(draw, name) for name in names),
        entries=draw(st.integers(1, entries_max)),
        seed=draw(st.integers(0, 2**32)),
        processes=draw(st.integers(1, 3)),
        deaths=draw(st.frozensets(st.integers(0, 120), max_size=6)),
        bounds=draw(
            st.sampled_from(
                (
                    Bounds(age_s=0.0),
                    Bounds(age_s=0.0, rows_max=7),
                    Bounds(messages_max=2, age_s=0.0, taken_max=1),
                    Bounds(messages_max=0, age_s=0.0),
                )
            )
        ),
    )


def _pipeline(draw: st.DrawFn, name: str) -> Pipeline:
    count = draw(st.integers(1, 6))
    # Stage n reads topic n, or one that an earlier stage reads too.
    reads = [0, *(draw(st.sampled_from((n, n, n - 1))) for n in range(1, count))]
    public = draw(st.sets(st.integers(1, 6), max_size=0))
    topics = {n: Topic(f"t{n}", Thing, tag=f"t{n}", public=n in public) for n in set(reads)}
    stages = []
    for n in range(count):
        later = [topic for number, topic in topics.items() if number > reads[n]]
        writes = tuple(topic for topic in later if draw(st.integers(0, 2)))
        omits = tuple(topic.carries for topic in later if topic not in writes)
        stages.append(
            Stage(
                f"s{n}",
                topics[reads[n]],
                writes,
                omits,
                sink=draw(st.booleans()),
                batch_max=draw(st.sampled_from((1, 3, 20))),
            )
        )
    return Pipeline(name, topics[0], tuple(stages))


def choice(seed: int, *words: str) -> random.Random:
    """The same choices whenever the same is asked."""
    return random.Random(f"{seed}\n" + "\n".join(words))


def children(plan: Plan, pipeline: Pipeline, stage: Stage, content: str) -> list[Thing]:
    """What the step makes of an item: nothing to five things, also several for one topic."""
    sorts = [one.tag or "" for one in (*(t.carries for t in stage.writes), *stage.omits)]
    dice = choice(plan.seed, pipeline.name, stage.name, content)
    count = dice.choice((0, 1, 1, 1, 2, 5)) if sorts and len(content) < 60 else 0
    return [Thing(f"{content}/{stage.name}.{k}", dice.choice(sorts)) for k in range(count)]


def ending(plan: Plan, pipeline: Pipeline, stage: Stage, content: str) -> str:
    """How an item ends in the end."""
    return choice(plan.seed, "end", pipeline.name, stage.name, content).choice(ENDINGS)


def detour(plan: Plan, pipeline: Pipeline, stage: Stage, content: str) -> str:
    """What happens to an item once before it ends."""
    return choice(plan.seed, "way", pipeline.name, stage.name, content).choice(DETOURS)


@dataclass
class Steps:
    """The steps of one plan. `worked` counts by pipeline, stage and content what was brought to its end."""

    plan: Plan
    worked: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    begun: set[tuple[str, str, str]] = field(default_factory=set)

    def step(self, pipeline: Pipeline, stage: Stage) -> Callable[[Any], Any]:
        """The stage's step: of one thing, or of a batch."""

        def one(thing: Thing) -> Result:
            return self._work(pipeline, stage, thing.content)

        return (lambda things: [one(thing) for thing in things]) if stage.sink else one

    def _work(self, pipeline: Pipeline, stage: Stage, content: str) -> Result:
        key = (pipeline.name, stage.name, content)
        way = detour(self.plan, pipeline, stage, content)
        if way != "none" and key not in self.begun:
            self.begun.add(key)
            if way == "transient":
                raise TransientError("not now")
            if way == "bug":
                raise ZeroDivisionError("a fault of ours")
            turn = retried if way == "retried" else deferred
            return Result(turn(Reason.STORE_UNAVAILABLE, "not now", 0.01))
        end = ending(self.plan, pipeline, stage, content)
        self.worked[key] += 1
        if end == "permanent":
            raise PermanentError(Reason.BROKEN_PDF, "never")
        items = tuple(children(self.plan, pipeline, stage, content))
        if end == "dropped":
            return Result(dropped(Reason.NO_TEXT), items)
        if end == "quarantined":
            return Result(quarantined(Reason.BROKEN_PDF, "cut"), items)
        return Result(items=items)


def expected(plan: Plan) -> Counter[tuple[str, str, str, str]]:
    """Every (pipeline, stage, content, verdict) there must be, each once."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for pipeline in plan.pipelines:
        waiting = [(pipeline.entry, _content(pipeline, n)) for n in range(plan.entries)]
        while waiting:
            topic, content = waiting.pop()
            for stage in pipeline.stages:
                if stage.reads == topic:
                    verdict, made = _outcome(plan, pipeline, stage, content)
                    found[pipeline.name, stage.name, content, verdict] += 1
                    waiting += made
    return found


def _outcome(
    plan: Plan, pipeline: Pipeline, stage: Stage, content: str
) -> tuple[str, list[tuple[Topic, str]]]:
    end = ending(plan, pipeline, stage, content)
    if end == "permanent":
        return "quarantined", []
    made = children(plan, pipeline, stage, content)
    sent = [(topic, one.content) for one in made for topic in stage.writes if topic.tag == one.tag]
    if end == "done" and made and not sent:
        return "dropped", []
    return end, sent


def _content(pipeline: Pipeline, number: int) -> str:
    return f"{pipeline.name}-{number}"


@dataclass
class Mortal:
    """Stands before a queue or a ledger and lets the process die before or after an act."""

    real: Any
    plan: Plan
    acts: Iterator[int]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.real, name)
        if name in ("depth", "declare", "close", "recount"):
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
    """Links of some kind, found in one input: nothing here is a capture."""

    pipeline: Pipeline
    count: int

    def inputs(self) -> Iterator[InputRow]:
        now = datetime(2026, 3, 14, tzinfo=UTC)
        yield InputRow("links", "links", "list", "1", 0, 0, {}, 0, False, None, now)

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        for number in range(row.position, self.count):
            yield number
            content = _content(self.pipeline, number)
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

    def enter(self) -> None:
        """Every pipeline gets its entries, however often whoever enters them dies."""
        for pipeline in self.plan.pipelines:
            finished = False
            while not finished:
                queue = self.open_queue()
                queue.declare(subscriptions(pipeline, PREFIX))
                try:
                    self._intake(pipeline, queue).run(
                        Source(pipeline, self.plan.entries), Entered()
                    )
                    finished = True
                except DeadError:
                    pass
                finally:
                    queue.close()

    def _intake(self, pipeline: Pipeline, queue: Any) -> Intake:
        topic = topic_name(pipeline, pipeline.entry, PREFIX)
        readers = tuple(one for one in subscriptions(pipeline, PREFIX) if one.topic == topic)
        stages = tuple(one.name for one in pipeline.stages if one.reads == pipeline.entry)
        gate = Gate(pipeline.name, topic, readers, stages, pipeline.entry.public)
        return Intake(
            queue=self._mortal(queue),
            records=self.records,
            ledger=self._mortal(self.ledger),
            gate=gate,
            marks=Marks(10_000, 5_000),
            clock=self.clock,
            stopping=lambda: False,
        )

    def work(self) -> None:
        """Processes work in turns until nothing is left; one that dies is followed by another."""
        processes = self._processes()
        for _ in range(TURNS_MAX):
            settled = 0
            for number in list(processes):
                try:
                    settled += processes[number].turn()
                except DeadError:
                    processes[number].die()
                    processes[number] = self._process(number)
            if not settled:
                self.pass_time()
                if self._is_over(processes):
                    break
        else:
            raise AssertionError(f"not over after {TURNS_MAX} turns")
        for process in processes.values():
            process.die()

    def _is_over(self, processes: Mapping[int, Process]) -> bool:
        open_rows = self.records.count(DispositionRow, (), {"is_open": True})[()]
        return not open_rows and not any(one.waiting() for one in processes.values())

    def _processes(self) -> dict[int, Process]:
        return {number: self._process(number) for number in range(self.plan.processes)}

    def _process(self, number: int) -> Process:
        """Process n has every n-th stage of each pipeline, so that some messages cross and some do not."""
        queue = self.open_queue()
        for pipeline in self.plan.pipelines:
            queue.declare(subscriptions(pipeline, PREFIX))
        mortal, ledger = self._mortal(queue), self._mortal(self.ledger)
        loops, readers = [], []
        local: list[str] = []
        bound = []
        for pipeline in self.plan.pipelines:
            steps = {one.name: self.steps.step(pipeline, one) for one in pipeline.stages}
            for n, one in enumerate(bind(pipeline, steps, PREFIX)):
                if n % self.plan.processes == number:
                    bound.append(one)
                    local.append(one.subscription.incoming)
                    readers.append(one.subscription)
        handover = Handover(mortal, ledger, local, self.plan.bounds)
        for one in bound:
            loops.append(Loop(Hand(one, mortal, ledger, handover, self.clock), RETRY))
        return Process(queue, loops, readers, handover)

    def _mortal(self, real: Any) -> Any:
        return Mortal(real, self.plan, self.acts)


@dataclass
class Process:
    """The loops of one process on a queue handle of its own."""

    queue: Any
    loops: list[Loop]
    readers: list[Subscription]
    handover: Handover

    def turn(self) -> int:
        """Every loop has its turn once; how many messages were worked."""
        return sum(loop.turn(0.0) for loop in self.loops)

    def waiting(self) -> bool:
        """Whether the queue holds anything for it, or it holds anything itself."""
        return bool(self.handover.left or any(self.queue.depth(r).pending for r in self.readers))

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
    readers = {p.name: subscriptions(p, PREFIX) for p in plan.pipelines}
    nothing: Any = None
    stores = Stores(queue, nothing, records, world.ledger, nothing, nothing, nothing, "journal")
    found = audit(stores, readers)
    assert found.missing == []
    assert found.balanced
    for name, accounts in found.steps.items():
        for step, one in accounts.items():
            assert one.received == one.done + one.dropped + one.quarantined, (name, step)
    outcomes = records.count(EntryRow, ("pipeline",))
    assert outcomes == {(p.name,): plan.entries for p in plan.pipelines}
    assert stages


def _counts(found: Counter[tuple[str, str, str, str]]) -> Counter[tuple[str, str, str]]:
    """By pipeline, stage and verdict: of several children of one parent the row names the first's content."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for (pipeline, stage, _, verdict), count in found.items():
        counts[pipeline, stage, verdict] += count
    return counts
