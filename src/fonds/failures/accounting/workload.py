"""What waits for each step of a pipeline, since when, and what has ended there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.failures.accounting.tallies import count_by_step
from fonds.isolation.process_identity import is_process_gone
from fonds.model.disposition import COMES_BACK, PENDING, Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow, TallyRow, WorkerRow
from fonds.model.rows.row import TimeRange
from fonds.model.tallies import ARRIVED, ENDED, MESSAGES_BY_HOUR, format_hour
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.ports import Queue, Records

ENDED_COUNTED_MAX = 250_000
HOUR = timedelta(hours=1)
_ENDINGS = ("done", "dropped", "quarantined")
_OPEN = (PENDING, *map(str, COMES_BACK))


@dataclass(frozen=True, slots=True)
class StepBacklog:
    """One step: `depth` is what the queue holds for it; `open_count` what the ledger has of promised messages
    that have not ended, and `ended` of those that have, by verdict. `oldest_at` is when the oldest of the
    open ones was promised, None where there is none.
    """

    step: str
    topic: str
    depth: Depth
    open_count: int
    oldest_at: datetime | None
    ended: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EndedCount:
    """How many entries of a pipeline ended within the last hour, or `is_lower_bound` so many; `last_at`
    is when the newest did, None when none ever did."""

    count: int
    is_lower_bound: bool
    last_at: datetime | None


def list_backlogs(
    records: Records, queue: Queue, pipeline: str, readers: Sequence[Subscription]
) -> list[StepBacklog]:
    """The steps of a pipeline in its order; the queue is asked for each, the ledger by its counts."""
    counts = count_by_step(records, pipeline)
    open_counts = {
        step: sum(counts.get(step, {}).get(verdict, 0) for verdict in _OPEN)
        for step in (parse_subscription_name(reader)[1] for reader in readers)
    }
    oldest = _find_oldest(records, pipeline, [step for step, count in open_counts.items() if count])
    found = []
    for reader in readers:
        step = parse_subscription_name(reader)[1]
        of_step = counts.get(step, {})
        found.append(
            StepBacklog(
                step=step,
                topic=reader.topic,
                depth=queue.get_depth(reader),
                open_count=open_counts[step],
                oldest_at=oldest.get(step),
                ended={str(one): of_step.get(str(one), 0) for one in Verdict if one not in _OPEN},
            )
        )
    return found


def _find_oldest(records: Records, pipeline: str, steps: Sequence[str]) -> dict[str, datetime]:
    """When the oldest open message of each step was promised: the open ones are an index in that order."""
    wheres = [{"pipeline": pipeline, "step": step, "is_open": True} for step in steps]
    rows = records.first_of_each(DispositionRow, wheres, ("promised_at",))
    return {row.step: row.promised_at for row in rows if row is not None}


def count_ended_last_hour(records: Records, pipeline: str, now: datetime) -> EndedCount:
    """What ended within the hour before `now`, counted in an index up to 250,000."""
    where = {"pipeline": pipeline, "outcome": _ENDINGS, "settled_at": TimeRange(now - HOUR, now)}
    count = records.count(EntryRow, (), where, count_max=ENDED_COUNTED_MAX)[()]
    each = [{"pipeline": pipeline, "outcome": outcome} for outcome in _ENDINGS]
    rows = records.first_of_each(EntryRow, each, ("-settled_at",))
    newest = [row.settled_at for row in rows if row is not None and row.settled_at is not None]
    return EndedCount(count, count == ENDED_COUNTED_MAX, max(newest, default=None))


# How fast each step of a pipeline works, hour by hour, out of the counts the ledger keeps.


HOURS = 24


@dataclass(frozen=True, slots=True)
class StepPace:
    """Messages that came to a step and that ended there in each of the last 24 hours of the clock, the oldest
    first; of the last one `minutes` have passed."""

    arrived: tuple[int, ...] = (0,) * HOURS
    ended: tuple[int, ...] = (0,) * HOURS
    minutes: float = 0.0

    @property
    def is_growing(self) -> bool:
        """Whether more came than ended, in this hour and the one before."""
        return sum(self.arrived[-2:]) > sum(self.ended[-2:])

    def estimate_minutes_left(self, waiting_count: int) -> float | None:
        """How long so many take at the pace of this hour and the one before; None where none ended."""
        ended = sum(self.ended[-2:])
        return waiting_count * (60 + self.minutes) / ended if ended else None


def compute_paces(records: Records, pipeline: str, now: datetime) -> Mapping[str, StepPace]:
    """By step; a step without messages in these hours is missing. One query."""
    hours = [format_hour(now - timedelta(hours=ago)) for ago in reversed(range(HOURS))]
    counts: dict[str, dict[str, list[int]]] = {}
    where = {"counted": MESSAGES_BY_HOUR, "pipeline": pipeline, "second": hours}
    for row in records.find(TallyRow, where):
        both = counts.setdefault(row.first, {ARRIVED: [0] * HOURS, ENDED: [0] * HOURS})
        both[row.third][hours.index(row.second)] += row.count
    minutes = now.minute + now.second / 60
    return {
        step: StepPace(tuple(both[ARRIVED]), tuple(both[ENDED]), minutes)
        for step, both in counts.items()
    }


# Who works on a library: the processes that wrote a sign of life, and which of them are overdue.


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


NO_WORKERS = StepWorkers()


def summarize_workers(records: Records, pipeline: str, now: datetime) -> dict[str, StepWorkers]:
    """What is known of who works each step of a pipeline; a step nobody works is left out.

    Who was killed on this machine is left out as well, once that can be told for certain.
    """
    by_step: dict[str, list[WorkerRow]] = {}
    for row in iter_workers(records, pipeline):
        by_step.setdefault(row.step, []).append(row)
    return {step: _summarize_rows(rows, now) for step, rows in by_step.items()}


def iter_workers(records: Records, pipeline: str | None = None) -> Iterator[WorkerRow]:
    """The rows of processes that are not gone for certain, the newest sign first; ten thousand at most."""
    where = {} if pipeline is None else {"pipeline": pipeline}
    rows = records.find(WorkerRow, where, order=("-seen",), count_max=ROWS_MAX)
    return (row for row in rows if not is_process_gone(row.worker))


def is_overdue(row: WorkerRow, now: datetime) -> bool:
    """Whether so many signs of life are missing that something must be wrong."""
    return now - row.seen > timedelta(seconds=MISSED_MAX * row.every_s)


def _summarize_rows(rows: list[WorkerRow], now: datetime) -> StepWorkers:
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
