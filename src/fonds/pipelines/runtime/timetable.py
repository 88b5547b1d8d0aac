"""The timetable as rows that any number of processes share: who may do what is due, and how it ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from types import TracebackType

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
"""A claim that nobody renewed for so long is nobody's."""

ERROR_CHARS = 1000
FIELDS = tuple(field.name for field in fields(TimetableRow))


@dataclass(frozen=True, slots=True)
class TaskLease:
    """A task this process does now, alone; `row` is as it stood when last written."""

    task: RecurringTask
    row: TimetableRow


class Timetable:
    """The tasks of one process over rows it shares with others. Safe for several threads.

    A task is claimed by changing its row if it still is as it was read. How long a claim of somebody else
    has stood still is measured here, by `seconds` that only run forward: a process that is alive writes
    its row again and again, whatever its clock says.
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
        self.lease_s = lease_s
        self._records = records
        self._process_name = holder_name
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._observed: dict[str, tuple[int, float]] = {}

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
        return max(0.0, min([*left_s, self.lease_s]))

    def list_due(self) -> list[str]:
        """The names of tasks that are due now and nobody's, the longest due first."""
        now = self._clock()
        rows = sorted(self._load_rows(), key=lambda row: row.next_due)
        for row in rows:
            if is_astray(self.tasks[row.name], row, now):
                put_right = {"next_due": find_next_time(self.tasks[row.name], now)}
                self._records.change(
                    TimetableRow, [row.name], put_right, {"next_due": row.next_due}
                )
        return [row.name for row in rows if self._is_due(row, now)]

    def lease(self, name: str) -> TaskLease | None:
        """The task for this process alone, if it is still due and nobody's; None if it is not."""
        row = next(iter(self._records.get(TimetableRow, [name])), None)
        now = self._clock()
        if row is None or not self._is_due(row, now):
            return None
        abandoned = row.claimed_by is not None
        taken = replace(
            row,
            next_due=min(row.next_due, now),
            claimed_by=self._process_name,
            claimed_until=now + timedelta(seconds=self.lease_s),
            last_started=now,
            beats=row.beats + 1,
            failures=row.failures + abandoned,
            last_error=f"{row.claimed_by} did not end it" if abandoned else row.last_error,
        )
        return self._write_row(TaskLease(self.tasks[name], row), taken)

    def renew(self, lease: TaskLease) -> TaskLease | None:
        """The claim for another while; None when it was lost to somebody else."""
        until = self._clock() + timedelta(seconds=self.lease_s)
        # What was written last time may have been kept though the answer never came.
        row = next(iter(self._records.get(TimetableRow, [lease.row.name])), None)
        if row is None or (row.claimed_by, row.runs) != (self._process_name, lease.row.runs):
            return None
        renewed = replace(row, claimed_until=until, beats=row.beats + 1)
        return self._write_row(TaskLease(lease.task, row), renewed)

    def finish(self, lease: TaskLease, error: str | None = None) -> bool:
        """The task ended now, with an error or without; whether the claim was still this process's."""
        now, row = self._clock(), lease.row
        failures = row.failures + 1 if error is not None else 0
        ended = replace(
            row,
            claimed_by=None,
            claimed_until=None,
            beats=row.beats + 1,
            last_finished=now,
            last_error=error if error is None else error[:ERROR_CHARS],
            failures=failures,
            runs=row.runs + 1,
            next_due=compute_next_due(lease.task, row, now, failures),
        )
        return self._write_row(lease, ended) is not None

    def _write_row(self, lease: TaskLease, target: TimetableRow) -> TaskLease | None:
        """Change the row if it is as it was; only then somebody has it, and knows it."""
        before = lease.row
        values = {
            name: getattr(target, name)
            for name in FIELDS
            if getattr(target, name) != getattr(before, name)
        }
        still = {"beats": before.beats, "claimed_by": before.claimed_by}
        changed = self._records.change(TimetableRow, [before.name], values, still)
        return TaskLease(lease.task, target) if changed else None

    def _load_rows(self) -> list[TimetableRow]:
        return self._records.get(TimetableRow, sorted(self.tasks))

    def _is_due(self, row: TimetableRow, now: datetime) -> bool:
        """Whether the task is due, and nobody does it: whoever did has not written its row for a lease."""
        stood_s = self._get_unchanged_s(row)
        free = row.claimed_by is None or stood_s >= self.lease_s
        return free and is_due(self.tasks[row.name], row, now, stood_s)

    def _get_unchanged_s(self, row: TimetableRow) -> float:
        """For how many seconds this process has seen the row as it is."""
        now_s = self._seconds()
        with self._lock:
            beats, since_s = self._observed.get(row.name, (-1, now_s))
            if beats != row.beats:
                self._observed[row.name], since_s = (row.beats, now_s), now_s
        return now_s - since_s


