"""Promises of every queue about messages in hand and delayed messages (`fonds.ports.Queue`)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import combinations

import pytest

from contract.queue_reading import PATIENCE_S, ids, take
from fonds.model.message import Message, Subscription
from fonds.pipelines.runtime.result_messages import defer_message
from fonds.ports import TopicQueue

LATE_MAX_S = 15.0
"""More than any backend needs, but less than the delay of a message in the wrong row."""
STALL_S = 3.0
"""Allowed delay of a due message on a busy machine."""


@pytest.fixture
def reader(name: str) -> Subscription:
    return Subscription(f"{name}-reader", f"{name}-topic")


def test_renewed_messages_stay_in_hand(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"x" * n) for n in range(6)])
    in_hand = take(queue, reader.incoming, 6)
    assert queue.renew(in_hand) == in_hand
    assert queue.renew(in_hand[::2]) == in_hand[::2]
    assert queue.receive(reader.incoming, 6, 0.0) == []
    assert queue.get_depth(reader).in_hand == 6


def test_settled_or_released_messages_cannot_be_renewed(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"body") for n in range(3)])
    in_hand = take(queue, reader.incoming, 3)
    queue.settle(in_hand[1:2])
    queue.release(in_hand[2:])
    assert queue.renew(in_hand) == in_hand[:1]
    (redelivery,) = take(queue, reader.incoming, 1)
    assert redelivery.message == in_hand[2].message
    assert redelivery.redelivered == 1
    assert queue.renew([]) == []


@pytest.mark.parametrize("seed", range(3))
def test_messages_in_hand_are_settled_in_any_order(
    open_queue: Callable[[], TopicQueue], reader: Subscription, seed: int
) -> None:
    """When a reader ends, exactly its unsettled messages are delivered again."""
    chance, queue = random.Random(seed), open_queue()
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"body", key=f"k{n % 2}") for n in range(40)])
    in_hand = take(queue, reader.incoming, 40)
    chance.shuffle(in_hand)
    for start in range(0, 30, 5):
        queue.settle(in_hand[start : start + 5])
    assert queue.get_depth(reader).in_hand == 10
    queue.close()  # type: ignore[attr-defined]
    second_queue = open_queue()
    second_queue.declare([reader])
    deliveries = take(second_queue, reader.incoming, 10)
    assert sorted(ids(deliveries)) == sorted(ids(in_hand[30:]))
    assert second_queue.receive(reader.incoming, 10, 1.0) == []
    second_queue.settle(deliveries)
    assert second_queue.get_depth(reader).pending == 0


def test_delayed_messages_arrive_in_order_of_their_due_times(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    delays_s = (6.5, 0.5, 5.4, 3600.0, 3.2, 2.0, 86_400.0 * 3, 4.3)
    due: dict[str, tuple[float, float]] = {}
    for delay_s in delays_s:
        began = time.monotonic()
        queue.put(reader.incoming, [Message(f"{delay_s}", b"")], delay_s=delay_s)
        due[f"{delay_s}"] = (began + delay_s, time.monotonic() + delay_s)
    received = []
    for _ in delays_s[:-2]:
        (delivery,) = take(queue, reader.incoming, 1)
        now = time.monotonic()
        first, last = due[delivery.message.id]
        assert first <= now < last + LATE_MAX_S
        received.append(delivery.message.id)
        queue.settle([delivery])
    # Several messages may be due at once, and can then arrive in any order.
    assert all(
        due[earlier][0] <= due[later][1] + STALL_S for earlier, later in combinations(received, 2)
    )
    depth = queue.get_depth(reader)
    assert (depth.ready, depth.in_hand, depth.delayed) == (0, 0, 2)


def test_a_later_message_with_a_shorter_delay_arrives_first(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.incoming, [Message("15 s", b"")], delay_s=15.0)
    queue.put(reader.incoming, [Message("4.5 s", b"")], delay_s=4.5)
    started = time.monotonic()
    assert ids(take(queue, reader.incoming, 1)) == ["4.5 s"]
    assert time.monotonic() - started >= 4.4


def test_a_delayed_message_arrives_as_it_was_put(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    sent = Message("a", b"body", key="k", attempt=2, headers={"reason": "timeout"})
    queue.put(reader.incoming, [sent], delay_s=1.0)
    (first,) = take(queue, reader.incoming, 1)
    assert (first.message, first.redelivered) == (sent, 0)
    queue.release([first])
    assert take(queue, reader.incoming, 1)[0].message == sent


def test_a_deferred_message_outlives_the_received_one(
    queue: TopicQueue, reader: Subscription
) -> None:
    """A worker was killed before it settled the message, so it defers the message twice."""
    queue.declare([reader])
    headers = {"format": "7", "of-the-future": "é", "entry": "e"}
    queue.put(reader.topic, [Message("a", b"large body", key="k", attempt=2, headers=headers)])
    (first,) = take(queue, reader.incoming, 1)
    deferred = defer_message(first.message)
    for _ in range(2):
        queue.put(reader.incoming, [deferred], delay_s=1.0)
    queue.settle([first])
    (second,) = take(queue, reader.incoming, 1)
    assert second.message == deferred
    assert {**deferred.headers} == {**headers, "deferrals": "1"}
    deferred_again = defer_message(second.message)
    queue.put(reader.incoming, [deferred_again], delay_s=1.0)
    queue.settle([second])
    ended_at_s = time.monotonic() + PATIENCE_S
    while (third := take(queue, reader.incoming, 1)[0]).message != deferred_again:
        # The second copy.
        assert third.message == deferred
        assert time.monotonic() < ended_at_s
        queue.settle([third])


def test_all_of_many_delayed_messages_arrive(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    for number in range(40):
        queue.put(reader.incoming, [Message(f"m{number}", b"")], delay_s=0.1 + number % 7 / 2)
    assert queue.get_depth(reader).pending == 40
    deliveries = take(queue, reader.incoming, 40)
    assert sorted(ids(deliveries)) == sorted(f"m{number}" for number in range(40))
    queue.settle(deliveries)
    assert queue.get_depth(reader).pending == 0
    assert queue.receive(reader.incoming, 1, min(PATIENCE_S, 1.0)) == []
