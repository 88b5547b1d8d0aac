"""Model test of timetables: several processes check, renew, finish and die while the clock jumps."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from depth import examples
from empty_records import open_records
from fonds.leases.cells import get_cell
from fonds.model.rows import TimetableRow
from fonds.pipelines.runtime.schedule import RecurringTask, find_next_time
from fonds.pipelines.runtime.timetable import TaskLease, Timetable
from fonds.stores.records.sql import SqlRecords
from timetable_processes import LEASE_S, World

TASKS = (
    RecurringTask("often", 600),
    RecurringTask("hourly", 3600, jitter_s=300),
    RecurringTask("daily", daily_at="13:30"),
)
PROCESSES = 3


class Timetables(RuleBasedStateMachine):
    """The leases of each process with their last renewal; the rows must agree with them."""

    folder: TemporaryDirectory[str]
    records: SqlRecords

    @classmethod
    def open(cls) -> None:
        cls.folder = TemporaryDirectory()
        cls.records = open_records(Path(cls.folder.name) / "records.sqlite")

    @classmethod
    def close(cls) -> None:
        cls.records.close()
        cls.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.records.delete(TimetableRow, [task.name for task in TASKS])
        self.world = World(self.records)
        self.leases_held: dict[tuple[int, str], tuple[TaskLease, float]] = {}
        self.ended = {task.name: 0 for task in TASKS}
        self.jumped = False
        for _ in range(PROCESSES):
            self.world.process(*TASKS)

    def table(self, number: int) -> Timetable:
        return self.world.tables[number]

    @rule(seconds=st.sampled_from([1, 19, 20, 59, 60, 61, 599, 600, 3600, 20_000, 90_000]))
    def time_passes(self, seconds: int) -> None:
        self.world.pass_s(seconds)

    @rule(hours=st.sampled_from([-1, 1]))
    def the_clock_jumps(self, hours: int) -> None:
        self.jumped = True
        self.world.jump(3600 * hours)

    @rule(number=st.integers(0, PROCESSES - 1))
    def a_process_acquires_due_tasks(self, number: int) -> None:
        table = self.table(number)
        for name in table.list_due():
            before = self.world.row(name)
            lease = table.acquire(name)
            if lease is None:
                continue
            for (holder, held_name), (_, heard_s) in self.leases_held.items():
                if held_name == name and holder != number:
                    assert self.world.seconds - heard_s >= LEASE_S, (
                        "an unexpired lease was taken over"
                    )
            if not self.jumped:
                assert before.next_due <= self.world.wall, "a task was done before its time"
            self.leases_held[number, name] = (lease, self.world.seconds)

    @rule(number=st.integers(0, PROCESSES - 1))
    def a_process_renews(self, number: int) -> None:
        for (holder, name), (lease, _) in list(self.leases_held.items()):
            if holder == number:
                if self.table(number).leases.renew(lease.lease):
                    self.leases_held[holder, name] = (lease, self.world.seconds)
                else:
                    assert self.world.row(name).lease_holder != lease.lease.cell.holder
                    del self.leases_held[holder, name]

    @rule(number=st.integers(0, PROCESSES - 1), error=st.none() | st.just("why"))
    def a_process_finishes_its_tasks(self, number: int, error: str | None) -> None:
        for (holder, name), (lease, _) in list(self.leases_held.items()):
            if holder != number:
                continue
            del self.leases_held[holder, name]
            is_own = get_cell(self.world.row(name)) == lease.lease.cell
            assert self.table(number).finish(lease, error) == is_own
            if is_own:
                self.ended[name] += 1
                row = self.world.row(name)
                assert row.next_due > self.world.wall
                assert (row.lease_holder, row.last_error) == (None, error)

    @rule(number=st.integers(0, PROCESSES - 1))
    def a_process_dies_and_another_starts(self, number: int) -> None:
        for holder, name in list(self.leases_held):
            if holder == number:
                del self.leases_held[holder, name]
        self.world.process(*TASKS)
        self.world.tables[number] = self.world.tables.pop()

    @invariant()
    def each_end_is_counted_once(self) -> None:
        if hasattr(self, "world"):
            for name, count in self.ended.items():
                assert self.world.row(name).runs == count

    @invariant()
    def no_next_time_is_too_far_ahead(self) -> None:
        if hasattr(self, "world") and not self.jumped:
            for task in TASKS:
                later = self.world.wall + timedelta(seconds=1.5 * task.every_s + 1)
                assert self.world.row(task.name).next_due <= find_next_time(task, later)

    def teardown(self) -> None:
        """Without further faults every task is done once within two periods."""
        if not hasattr(self, "world"):
            return
        table = self.world.process(*TASKS)
        for task in TASKS:
            before = self.world.row(task.name).runs
            for _ in range(9):
                table.list_due()
                self.world.pass_s(max(task.every_s / 4, LEASE_S))
                lease = table.acquire(task.name)
                if lease is not None and table.finish(lease):
                    break
            assert self.world.row(task.name).runs == before + 1


def test_each_task_is_done_by_one_process_and_none_is_forgotten() -> None:
    Timetables.open()
    try:
        case = settings(
            max_examples=examples(20),
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        from hypothesis.stateful import run_state_machine_as_test

        run_state_machine_as_test(Timetables, settings=case)
    finally:
        Timetables.close()
