"""The machine's clock is put forward and back by an hour while messages are in hand and delayed."""

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
    """Puts the clock that `time.time` reads forward, or back."""
    real, ahead_s = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + ahead_s[0])

    def put(seconds: float) -> None:
        ahead_s[0] += seconds

    return put


def opened(path: Path) -> SqliteQueue:
    queue = SqliteQueue(path)
    queue.declare([READER])
    return queue


@pytest.mark.parametrize("seconds", [HOUR_S, -HOUR_S])
def test_what_is_in_hand_stays_there_for_whoever_looks(
    tmp_path: Path, jump: Jump, seconds: float
) -> None:
    holder = opened(tmp_path / "queue.sqlite")
    holder.put(READER.topic, [Message("1", b"")])
    held = holder.receive(READER.incoming, 1, 0.0)
    jump(seconds)
    beside, later = opened(tmp_path / "queue.sqlite"), holder
    assert beside.receive(READER.incoming, 1, 0.0) == []
    assert later.receive(READER.incoming, 1, 0.0) == []
    assert holder.renew(held) == held
    holder.settle(held)
    assert holder.get_depth(READER).pending == 0


@pytest.mark.parametrize("seconds", [HOUR_S, -HOUR_S])
def test_a_delay_is_neither_cut_short_nor_drawn_out(
    tmp_path: Path, jump: Jump, seconds: float
) -> None:
    queue = opened(tmp_path / "queue.sqlite")
    queue.put(READER.incoming, [Message("soon", b"")], delay_s=0.3)
    queue.put(READER.incoming, [Message("later", b"")], delay_s=600.0)
    jump(seconds)
    assert [one.message.id for one in queue.receive(READER.incoming, 2, 30.0)] == ["soon"]
    assert queue.receive(READER.incoming, 2, 0.0) == []
    assert queue.get_depth(READER).delayed == 1


def test_a_lease_of_an_earlier_boot_does_not_hold_a_message_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = SqliteQueue(tmp_path / "queue.sqlite", clock=lambda: read_boot_clock_s() + 1_000_000.0)
    before.declare([READER])
    before.put(READER.topic, [Message("1", b"")])
    assert before.receive(READER.incoming, 1, 0.0)
    # As where it cannot be told whether the process that has it lives.
    monkeypatch.setattr("fonds.queues.sqlite.is_process_gone", lambda process, **_: False)
    (again,) = opened(tmp_path / "queue.sqlite").receive(READER.incoming, 1, 0.0)
    assert again.message.id == "1"


def test_a_lease_ends_by_seconds_that_run_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr("fonds.queues.sqlite.read_boot_clock_s", lambda: now[0])
    holder = opened(tmp_path / "queue.sqlite")
    holder.put(READER.topic, [Message("1", b"")])
    assert holder.receive(READER.incoming, 1, 0.0)
    now[0] += LEASE_S - 1
    assert opened(tmp_path / "queue.sqlite").receive(READER.incoming, 1, 0.0) == []
    now[0] += 1
    assert opened(tmp_path / "queue.sqlite").receive(READER.incoming, 1, 0.0)


def test_a_steady_clock_tells_unix_seconds_and_runs_on(jump: Jump) -> None:
    began_s = time.time()
    clock = create_steady_clock()
    assert abs(clock() - began_s) < 60
    jump(-HOUR_S)
    assert clock() >= began_s - 1
