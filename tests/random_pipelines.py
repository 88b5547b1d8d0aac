"""Random pipelines run by processes that die between any two acts.

A step is a function of its input: the children of an item and its outcome follow from its content.
So all dispositions are known in advance, and the ledger is compared with them, message by message.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha1
from typing import Any

from hypothesis import strategies as st

from fonds.model.disposition import (
    Reason,
    defer,
    drop,
    quarantine,
    retry,
)
from fonds.model.errors import PermanentError, TransientError
from fonds.model.step import Pipeline, Result, Stage, Topic
from fonds.pipelines.runtime.handoff import HandoverLimits
from fonds.pipelines.runtime.worker import RetryPolicy

RETRY = RetryPolicy(count_max=4, initial_s=0.01, max_s=0.05)
TURNS_MAX = 4_000
ENDINGS = ("done",) * 6 + ("dropped", "quarantined", "permanent")
DETOURS = ("none",) * 5 + ("retried", "deferred", "transient", "bug")


@dataclass(frozen=True, slots=True)
class Thing:
    """An item of any topic: `content` is its origin, `tag` its destination."""

    content: str
    tag: str

    @property
    def about(self) -> str:
        return sha1(self.content.encode()).hexdigest()


class DeadError(BaseException):
    """The end of a process; the code under test must not catch it."""


@dataclass(frozen=True)
class Plan:
    """Random pipelines, their number of entries, their processes and when processes die.

    `deaths` are numbers of acts on queue and ledger, counted over all processes. A process dies
    before an even act, and after an odd act took effect.
    """

    pipelines: tuple[Pipeline, ...]
    entries: int
    seed: int
    processes: int
    deaths: frozenset[int]
    bounds: HandoverLimits
    prefix: str = "t"

    def with_token(self, token: str) -> Plan:
        """Return the plan with names that are unique on a server."""
        pipelines = (
            replace(pipeline, name=f"{pipeline.name}-{token}") for pipeline in self.pipelines
        )
        return replace(self, pipelines=tuple(pipelines), prefix=f"t-{token}")


@st.composite
def plans(draw: st.DrawFn, *, entries_max: int = 4) -> Plan:
    """Draw pipelines of 1 to 6 stages with fan-in, fan-out, tags, public topics and shared
    topics."""
    names = draw(st.sampled_from((("one",), ("one", "two"))))
    return Plan(
        pipelines=tuple(_draw_pipeline(draw, name) for name in names),
        entries=draw(st.integers(1, entries_max)),
        seed=draw(st.integers(0, 2**32)),
        processes=draw(st.integers(1, 3)),
        deaths=draw(st.frozensets(st.integers(0, 120), max_size=6)),
        bounds=draw(
            st.sampled_from(
                (
                    HandoverLimits(age_s=0.0),
                    HandoverLimits(age_s=0.0, rows_max=7),
                    HandoverLimits(messages_max=2, age_s=0.0, received_max=1),
                    HandoverLimits(messages_max=0, age_s=0.0),
                )
            )
        ),
    )


def _draw_pipeline(draw: st.DrawFn, name: str) -> Pipeline:
    count = draw(st.integers(1, 6))
    # Stage n reads topic n, or a topic that an earlier stage also reads.
    reads = [0, *(draw(st.sampled_from((n, n, n - 1))) for n in range(1, count))]
    public = draw(st.sets(st.integers(1, 6), max_size=2))
    topics = {n: Topic(f"t{n}", Thing, tag=f"t{n}", public=n in public) for n in set(reads)}
    stages = []
    for n in range(count):
        later_topics = [topic for number, topic in topics.items() if number > reads[n]]
        writes = tuple(topic for topic in later_topics if draw(st.integers(0, 2)))
        omits = tuple(topic.output for topic in later_topics if topic not in writes)
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


def choice(seed: int, *labels: str) -> random.Random:
    """Return a random generator seeded by the arguments."""
    return random.Random(f"{seed}\n" + "\n".join(labels))


def children(plan: Plan, pipeline: Pipeline, stage: Stage, content: str) -> list[Thing]:
    """Return what the step makes of an item: up to five things, several for one topic."""
    tags = [
        topic.tag or ""
        for topic in (*(output_topic.output for output_topic in stage.writes), *stage.omits)
    ]
    generator = choice(plan.seed, pipeline.name, stage.name, content)
    count = generator.choice((0, 1, 1, 1, 2, 5)) if tags and len(content) < 60 else 0
    return [Thing(f"{content}/{stage.name}.{k}", generator.choice(tags)) for k in range(count)]


def ending(plan: Plan, pipeline: Pipeline, stage: Stage, content: str) -> str:
    """Return the final verdict of an item."""
    return choice(plan.seed, "end", pipeline.name, stage.name, content).choice(ENDINGS)


def detour(plan: Plan, pipeline: Pipeline, stage: Stage, content: str) -> str:
    """Return what happens once to an item before its final verdict."""
    return choice(plan.seed, "way", pipeline.name, stage.name, content).choice(DETOURS)


@dataclass
class Steps:
    """The steps of one plan. `work_counts` counts completed items by pipeline, stage and content."""

    plan: Plan
    work_counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    items_with_detour: set[tuple[str, str, str]] = field(default_factory=set)

    def step(self, pipeline: Pipeline, stage: Stage) -> Callable[[Any], Any]:
        """Return the step of a stage, for one thing or for a batch."""

        def process_thing(thing: Thing) -> Result:
            return self._work(pipeline, stage, thing.content)

        return (
            (lambda things: [process_thing(thing) for thing in things])
            if stage.sink
            else process_thing
        )

    def _work(self, pipeline: Pipeline, stage: Stage, content: str) -> Result:
        key = (pipeline.name, stage.name, content)
        detour_kind = detour(self.plan, pipeline, stage, content)
        if detour_kind != "none" and key not in self.items_with_detour:
            self.items_with_detour.add(key)
            if detour_kind == "transient":
                raise TransientError("not now")
            if detour_kind == "bug":
                raise ZeroDivisionError("a fault of ours")
            verdict = retry if detour_kind == "retried" else defer
            return Result(verdict(Reason.STORE_UNAVAILABLE, "not now", 0.01))
        final_verdict = ending(self.plan, pipeline, stage, content)
        self.work_counts[key] += 1
        if final_verdict == "permanent":
            raise PermanentError(Reason.BROKEN_PDF, "never")
        items = tuple(children(self.plan, pipeline, stage, content))
        if final_verdict == "dropped":
            return Result(drop(Reason.NO_TEXT), items)
        if final_verdict == "quarantined":
            return Result(quarantine(Reason.BROKEN_PDF, "cut"), items)
        return Result(items=items)


def expected_dispositions(plan: Plan) -> Counter[tuple[str, str, str, str]]:
    """Return every expected (pipeline, stage, content, verdict), each with its count."""
    dispositions: Counter[tuple[str, str, str, str]] = Counter()
    for pipeline in plan.pipelines:
        pending = [(pipeline.entry, entry_content(pipeline, n)) for n in range(plan.entries)]
        while pending:
            topic, content = pending.pop()
            for stage in pipeline.stages:
                if stage.reads == topic:
                    verdict, sent = _compute_outcome(plan, pipeline, stage, content)
                    dispositions[pipeline.name, stage.name, content, verdict] += 1
                    pending += sent
    return dispositions


def _compute_outcome(
    plan: Plan, pipeline: Pipeline, stage: Stage, content: str
) -> tuple[str, list[tuple[Topic, str]]]:
    end = ending(plan, pipeline, stage, content)
    if end == "permanent":
        return "quarantined", []
    things = children(plan, pipeline, stage, content)
    sent = [
        (topic, thing.content)
        for thing in things
        for topic in stage.writes
        if topic.tag == thing.tag
    ]
    if end == "done" and things and not sent and not stage.sink:
        return "dropped", []
    return end, sent


def entry_content(pipeline: Pipeline, number: int) -> str:
    return f"{pipeline.name}-{number}"
