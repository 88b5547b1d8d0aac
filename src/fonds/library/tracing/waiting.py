"""What waits for each step of a pipeline, since when, and what has ended there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.library.accounting import step_counts
from fonds.model.disposition import COMES_BACK, PENDING, Verdict
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, EntryRow
from fonds.ports import Queue, Records
from fonds.runtime.binding import stage_of

OPEN_LOOKED_MAX = 10_000
ENDED_LOOKED_MAX = 1_000
HOUR = timedelta(hours=1)
_ENDINGS = ("done", "dropped", "quarantined")
_OPEN = (PENDING, *map(str, COMES_BACK))


@dataclass(frozen=True, slots=True)
class StepWaiting:
    """One step: `depth` is what the queue holds for it; `open_count` what the ledger has of promised messages
    that have not ended, and `ended` of those that have, by verdict. `oldest_at` is when the oldest of the
    open ones was promised: None where there is none, or where more than 10,000 are open and nobody
    looked.
    """

    step: str
    topic: str
    depth: Depth
    open_count: int
    oldest_at: datetime | None
    ended: Mapping[str, int]

    @property
    def oldest_unknown(self) -> bool:
        """Whether something waits and nobody looked since when."""
        return self.oldest_at is None and self.open_count > 0


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
    found = []
    for reader in readers:
        step = stage_of(reader)[1]
        of_step = counts.get(step, {})
        open_count = sum(of_step.get(verdict, 0) for verdict in _OPEN)
        found.append(
            StepWaiting(
                step=step,
                topic=reader.topic,
                depth=queue.depth(reader),
                open_count=open_count,
                oldest_at=_oldest(records, pipeline, step, open_count),
                ended={str(one): of_step.get(str(one), 0) for one in Verdict if one not in _OPEN},
            )
        )
    return found


def _oldest(records: Records, pipeline: str, step: str, open_count: int) -> datetime | None:
    """The open rows of one step are an index of their own, in no order of time: few are looked through."""
    if not 0 < open_count <= OPEN_LOOKED_MAX:
        return None
    where = {"pipeline": pipeline, "step": step, "is_open": True}
    row = next(records.find(DispositionRow, where, order=("promised_at",), count_max=1), None)
    return row.promised_at if row else None


def ended_lately(records: Records, pipeline: str, now: datetime) -> Ended:
    """What ended within the hour before `now`: of each ending the newest thousand are looked at."""
    count, at_least, newest = 0, False, list[datetime]()
    for outcome in _ENDINGS:
        where = {"pipeline": pipeline, "outcome": outcome}
        rows = records.find(EntryRow, where, order=("-settled_at",), count_max=ENDED_LOOKED_MAX)
        times = [row.settled_at for row in rows if row.settled_at is not None]
        lately = sum(now - HOUR <= at <= now for at in times)
        count, at_least = count + lately, at_least or lately == ENDED_LOOKED_MAX
        newest += times[:1]
    return Ended(count, at_least, max(newest, default=None))
