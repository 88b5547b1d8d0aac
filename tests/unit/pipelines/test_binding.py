"""Binding a pipeline to steps and topics."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fonds.model.errors import ConfigurationError, FaultError
from fonds.model.message import Subscription
from fonds.model.step import Output, Pipeline, Stage, Topic
from fonds.pipelines.runtime.binding import (
    Route,
    bind,
    build_subscriptions,
    parse_subscription_name,
)
from small_pipeline import DOUBLES, NUMBERS, SUMS, Double, double, keep


def test_topics_have_the_prefix_and_subscriptions_the_step_name() -> None:
    assert build_subscriptions(SUMS, "fonds-local") == [
        Subscription("sums.double", "fonds-local.sums.numbers"),
        Subscription("sums.keep", "fonds-local.sums.doubles"),
    ]


def test_a_payload_is_routed_to_its_topic_and_all_its_readers() -> None:
    first, last = bind(SUMS, {"double": double, "keep": keep}, "t")
    readers = (Subscription("sums.keep", "t.sums.doubles"),)
    assert first.routes == (Route(Output(Double), "doubles", "t.sums.doubles", readers, False),)
    assert first.find_route(Double(1, "a")) is first.routes[0]
    assert last.routes == ()
    assert (first.stage.sink, last.stage.sink) == (False, True)


def test_a_stage_without_a_step_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="pipeline sums: no implementation of step 'keep'"):
        bind(SUMS, {"double": double}, "t")


@dataclass(frozen=True)
class Tagged:
    tag: str
    about: str = ""


ANY, RED, BLUE = Topic("any", Tagged), Topic("red", Tagged, tag="red"), Output(Tagged, "blue")


def find_route_name(tag: str, *writes: Topic) -> str | None:
    stage = Stage("paint", NUMBERS, writes, (BLUE,))
    bound = bind(Pipeline("p", NUMBERS, (stage,)), {"paint": keep}, "t")[0]
    route = bound.find_route(Tagged(tag))
    return route.name if route else None


def test_items_of_one_type_are_routed_by_tag() -> None:
    assert find_route_name("red", ANY, RED) == "red"
    assert find_route_name("green", ANY, RED) == "any"
    assert find_route_name("blue", ANY, RED) is None
    with pytest.raises(FaultError, match="paint emits Tagged green, which it neither writes nor"):
        find_route_name("green", RED)


def test_public_topics_have_a_shared_name_and_a_selector() -> None:
    shared = Topic("pdf-text", Double, public=True)
    pipeline = Pipeline("sums", NUMBERS, (Stage("keep", shared),))
    assert build_subscriptions(pipeline, "t") == [
        Subscription("sums.keep", "t.pdf-text", shared.traits, "sums")
    ]


def test_stages_that_read_one_topic_are_marked_as_shared() -> None:
    stages = (Stage("keep", DOUBLES, tag="a"), Stage("keep", DOUBLES, tag="b"))
    bound = bind(Pipeline("p", DOUBLES, stages), {"keep-a": keep, "keep-b": keep}, "t")
    assert [stage.is_shared for stage in bound] == [True, True]
    assert [parse_subscription_name(stage.subscription) for stage in bound] == [
        ("p", "keep-a"),
        ("p", "keep-b"),
    ]
