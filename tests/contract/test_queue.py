"""What every queue promises (`fonds.ports.Queue`)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from contract.queue_reading import PATIENCE_S, ids, take
from fonds.model.errors import ConfigurationError
from fonds.model.message import Delivery, Depth, Message, Subscription
from fonds.ports import TopicQueue


@pytest.fixture
def reader(name: str) -> Subscription:
    return Subscription(f"{name}-reader", f"{name}-topic")


@pytest.fixture
def other(name: str) -> Subscription:
    return Subscription(f"{name}-other", f"{name}-topic")


def test_a_message_arrives_as_it_was_put(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    sent = Message(
        "capture-1",
        b"\x00\xff body",
        key="ab" * 20,
        attempt=3,
        headers={"reason": "zu groß", "x": ""},
    )
    queue.put(reader.topic, [sent])
    (delivery,) = take(queue, reader.incoming, 1)
    assert delivery.message == sent
    assert delivery.address == reader.incoming
    assert delivery.redelivered == 0


@pytest.mark.parametrize("size_bytes", [0, 1, 1_000_000])
def test_bodies_of_any_size_arrive_whole(
    queue: TopicQueue, reader: Subscription, size_bytes: int
) -> None:
    queue.declare([reader])
    body = bytes(range(256)) * (size_bytes // 256) + b"x" * (size_bytes % 256)
    queue.put(reader.topic, [Message("big", body)])
    assert take(queue, reader.incoming, 1)[0].message.body == body


def test_every_subscription_of_a_topic_sees_every_message(
    queue: TopicQueue, reader: Subscription, other: Subscription
) -> None:
    queue.declare([reader, other])
    queue.put(reader.topic, [Message("a", b"1"), Message("b", b"2")])
    for subscription in (reader, other):
        found = take(queue, subscription.incoming, 2)
        assert sorted(ids(found)) == ["a", "b"]
        queue.settle(found)


def test_settling_for_one_subscription_leaves_the_message_of_another(
    queue: TopicQueue, reader: Subscription, other: Subscription
) -> None:
    queue.declare([reader, other])
    queue.put(reader.topic, [Message("a", b"body")])
    queue.settle(take(queue, reader.incoming, 1))
    assert take(queue, other.incoming, 1)[0].message.body == b"body"


def test_a_put_to_incoming_reaches_that_subscription_alone(
    queue: TopicQueue, reader: Subscription, other: Subscription
) -> None:
    queue.declare([reader, other])
    queue.put(reader.incoming, [Message("a", b"")])
    assert ids(take(queue, reader.incoming, 1)) == ["a"]
    assert queue.receive(other.incoming, 1, 0.0) == []


def test_declaring_again_keeps_what_waits(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"")])
    queue.declare([reader])
    assert ids(take(queue, reader.incoming, 1)) == ["a"]


def test_addresses_never_declared_are_refused(queue: TopicQueue, name: str) -> None:
    with pytest.raises(ConfigurationError, match="declare"):
        queue.put(f"{name}-nowhere", [Message("a", b"")])
    with pytest.raises(ConfigurationError, match="declare"):
        queue.receive(f"{name}-nowhere", 1, 0.0)


def test_nothing_to_do_is_no_error(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [])
    queue.settle([])
    queue.release([])
    assert queue.receive(reader.incoming, 10, 0.0) == []


def test_at_most_as_many_as_asked_for_are_handed_out(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{i}", b"") for i in range(5)])
    first = queue.receive(reader.incoming, 3, PATIENCE_S)
    assert 1 <= len(first) <= 3


def test_messages_of_one_key_come_in_the_order_they_were_put(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    for start in range(0, 30, 10):
        queue.put(reader.topic, [Message(f"m{i}", b"", key="k") for i in range(start, start + 10)])
    assert ids(take(queue, reader.incoming, 30)) == [f"m{i}" for i in range(30)]


def test_what_is_in_hand_or_settled_is_not_handed_out_again(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b""), Message("b", b"")])
    in_hand = take(queue, reader.incoming, 2)
    assert queue.receive(reader.incoming, 2, 0.0) == []
    queue.settle(in_hand)
    assert queue.receive(reader.incoming, 2, 0.0) == []
    assert queue.get_depth(reader).pending == 0


def test_settling_twice_is_no_error(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"")])
    in_hand = take(queue, reader.incoming, 1)
    queue.settle(in_hand)
    queue.settle(in_hand)
    assert queue.get_depth(reader).pending == 0


def test_released_messages_come_again_and_are_counted(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"body")])
    for redelivered in range(3):
        (delivery,) = take(queue, reader.incoming, 1)
        assert delivery.redelivered == redelivered
        assert delivery.message.body == b"body"
        queue.release([delivery])


def test_an_id_put_twice_is_there_and_gone_when_all_of_it_is_settled(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"body")])
    queue.put(reader.topic, [Message("a", b"body")])
    queue.settle(take(queue, reader.incoming, 1))
    while again := queue.receive(reader.incoming, 10, 1.0):
        assert ids(again) == ["a"]
        queue.settle(again)
    assert queue.get_depth(reader).pending == 0


def test_delayed_messages_wait_and_then_come(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.incoming, [Message("later", b"")], delay_s=3600.0)
    queue.put(reader.incoming, [Message("soon", b"")], delay_s=0.05)
    assert ids(take(queue, reader.incoming, 1)) == ["soon"]
    assert queue.receive(reader.incoming, 1, 0.0) == []
    assert queue.get_depth(reader).delayed == 1


def test_a_retry_put_before_its_predecessor_is_settled_is_not_lost(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"body", attempt=0)])
    in_hand = take(queue, reader.incoming, 1)
    queue.put(reader.incoming, [Message("a", b"body", attempt=1)], delay_s=0.001)
    # Somebody looks for work while both are there.
    early = queue.receive(reader.incoming, 1, 0.05)
    queue.settle(in_hand)
    late = early or take(queue, reader.incoming, 1)
    assert [one.message.attempt for one in late] == [1]


@pytest.mark.parametrize("where", ["topic", "quarantine"])
def test_only_incoming_takes_a_delay(queue: TopicQueue, reader: Subscription, where: str) -> None:
    queue.declare([reader])
    with pytest.raises(ValueError, match="delay"):
        queue.put(getattr(reader, where), [Message("a", b"")], delay_s=1.0)


def test_the_quarantine_is_read_by_asking_for_it_and_by_nobody_else(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.quarantine, [Message("bad", b"body", headers={"reason": "timeout"})])
    assert queue.receive(reader.incoming, 1, 0.0) == []
    assert queue.get_depth(reader) == Depth(ready=0, in_hand=0, delayed=0, quarantined=1)
    (delivery,) = take(queue, reader.quarantine, 1)
    assert delivery.message.headers == {"reason": "timeout"}
    queue.settle([delivery])
    assert queue.get_depth(reader).quarantined == 0


def test_depth_tells_ready_in_hand_and_delayed_apart(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{i}", b"") for i in range(5)])
    queue.put(reader.incoming, [Message("later", b"")], delay_s=3600.0)
    take(queue, reader.incoming, 2)
    depth = queue.get_depth(reader)
    assert depth == Depth(ready=3, in_hand=2, delayed=1, quarantined=0)
    assert depth.pending == 6


def test_a_waiting_reader_is_woken_by_a_put(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    found: list[Delivery] = []
    waiting = threading.Thread(
        target=lambda: found.extend(queue.receive(reader.incoming, 1, PATIENCE_S))
    )
    waiting.start()
    queue.put(reader.topic, [Message("a", b"")])
    waiting.join(PATIENCE_S)
    assert ids(found) == ["a"]


def test_what_one_handle_puts_another_receives(
    open_queue: Callable[[], TopicQueue], reader: Subscription
) -> None:
    writer, other = open_queue(), open_queue()
    for handle in (writer, other):
        handle.declare([reader])
    writer.put(reader.topic, [Message("a", b"")])
    assert ids(take(other, reader.incoming, 1)) == ["a"]


def test_many_threads_and_handles_share_the_messages_without_doubling_or_losing_any(
    open_queue: Callable[[], TopicQueue], reader: Subscription
) -> None:
    handles = [open_queue(), open_queue()]
    for handle in handles:
        handle.declare([reader])
    count = 400
    received: Counter[str] = Counter()
    lock = threading.Lock()

    def write(part: int) -> None:
        for i in range(part, count, 4):
            handles[part % 2].put(reader.topic, [Message(f"m{i}", b"body")])

    def read(part: int) -> None:
        while True:
            with lock:
                if received.total() >= count:
                    return
            batch = handles[part % 2].receive(reader.incoming, 7, 0.05)
            with lock:
                received.update(ids(batch))
            handles[part % 2].settle(batch)

    threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
    threads += [threading.Thread(target=read, args=(part,), daemon=True) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S * 2)
    assert received == Counter({f"m{i}": 1 for i in range(count)})
    assert handles[0].get_depth(reader).pending == 0
