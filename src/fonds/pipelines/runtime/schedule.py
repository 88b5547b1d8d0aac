"""When a recurring task is due, as pure functions of aware UTC times."""

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
    """Something that recurs, by a name that is its own among all pipelines.

    It is due at the multiples of `every_s` seconds since 1970, or with `daily_at` (`HH:MM`, UTC) once a
    day; each time later by a part of `jitter_s` that follows from the name, so that what has the same
    times does not begin at once. `pipeline` is the flavour it belongs to, '' for none.
    """

    name: str
    every_s: int = DAY_S
    daily_at: str = ""
    jitter_s: int = 0
    pipeline: str = ""

    @property
    def offset_s(self) -> float:
        """How long after each multiple of `every_s` it is due."""
        chance = int.from_bytes(sha256(self.name.encode()).digest()[:8]) / 2**64
        hours, _, minutes = self.daily_at.partition(":")
        within_day_s = int(hours) * 3600 + int(minutes) * 60 if self.daily_at else 0
        return (within_day_s + chance * self.jitter_s) % self.every_s


def check_times(task: RecurringTask) -> None:
    """Raises ConfigurationError for times that are none."""
    daily = not task.daily_at or (_DAILY.fullmatch(task.daily_at) and task.every_s == DAY_S)
    if not task.name or task.every_s < 1 or task.jitter_s < 0 or not daily:
        raise ConfigurationError(
            f"the task {task.name!r} recurs at no times: every_s is a number of seconds from 1,"
            " daily_at is HH:MM and once a day, jitter_s from 0"
        )


def find_next_time(task: RecurringTask, moment: datetime) -> datetime:
    """The first of the task's times after `moment`."""
    elapsed_s = (moment - _EPOCH).total_seconds() - task.offset_s
    time = _EPOCH + timedelta(
        seconds=(elapsed_s // task.every_s + 1) * task.every_s + task.offset_s
    )
    # A time is kept to the microsecond: rounded, it may be the very moment.
    return time if time > moment else time + timedelta(seconds=task.every_s)


def is_due(task: RecurringTask, row: TimetableRow, now: datetime, unchanged_s: float) -> bool:
    """Whether the task's time has come; `unchanged_s` is how long its row was seen to stand as it is.

    By the clock, or because nobody did it for two of its periods: then the clock was put back.
    """
    return row.next_due <= now or unchanged_s >= 2 * task.every_s


def compute_next_due(
    task: RecurringTask, row: TimetableRow, now: datetime, failures: int
) -> datetime:
    """When a task that ended now is due again: however many times were missed, they were caught up once.

    A time it was due at does not come again, even when the clock was put back meanwhile; one nearer than
    half a period is left out, as what was caught up late would be done twice. A task that failed
    is due sooner, if its times lie further apart than the pause: a minute, doubled with each failure, up
    to an hour.
    """
    usual = find_next_time(task, max(now, row.next_due))
    if usual < now + timedelta(seconds=task.every_s / 2):
        usual = find_next_time(task, usual)
    if not failures:
        return usual
    pause_s = min(RETRY_FIRST_S * 2 ** min(failures - 1, 16), RETRY_MAX_S)
    return min(usual, now + timedelta(seconds=pause_s))


def is_astray(task: RecurringTask, row: TimetableRow, now: datetime) -> bool:
    """Whether a task is due later than a clock that was wrong by some hours explains: nobody would ever do
    it."""
    furthest_s = task.every_s + max(task.every_s, DAY_S)
    return row.next_due > now + timedelta(seconds=furthest_s)
