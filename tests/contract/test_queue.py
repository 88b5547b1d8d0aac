"""Promises of every queue (`fonds.ports.Queue`)."""

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
def other_reader(name: str) -> Subscription:
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
def test_bodies_of_any_size_arrive_complete(
    queue: TopicQueue, reader: Subscription, size_bytes: int
) -> None:
    queue.declare([reader])
    body = bytes(range(256)) * (size_bytes // 256) + b"x" * (size_bytes % 256)
    queue.put(reader.topic, [Message("big", body)])
    assert take(queue, reader.incoming, 1)[0].message.body == body


def test_every_subscription_of_a_topic_receives_every_message(
    queue: TopicQueue, reader: Subscription, other_reader: Subscription
) -> None:
    queue.declare([reader, other_reader])
    queue.put(reader.topic, [Message("a", b"1"), Message("b", b"2")])
    for subscription in (reader, other_reader):
        deliveries = take(queue, subscription.incoming, 2)
        assert sorted(ids(deliveries)) == ["a", "b"]
        queue.settle(deliveries)


def test_settling_a_message_keeps_it_for_other_subscriptions(
    queue: TopicQueue, reader: Subscription, other_reader: Subscription
) -> None:
    queue.declare([reader, other_reader])
    queue.put(reader.topic, [Message("a", b"body")])
    queue.settle(take(queue, reader.incoming, 1))
    assert take(queue, other_reader.incoming, 1)[0].message.body == b"body"


def test_a_put_to_incoming_reaches_only_its_subscription(
    queue: TopicQueue, reader: Subscription, other_reader: Subscription
) -> None:
    queue.declare([reader, other_reader])
    queue.put(reader.incoming, [Message("a", b"")])
    assert ids(take(queue, reader.incoming, 1)) == ["a"]
    assert queue.receive(other_reader.incoming, 1, 0.0) == []


def test_a_repeated_declare_keeps_waiting_messages(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"")])
    queue.declare([reader])
    assert ids(take(queue, reader.incoming, 1)) == ["a"]


def test_undeclared_addresses_are_refused(queue: TopicQueue, name: str) -> None:
    with pytest.raises(ConfigurationError, match="declare"):
        queue.put(f"{name}-nowhere", [Message("a", b"")])
    with pytest.raises(ConfigurationError, match="declare"):
        queue.receive(f"{name}-nowhere", 1, 0.0)


def test_empty_batches_are_accepted(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [])
    queue.settle([])
    queue.release([])
    assert queue.receive(reader.incoming, 10, 0.0) == []


def test_receive_returns_at_most_the_requested_count(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{i}", b"") for i in range(5)])
    first = queue.receive(reader.incoming, 3, PATIENCE_S)
    assert 1 <= len(first) <= 3


def test_messages_of_a_key_arrive_in_order(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    for start in range(0, 30, 10):
        queue.put(reader.topic, [Message(f"m{i}", b"", key="k") for i in range(start, start + 10)])
    assert ids(take(queue, reader.incoming, 30)) == [f"m{i}" for i in range(30)]


def test_received_or_settled_messages_are_not_delivered_again(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b""), Message("b", b"")])
    in_hand = take(queue, reader.incoming, 2)
    assert queue.receive(reader.incoming, 2, 0.0) == []
    queue.settle(in_hand)
    assert queue.receive(reader.incoming, 2, 0.0) == []
    assert queue.get_depth(reader).pending == 0


def test_a_repeated_settle_is_accepted(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"")])
    in_hand = take(queue, reader.incoming, 1)
    queue.settle(in_hand)
    queue.settle(in_hand)
    assert queue.get_depth(reader).pending == 0


def test_released_messages_are_redelivered_with_a_count(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"body")])
    for redelivered in range(3):
        (delivery,) = take(queue, reader.incoming, 1)
        assert delivery.redelivered == redelivered
        assert delivery.message.body == b"body"
        queue.release([delivery])


def test_an_id_put_twice_has_no_pending_message_once_settled(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"body")])
    queue.put(reader.topic, [Message("a", b"body")])
    queue.settle(take(queue, reader.incoming, 1))
    while deliveries := queue.receive(reader.incoming, 10, 1.0):
        assert ids(deliveries) == ["a"]
        queue.settle(deliveries)
    assert queue.get_depth(reader).pending == 0


def test_delayed_messages_arrive_after_their_delay(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    queue.put(reader.incoming, [Message("later", b"")], delay_s=3600.0)
    queue.put(reader.incoming, [Message("soon", b"")], delay_s=0.05)
    assert ids(take(queue, reader.incoming, 1)) == ["soon"]
    assert queue.receive(reader.incoming, 1, 0.0) == []
    assert queue.get_depth(reader).delayed == 1


def test_a_retry_sent_before_its_predecessor_is_settled_is_kept(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message("a", b"body", attempt=0)])
    in_hand = take(queue, reader.incoming, 1)
    queue.put(reader.incoming, [Message("a", b"body", attempt=1)], delay_s=0.001)
    # A reader asks for work while both exist.
    early = queue.receive(reader.incoming, 1, 0.05)
    queue.settle(in_hand)
    late = early or take(queue, reader.incoming, 1)
    assert [delivery.message.attempt for delivery in late] == [1]


@pytest.mark.parametrize("address_name", ["topic", "quarantine"])
def test_only_incoming_supports_a_delay(
    queue: TopicQueue, reader: Subscription, address_name: str
) -> None:
    queue.declare([reader])
    with pytest.raises(ValueError, match="delay"):
        queue.put(getattr(reader, address_name), [Message("a", b"")], delay_s=1.0)


def test_quarantined_messages_are_delivered_only_from_the_quarantine(
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


def test_depth_counts_ready_in_hand_and_delayed_separately(
    queue: TopicQueue, reader: Subscription
) -> None:
    queue.declare([reader])
    queue.put(reader.topic, [Message(f"m{i}", b"") for i in range(5)])
    queue.put(reader.incoming, [Message("later", b"")], delay_s=3600.0)
    take(queue, reader.incoming, 2)
    depth = queue.get_depth(reader)
    assert depth == Depth(ready=3, in_hand=2, delayed=1, quarantined=0)
    assert depth.pending == 6


def test_a_put_wakes_a_waiting_reader(queue: TopicQueue, reader: Subscription) -> None:
    queue.declare([reader])
    deliveries: list[Delivery] = []
    waiting = threading.Thread(
        target=lambda: deliveries.extend(queue.receive(reader.incoming, 1, PATIENCE_S))
    )
    waiting.start()
    queue.put(reader.topic, [Message("a", b"")])
    waiting.join(PATIENCE_S)
    assert ids(deliveries) == ["a"]


def test_a_message_of_one_handle_is_received_by_another(
    open_queue: Callable[[], TopicQueue], reader: Subscription
) -> None:
    writer, second_queue = open_queue(), open_queue()
    for handle in (writer, second_queue):
        handle.declare([reader])
    writer.put(reader.topic, [Message("a", b"")])
    assert ids(take(second_queue, reader.incoming, 1)) == ["a"]


def test_concurrent_readers_receive_each_message_once(
    open_queue: Callable[[], TopicQueue], reader: Subscription, request: pytest.FixtureRequest
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
                if len(received) >= count:
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
    assert received.keys() == {f"m{i}" for i in range(count)}
    # On Kafka, when another process joins, what threads have in hand is delivered again.
    in_hand = 4 * 7 if "kafka" in request.node.name else 0
    assert received.total() <= count + in_hand
    assert handles[0].get_depth(reader).pending == 0
