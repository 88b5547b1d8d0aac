"""Delays on RabbitMQ: the queues a message passes through wait, together, as long as was asked."""

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


def waited(delay: DelayTarget) -> tuple[int, str]:
    """How long the exchanges make a message wait, and where its key leads in the end."""
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
def test_no_delay_is_shorter_than_asked_nor_a_second_longer(delay_s: float) -> None:
    delay = DelayTarget.for_queue(delay_s, "a.step-in")
    total, incoming = waited(delay)
    assert delay_s <= total < delay_s + 1
    assert incoming == "a.step-in"
    assert not delay.is_longer


@given(st.floats(DELAY_MAX_S, 1e9, exclude_min=True))
def test_what_waits_for_longer_waits_again(delay_s: float) -> None:
    delay = DelayTarget.for_queue(delay_s, "step-in")
    assert delay.is_longer
    assert waited(delay)[0] == DELAY_MAX_S
