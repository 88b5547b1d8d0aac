"""What waits for each step of a pipeline, since when, and what has ended there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.library.accounting import step_counts
from fonds.model.disposition import COMES_BACK, PENDING, Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow
from fonds.model.rows.row import Within
from fonds.ports import Queue, Records
from fonds.runtime.binding import stage_of

ENDED_COUNTED_MAX = 250_000
HOUR = timedelta(hours=1)
_ENDINGS = ("done", "dropped", "quarantined")
_OPEN = (PENDING, *map(str, COMES_BACK))


@dataclass(frozen=True, slots=True)
class StepWaiting:
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
class Ended:
    """How many entries of a pipeline ended within the last hour, or `at_least` so many; `last_at` is when
    the newest did, None when none ever did."""

    count: int
    at_least: bool
    last_at: datetime | None


def waiting(
    records: Records, queue: Queue, pipeline: str, readers: Sequence[Subscription]
) -> list[StepWaiting]:
    """The steps of a pipeline in its order; the queue is asked for each, the ledger by its counts."""
    counts = step_counts(records, pipeline)
    open_counts = {
        step: sum(counts.get(step, {}).get(verdict, 0) for verdict in _OPEN)
        for step in (stage_of(reader)[1] for reader in readers)
    }
    oldest = _oldest(records, pipeline, [step for step, count in open_counts.items() if count])
    found = []
    for reader in readers:
        step = stage_of(reader)[1]
        of_step = counts.get(step, {})
        found.append(
            StepWaiting(
                step=step,
                topic=reader.topic,
                depth=queue.depth(reader),
                open_count=open_counts[step],
                oldest_at=oldest.get(step),
                ended={str(one): of_step.get(str(one), 0) for one in Verdict if one not in _OPEN},
            )
        )
    return found


def _oldest(records: Records, pipeline: str, steps: Sequence[str]) -> dict[str, datetime]:
    """When the oldest open message of each step was promised: the open ones are an index in that order."""
    wheres = [{"pipeline": pipeline, "step": step, "is_open": True} for step in steps]
    rows = records.first_of_each(DispositionRow, wheres, ("promised_at",))
    return {row.step: row.promised_at for row in rows if row is not None}


def ended_lately(records: Records, pipeline: str, now: datetime) -> Ended:
    """What ended within the hour before `now`, counted in an index up to 250,000."""
    where = {"pipeline": pipeline, "outcome": _ENDINGS, "settled_at": Within(now - HOUR, now)}
    count = records.count(EntryRow, (), where, count_max=ENDED_COUNTED_MAX)[()]
    each = [{"pipeline": pipeline, "outcome": outcome} for outcome in _ENDINGS]
    rows = records.first_of_each(EntryRow, each, ("-settled_at",))
    newest = [row.settled_at for row in rows if row is not None and row.settled_at is not None]
    return Ended(count, count == ENDED_COUNTED_MAX, max(newest, default=None))
