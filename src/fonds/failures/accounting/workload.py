"""Workload of the steps of a pipeline: backlog, throughput by hour, and worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.failures.accounting.tallies import count_by_step
from fonds.isolation.process_identity import is_process_gone
from fonds.model.disposition import PENDING, RETURNING_VERDICTS, Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow, TallyRow, WorkerRow
from fonds.model.rows.row import TimeRange
from fonds.model.tallies import ARRIVED, ENDED, MESSAGES_BY_HOUR, format_hour
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.ports import Queue, Records

ENDED_COUNTED_MAX = 250_000
HOUR = timedelta(hours=1)
_ENDED_VERDICTS = ("done", "dropped", "quarantined")
_OPEN_VERDICTS = (PENDING, *map(str, RETURNING_VERDICTS))


@dataclass(frozen=True, slots=True)
class StepBacklog:
    """Backlog of one step of a pipeline.

    `topic`: name of the topic from which the step reads.
    `depth`: numbers of messages that the queue has for the step, by state (such as ready or
        delayed).
    `open_count`: number of messages sent to the step that have no outcome yet.
    `oldest_at`: time at which the oldest of the open messages was sent; None without open messages.
    `ended`: number of ended messages by verdict.
    """

    step: str
    topic: str
    depth: Depth
    open_count: int
    oldest_at: datetime | None
    ended: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EndedCount:
    """Number of entries of a pipeline that ended within the last hour.

    `count`: number of entries.
    `is_lower_bound`: whether counting stopped at 250,000 entries, so that there may be more.
    `last_at`: time at which the last entry ended; None if no entry has ended.
    """

    count: int
    is_lower_bound: bool
    last_at: datetime | None


def list_backlogs(
    records: Records, queue: Queue, pipeline: str, readers: Sequence[Subscription]
) -> list[StepBacklog]:
    """Return the backlog of each step of a pipeline, from the queue and the stored message counts.

    `readers` are the subscriptions of the pipeline; the result has their order.
    """
    counts = count_by_step(records, pipeline)
    open_counts = {
        step: sum(counts.get(step, {}).get(verdict, 0) for verdict in _OPEN_VERDICTS)
        for step in (parse_subscription_name(reader)[1] for reader in readers)
    }
    oldest = _find_oldest(records, pipeline, [step for step, count in open_counts.items() if count])
    backlogs = []
    for reader in readers:
        step = parse_subscription_name(reader)[1]
        step_counts = counts.get(step, {})
        backlogs.append(
            StepBacklog(
                step=step,
                topic=reader.topic,
                depth=queue.get_depth(reader),
                open_count=open_counts[step],
                oldest_at=oldest.get(step),
                ended={
                    str(verdict): step_counts.get(str(verdict), 0)
                    for verdict in Verdict
                    if verdict not in _OPEN_VERDICTS
                },
            )
        )
    return backlogs


def _find_oldest(records: Records, pipeline: str, steps: Sequence[str]) -> dict[str, datetime]:
    """Return for each step of a pipeline the time at which the oldest open message of the step was
    sent.

    Open messages have no outcome yet. Steps without open messages are left out. A database index
    sorts the messages by that time.
    """
    filters = [{"pipeline": pipeline, "step": step, "is_open": True} for step in steps]
    rows = records.first_of_each(DispositionRow, filters, ("promised_at",))
    return {row.step: row.promised_at for row in rows if row is not None}


def count_ended_last_hour(records: Records, pipeline: str, now: datetime) -> EndedCount:
    """Count the entries of a pipeline that ended within the hour before `now`, up to 250,000.

    A database index covers the query, so no rows are read.
    """
    where = {
        "pipeline": pipeline,
        "outcome": _ENDED_VERDICTS,
        "settled_at": TimeRange(now - HOUR, now),
    }
    count = records.count(EntryRow, (), where, count_max=ENDED_COUNTED_MAX)[()]
    outcome_filters = [{"pipeline": pipeline, "outcome": outcome} for outcome in _ENDED_VERDICTS]
    rows = records.first_of_each(EntryRow, outcome_filters, ("-settled_at",))
    newest = [row.settled_at for row in rows if row is not None and row.settled_at is not None]
    return EndedCount(count, count == ENDED_COUNTED_MAX, max(newest, default=None))


# Throughput by hour, from the stored counts of the ledger


HOURS = 24


@dataclass(frozen=True, slots=True)
class StepPace:
    """Throughput of one step: messages that arrived and ended in each of the last 24 clock hours.

    `arrived`: number of messages sent to the step, oldest hour first.
    `ended`: number of messages that ended at the step, oldest hour first.
    `minutes`: minutes of the current hour that have passed.
    """

    arrived: tuple[int, ...] = (0,) * HOURS
    ended: tuple[int, ...] = (0,) * HOURS
    minutes: float = 0.0

    @property
    def is_growing(self) -> bool:
        """Whether more messages arrived at the step than ended, in the current and the previous
        clock hour.
        """
        return sum(self.arrived[-2:]) > sum(self.ended[-2:])

    def estimate_minutes_left(self, waiting_count: int) -> float | None:
        """Estimate how many minutes the step needs until `waiting_count` messages have ended.

        Uses the rate at which messages ended in the current and the previous clock hour. Returns
        None if no message ended in these hours.
        """
        ended_count = sum(self.ended[-2:])
        return waiting_count * (60 + self.minutes) / ended_count if ended_count else None


def compute_paces(records: Records, pipeline: str, now: datetime) -> Mapping[str, StepPace]:
    """Return the throughput of each step of a pipeline, with one query.

    Steps without messages in the last 24 clock hours are left out.
    """
    hours = [format_hour(now - timedelta(hours=ago)) for ago in reversed(range(HOURS))]
    counts: dict[str, dict[str, list[int]]] = {}
    where = {"counted": MESSAGES_BY_HOUR, "pipeline": pipeline, "second": hours}
    for row in records.find(TallyRow, where):
        step_counts = counts.setdefault(row.first, {ARRIVED: [0] * HOURS, ENDED: [0] * HOURS})
        step_counts[row.third][hours.index(row.second)] += row.count
    minutes = now.minute + now.second / 60
    return {
        step: StepPace(tuple(step_counts[ARRIVED]), tuple(step_counts[ENDED]), minutes)
        for step, step_counts in counts.items()
    }


# Worker processes: those that sent heartbeats, and those that are overdue


MISSED_MAX = 4
"""Number of missed heartbeats in a row after which a worker process is overdue."""
ROWS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class StepWorkers:
    """Worker processes of one step.

    `at_work`: number of processes with a recent heartbeat.
    `overdue`: number of processes whose last heartbeat is too old, and that did not stop normally.
    `seen`: newest heartbeat of all processes; None without processes.
    `ended`: number of messages that the processes at work have finished at the step since they
        started.
    `last_ended`: when the last message ended; None if none has.
    `trouble`: why one of the processes at work has to wait, such as an unavailable store; None if
        no process waits.
    """

    at_work: int = 0
    overdue: int = 0
    seen: datetime | None = None
    ended: int = 0
    last_ended: datetime | None = None
    trouble: str | None = None


NO_WORKERS = StepWorkers()


def summarize_workers(records: Records, pipeline: str, now: datetime) -> dict[str, StepWorkers]:
    """Return a summary of the worker processes of each step of a pipeline.

    Steps without worker processes are left out, as are processes of this machine that are certainly
    gone.
    """
    by_step: dict[str, list[WorkerRow]] = {}
    for row in iter_workers(records, pipeline):
        by_step.setdefault(row.step, []).append(row)
    return {step: _summarize_rows(rows, now) for step, rows in by_step.items()}


def iter_workers(records: Records, pipeline: str | None = None) -> Iterator[WorkerRow]:
    """Iterate over the rows of worker processes, newest heartbeat first, at most 10,000 rows.

    Processes of this machine that are certainly gone are left out. `pipeline` None means all
    pipelines.
    """
    where = {} if pipeline is None else {"pipeline": pipeline}
    rows = records.find(WorkerRow, where, order=("-seen",), count_max=ROWS_MAX)
    return (row for row in rows if not is_process_gone(row.worker))


def is_overdue(row: WorkerRow, now: datetime) -> bool:
    """Return whether a worker process has missed more than 4 heartbeats in a row."""
    return now - row.seen > timedelta(seconds=MISSED_MAX * row.every_s)


def _summarize_rows(rows: list[WorkerRow], now: datetime) -> StepWorkers:
    at_work = [row for row in rows if not is_overdue(row, now)]
    ended_times = [row.last_ended for row in rows if row.last_ended is not None]
    return StepWorkers(
        at_work=len(at_work),
        overdue=len(rows) - len(at_work),
        seen=max(row.seen for row in rows),
        ended=sum(row.ended for row in at_work),
        last_ended=max(ended_times, default=None),
        trouble=next((row.trouble for row in at_work if row.trouble), None),
    )
