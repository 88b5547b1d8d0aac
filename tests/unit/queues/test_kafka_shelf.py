"""What waits in a reader: order, delays, and when enough is there."""

from __future__ import annotations

from itertools import count

import pytest

from fonds.model.message import Delivery, Message
from fonds.queues.kafka import shelf as shelves
from fonds.queues.kafka.shelf import Partition, Receipt, Shelf

TOPIC, SHORT, LONG = "topic", "delay-4s", "delay-64s"
OFFSETS = count()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf([SHORT, LONG])


def message(name: str, topic: str = TOPIC, partition: int = 0, body: bytes = b"") -> Delivery:
    place: Partition = (topic, partition)
    return Delivery(Message(name, body), "step-in", Receipt(place, next(OFFSETS), 1))


def taken(shelf: Shelf) -> list[str]:
    return [one.message.id for one in shelf.take(100)]


def test_messages_leave_in_the_order_they_came(shelf: Shelf) -> None:
    for name in "abc":
        shelf.add(message(name), 0)
    assert [one.message.id for one in shelf.take(2)] == ["a", "b"]
    assert taken(shelf) == ["c"]
    assert taken(shelf) == []


def test_what_is_put_back_comes_first_and_in_order(shelf: Shelf) -> None:
    for name in "abc":
        shelf.add(message(name), 0)
    shelf.put_back(shelf.take(2))
    assert taken(shelf) == ["a", "b", "c"]


def test_delayed_messages_are_ready_when_they_are_due(shelf: Shelf) -> None:
    shelf.add(message("second", LONG), 2_000)
    shelf.add(message("first", SHORT), 1_000)
    shelf.ripen(999)
    assert taken(shelf) == []
    shelf.ripen(1_000)
    assert shelf.ready_of_delayed == 1
    assert taken(shelf) == ["first"]
    shelf.ripen(9_000)
    assert taken(shelf) == ["second"]


def test_what_belongs_to_others_now_is_forgotten(shelf: Shelf) -> None:
    shelf.add(message("stays"), 0)
    shelf.add(message("goes", partition=1), 0)
    shelf.add(message("waits", SHORT), 1_000)
    shelf.add(message("waits elsewhere", SHORT, 1), 1_000)
    shelf.drop({(TOPIC, 1), (SHORT, 1)})
    shelf.ripen(2_000)
    assert taken(shelf) == ["stays", "waits"]


def test_a_full_shelf_lets_every_partition_rest_until_half_is_gone(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "READY_MAX", 4)
    for name in "abcd":
        assert not shelf.crowded(TOPIC, resting=False)
        shelf.add(message(name), 0)
    assert shelf.crowded(TOPIC, resting=False)
    assert shelf.crowded(SHORT, resting=False)
    shelf.take(1)
    assert shelf.crowded(TOPIC, resting=True)
    shelf.take(2)
    assert not shelf.crowded(TOPIC, resting=True)


def test_bytes_count_as_well(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "READY_MAX_BYTES", 10)
    shelf.add(message("a", body=b"x" * 10), 0)
    assert shelf.crowded(TOPIC, resting=False)
    shelf.take(1)
    assert not shelf.crowded(TOPIC, resting=True)


def test_long_delays_leave_room_for_short_ones(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "HELD_MAX", 2)
    for name in "ab":
        shelf.add(message(name, LONG), 1_000)
    assert shelf.crowded(LONG, resting=False)
    assert not shelf.crowded(SHORT, resting=False)
    assert not shelf.crowded(TOPIC, resting=False)
