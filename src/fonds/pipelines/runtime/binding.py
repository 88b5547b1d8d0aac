"""Bind the stages of a pipeline to their steps (functions) and to the topics of one queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fonds.model.errors import ConfigurationError, FaultError
from fonds.model.message import Subscription, TopicTraits
from fonds.model.step import Item, Output, Pipeline, Stage, Topic

Steps = Mapping[str, Any]
"""Step of each stage, by stage name.

A step is a function of one item, a function of a list of items (for a sink), or a `ConcurrentStep`.
"""


@dataclass(frozen=True, slots=True)
class Route:
    """Where the queue sends one type of item that a stage writes.

    - `output`: type and tag of the items.
    - `name`: name of the topic within the pipeline.
    - `topic`: name of the topic on the queue, with prefix.
    - `readers`: subscriptions of this pipeline that receive the items.
    - `is_public`: whether other programs may read the topic.
    """

    output: Output
    name: str
    topic: str
    readers: tuple[Subscription, ...]
    is_public: bool


@dataclass(frozen=True, slots=True)
class BoundStage:
    """A stage with its subscription, its step and the routes of its outputs.

    - `step`: function of one item, function of a list of items (for a sink), or `ConcurrentStep`.
    - `is_shared`: whether other stages of the pipeline read the same topic. If so, ids of outgoing
      messages contain the stage's name.
    """

    pipeline: str
    stage: Stage
    subscription: Subscription
    step: Any
    routes: tuple[Route, ...]
    is_shared: bool = False

    def find_route(self, item: Item) -> Route | None:
        """Return the route that an item takes; None if the stage discards items of this type.

        Raises FaultError for an item that the stage neither writes nor omits.
        """
        tag = getattr(item, "tag", None)
        for output in (Output(type(item), tag), Output(type(item))):
            if output in self.stage.omits:
                return None
            for route in self.routes:
                if route.output == output:
                    return route
        tagged_name = f"{type(item).__name__} {tag or ''}".strip()
        raise FaultError(
            f"{self.stage.name} emits {tagged_name}, which it neither writes nor omits"
        )


def name_topic(pipeline: Pipeline, topic: Topic, prefix: str) -> str:
    """Return a topic's name on the queue. Pipelines share public topics; other topics belong to one
    pipeline.
    """
    return f"{prefix}.{topic.name}" if topic.public else f"{prefix}.{pipeline.name}.{topic.name}"


def name_subscription(pipeline: str, stage: str) -> str:
    """Return the name of a stage's subscription on the queue."""
    return f"{pipeline}.{stage}"


def parse_subscription_name(subscription: Subscription) -> tuple[str, str]:
    """Return the names of the pipeline and the stage that a subscription belongs to."""
    pipeline, _, stage = subscription.name.partition(".")
    return pipeline, stage


def build_subscriptions(pipeline: Pipeline, prefix: str) -> list[Subscription]:
    """Return the subscriptions of a pipeline's stages, in stage order. `prefix` begins the topic
    names.
    """
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
    """Return the traits of the public topics that a pipeline writes, by topic name on the queue.

    Topics that no stage reads are included.
    """
    written_topics = {topic for stage in pipeline.stages for topic in stage.writes if topic.public}
    return {name_topic(pipeline, topic, prefix): topic.traits for topic in written_topics}


def bind(pipeline: Pipeline, steps: Steps, prefix: str) -> list[BoundStage]:
    """Bind every stage of a pipeline to its step in `steps`.

    `prefix` begins the topic names on the queue. Raises ConfigurationError for a stage without a
    step.
    """
    readers = build_subscriptions(pipeline, prefix)
    bound_stages = []
    for stage, subscription in zip(pipeline.stages, readers, strict=True):
        if stage.name not in steps:
            raise ConfigurationError(
                f"pipeline {pipeline.name}: no implementation of step {stage.name!r}"
            )
        bound_stages.append(
            BoundStage(
                pipeline=pipeline.name,
                stage=stage,
                subscription=subscription,
                step=steps[stage.name],
                routes=tuple(_iter_routes(pipeline, stage.writes, readers, prefix)),
                is_shared=sum(reader.topic == subscription.topic for reader in readers) > 1,
            )
        )
    return bound_stages


def _iter_routes(
    pipeline: Pipeline, topics: Iterable[Topic], readers: list[Subscription], prefix: str
) -> Iterable[Route]:
    for topic in topics:
        name = name_topic(pipeline, topic, prefix)
        matching_readers = tuple(reader for reader in readers if reader.topic == name)
        yield Route(topic.output, topic.name, name, matching_readers, topic.public)
