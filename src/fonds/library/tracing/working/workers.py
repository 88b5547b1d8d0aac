"""Who works on a library: the processes that wrote a sign of life, and which of them are overdue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.model.rows import WorkerRow
from fonds.ports import Records
from fonds.process_identity import is_gone

MISSED_MAX = 4
"""So many signs of life in a row may fail to come before a process is called overdue."""
ROWS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class StepWorkers:
    """The processes that work one step: `at_work` wrote a sign of life lately, `overdue` did not and were not
    told to stop. `seen` is the newest sign of all, `ended` how many messages those at work have settled
    there since they began, `last_ended` when the last was (None: none yet). `trouble` is what one of them
    waits for, None for nothing.
    """

    at_work: int = 0
    overdue: int = 0
    seen: datetime | None = None
    ended: int = 0
    last_ended: datetime | None = None
    trouble: str | None = None


NOBODY = StepWorkers()


def workers_by_step(records: Records, pipeline: str, now: datetime) -> dict[str, StepWorkers]:
    """What is known of who works each step of a pipeline; a step nobody works is left out.

    Who was killed on this machine is left out as well, once that can be told for certain.
    """
    by_step: dict[str, list[WorkerRow]] = {}
    for row in workers(records, pipeline):
        by_step.setdefault(row.step, []).append(row)
    return {step: _together(rows, now) for step, rows in by_step.items()}


def workers(records: Records, pipeline: str | None = None) -> Iterator[WorkerRow]:
    """The rows of processes that are not gone for certain, the newest sign first; ten thousand at most."""
    where = {} if pipeline is None else {"pipeline": pipeline}
    rows = records.find(WorkerRow, where, order=("-seen",), count_max=ROWS_MAX)
    return (row for row in rows if not is_gone(row.worker))


def is_overdue(row: WorkerRow, now: datetime) -> bool:
    """Whether so many signs of life are missing that something must be wrong."""
    return now - row.seen > timedelta(seconds=MISSED_MAX * row.every_s)


def _together(rows: list[WorkerRow], now: datetime) -> StepWorkers:
    at_work = [row for row in rows if not is_overdue(row, now)]
    ended = [row.last_ended for row in rows if row.last_ended is not None]
    return StepWorkers(
        at_work=len(at_work),
        overdue=len(rows) - len(at_work),
        seen=max(row.seen for row in rows),
        ended=sum(row.ended for row in at_work),
        last_ended=max(ended, default=None),
        trouble=next((row.trouble for row in at_work if row.trouble), None),
    )
