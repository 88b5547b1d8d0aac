"""Random pipelines worked off by random processes that die between any two acts: do the books balance?

A step here is a function of what it is given: what it makes of an item, and how the item ends, follow
from the item's content. So everything that must be worked is known beforehand, and the books of what
really happened can be held against it, message by message.
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
    bounds: HandoverLimits
    prefix: str = "t"

    def called(self, token: str) -> Plan:
        """The same plan under names that nobody else on a server uses."""
        renamed = (
            replace(pipeline, name=f"{pipeline.name}-{token}") for pipeline in self.pipelines
        )
        return replace(self, pipelines=tuple(renamed), prefix=f"t-{token}")


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
                    HandoverLimits(age_s=0.0),
                    HandoverLimits(age_s=0.0, rows_max=7),
                    HandoverLimits(messages_max=2, age_s=0.0, received_max=1),
                    HandoverLimits(messages_max=0, age_s=0.0),
                )
            )
        ),
    )


def _pipeline(draw: st.DrawFn, name: str) -> Pipeline:
    count = draw(st.integers(1, 6))
    # Stage n reads topic n, or one that an earlier stage reads too.
    reads = [0, *(draw(st.sampled_from((n, n, n - 1))) for n in range(1, count))]
    public = draw(st.sets(st.integers(1, 6), max_size=2))
    topics = {n: Topic(f"t{n}", Thing, tag=f"t{n}", public=n in public) for n in set(reads)}
    stages = []
    for n in range(count):
        later = [topic for number, topic in topics.items() if number > reads[n]]
        writes = tuple(topic for topic in later if draw(st.integers(0, 2)))
        omits = tuple(topic.output for topic in later if topic not in writes)
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
    sorts = [one.tag or "" for one in (*(t.output for t in stage.writes), *stage.omits)]
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
            turn = retry if way == "retried" else defer
            return Result(turn(Reason.STORE_UNAVAILABLE, "not now", 0.01))
        end = ending(self.plan, pipeline, stage, content)
        self.worked[key] += 1
        if end == "permanent":
            raise PermanentError(Reason.BROKEN_PDF, "never")
        items = tuple(children(self.plan, pipeline, stage, content))
        if end == "dropped":
            return Result(drop(Reason.NO_TEXT), items)
        if end == "quarantined":
            return Result(quarantine(Reason.BROKEN_PDF, "cut"), items)
        return Result(items=items)


def expected(plan: Plan) -> Counter[tuple[str, str, str, str]]:
    """Every (pipeline, stage, content, verdict) there must be, each once."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for pipeline in plan.pipelines:
        waiting = [(pipeline.entry, entry_content(pipeline, n)) for n in range(plan.entries)]
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
    if end == "done" and made and not sent and not stage.sink:
        return "dropped", []
    return end, sent


def entry_content(pipeline: Pipeline, number: int) -> str:
    return f"{pipeline.name}-{number}"
