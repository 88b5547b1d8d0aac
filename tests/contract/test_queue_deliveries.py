"""What every queue promises of what is in hand and of what waits for its time (`fonds.ports.Queue`)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import combinations

import pytest

from contract.queue_reading import PATIENCE_S, ids, take
from fonds.model.message import Message, Subscription
from fonds.ports import TopicQueue

LATE_MAX_S = 15.0
"""Far more than any backend needs, and less than what a delay in the wrong row would wait."""
STALL_S = 3.0
"""How long a machine at work may leave what is due where it is."""


@pytest.fixture
def reader(name: str) -> Subscription:
    return Subscription(f"{name}-reader", f"{name}-topic")


def test_what_is_kept_stays_in_hand(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"x" * n) for n in range(6)])
    held = take(queue, reader.incoming, 6)
    assert queue.renew(held) == held
    assert queue.renew(held[::2]) == held[::2]
    assert queue.receive(reader.incoming, 6, 0.0) == []
    assert queue.get_depth(reader).in_hand == 6


def test_what_is_no_longer_in_hand_cannot_be_kept(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"body") for n in range(3)])
    held = take(queue, reader.incoming, 3)
    queue.settle(held[1:2])
    queue.release(held[2:])
    assert queue.renew(held) == held[:1]
    (again,) = take(queue, reader.incoming, 1)
    assert again.message == held[2].message
    assert again.redelivered == 1
    assert queue.renew([]) == []


@pytest.mark.parametrize("seed", range(3))
def test_any_of_those_in_hand_may_be_settled_in_any_order(
    open_queue: Callable[[], TopicQueue], reader: Subscription, seed: int
) -> None:
    """Whoever ends brings back exactly what it had not settled."""
    chance, queue = random.Random(seed), open_queue()
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{n}", b"body", key=f"k{n % 2}") for n in range(40)])
    held = take(queue, reader.incoming, 40)
    chance.shuffle(held)
    for start in range(0, 30, 5):
        queue.settle(held[start : start + 5])
    assert queue.get_depth(reader).in_hand == 10
    queue.close()  # type: ignore[attr-defined]
    other = open_queue()
    other.declare([reader])
    found = take(other, reader.incoming, 10)
    assert sorted(ids(found)) == sorted(ids(held[30:]))
    assert other.receive(reader.incoming, 10, 1.0) == []
    other.settle(found)
    assert other.get_depth(reader).pending == 0


def test_delays_of_several_lengths_come_in_order_and_none_early(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    delays_s = (6.5, 0.5, 5.4, 3600.0, 3.2, 2.0, 86_400.0 * 3, 4.3)
    due: dict[str, tuple[float, float]] = {}
    for delay_s in delays_s:
        began = time.monotonic()
        queue.put(reader.incoming, [Message(f"{delay_s}", b"")], delay_s=delay_s)
        due[f"{delay_s}"] = (began + delay_s, time.monotonic() + delay_s)
    taken = []
    for _ in delays_s[:-2]:
        (one,) = take(queue, reader.incoming, 1)
        now = time.monotonic()
        first, last = due[one.message.id]
        assert first <= now < last + LATE_MAX_S
        taken.append(one.message.id)
        queue.settle([one])
    # Whoever looks seldom finds several due at once, and may take them in any order.
    assert all(due[one][0] <= due[other][1] + STALL_S for one, other in combinations(taken, 2))
    depth = queue.get_depth(reader)
    assert (depth.ready, depth.in_hand, depth.delayed) == (0, 0, 2)


def test_a_delay_put_later_and_due_earlier_of_the_same_magnitude_comes_first(
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


def test_many_delays_lose_nothing(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    for number in range(40):
        queue.put(reader.incoming, [Message(f"m{number}", b"")], delay_s=0.1 + number % 7 / 2)
    assert queue.get_depth(reader).pending == 40
    found = take(queue, reader.incoming, 40)
    assert sorted(ids(found)) == sorted(f"m{number}" for number in range(40))
    queue.settle(found)
    assert queue.get_depth(reader).pending == 0
    assert queue.receive(reader.incoming, 1, min(PATIENCE_S, 1.0)) == []
