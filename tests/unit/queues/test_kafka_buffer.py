"""Buffer of a Kafka reader: order, delays, and limits."""

from __future__ import annotations

from itertools import count

import pytest

from fonds.model.message import Delivery, Message
from fonds.queues.kafka import buffer as buffers
from fonds.queues.kafka.buffer import DeliveryBuffer, Partition, Receipt

TOPIC, SHORT, LONG = "topic", "delay-4s", "delay-64s"
OFFSETS = count()


@pytest.fixture
def buffer() -> DeliveryBuffer:
    return DeliveryBuffer([SHORT, LONG])


def build_delivery(
    name: str, topic: str = TOPIC, partition: int = 0, body: bytes = b""
) -> Delivery:
    place: Partition = (topic, partition)
    return Delivery(Message(name, body), "step-in", Receipt(place, next(OFFSETS), 1))


def take_ids(buffer: DeliveryBuffer) -> list[str]:
    return [delivery.message.id for delivery in buffer.take(100)]


def test_messages_leave_in_order_of_arrival(buffer: DeliveryBuffer) -> None:
    for name in "abc":
        buffer.add(build_delivery(name), 0)
    assert [delivery.message.id for delivery in buffer.take(2)] == ["a", "b"]
    assert take_ids(buffer) == ["c"]
    assert take_ids(buffer) == []


def test_returned_messages_come_first_and_in_order(buffer: DeliveryBuffer) -> None:
    for name in "abc":
        buffer.add(build_delivery(name), 0)
    buffer.put_back(buffer.take(2))
    assert take_ids(buffer) == ["a", "b", "c"]


def test_delayed_messages_are_ready_when_they_are_due(buffer: DeliveryBuffer) -> None:
    buffer.add(build_delivery("second", LONG), 2_000)
    buffer.add(build_delivery("first", SHORT), 1_000)
    buffer.release_due(999)
    assert take_ids(buffer) == []
    buffer.release_due(1_000)
    assert buffer.ready_delayed_count == 1
    assert take_ids(buffer) == ["first"]
    buffer.release_due(9_000)
    assert take_ids(buffer) == ["second"]


def test_the_next_messages_stay_in_the_buffer(buffer: DeliveryBuffer) -> None:
    for name in "abc":
        buffer.add(build_delivery(name), 0)
    assert [delivery.message.id for delivery in buffer.get_next(2)] == ["a", "b"]
    assert take_ids(buffer) == ["a", "b", "c"]


def test_messages_of_lost_partitions_are_dropped(buffer: DeliveryBuffer) -> None:
    buffer.add(build_delivery("stays"), 0)
    buffer.add(build_delivery("goes", partition=1), 0)
    buffer.add(build_delivery("waits", SHORT), 1_000)
    buffer.add(build_delivery("waits on another partition", SHORT, 1), 1_000)
    buffer.drop({(TOPIC, 1), (SHORT, 1)})
    buffer.release_due(2_000)
    assert take_ids(buffer) == ["stays", "waits"]


def test_a_full_buffer_pauses_reading_until_half_is_taken(
    buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "READY_MAX", 4)
    for name in "abcd":
        assert not buffer.is_full(is_paused=False)
        buffer.add(build_delivery(name), 0)
    assert buffer.is_full(is_paused=False)
    buffer.take(1)
    assert buffer.is_full(is_paused=True)
    buffer.take(2)
    assert not buffer.is_full(is_paused=True)


def test_the_size_of_bodies_is_limited_too(
    buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "READY_MAX_BYTES", 10)
    buffer.add(build_delivery("a", body=b"x" * 10), 0)
    assert buffer.is_full(is_paused=False)
    buffer.take(1)
    assert not buffer.is_full(is_paused=True)


def test_long_delays_leave_room_for_short_ones(
    buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "BUFFER_MAX", 2)
    for name in "ab":
        buffer.add(build_delivery(name, LONG), 1_000)
    assert buffer.is_crowded(LONG, is_paused=False)
    assert not buffer.is_crowded(SHORT, is_paused=False)
    assert not buffer.is_crowded(TOPIC, is_paused=False)
