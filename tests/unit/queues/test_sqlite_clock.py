"""The system clock jumps by an hour while messages are leased and delayed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fonds.model.message import Message, Subscription
from fonds.queues.sqlite import LEASE_S, SqliteQueue, create_steady_clock, read_boot_clock_s

READER = Subscription("reader", "t.numbers", "sums")
HOUR_S = 3_600.0
Jump = Callable[[float], None]


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """A function that sets the clock of `time.time` forward or back."""
    real, ahead_s = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + ahead_s[0])

    def move_clock(seconds: float) -> None:
        ahead_s[0] += seconds

    return move_clock


def open_queue(path: Path) -> SqliteQueue:
    queue = SqliteQueue(path)
    queue.declare([READER])
    return queue


@pytest.mark.parametrize("seconds", [HOUR_S, -HOUR_S])
def test_a_leased_message_stays_leased_after_a_clock_jump(
    tmp_path: Path, jump: Jump, seconds: float
) -> None:
    holder = open_queue(tmp_path / "queue.sqlite")
    holder.put(READER.topic, [Message("1", b"")])
    deliveries = holder.receive(READER.incoming, 1, 0.0)
    jump(seconds)
    other_queue, holder_queue = open_queue(tmp_path / "queue.sqlite"), holder
    assert other_queue.receive(READER.incoming, 1, 0.0) == []
    assert holder_queue.receive(READER.incoming, 1, 0.0) == []
    assert holder.renew(deliveries) == deliveries
    holder.settle(deliveries)
    assert holder.get_depth(READER).pending == 0


@pytest.mark.parametrize("seconds", [HOUR_S, -HOUR_S])
def test_a_clock_jump_does_not_change_a_delay(tmp_path: Path, jump: Jump, seconds: float) -> None:
    queue = open_queue(tmp_path / "queue.sqlite")
    queue.put(READER.incoming, [Message("soon", b"")], delay_s=0.3)
    queue.put(READER.incoming, [Message("later", b"")], delay_s=600.0)
    jump(seconds)
    assert [delivery.message.id for delivery in queue.receive(READER.incoming, 2, 30.0)] == ["soon"]
    assert queue.receive(READER.incoming, 2, 0.0) == []
    assert queue.get_depth(READER).delayed == 1


def test_a_lease_of_an_earlier_boot_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = SqliteQueue(tmp_path / "queue.sqlite", clock=lambda: read_boot_clock_s() + 1_000_000.0)
    before.declare([READER])
    before.put(READER.topic, [Message("1", b"")])
    assert before.receive(READER.incoming, 1, 0.0)
    # As if it is unknown whether the process with the lease is alive.
    monkeypatch.setattr("fonds.queues.sqlite.is_process_gone", lambda process, **_: False)
    (redelivered,) = open_queue(tmp_path / "queue.sqlite").receive(READER.incoming, 1, 0.0)
    assert redelivered.message.id == "1"


def test_a_lease_expires_by_the_monotonic_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr("fonds.queues.sqlite.read_boot_clock_s", lambda: now[0])
    holder = open_queue(tmp_path / "queue.sqlite")
    holder.put(READER.topic, [Message("1", b"")])
    assert holder.receive(READER.incoming, 1, 0.0)
    now[0] += LEASE_S - 1
    assert open_queue(tmp_path / "queue.sqlite").receive(READER.incoming, 1, 0.0) == []
    now[0] += 1
    assert open_queue(tmp_path / "queue.sqlite").receive(READER.incoming, 1, 0.0)


def test_the_steady_clock_starts_at_unix_time_and_is_monotonic(jump: Jump) -> None:
    began_s = time.time()
    clock = create_steady_clock()
    assert abs(clock() - began_s) < 60
    jump(-HOUR_S)
    assert clock() >= began_s - 1
