"""Binding a pipeline to steps and topics."""

from __future__ import annotations

import pytest

from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.runtime.binding import bind, subscriptions
from small_pipeline import SUMS, Double, double, keep


def test_topics_carry_the_prefix_and_subscriptions_the_name_of_their_step() -> None:
    assert subscriptions(SUMS, "fonds-local") == [
        Subscription("double", "fonds-local.numbers"),
        Subscription("keep", "fonds-local.doubles"),
    ]


def test_a_payload_is_routed_to_its_topic_and_all_who_read_it() -> None:
    first, last = bind(SUMS, {"double": double, "keep": keep}, "t")
    assert first.routes == {Double: ("t.doubles", (Subscription("keep", "t.doubles"),))}
    assert last.routes == {}
    assert (first.stage.sink, last.stage.sink) == (False, True)


def test_a_stage_without_a_step_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="pipeline sums: there is no step 'keep'"):
        bind(SUMS, {"double": double}, "t")
