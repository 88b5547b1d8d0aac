"""Timetable of recurring tasks: rows that all processes share, so that one process runs
each task.

A `Runner` runs due tasks in a thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType

from fonds.leases.cells import LeaseColumns, get_cell
from fonds.leases.lease import RENEWALS_PER_LEASE, Lease
from fonds.leases.leases import Leases
from fonds.model.errors import FondsError, StoreUnavailableError
from fonds.model.rows import TimetableRow
from fonds.pipelines.runtime.schedule import (
    RecurringTask,
    check_times,
    compute_next_due,
    find_next_time,
    is_due,
    is_next_due_too_far,
)
from fonds.ports import Records

LEASE_S = 60.0
ERROR_CHARS = 1000


@dataclass(frozen=True, slots=True)
class TaskLease:
    """Right of this process to run a recurring task now, which no other process has.

    - `row`: stored row of the task, read when the lease was acquired.
    """

    task: RecurringTask
    row: TimetableRow
    lease: Lease


class Timetable:
    """Recurring tasks that this process may run. Thread-safe.

    Each task has a row, which all processes share and which contains the lease of the task. A
    result is written only while this process has the lease.
    """

    def __init__(
        self,
        records: Records,
        tasks: Iterable[RecurringTask],
        holder_name: str,
        clock: Callable[[], datetime],
        seconds: Callable[[], float],
        lease_s: float = LEASE_S,
    ) -> None:
        """Check the times of the tasks. Raises ConfigurationError if one is invalid.

        - `holder_name`: unique name of this process, which no other process ever has.
        - `clock`: returns the current time (aware UTC).
        - `seconds`: returns the time of a monotonic clock in seconds.
        - `lease_s`: duration of a lease in seconds.
        """
        self.tasks = {task.name: task for task in tasks}
        for task in self.tasks.values():
            check_times(task)
        self.leases = Leases(LeaseColumns(records, TimetableRow), holder_name, seconds, lease_s)
        self._records = records
        self._clock = clock

    def enter(self) -> None:
        """Create the rows of recurring tasks that have none, and update rows whose schedule has
        changed.
        """
        now = self._clock()
        fresh = [_build_row(task, now) for task in self.tasks.values()]
        self._records.put(fresh, replace=False)
        for row in self._load_rows():
            task = self.tasks[row.name]
            times = {"every_s": task.every_s, "daily_at": task.daily_at, "pipeline": task.pipeline}
            if any(getattr(row, name) != value for name, value in times.items()):
                changed_columns = {**times, "next_due": find_next_time(task, now)}
                self._records.change(
                    TimetableRow, [row.name], changed_columns, {"next_due": row.next_due}
                )

    def get_next_s(self) -> float:
        """Return the seconds until the next recurring task is due: 0 if one is due now, and at most
        the lease duration.
        """
        now = self._clock()
        waits_s = [(row.next_due - now).total_seconds() for row in self._load_rows()]
        return max(0.0, min([*waits_s, self.leases.lease_s]))

    def list_due(self) -> list[str]:
        """Return the names of recurring tasks that are due and not running, longest overdue first.

        A task whose due time is too far in the future, because a clock was wrong, gets a new due
        time.
        """
        now = self._clock()
        rows = sorted(self._load_rows(), key=lambda row: row.next_due)
        for row in rows:
            if is_next_due_too_far(self.tasks[row.name], row, now):
                correction = {"next_due": find_next_time(self.tasks[row.name], now)}
                self._records.change(
                    TimetableRow, [row.name], correction, {"next_due": row.next_due}
                )
        return [row.name for row in rows if self._is_due(row, now)]

    def acquire(self, name: str) -> TaskLease | None:
        """Acquire the lease of a recurring task that is due.

        Returns None if the task is not due, or if another process runs it.
        """
        row = next(iter(self._records.get(TimetableRow, [name])), None)
        now = self._clock()
        if row is None or not self._is_due(row, now):
            return None
        columns: dict[str, object] = {"next_due": min(row.next_due, now), "last_started": now}
        if row.lease_holder is not None:
            columns["failures"] = row.failures + 1
            columns["last_error"] = f"{row.lease_holder} did not finish it"
        lease = self.leases.try_acquire(name, get_cell(row), columns)
        if lease is None:
            return None
        return TaskLease(self.tasks[name], replace(row, **columns), lease)  # type: ignore[arg-type]

    def finish(self, task_lease: TaskLease, error: str | None = None) -> bool:
        """Record the result of a recurring task and release its lease. `error` is None for success.

        Return False, without writing, if this process has lost the lease.
        """
        now, row = self._clock(), task_lease.row
        failures = row.failures + 1 if error is not None else 0
        columns = {
            "last_finished": now,
            "last_error": error if error is None else error[:ERROR_CHARS],
            "failures": failures,
            "runs": row.runs + 1,
            "next_due": compute_next_due(task_lease.task, row, now, failures),
        }
        return self.leases.release(task_lease.lease, columns)

    def _load_rows(self) -> list[TimetableRow]:
        return self._records.get(TimetableRow, sorted(self.tasks))

    def _is_due(self, row: TimetableRow, now: datetime) -> bool:
        """Return whether a recurring task is due and no other process has its lease."""
        cell = get_cell(row)
        unchanged_s = self.leases.observe(row.name, cell)
        is_free = self.leases.is_acquirable(row.name, cell)
        return is_free and is_due(self.tasks[row.name], row, now, unchanged_s)


def _build_row(task: RecurringTask, now: datetime) -> TimetableRow:
    return TimetableRow(
        name=task.name,
        pipeline=task.pipeline,
        every_s=task.every_s,
        daily_at=task.daily_at,
        next_due=find_next_time(task, now),
        lease_holder=None,
        lease_version=0,
        last_started=None,
        last_finished=None,
        last_error=None,
        failures=0,
        runs=0,
    )


STOP_TIMEOUT_S = 5.0
FINISH_RETRY_S = 2.0

logger = logging.getLogger("fonds.pipelines.runtime")

Action = Callable[[], str]
"""Function that performs a recurring task. It returns a short result for the log, or ''."""


class Runner:
    """Runs the recurring tasks that are due, one after the other, in a thread.

        with Runner(timetable, actions):
            ...

    `actions` are the functions that perform the tasks, by task name. `stop` may be called from any
    thread. If an action raises an error, the error is stored in the task's row and the task is
    retried. If a store is unavailable, the runner waits.
    """

    def __init__(self, timetable: Timetable, actions: Mapping[str, Action]) -> None:
        """Prepare to run the tasks of `timetable`, without starting the thread.

        `actions` are the functions that perform the tasks, by task name. Raises ValueError if a
        task has no function.
        """
        missing = sorted(timetable.tasks.keys() - actions.keys())
        if missing:
            raise ValueError(f"no action for the task {missing[0]!r}")
        self._timetable = timetable
        self._actions = actions
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="timetable", daemon=True)

    def __enter__(self) -> Runner:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Start no more recurring tasks, and wait a few seconds for a running one.

        If the task does not end by then, it is abandoned. It runs again later.
        """
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_TIMEOUT_S)

    def run_due(self) -> list[str]:
        """Run the recurring tasks that are due and that no other process runs. Return their names.

        Raises the errors of the stores if one is unavailable.
        """
        names_run = []
        for name in self._timetable.list_due():
            if self._stopping.is_set():
                break
            task_lease = self._timetable.acquire(name)
            if task_lease is not None:
                self._run_task(task_lease)
                names_run.append(name)
        return names_run

    def _run_task(self, task_lease: TaskLease) -> None:
        name = task_lease.task.name
        with self._timetable.leases.keep_renewed(task_lease.lease):
            error = self._run_action(name)
        while True:
            try:
                if not self._timetable.finish(task_lease, error):
                    logger.warning("another process took over the task %s", name)
                return
            except StoreUnavailableError as away:
                logger.warning("cannot record the result of the task %s: %s", name, away)
                if self._stopping.wait(FINISH_RETRY_S):
                    raise

    def _run_action(self, name: str) -> str | None:
        try:
            result = self._actions[name]()
        except Exception as error:
            logger.warning("task %s failed: %s", name, error, exc_info=_is_fault(error))
            return f"{type(error).__name__}: {error}"
        logger.info("did %s", name, extra={"task": name, "result": result})
        return None

    def _run(self) -> None:
        has_entered = False
        while not self._stopping.is_set():
            pause_s = self._timetable.leases.lease_s / RENEWALS_PER_LEASE
            try:
                if not has_entered:
                    self._timetable.enter()
                    has_entered = True
                self.run_due()
                pause_s = min(pause_s, max(1.0, self._timetable.get_next_s()))
            except FondsError as error:
                logger.warning("the timetable is waiting: %s", error)
            self._stopping.wait(pause_s)


def _is_fault(error: Exception) -> bool:
    """Return whether the log should include a traceback for this error."""
    return not isinstance(error, FondsError)
