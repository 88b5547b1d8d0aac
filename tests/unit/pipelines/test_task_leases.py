"""Processes that share a timetable: one does each task, and none is forgotten."""

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


def test_entering_again_keeps_what_is_known_and_takes_over_new_times(world: World) -> None:
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


def test_what_failed_comes_again_later_each_time_and_its_error_is_kept(world: World) -> None:
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


def test_who_has_leased_a_task_does_it_alone(world: World) -> None:
    one, other = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    lease = one.acquire("poll")
    assert lease is not None
    assert other.list_due() == []
    assert other.acquire("poll") is None
    assert one.acquire("poll") is None
    assert one.finish(lease)
    assert other.acquire("poll") is None


def test_a_lease_that_is_renewed_holds_however_long_it_takes(world: World) -> None:
    one, other = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    lease = one.acquire("poll")
    assert lease is not None
    for _ in range(200):
        world.pass_s(LEASE_S / 3)
        assert one.leases.renew(lease.lease)
        assert do(other) == []
    assert one.finish(lease)
    assert world.row("poll").runs == 1


def test_the_lease_of_a_process_that_died_ends_after_a_lease(world: World) -> None:
    one, other = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    dead = one.acquire("poll")
    assert dead is not None
    assert do(other) == []
    world.pass_s(LEASE_S - 1)
    assert do(other) == []
    world.pass_s(1)
    lease = other.acquire("poll")
    assert lease is not None
    row = world.row("poll")
    assert (row.failures, row.last_error) == (1, "host:1 did not finish it")
    # Should it live after all, it has lost the task, and cannot say how it ended.
    assert not one.leases.renew(dead.lease)
    assert not one.finish(dead)
    assert other.finish(lease)
    assert world.row("poll").runs == 1


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_jumps_while_a_task_is_done_takes_it_from_nobody(
    world: World, hours: int
) -> None:
    one, other = world.process(POLL), world.process(POLL)
    world.pass_s(600)
    lease = one.acquire("poll")
    assert lease is not None
    do(other)
    world.jump(3600 * hours)
    assert do(other) == []
    world.pass_s(LEASE_S / 3)
    assert one.leases.renew(lease.lease)
    world.pass_s(LEASE_S - 1)
    assert do(other) == []
    assert one.finish(lease)


def runs(world: World, table: Timetable, minutes: int, every_s: int = 20) -> list[float]:
    """The seconds at which a process that looks every so often does its tasks."""
    done = []
    for _ in range(minutes * 60 // every_s):
        world.pass_s(every_s)
        done += [world.seconds for _ in do(table)]
    return done


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("minute", [1, 5, 9, 10, 11, 59])
def test_a_clock_that_jumps_neither_repeats_nor_forgets_what_is_often(
    world: World, hours: int, minute: int
) -> None:
    table = world.process(POLL)
    before = runs(world, table, minute)
    world.jump(3600 * hours)
    done = before + runs(world, table, 180)
    gaps = [later - earlier for earlier, later in zip([0, *done], done, strict=False)]
    assert max(gaps) <= 2 * 600 + 20
    # Put forward, a time that seems to be missed is caught up; put back, none comes again.
    assert sum(gap < 300 for gap in gaps[1:]) <= (1 if hours > 0 else 0)
    assert abs(len(done) - (minute + 180) // 10) <= 2


@pytest.mark.parametrize("there_and_back", [(-1, 1), (1, -1)])
@pytest.mark.parametrize("minutes_before", [-90, -30, 5, 30])
def test_a_clock_that_jumps_and_is_put_right_neither_repeats_nor_forgets_what_is_daily(
    world: World, there_and_back: tuple[int, int], minutes_before: int
) -> None:
    table = world.process(SWEEP)
    due = world.row("sweep").next_due
    world.pass_s((due - world.wall).total_seconds() - minutes_before * 60)
    done = [world.seconds for _ in do(table)]
    for hours in there_and_back:
        world.jump(3600 * hours)
        done += runs(world, table, 40)
    done += runs(world, table, 3 * 24 * 60, 300)
    gaps_h = [(later - earlier) / 3600 for earlier, later in pairwise(done)]
    assert len(done) in (3, 4)
    assert all(22.4 <= gap <= 26.1 for gap in gaps_h)


def test_a_clock_that_was_a_century_ahead_is_got_over(world: World) -> None:
    table = world.process(SWEEP)
    world.jump(100 * 365 * 86_400)
    assert do(table) == ["sweep"]
    world.jump(-100 * 365 * 86_400)
    again = world.process(SWEEP)
    assert do(again) == []
    assert world.row("sweep").next_due <= world.wall + timedelta(days=1)


def test_of_many_that_look_at_once_one_does_it(world: World, place: Workplace) -> None:
    """Threads with handles of their own on the same file, at every time anew."""
    path = Path(str(place.records._engine.url.database))
    handles = [open_sqlite(path) for _ in range(4)]
    tasks = [RecurringTask(f"task-{number}", 600) for number in range(5)]
    tables = [world.process(*tasks, records=handle) for handle in handles]
    together = Barrier(len(tables))

    def look(table: Timetable) -> list[str]:
        together.wait(timeout=60)
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
    """Its second change is kept, and the answer lost."""
    return RaisesOnce(
        place.records, "change_each", StoreUnavailableError("away"), nth=2, after=True
    )


def test_an_answer_that_is_lost_costs_no_lease(world: World, lossy: RaisesOnce) -> None:
    table = world.process(POLL, records=lossy)  # type: ignore[arg-type]
    world.pass_s(600)
    lease = table.acquire("poll")
    assert lease is not None
    with pytest.raises(StoreUnavailableError):
        table.leases.renew(lease.lease)
    assert table.leases.renew(lease.lease)
    assert table.finish(lease)
    assert world.row("poll").runs == 1


def test_an_ending_whose_answer_is_lost_is_written_once(world: World, lossy: RaisesOnce) -> None:
    table = world.process(POLL, records=lossy)  # type: ignore[arg-type]
    world.pass_s(600)
    lease = table.acquire("poll")
    assert lease is not None
    with pytest.raises(StoreUnavailableError):
        table.finish(lease)
    assert table.finish(lease)
    assert (world.row("poll").runs, world.row("poll").lease_holder) == (1, None)


def test_what_is_no_task_of_this_process_is_left_alone(world: World) -> None:
    world.process(POLL)
    other = world.process(SWEEP)
    world.pass_s(600)
    assert do(other) == []
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
