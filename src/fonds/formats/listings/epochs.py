"""Which version of an object is the download that is meant, where two epochs of the old system's database
gave out the same ids.

Source: seed 004, Appendix A (`historical`); mediacloud/story-indexer, hist-fetcher: the range and the days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

FIRST_ID, LAST_ID = 3_211_617_605, 3_257_240_456
"""Ids that exist in both epochs."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """Days in which downloads were kept under ids of the range, both included."""

    name: str
    begin: datetime
    end: datetime

    def holds(self, moment: datetime) -> bool:
        """Whether an aware time lies in it."""
        return self.begin <= moment < self.end


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an object: the store's id for it, and when it was written, aware."""

    id: str
    modified: datetime


EPOCHS = (
    Epoch("B", datetime(2021, 9, 15, tzinfo=UTC), datetime(2021, 11, 12, tzinfo=UTC)),
    Epoch("D", datetime(2021, 12, 26, tzinfo=UTC), datetime(2022, 1, 26, tzinfo=UTC)),
)


def is_ambiguous(downloads_id: int) -> bool:
    """Whether an id was given out twice."""
    return FIRST_ID <= downloads_id <= LAST_ID


def epoch_of(moment: datetime) -> Epoch | None:
    """The epoch an aware time lies in, None for neither."""
    return next((epoch for epoch in EPOCHS if epoch.holds(moment)), None)


def choose(
    downloads_id: int, collected: datetime | None, versions: Sequence[Version]
) -> Version | None:
    """The version that is the download collected then; None where none can be told to be it.

    Outside the range it is the newest. Within, it is the newest written in the epoch it was collected in; a
    download that says no time is meant only where there is one version.
    """
    newest_first = sorted(versions, key=lambda one: (one.modified, one.id), reverse=True)
    if not is_ambiguous(downloads_id):
        return newest_first[0] if newest_first else None
    if collected is None:
        return newest_first[0] if len(newest_first) == 1 else None
    epoch = epoch_of(collected)
    fitting = [one for one in newest_first if epoch is not None and epoch.holds(one.modified)]
    return fitting[0] if fitting else None
