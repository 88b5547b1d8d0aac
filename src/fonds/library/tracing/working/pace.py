"""How fast each step of a pipeline works, hour by hour, out of the counts the ledger keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.model.by_time import CAME, ENDED, MESSAGES_BY_HOUR, hour_of
from fonds.model.rows import TallyRow
from fonds.ports import Records

HOURS = 24


@dataclass(frozen=True, slots=True)
class Pace:
    """Messages that came to a step and that ended there in each of the last 24 hours of the clock, the oldest
    first; of the last one `minutes` have passed."""

    came: tuple[int, ...] = (0,) * HOURS
    ended: tuple[int, ...] = (0,) * HOURS
    minutes: float = 0.0

    @property
    def is_growing(self) -> bool:
        """Whether more came than ended, in this hour and the one before."""
        return sum(self.came[-2:]) > sum(self.ended[-2:])

    def minutes_left(self, waiting: int) -> float | None:
        """How long so many take at the pace of this hour and the one before; None where none ended."""
        ended = sum(self.ended[-2:])
        return waiting * (60 + self.minutes) / ended if ended else None


def paces(records: Records, pipeline: str, now: datetime) -> Mapping[str, Pace]:
    """By step; a step without messages in these hours is missing. One query."""
    hours = [hour_of(now - timedelta(hours=ago)) for ago in reversed(range(HOURS))]
    counts: dict[str, dict[str, list[int]]] = {}
    where = {"counted": MESSAGES_BY_HOUR, "pipeline": pipeline, "second": hours}
    for row in records.find(TallyRow, where):
        both = counts.setdefault(row.first, {CAME: [0] * HOURS, ENDED: [0] * HOURS})
        both[row.third][hours.index(row.second)] += row.count
    minutes = now.minute + now.second / 60
    return {
        step: Pace(tuple(both[CAME]), tuple(both[ENDED]), minutes) for step, both in counts.items()
    }
