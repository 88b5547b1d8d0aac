"""Compute when recurring tasks are due. All functions are pure and use aware UTC times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from fonds.model.errors import ConfigurationError
from fonds.model.rows import TimetableRow

DAY_S = 86_400
RETRY_FIRST_S, RETRY_MAX_S = 60.0, 3_600.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAILY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class RecurringTask:
    """Work that is due at intervals.

    - `name`: unique name among all pipelines.
    - `every_s`: interval in seconds. The task is due at multiples of it since 1970.
    - `daily_at`: `HH:MM` in UTC, for a task that is due once a day at this time; '' otherwise.
    - `jitter_s`: maximum delay in seconds. The actual delay is derived from the name, so that tasks
      with equal times do not start together.
    - `pipeline`: flavour of the pipeline that the task belongs to; '' for none.
    """

    name: str
    every_s: int = DAY_S
    daily_at: str = ""
    jitter_s: int = 0
    pipeline: str = ""

    @property
    def offset_s(self) -> float:
        """Seconds between each multiple of `every_s` and the time when the task is due."""
        fraction = int.from_bytes(sha256(self.name.encode()).digest()[:8]) / 2**64
        hours, _, minutes = self.daily_at.partition(":")
        within_day_s = int(hours) * 3600 + int(minutes) * 60 if self.daily_at else 0
        return (within_day_s + fraction * self.jitter_s) % self.every_s


def check_times(task: RecurringTask) -> None:
    """Check the interval and times of a recurring task. Raises ConfigurationError if invalid."""
    is_daily_valid = not task.daily_at or (
        _DAILY.fullmatch(task.daily_at) and task.every_s == DAY_S
    )
    if not task.name or task.every_s < 1 or task.jitter_s < 0 or not is_daily_valid:
        raise ConfigurationError(
            f"the task {task.name!r} needs a schedule: every_s (seconds, at least 1) or "
            "daily_at (HH:MM, once a day), and a jitter_s of at least 0"
        )


def find_next_time(task: RecurringTask, moment: datetime) -> datetime:
    """Return the first time after `moment` at which a recurring task is due."""
    elapsed_s = (moment - _EPOCH).total_seconds() - task.offset_s
    next_time = _EPOCH + timedelta(
        seconds=(elapsed_s // task.every_s + 1) * task.every_s + task.offset_s
    )
    # Times are rounded to microseconds, which may give `moment` itself.
    return next_time if next_time > moment else next_time + timedelta(seconds=task.every_s)


def is_due(task: RecurringTask, row: TimetableRow, now: datetime, unchanged_s: float) -> bool:
    """Return whether a recurring task is due now.

    `unchanged_s` is the number of seconds for which this process has seen the task's row unchanged.
    A task is due when its time is reached. It is also due if no process ran it for two intervals:
    then the clock was set back.
    """
    return row.next_due <= now or unchanged_s >= 2 * task.every_s


def compute_next_due(
    task: RecurringTask, row: TimetableRow, now: datetime, failures: int
) -> datetime:
    """Return when a task that ended just now is due next. Missed times are caught up by one run.

    - A time does not recur when the clock is set back.
    - A time nearer than half an interval is skipped, because the run that just ended was late.
    - A failed task is due after a retry delay, if that is shorter than its interval. The delay is
      one minute, doubled with each failure up to one hour. `failures` is the number of failures in
      a row.
    """
    next_time = find_next_time(task, max(now, row.next_due))
    if next_time < now + timedelta(seconds=task.every_s / 2):
        next_time = find_next_time(task, next_time)
    if not failures:
        return next_time
    pause_s = min(RETRY_FIRST_S * 2 ** min(failures - 1, 16), RETRY_MAX_S)
    return min(next_time, now + timedelta(seconds=pause_s))


def is_next_due_too_far(task: RecurringTask, row: TimetableRow, now: datetime) -> bool:
    """Return whether a recurring task is scheduled too far in the future, because a clock was
    wrong.

    The distance is more than an ordinary clock error explains. Without a correction the task would
    not run for a long time.
    """
    furthest_s = task.every_s + max(task.every_s, DAY_S)
    return row.next_due > now + timedelta(seconds=furthest_s)
