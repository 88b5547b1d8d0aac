"""What is done when it is due, in a thread beside something else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, StoreUnavailableError
from fonds.pipelines.runtime import timetable
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Runner, Timetable
from small_pipeline import RaisesOnce, Workplace
from timetable_processes import World

POLL = RecurringTask("poll", 600)
PATIENCE_S = 60.0


@pytest.fixture
def world(place: Workplace) -> World:
    return World(place.records)


def test_what_is_due_is_done_once(world: World) -> None:
    done: list[str] = []

    def act() -> str:
        done.append("poll")
        return "3 feeds"

    one = Runner(world.process(POLL), {"poll": act})
    other = Runner(world.process(POLL), {"poll": act})
    assert one.run_due() == []
    world.pass_s(600)
    assert one.run_due() + other.run_due() == ["poll"]
    assert done == ["poll"]


@pytest.mark.parametrize(
    "error",
    [ValueError("a bug"), PermanentError(Reason.BOMB, "a bomb"), StoreUnavailableError("away")],
)
def test_what_an_action_raises_is_kept_and_the_others_are_done(
    world: World, error: Exception
) -> None:
    def fail() -> str:
        raise error

    later = RecurringTask("later", 600)
    both = Runner(world.process(POLL, later), {"poll": fail, "later": lambda: ""})
    world.pass_s(600)
    assert sorted(both.run_due()) == ["later", "poll"]
    row = world.row("poll")
    assert row.last_error == f"{type(error).__name__}: {error}"
    assert (row.failures, world.row("later").failures) == (1, 0)


def test_a_task_without_an_action_is_refused_at_once(world: World) -> None:
    with pytest.raises(ValueError, match="'poll'"):
        Runner(world.process(POLL), {})


def test_an_end_that_cannot_be_noted_is_noted_later(
    world: World, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timetable, "FINISH_RETRY_S", 0.001)
    lossy = RaisesOnce(place.records, "change_each", StoreUnavailableError("away"), nth=2)
    one = Runner(world.process(POLL, records=lossy), {"poll": lambda: ""})  # type: ignore[arg-type]
    world.pass_s(600)
    assert one.run_due() == ["poll"]
    assert (world.row("poll").runs, world.row("poll").lease_holder) == (1, None)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_lease_is_renewed_while_its_task_is_done(world: World, place: Workplace) -> None:
    """On the real clock: leases of a moment, and a task that lasts many of them."""
    at_work, may_end = threading.Event(), threading.Event()

    def act() -> str:
        at_work.set()
        assert may_end.wait(PATIENCE_S)
        return ""

    often = RecurringTask("often", 1)
    tables = [
        Timetable(place.records, [often], who, lambda: datetime.now(UTC), time.monotonic, 0.3)
        for who in ("one", "other")
    ]
    with Runner(tables[0], {"often": act}):
        assert at_work.wait(PATIENCE_S)
        version = world.row("often").lease_version
        until(lambda: world.row("often").lease_version >= version + 5)
        assert world.row("often").lease_holder == "one"
        may_end.set()
        until(lambda: world.row("often").runs >= 1)


def test_told_to_stop_it_begins_nothing_more(world: World) -> None:
    many = [RecurringTask(f"task-{number}", 600) for number in range(5)]
    done: list[str] = []

    def act() -> str:
        done.append("one")
        stopped.stop()
        return ""

    stopped = Runner(world.process(*many), {task.name: act for task in many})
    world.pass_s(600)
    assert len(stopped.run_due()) == len(done) == 1
