"""Processes that share a timetable: each task is done by one process, and none is forgotten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import pytest

from fonds.model.errors import StoreUnavailableError
from fonds.model.rows import TimetableRow
from fonds.pipelines.runtime.schedule import RecurringTask
from fonds.pipelines.runtime.timetable import Timetable
from fonds.stores.records.sql import open_sqlite
from small_pipeline import RaisesOnce, Workplace
from timetable_processes import LEASE_S, NOON, World, do

POLL = RecurringTask("poll", 600)
SWEEP = RecurringTask("sweep", daily_at="03:00")


@pytest.fixture
def world(place: Workplace) -> World:
    return World(place.records)


def test_a_new_task_is_due_at_its_next_time_and_not_before(world: World) -> None:
    table = world.process(POLL)
    assert do(table) == []
    world.pass_s(570)
    assert do(table) == ["poll"]
    assert do(table) == []
    row = world.row("poll")
    assert (row.runs, row.failures, row.last_error, row.lease_holder) == (1, 0, None, None)
    assert row.last_started == row.last_finished == NOON + timedelta(seconds=570)


def test_entering_a_task_again_keeps_its_history_and_updates_its_schedule(world: World) -> None:
    world.process(POLL, SWEEP)
    world.pass_s(600)
    do(world.tables[0])
    world.process(POLL)
    assert world.row("poll").runs == 1
    world.process(RecurringTask("poll", 60, pipeline="library"))
    row = world.row("poll")
    assert (row.every_s, row.pipeline, row.runs) == (60, "library", 1)
    assert row.next_due <= world.wall + timedelta(seconds=60)


@pytest.mark.parametrize("missed", [1, 2, 50, 5000])
def test_missed_times_are_caught_up_once(world: World, missed: int) -> None:
    world.process(POLL, SWEEP)
    world.pass_s(600 * missed)
    later = world.process(POLL)
    assert do(later) == ["poll"]
    assert do(later) == []
    world.pass_s(600)
    assert do(later) == ["poll"]


def test_a_failed_task_is_retried_with_growing_delays_and_its_error_is_stored(world: World) -> None:
    table = world.process(SWEEP)
    world.pass_s(86_400)
    waits_s = []
    for _ in range(3):
        assert do(table, "OSError: no room") == ["sweep"]
        waits_s.append((world.row("sweep").next_due - world.wall).total_seconds())
        assert do(table) == []
        world.pass_s(waits_s[-1])
    assert waits_s == [60, 120, 240]
    assert world.row("sweep").last_error == "OSError: no room"
    assert world.row("sweep").failures == 3
    assert do(table) == ["sweep"]
    assert (world.row("sweep").failures, world.row("sweep").last_error) == (0, None)
    assert world.row("sweep").next_due.hour == 3


def test_a_leased_task_is_done_by_its_holder_only(world: World) -> None:
    first, second = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    lease = first.acquire("poll")
    assert lease is not None
    assert second.list_due() == []
    assert second.acquire("poll") is None
    assert first.acquire("poll") is None
    assert first.finish(lease)
    assert second.acquire("poll") is None


def test_a_renewed_lease_lasts_for_any_duration(world: World) -> None:
    first, second = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    lease = first.acquire("poll")
    assert lease is not None
    for _ in range(200):
        world.pass_s(LEASE_S / 3)
        assert first.leases.renew(lease.lease)
        assert do(second) == []
    assert first.finish(lease)
    assert world.row("poll").runs == 1


def test_the_lease_of_a_dead_process_expires(world: World) -> None:
    first, second = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    dead = first.acquire("poll")
    assert dead is not None
    assert do(second) == []
    world.pass_s(LEASE_S - 1)
    assert do(second) == []
    world.pass_s(1)
    lease = second.acquire("poll")
    assert lease is not None
    row = world.row("poll")
    assert (row.failures, row.last_error) == (1, "host:1 did not finish it")
    # If the process is alive after all, it has lost the lease and cannot record the end.
    assert not first.leases.renew(dead.lease)
    assert not first.finish(dead)
    assert second.finish(lease)
    assert world.row("poll").runs == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_jump_during_a_task_does_not_end_its_lease(world: World, hours: int) -> None:
    first, second = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    lease = first.acquire("poll")
    assert lease is not None
    do(second)
    world.jump(3600 * hours)
    assert do(second) == []
    world.pass_s(LEASE_S / 3)
    assert first.leases.renew(lease.lease)
    world.pass_s(LEASE_S - 1)
    assert do(second) == []
    assert first.finish(lease)


def list_run_times(world: World, table: Timetable, minutes: int, every_s: int = 20) -> list[float]:
    """Return the seconds at which a process that checks every `every_s` runs its tasks."""
    done = []
    for _ in range(minutes * 60 // every_s):
        world.pass_s(every_s)
        done += [world.seconds for _ in do(table)]
    return done


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("minute", [1, 5, 9, 10, 11, 59])
def test_a_clock_jump_neither_repeats_nor_skips_frequent_tasks(
    world: World, hours: int, minute: int
) -> None:
    table = world.process(POLL)
    before = list_run_times(world, table, minute)
    world.jump(3600 * hours)
    done = before + list_run_times(world, table, 180)
    gaps = [later - earlier for earlier, later in zip([0, *done], done, strict=False)]
    assert max(gaps) <= 2 * 600 + 20
    # After a jump forward one time can be caught up; after a jump back none is repeated.
    assert sum(gap < 300 for gap in gaps[1:]) <= (1 if hours > 0 else 0)
    assert abs(len(done) - (minute + 180) // 10) <= 2


@pytest.mark.parametrize("there_and_back", [(-1, 1), (1, -1)])
@pytest.mark.parametrize("minutes_before", [-90, -30, 5, 30])
def test_a_corrected_clock_jump_neither_repeats_nor_skips_daily_tasks(
    world: World, there_and_back: tuple[int, int], minutes_before: int
) -> None:
    table = world.process(SWEEP)
    due = world.row("sweep").next_due
    world.pass_s((due - world.wall).total_seconds() - minutes_before * 60)
    done = [world.seconds for _ in do(table)]
    for hours in there_and_back:
        world.jump(3600 * hours)
        done += list_run_times(world, table, 40)
    done += list_run_times(world, table, 3 * 24 * 60, 300)
    gaps_h = [(later - earlier) / 3600 for earlier, later in pairwise(done)]
    assert len(done) in (3, 4)
    assert all(22.4 <= gap <= 26.1 for gap in gaps_h)


def test_a_clock_that_was_a_century_ahead_is_corrected(world: World) -> None:
    table = world.process(SWEEP)
    world.jump(100 * 365 * 86_400)
    assert do(table) == ["sweep"]
    world.jump(-100 * 365 * 86_400)
    later_table = world.process(SWEEP)
    assert do(later_table) == []
    assert world.row("sweep").next_due <= world.wall + timedelta(days=1)


def test_concurrent_processes_do_each_task_once(world: World, tmp_path: Path) -> None:
    """Each thread has its own handle on the same file; they compete for every run."""
    handles = [open_sqlite(tmp_path / "records.sqlite") for _ in range(4)]
    tasks = [RecurringTask(f"task-{number}", 600) for number in range(5)]
    tables = [world.process(*tasks, records=handle) for handle in handles]
    barrier = Barrier(len(tables))

    def look(table: Timetable) -> list[str]:
        barrier.wait(timeout=60)
        return do(table)

    with ThreadPoolExecutor(len(tables)) as threads:
        for turn in range(1, 11):
            world.pass_s(600)
            done = [name for names in threads.map(look, tables) for name in names]
            assert sorted(done) == [task.name for task in tasks]
            assert {world.row(task.name).runs for task in tasks} == {turn}
    for handle in handles:
        handle.close()


@pytest.fixture
def lossy(place: Workplace) -> RaisesOnce:
    """Records whose second change is stored although it raises."""
    return RaisesOnce(
        place.records, "change_each", StoreUnavailableError("away"), nth=2, after=True
    )


def test_a_lost_response_to_a_renewal_does_not_lose_the_lease(
    world: World, lossy: RaisesOnce
) -> None:
    table = world.process(POLL, records=lossy)  # type: ignore[arg-type]
    world.pass_s(600)
    lease = table.acquire("poll")
    assert lease is not None
    with pytest.raises(StoreUnavailableError):
        table.leases.renew(lease.lease)
    assert table.leases.renew(lease.lease)
    assert table.finish(lease)
    assert world.row("poll").runs == 1


def test_an_end_whose_response_was_lost_is_recorded_once(world: World, lossy: RaisesOnce) -> None:
    table = world.process(POLL, records=lossy)  # type: ignore[arg-type]
    world.pass_s(600)
    lease = table.acquire("poll")
    assert lease is not None
    with pytest.raises(StoreUnavailableError):
        table.finish(lease)
    assert table.finish(lease)
    assert (world.row("poll").runs, world.row("poll").lease_holder) == (1, None)


def test_a_process_ignores_tasks_of_other_processes(world: World) -> None:
    world.process(POLL)
    other_table = world.process(SWEEP)
    world.pass_s(600)
    assert do(other_table) == []
    assert {row.name for row in world.records.find(TimetableRow)} == {"poll", "sweep"}


def test_the_longest_overdue_task_is_first(world: World) -> None:
    tasks = [RecurringTask("a", 600), RecurringTask("b", 120), RecurringTask("c", 300)]
    table = world.process(*tasks)
    world.pass_s(660)
    overdue = sorted(tasks, key=lambda task: world.row(task.name).next_due)
    assert [task.name for task in overdue] == ["b", "c", "a"]
    assert table.list_due() == ["b", "c", "a"]
    assert do(table) == ["b", "c", "a"]


def test_a_process_sleeps_until_the_next_task_is_due_but_never_over_a_lease(world: World) -> None:
    table = world.process(RecurringTask("a", 3600), RecurringTask("b", 600))
    assert table.get_next_s() == LEASE_S
    wait_s = (world.row("b").next_due - world.wall).total_seconds()
    world.pass_s(wait_s - 5)
    assert table.get_next_s() == 5
    world.pass_s(100)
    assert table.get_next_s() == 0
