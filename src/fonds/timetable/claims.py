"""The timetable as rows that any number of processes share: who may do what is due, and how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from fonds.model.rows import TimetableRow
from fonds.ports import Records
from fonds.timetable.schedule import (
    RecurringTask,
    check_times,
    due_after,
    following,
    is_astray,
    is_due,
)

LEASE_S = 60.0
"""A claim that nobody renewed for so long is nobody's."""

ERROR_CHARS = 1000
FIELDS = tuple(field.name for field in fields(TimetableRow))


@dataclass(frozen=True, slots=True)
class Claim:
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
        who: str,
        clock: Callable[[], datetime],
        seconds: Callable[[], float],
        lease_s: float = LEASE_S,
    ) -> None:
        """`who` names this process and no other, ever. Raises ConfigurationError for a task without times."""
        self.tasks = {task.name: task for task in tasks}
        for task in self.tasks.values():
            check_times(task)
        self.lease_s = lease_s
        self._records = records
        self._who = who
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, float]] = {}

    def enter(self) -> None:
        """Write down tasks that are new, and the times of those that have others now."""
        now = self._clock()
        fresh = [_new_row(task, now) for task in self.tasks.values()]
        self._records.put(fresh, replace=False)
        for row in self._rows():
            task = self.tasks[row.name]
            times = {"every_s": task.every_s, "daily_at": task.daily_at, "pipeline": task.pipeline}
            if any(getattr(row, name) != value for name, value in times.items()):
                changed = {**times, "next_due": following(task, now)}
                self._records.change(TimetableRow, [row.name], changed, {"next_due": row.next_due})

    def next_s(self) -> float:
        """Seconds until something may have to be done here, 0 when it has to be now."""
        now = self._clock()
        left_s = [(row.next_due - now).total_seconds() for row in self._rows()]
        return max(0.0, min([*left_s, self.lease_s]))

    def due(self) -> list[str]:
        """The names of tasks that are due now and nobody's, the longest due first."""
        now = self._clock()
        rows = sorted(self._rows(), key=lambda row: row.next_due)
        for row in rows:
            if is_astray(self.tasks[row.name], row, now):
                put_right = {"next_due": following(self.tasks[row.name], now)}
                self._records.change(
                    TimetableRow, [row.name], put_right, {"next_due": row.next_due}
                )
        return [row.name for row in rows if self._is_due(row, now)]

    def claim(self, name: str) -> Claim | None:
        """The task for this process alone, if it is still due and nobody's; None if it is not."""
        row = next(iter(self._records.get(TimetableRow, [name])), None)
        now = self._clock()
        if row is None or not self._is_due(row, now):
            return None
        abandoned = row.claimed_by is not None
        taken = replace(
            row,
            next_due=min(row.next_due, now),
            claimed_by=self._who,
            claimed_until=now + timedelta(seconds=self.lease_s),
            last_started=now,
            beats=row.beats + 1,
            failures=row.failures + abandoned,
            last_error=f"{row.claimed_by} did not end it" if abandoned else row.last_error,
        )
        return self._write(Claim(self.tasks[name], row), taken)

    def renew(self, claim: Claim) -> Claim | None:
        """The claim for another while; None when it was lost to somebody else."""
        until = self._clock() + timedelta(seconds=self.lease_s)
        # What was written last time may have been kept though the answer never came.
        row = next(iter(self._records.get(TimetableRow, [claim.row.name])), None)
        if row is None or (row.claimed_by, row.runs) != (self._who, claim.row.runs):
            return None
        renewed = replace(row, claimed_until=until, beats=row.beats + 1)
        return self._write(Claim(claim.task, row), renewed)

    def finish(self, claim: Claim, error: str | None = None) -> bool:
        """The task ended now, with an error or without; whether the claim was still this process's."""
        now, row = self._clock(), claim.row
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
            next_due=due_after(claim.task, row, now, failures),
        )
        return self._write(claim, ended) is not None

    def _write(self, claim: Claim, wanted: TimetableRow) -> Claim | None:
        """Change the row if it is as it was; only then somebody has it, and knows it."""
        before = claim.row
        values = {
            name: getattr(wanted, name)
            for name in FIELDS
            if getattr(wanted, name) != getattr(before, name)
        }
        still = {"beats": before.beats, "claimed_by": before.claimed_by}
        changed = self._records.change(TimetableRow, [before.name], values, still)
        return Claim(claim.task, wanted) if changed else None

    def _rows(self) -> list[TimetableRow]:
        return self._records.get(TimetableRow, sorted(self.tasks))

    def _is_due(self, row: TimetableRow, now: datetime) -> bool:
        """Whether the task is due, and nobody does it: whoever did has not written its row for a lease."""
        stood_s = self._stood_s(row)
        free = row.claimed_by is None or stood_s >= self.lease_s
        return free and is_due(self.tasks[row.name], row, now, stood_s)

    def _stood_s(self, row: TimetableRow) -> float:
        """For how many seconds this process has seen the row as it is."""
        now_s = self._seconds()
        with self._lock:
            beats, since_s = self._seen.get(row.name, (-1, now_s))
            if beats != row.beats:
                self._seen[row.name], since_s = (row.beats, now_s), now_s
        return now_s - since_s


def _new_row(task: RecurringTask, now: datetime) -> TimetableRow:
    return TimetableRow(
        name=task.name,
        pipeline=task.pipeline,
        every_s=task.every_s,
        daily_at=task.daily_at,
        next_due=following(task, now),
        claimed_by=None,
        claimed_until=None,
        beats=0,
        last_started=None,
        last_finished=None,
        last_error=None,
        failures=0,
        runs=0,
    )
