"""Binds the stages of a pipeline to the steps that carry them out and the topics of one queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.step import Pipeline
from fonds.runtime.loop import Bound

Steps = Mapping[str, Callable[[Any], Any]]


def subscriptions(pipeline: Pipeline, prefix: str) -> list[Subscription]:
    """The subscriptions of a pipeline in its order; topics are named `{prefix}.{topic}`."""
    return [
        Subscription(stage.step, f"{prefix}.{stage.reads.name}", stage.reads.traits)
        for stage in pipeline.stages
    ]


def bind(pipeline: Pipeline, steps: Steps, prefix: str) -> list[Bound]:
    """Every stage with its step; `steps` maps its name to a callable of an item, or of a batch for a sink.

    Raises ConfigurationError for a stage without a step.
    """
    readers = subscriptions(pipeline, prefix)
    bound = []
    for stage, subscription in zip(pipeline.stages, readers, strict=True):
        if stage.step not in steps:
            raise ConfigurationError(f"pipeline {pipeline.name}: there is no step {stage.step!r}")
        routes = {}
        for topic in stage.writes:
            name = f"{prefix}.{topic.name}"
            routes[topic.payload] = (name, tuple(r for r in readers if r.topic == name))
        bound.append(Bound(stage, subscription, steps[stage.step], routes))
    return bound
