"""Delays on RabbitMQ: the delay queues of a message add up to the requested delay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fonds.queues.rabbit.topology import (
    DELAY_MAX_S,
    DELAY_PREFIX,
    END_EXCHANGE,
    LEVELS_S,
    DelayTarget,
)


def follow_exchanges(delay: DelayTarget) -> tuple[int, str]:
    """Return the total delay in seconds of a message, and its final queue."""
    *words, incoming = delay.routing_key.split(".", len(LEVELS_S))
    total, exchange = 0, delay.exchange
    for level_s, word in zip(LEVELS_S, words, strict=True):
        if exchange == f"{DELAY_PREFIX}{level_s}s":
            total += level_s * int(word)
            exchange = f"{DELAY_PREFIX}{level_s // 2}s" if level_s > 1 else END_EXCHANGE
        else:
            assert word == "0"
    assert exchange == END_EXCHANGE
    return total, incoming


@given(st.floats(0.001, DELAY_MAX_S))
def test_a_delay_is_at_least_as_requested_and_less_than_a_second_longer(delay_s: float) -> None:
    delay = DelayTarget.for_queue(delay_s, "a.step-in")
    total, incoming = follow_exchanges(delay)
    assert delay_s <= total < delay_s + 1
    assert incoming == "a.step-in"
    assert not delay.is_longer


@given(st.floats(DELAY_MAX_S, 1e9, exclude_min=True))
def test_a_delay_over_the_maximum_is_repeated(delay_s: float) -> None:
    delay = DelayTarget.for_queue(delay_s, "step-in")
    assert delay.is_longer
    assert follow_exchanges(delay)[0] == DELAY_MAX_S
