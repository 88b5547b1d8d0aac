"""The timetable: recurring tasks as rows that any number of processes share, each run by one of them."""

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
    is_astray,
    is_due,
)
from fonds.ports import Records

LEASE_S = 60.0
ERROR_CHARS = 1000


@dataclass(frozen=True, slots=True)
class TaskLease:
    """A task this process runs now, alone. `row` is the row as it was when the lease was acquired."""

    task: RecurringTask
    row: TimetableRow
    lease: Lease


class Timetable:
    """The tasks of one process over rows it shares with others. Safe for several threads.

    A task's row has its lease. A result is written only while the lease is held.
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
        """`holder_name` names this process and no other, ever. Raises ConfigurationError for a task
        without times."""
        self.tasks = {task.name: task for task in tasks}
        for task in self.tasks.values():
            check_times(task)
        self.leases = Leases(LeaseColumns(records, TimetableRow), holder_name, seconds, lease_s)
        self._records = records
        self._clock = clock

    def enter(self) -> None:
        """Write down tasks that are new, and the times of those that have others now."""
        now = self._clock()
        fresh = [_build_row(task, now) for task in self.tasks.values()]
        self._records.put(fresh, replace=False)
        for row in self._load_rows():
            task = self.tasks[row.name]
            times = {"every_s": task.every_s, "daily_at": task.daily_at, "pipeline": task.pipeline}
            if any(getattr(row, name) != value for name, value in times.items()):
                changed = {**times, "next_due": find_next_time(task, now)}
                self._records.change(TimetableRow, [row.name], changed, {"next_due": row.next_due})

    def get_next_s(self) -> float:
        """Seconds until something may have to be done here, 0 when it has to be now."""
        now = self._clock()
        left_s = [(row.next_due - now).total_seconds() for row in self._load_rows()]
        return max(0.0, min([*left_s, self.leases.lease_s]))

    def list_due(self) -> list[str]:
        """The names of tasks that are due now and that nobody runs, the longest due first."""
        now = self._clock()
        rows = sorted(self._load_rows(), key=lambda row: row.next_due)
        for row in rows:
            if is_astray(self.tasks[row.name], row, now):
                put_right = {"next_due": find_next_time(self.tasks[row.name], now)}
                self._records.change(
                    TimetableRow, [row.name], put_right, {"next_due": row.next_due}
                )
        return [row.name for row in rows if self._is_due(row, now)]

    def acquire(self, name: str) -> TaskLease | None:
        """Acquire the lease of a task that is due; None if it is not due, or another process runs it."""
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
        """Write how a task ended and release its lease. False, with nothing written, if the lease is lost."""
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
        """Whether the task is due and its lease can be acquired."""
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


# Does what the timetable says, in a thread, while something else goes on in the process.


LEAVE_OFF_S = 5.0
FINISH_RETRY_S = 2.0

logger = logging.getLogger("fonds.pipelines.runtime")

Action = Callable[[], str]
"""What a task does; the value says in a few words what came of it, '' when there is nothing to say."""


class Runner:
    """Runs `actions` by the names of the timetable's tasks, one after the other.

        with Runner(timetable, actions):
            ...

    A context manager; `stop` may be called from any thread. What an action raises is kept as the task's
    error, and the task comes again. A store that is away is waited for.
    """

    def __init__(self, timetable: Timetable, actions: Mapping[str, Action]) -> None:
        """Raises ValueError when a task has no action."""
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
        """Begin nothing more; what is being done is left to itself after a few seconds, and done again."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(LEAVE_OFF_S)

    def run_due(self) -> list[str]:
        """Do what is due now and nobody else's; the names of what was done. Raises what the stores raise."""
        done = []
        for name in self._timetable.list_due():
            if self._stopping.is_set():
                break
            task_lease = self._timetable.acquire(name)
            if task_lease is not None:
                self._run_task(task_lease)
                done.append(name)
        return done

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
            told = self._actions[name]()
        except Exception as error:
            logger.warning("task %s failed: %s", name, error, exc_info=_is_fault(error))
            return f"{type(error).__name__}: {error}"
        logger.info("did %s", name, extra={"task": name, "told": told})
        return None

    def _run(self) -> None:
        entered = False
        while not self._stopping.is_set():
            pause_s = self._timetable.leases.lease_s / RENEWALS_PER_LEASE
            try:
                if not entered:
                    self._timetable.enter()
                    entered = True
                self.run_due()
                pause_s = min(pause_s, max(1.0, self._timetable.get_next_s()))
            except FondsError as error:
                logger.warning("the timetable is waiting: %s", error)
            self._stopping.wait(pause_s)


def _is_fault(error: Exception) -> bool:
    """Whether the log needs to say where it came from."""
    return not isinstance(error, FondsError)
