"""What is new among failures, and which was the last of those that were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fonds.library.accounting import outcomes
from fonds.library.failures.failed import Asked
from fonds.library.failures.groups import FailureGroup, described
from fonds.model.disposition import Reason
from fonds.model.failure import COUNTED_AS
from fonds.model.rows import EntryRow, TallyRow
from fonds.ports import Records

LOOKED_AT_MAX = 50
NEW_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class NewGroups:
    """Groups whose oldest failure is less than a day old, the largest first, among those that `looked_at`
    failures, the last ones, are of. `is_all` says that no failure of this day was left out."""

    groups: Sequence[FailureGroup] = ()
    looked_at: int = 0
    is_all: bool = True


def is_new(group: FailureGroup, now: datetime) -> bool:
    """Whether its oldest failure is less than a day old."""
    return group.first_at is not None and group.first_at > now - NEW_FOR


def new_groups(records: Records, asked: Asked, now: datetime) -> NewGroups:
    """The groups of the last failures that were not there a day before `now`. At most 50 failures of a
    pipeline are read, whatever failed."""
    last = outcomes(records, asked.where(), count_max=LOOKED_AT_MAX)
    lately = [one for one in last if one.settled_at and one.settled_at > now - NEW_FOR]
    of = {(one.pipeline, one.failure_group) for one in lately if one.failure_group}
    if not of:
        return NewGroups((), len(last))
    where = {
        "counted": COUNTED_AS,
        "pipeline": sorted({pipeline for pipeline, _ in of}),
        "first": sorted({group for _, group in of}),
    }
    tallies = [row for row in records.find(TallyRow, where) if (row.pipeline, row.first) in of]
    counted = sorted((row for row in tallies if row.count > 0), key=lambda row: -row.count)
    groups = [one for one in described(records, counted) if is_new(one, now)]
    return NewGroups(groups, len(last), len(lately) < LOOKED_AT_MAX)


def last_accepted(records: Records) -> EntryRow | None:
    """The failure that was accepted as final last; None when none ever was."""
    where = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    return next(iter(outcomes(records, where, count_max=1)), None)
