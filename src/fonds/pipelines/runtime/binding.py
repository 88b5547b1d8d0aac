"""Binds the stages of a pipeline to the steps that carry them out and the topics of one queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fonds.model.errors import ConfigurationError, FaultError
from fonds.model.message import Subscription, TopicTraits
from fonds.model.step import Item, Output, Pipeline, Stage, Topic

Steps = Mapping[str, Any]
"""By the names of stages: a callable of an item, or of a batch for a sink; an `Errands` for one of many."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where items of one sort go: the topic's name on the queue, and who reads it in this pipeline."""

    carries: Output
    name: str
    topic: str
    readers: tuple[Subscription, ...]
    is_public: bool


@dataclass(frozen=True, slots=True)
class BoundStage:
    """A stage bound to what carries it out: `step` takes one item, or a sequence when it is a sink, or is an
    `Errands`.

    `is_shared` says that other stages read the same topic: what this one makes of a message then needs an
    id of its own.
    """

    pipeline: str
    stage: Stage
    subscription: Subscription
    step: Any
    routes: tuple[Route, ...]
    is_shared: bool = False

    def find_route(self, item: Item) -> Route | None:
        """Where an item goes; None when it is left unsent here.

        Raises FaultError for one that the stage neither writes nor omits.
        """
        tag = getattr(item, "tag", None)
        for sort in (Output(type(item), tag), Output(type(item))):
            if sort in self.stage.omits:
                return None
            for route in self.routes:
                if route.carries == sort:
                    return route
        tagged = f"{type(item).__name__} {tag or ''}".strip()
        raise FaultError(f"{self.stage.name} emits {tagged}, which it neither writes nor omits")


def name_topic(pipeline: Pipeline, topic: Topic, prefix: str) -> str:
    """A topic's name on the queue: public ones have one name for all, the others are the pipeline's own."""
    return f"{prefix}.{topic.name}" if topic.public else f"{prefix}.{pipeline.name}.{topic.name}"


def name_subscription(pipeline: str, stage: str) -> str:
    """What the readers of a stage are called on the queue."""
    return f"{pipeline}.{stage}"


def parse_subscription_name(subscription: Subscription) -> tuple[str, str]:
    """The pipeline and the stage whose readers these are."""
    pipeline, _, stage = subscription.name.partition(".")
    return pipeline, stage


def build_subscriptions(pipeline: Pipeline, prefix: str) -> list[Subscription]:
    """The subscriptions of a pipeline, in the order of its stages."""
    return [
        Subscription(
            name_subscription(pipeline.name, stage.name),
            name_topic(pipeline, stage.reads, prefix),
            stage.reads.traits,
            pipeline.name if stage.reads.public else "",
        )
        for stage in pipeline.stages
    ]


def list_public_topics(pipeline: Pipeline, prefix: str) -> dict[str, TopicTraits]:
    """The topics a pipeline writes for others, whether or not it reads them itself."""
    written = {topic for stage in pipeline.stages for topic in stage.writes if topic.public}
    return {name_topic(pipeline, topic, prefix): topic.traits for topic in written}


def bind(pipeline: Pipeline, steps: Steps, prefix: str) -> list[BoundStage]:
    """Every stage with its step; `steps` maps its name to a callable of an item, or of a batch for a sink.

    Raises ConfigurationError for a stage without a step.
    """
    readers = build_subscriptions(pipeline, prefix)
    bound = []
    for stage, subscription in zip(pipeline.stages, readers, strict=True):
        if stage.name not in steps:
            raise ConfigurationError(f"pipeline {pipeline.name}: there is no step {stage.name!r}")
        bound.append(
            BoundStage(
                pipeline=pipeline.name,
                stage=stage,
                subscription=subscription,
                step=steps[stage.name],
                routes=tuple(_iter_routes(pipeline, stage.writes, readers, prefix)),
                is_shared=sum(other.topic == subscription.topic for other in readers) > 1,
            )
        )
    return bound


def _iter_routes(
    pipeline: Pipeline, topics: Iterable[Topic], readers: list[Subscription], prefix: str
) -> Iterable[Route]:
    for topic in topics:
        name = name_topic(pipeline, topic, prefix)
        mine = tuple(one for one in readers if one.topic == name)
        yield Route(topic.carries, topic.name, name, mine, topic.public)
