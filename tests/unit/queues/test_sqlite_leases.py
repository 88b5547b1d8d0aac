"""Keeping what is in hand of the SQLite queue: the lease begins anew, for its holder and nobody else."""

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
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queues(tmp_path: Path, clock: Clock) -> Iterator[tuple[SqliteQueue, SqliteQueue]]:
    """The same queue twice, as two processes have it open."""
    opened = [SqliteQueue(tmp_path / "queue.sqlite", clock=clock) for _ in range(2)]
    for one in opened:
        one.declare([READER])
    yield opened[0], opened[1]
    for one in opened:
        one.close()


def test_a_lease_begins_anew_each_time_it_is_kept(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock
) -> None:
    holder, other = queues
    holder.put(READER.topic, [Message("kept", b""), Message("forgotten", b"")])
    held = holder.receive(READER.incoming, 2, 0.0)
    for _ in range(20):
        clock.now_s += LEASE_S * 0.9
        assert holder.renew(held[:1]) == held[:1]
    found = other.receive(READER.incoming, 2, 0.0)
    assert [one.message.id for one in found] == ["forgotten"]
    other.settle(found)
    clock.now_s += LEASE_S
    assert [one.message.id for one in other.receive(READER.incoming, 2, 0.0)] == ["kept"]


def test_who_lost_a_lease_is_told_and_does_not_lengthen_another_s(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock
) -> None:
    holder, other = queues
    holder.put(READER.topic, [Message("a", b"")])
    late = holder.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S
    (taken,) = other.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S / 2
    assert holder.renew(late) == []
    clock.now_s += LEASE_S / 2
    assert [one.redelivered for one in holder.receive(READER.incoming, 1, 0.0)] == [2]
    assert other.renew([taken]) == []


def test_what_waits_for_its_body_is_kept(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock, tmp_path: Path
) -> None:
    """The blob store is away for longer than a lease."""
    below, other = queues
    blobs = RaisesOnce(FolderBlobs(tmp_path / "blobs"), "get", StoreUnavailableError("away"))
    queue = LargeBodies(below, blobs, BodyLimits(3, 16_000_000))  # type: ignore[arg-type]
    queue.declare([READER])
    queue.put(READER.topic, [Message("a", b"large"), Message("b", b"large")])
    with pytest.raises(StoreUnavailableError):
        queue.receive(READER.incoming, 2, 0.0)
    clock.now_s += LEASE_S * 0.9
    (first,) = queue.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S * 0.9
    assert queue.renew([first]) == [first]
    assert other.receive(READER.incoming, 2, 0.0) == []
    (second,) = queue.receive(READER.incoming, 1, 0.0)
    assert [first.message.id, second.message.id] == ["a", "b"]


def test_what_waited_for_its_body_too_long_is_not_handed_out_twice(
    queues: tuple[SqliteQueue, SqliteQueue], clock: Clock, tmp_path: Path
) -> None:
    below, other = queues
    blobs = RaisesOnce(FolderBlobs(tmp_path / "blobs"), "get", StoreUnavailableError("away"))
    queue = LargeBodies(below, blobs, BodyLimits(3, 16_000_000))  # type: ignore[arg-type]
    queue.declare([READER])
    queue.put(READER.topic, [Message("a", b"large")])
    with pytest.raises(StoreUnavailableError):
        queue.receive(READER.incoming, 1, 0.0)
    clock.now_s += LEASE_S
    assert len(other.receive(READER.incoming, 1, 0.0)) == 1
    assert queue.receive(READER.incoming, 1, 0.0) == []