def _build_row(task: RecurringTask, now: datetime) -> TimetableRow:
    return TimetableRow(
        name=task.name,
        pipeline=task.pipeline,
        every_s=task.every_s,
        daily_at=task.daily_at,
        next_due=find_next_time(task, now),
        claimed_by=None,
        claimed_until=None,
        beats=0,
        last_started=None,
        last_finished=None,
        last_error=None,
        failures=0,
        runs=0,
    )


# Does what the timetable says, in a thread, while something else goes on in the process.


RENEWALS = 3
"""So many times in a lease a claim is renewed."""

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
            raise ValueError(f"nothing is to be done for the task {missing[0]!r}")
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
            claim = self._timetable.lease(name)
            if claim is not None:
                self._run_task(claim)
                done.append(name)
        return done

    def _run_task(self, lease: TaskLease) -> None:
        name, held = lease.task.name, _RenewedLease(self._timetable, lease)
        with held:
            error = self._run_action(name)
        while True:
            try:
                if not held.finish(error):
                    logger.warning("another process took the task %s over meanwhile", name)
                return
            except StoreUnavailableError as away:
                logger.warning("how the task %s ended cannot be noted now: %s", name, away)
                if self._stopping.wait(FINISH_RETRY_S):
                    raise

    def _run_action(self, name: str) -> str | None:
        try:
            told = self._actions[name]()
        except Exception as error:
            logger.warning("the task %s failed: %s", name, error, exc_info=_is_fault(error))
            return f"{type(error).__name__}: {error}"
        logger.info("did %s", name, extra={"task": name, "told": told})
        return None

    def _run(self) -> None:
        entered = False
        while not self._stopping.is_set():
            pause_s = self._timetable.lease_s / RENEWALS
            try:
                if not entered:
                    self._timetable.enter()
                    entered = True
                self.run_due()
                pause_s = min(pause_s, max(1.0, self._timetable.get_next_s()))
            except FondsError as error:
                logger.warning("the timetable waits: %s", error)
            self._stopping.wait(pause_s)


class _RenewedLease:
    """A claim that is renewed in a thread while the context lasts."""

    def __init__(self, timetable: Timetable, lease: TaskLease) -> None:
        self._timetable = timetable
        self._lease: TaskLease | None = lease
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="claim", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def finish(self, error: str | None) -> bool:
        """After the context: note how it ended, unless the claim was lost."""
        return self._lease is not None and self._timetable.finish(self._lease, error)

    def _renew(self) -> None:
        while self._lease is not None and not self._ended.wait(self._timetable.lease_s / RENEWALS):
            try:
                self._lease = self._timetable.renew(self._lease)
            except FondsError as error:
                # Away for longer than a lease, the row is somebody else's when it is back.
                logger.warning("a claim cannot be renewed now: %s", error)


def _is_fault(error: Exception) -> bool:
    """Whether the log needs to say where it came from."""
    return not isinstance(error, FondsError)
