"""Leases of the SQLite queue: only their holder can renew them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Message, Subscription
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.queues.sqlite import LEASE_S, SqliteQueue
from fonds.stores.blobs import FolderBlobs
from small_pipeline import RaisesOnce

READER = Subscription("reader", "topic")


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queues(tmp_path: Path, clock: Clock) -> Iterator[tuple[SqliteQueue, SqliteQueue]]:
    """Two handles of one queue, as of two processes."""
    opened = [SqliteQueue(tmp_path / "queue.sqlite", clock=clock) for _ in range(2)]
    for queue in opened:
        queue.declare([READER])
    yield opened[0], opened[1]
    for queue in opened:
        queue.close()


def test_a_renewed_lease_starts_again(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock
) -> None:
    holder, other_queue = queues
    holder.put(READER.topic, [Message("kept", b""), Message("forgotten", b"")])
    deliveries = holder.receive(READER.incoming, 2, 0.0)
    for _ in range(20):
        clock.now_s += LEASE_S * 0.9
        assert holder.renew(deliveries[:1]) == deliveries[:1]
    expired = other_queue.receive(READER.incoming, 2, 0.0)
    assert [delivery.message.id for delivery in expired] == ["forgotten"]
    other_queue.settle(expired)
    clock.now_s += LEASE_S
    assert [delivery.message.id for delivery in other_queue.receive(READER.incoming, 2, 0.0)] == [
        "kept"
    ]


def test_a_lost_lease_cannot_be_renewed(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock
) -> None:
    holder, other_queue = queues
    holder.put(READER.topic, [Message("a", b"")])
    late_deliveries = holder.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S
    (other_delivery,) = other_queue.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S / 2
    assert holder.renew(late_deliveries) == []
    clock.now_s += LEASE_S / 2
    assert [delivery.redelivered for delivery in holder.receive(READER.incoming, 1, 0.0)] == [2]
    assert other_queue.renew([other_delivery]) == []


def test_the_lease_of_a_message_that_waits_for_its_body_is_renewed(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock, tmp_path: Path
) -> None:
    """The blob store is unavailable for longer than a lease."""
    inner_queue, other_queue = queues
    blobs = RaisesOnce(FolderBlobs(tmp_path / "blobs"), "get", StoreUnavailableError("away"))
    queue = LargeBodies(inner_queue, blobs, BodyLimits(3, 16_000_000))  # type: ignore[arg-type]
    queue.declare([READER])
    queue.put(READER.topic, [Message("a", b"large"), Message("b", b"large")])
    with pytest.raises(StoreUnavailableError):
        queue.receive(READER.incoming, 2, 0.0)
    clock.now_s += LEASE_S * 0.9
    (first,) = queue.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S * 0.9
    assert queue.renew([first]) == [first]
    assert other_queue.receive(READER.incoming, 2, 0.0) == []
    (second,) = queue.receive(READER.incoming, 1, 0.0)
    assert [first.message.id, second.message.id] == ["a", "b"]


def test_a_message_whose_lease_expired_while_waiting_for_its_body_is_not_received(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock, tmp_path: Path
) -> None:
    inner_queue, other_queue = queues
    blobs = RaisesOnce(FolderBlobs(tmp_path / "blobs"), "get", StoreUnavailableError("away"))
    queue = LargeBodies(inner_queue, blobs, BodyLimits(3, 16_000_000))  # type: ignore[arg-type]
    queue.declare([READER])
    queue.put(READER.topic, [Message("a", b"large")])
    with pytest.raises(StoreUnavailableError):
        queue.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S
    assert len(other_queue.receive(READER.incoming, 1, 0.0)) == 1
    assert queue.receive(READER.incoming, 1, 0.0) == []
