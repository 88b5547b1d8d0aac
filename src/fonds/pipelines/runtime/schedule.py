"""Compute when recurring tasks are due, as pure functions of aware UTC times."""

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
    """Recurring task with a name that is unique among all pipelines.

    It is due at multiples of `every_s` seconds since 1970, or with `daily_at` (`HH:MM`, UTC) once a
    day. A delay of up to `jitter_s`, derived from the name, keeps tasks with equal times from
    starting together. `pipeline` is its flavour, '' for none.
    """

    name: str
    every_s: int = DAY_S
    daily_at: str = ""
    jitter_s: int = 0
    pipeline: str = ""

    @property
    def offset_s(self) -> float:
        """Offset in seconds after each multiple of `every_s`."""
        fraction = int.from_bytes(sha256(self.name.encode()).digest()[:8]) / 2**64
        hours, _, minutes = self.daily_at.partition(":")
        within_day_s = int(hours) * 3600 + int(minutes) * 60 if self.daily_at else 0
        return (within_day_s + fraction * self.jitter_s) % self.every_s


def check_times(task: RecurringTask) -> None:
    """Raises ConfigurationError for invalid times."""
    is_daily_valid = not task.daily_at or (
        _DAILY.fullmatch(task.daily_at) and task.every_s == DAY_S
    )
    if not task.name or task.every_s < 1 or task.jitter_s < 0 or not is_daily_valid:
        raise ConfigurationError(
            f"the task {task.name!r} needs a schedule: every_s (seconds, at least 1) or "
            "daily_at (HH:MM, once a day), and a jitter_s of at least 0"
        )


def find_next_time(task: RecurringTask, moment: datetime) -> datetime:
    """Return the task's first time after `moment`."""
    elapsed_s = (moment - _EPOCH).total_seconds() - task.offset_s
    next_time = _EPOCH + timedelta(
        seconds=(elapsed_s // task.every_s + 1) * task.every_s + task.offset_s
    )
    # Times are rounded to microseconds, which may give `moment` itself.
    return next_time if next_time > moment else next_time + timedelta(seconds=task.every_s)


def is_due(task: RecurringTask, row: TimetableRow, now: datetime, unchanged_s: float) -> bool:
    """Return whether the task is due. `unchanged_s` is how long its row has been unchanged.

    It is due by the clock, or if nobody ran it for two of its periods, because then the clock was
    put back.
    """
    return row.next_due <= now or unchanged_s >= 2 * task.every_s


def compute_next_due(
    task: RecurringTask, row: TimetableRow, now: datetime, failures: int
) -> datetime:
    """Return when a task that ended now is due next; missed times are caught up by one run.

    A time does not recur when the clock is put back. A time nearer than half a period is skipped,
    because a late run has just covered it. A failed task is due sooner if its period is longer than
    the retry delay: one minute, doubled with each failure, up to one hour.
    """
    next_time = find_next_time(task, max(now, row.next_due))
    if next_time < now + timedelta(seconds=task.every_s / 2):
        next_time = find_next_time(task, next_time)
    if not failures:
        return next_time
    pause_s = min(RETRY_FIRST_S * 2 ** min(failures - 1, 16), RETRY_MAX_S)
    return min(next_time, now + timedelta(seconds=pause_s))


def is_next_due_too_far(task: RecurringTask, row: TimetableRow, now: datetime) -> bool:
    """Return whether a task is due later than a clock wrong by some hours would explain, and so
    would never run.
    """
    furthest_s = task.every_s + max(task.every_s, DAY_S)
    return row.next_due > now + timedelta(seconds=furthest_s)
