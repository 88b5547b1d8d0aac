"""What waits in a reader: order, delays, and when enough is there."""

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


def message(name: str, topic: str = TOPIC, partition: int = 0, body: bytes = b"") -> Delivery:
    place: Partition = (topic, partition)
    return Delivery(Message(name, body), "step-in", Receipt(place, next(OFFSETS), 1))


def taken(buffer: DeliveryBuffer) -> list[str]:
    return [one.message.id for one in buffer.take(100)]


def test_messages_leave_in_the_order_they_came(buffer: DeliveryBuffer) -> None:
    for name in "abc":
        buffer.add(message(name), 0)
    assert [one.message.id for one in buffer.take(2)] == ["a", "b"]
    assert taken(buffer) == ["c"]
    assert taken(buffer) == []


def test_what_is_put_back_comes_first_and_in_order(buffer: DeliveryBuffer) -> None:
    for name in "abc":
        buffer.add(message(name), 0)
    buffer.put_back(buffer.take(2))
    assert taken(buffer) == ["a", "b", "c"]


def test_delayed_messages_are_ready_when_they_are_due(buffer: DeliveryBuffer) -> None:
    buffer.add(message("second", LONG), 2_000)
    buffer.add(message("first", SHORT), 1_000)
    buffer.release_due(999)
    assert taken(buffer) == []
    buffer.release_due(1_000)
    assert buffer.ready_delayed_count == 1
    assert taken(buffer) == ["first"]
    buffer.release_due(9_000)
    assert taken(buffer) == ["second"]


def test_what_belongs_to_others_now_is_forgotten(buffer: DeliveryBuffer) -> None:
    buffer.add(message("stays"), 0)
    buffer.add(message("goes", partition=1), 0)
    buffer.add(message("waits", SHORT), 1_000)
    buffer.add(message("waits elsewhere", SHORT, 1), 1_000)
    buffer.drop({(TOPIC, 1), (SHORT, 1)})
    buffer.release_due(2_000)
    assert taken(buffer) == ["stays", "waits"]


def test_a_full_shelf_lets_every_partition_rest_until_half_is_gone(
    buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "READY_MAX", 4)
    for name in "abcd":
        assert not buffer.is_crowded(TOPIC, is_paused=False)
        buffer.add(message(name), 0)
    assert buffer.is_crowded(TOPIC, is_paused=False)
    assert buffer.is_crowded(SHORT, is_paused=False)
    buffer.take(1)
    assert buffer.is_crowded(TOPIC, is_paused=True)
    buffer.take(2)
    assert not buffer.is_crowded(TOPIC, is_paused=True)


def test_bytes_count_as_well(buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "READY_MAX_BYTES", 10)
    buffer.add(message("a", body=b"x" * 10), 0)
    assert buffer.is_crowded(TOPIC, is_paused=False)
    buffer.take(1)
    assert not buffer.is_crowded(TOPIC, is_paused=True)


def test_long_delays_leave_room_for_short_ones(
    buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffers, "BUFFER_MAX", 2)
    for name in "ab":
        buffer.add(message(name, LONG), 1_000)
    assert buffer.is_crowded(LONG, is_paused=False)
    assert not buffer.is_crowded(SHORT, is_paused=False)
    assert not buffer.is_crowded(TOPIC, is_paused=False)
