"""The runner of due tasks in a background thread."""

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


def test_a_due_task_is_done_once_by_two_runners(world: World) -> None:
    done: list[str] = []

    def act() -> str:
        done.append("poll")
        return "3 feeds"

    first = Runner(world.process(POLL), {"poll": act})
    second = Runner(world.process(POLL), {"poll": act})
    assert first.run_due() == []
    world.pass_s(600)
    assert first.run_due() + second.run_due() == ["poll"]
    assert done == ["poll"]


@pytest.mark.parametrize(
    "error",
    [ValueError("a bug"), PermanentError(Reason.BOMB, "a bomb"), StoreUnavailableError("away")],
)
def test_an_error_of_an_action_is_stored_and_other_tasks_are_done(
    world: World, error: Exception
) -> None:
    def fail() -> str:
        raise error

    later = RecurringTask("later", 600)
    runner = Runner(world.process(POLL, later), {"poll": fail, "later": lambda: ""})
    world.pass_s(600)
    assert sorted(runner.run_due()) == ["later", "poll"]
    row = world.row("poll")
    assert row.last_error == f"{type(error).__name__}: {error}"
    assert (row.failures, world.row("later").failures) == (1, 0)


def test_a_task_without_an_action_is_refused(world: World) -> None:
    with pytest.raises(ValueError, match="'poll'"):
        Runner(world.process(POLL), {})


def test_an_end_that_could_not_be_recorded_is_recorded_later(
    world: World, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timetable, "FINISH_RETRY_S", 0.001)
    lossy = RaisesOnce(place.records, "change_each", StoreUnavailableError("away"), nth=2)
    runner = Runner(world.process(POLL, records=lossy), {"poll": lambda: ""})  # type: ignore[arg-type]
    world.pass_s(600)
    assert runner.run_due() == ["poll"]
    assert (world.row("poll").runs, world.row("poll").lease_holder) == (1, None)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_lease_is_renewed_while_its_task_runs(world: World, place: Workplace) -> None:
    """The test uses the real clock, short leases, and a task that lasts many of them."""
    is_started, may_finish = threading.Event(), threading.Event()

    def act() -> str:
        is_started.set()
        assert may_finish.wait(PATIENCE_S)
        return ""

    often = RecurringTask("often", 1)
    tables = [
        Timetable(place.records, [often], holder, lambda: datetime.now(UTC), time.monotonic, 0.3)
        for holder in ("one", "other")
    ]
    with Runner(tables[0], {"often": act}):
        assert is_started.wait(PATIENCE_S)
        version = world.row("often").lease_version
        wait_until(lambda: world.row("often").lease_version >= version + 5)
        assert world.row("often").lease_holder == "one"
        may_finish.set()
        wait_until(lambda: world.row("often").runs >= 1)


def test_a_stopped_runner_starts_no_further_task(world: World) -> None:
    tasks = [RecurringTask(f"task-{number}", 600) for number in range(5)]
    done: list[str] = []

    def act() -> str:
        done.append("one")
        runner.stop()
        return ""

    runner = Runner(world.process(*tasks), {task.name: act for task in tasks})
    world.pass_s(600)
    assert len(runner.run_due()) == len(done) == 1
