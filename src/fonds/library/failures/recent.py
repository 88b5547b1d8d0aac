"""What is new among failures, and which was the last of those that were accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from fonds.library.accounting import outcomes
from fonds.library.failures.failed import Asked
from fonds.library.failures.groups import FailureGroup, described
from fonds.model.by_time import FAILURES_BY_DAY, day_of
from fonds.model.disposition import Reason
from fonds.model.failure import COUNTED_AS
from fonds.model.rows import EntryRow, TallyRow
from fonds.ports import Records

LOOKED_AT_MAX = 1_000
NEW_FOR = timedelta(days=1)
NEW_SHOWN = 10


@dataclass(frozen=True, slots=True)
class NewGroups:
    """`groups` are the ten of `total` groups whose oldest failure is less than a day old that began last, the
    newest first. `is_all` is false where more than a thousand groups failed today and yesterday: there may be
    more, then."""

    groups: Sequence[FailureGroup] = ()
    total: int = 0
    is_all: bool = True


def is_new(group: FailureGroup, now: datetime) -> bool:
    """Whether its oldest failure is less than a day old."""
    return group.first_at is not None and group.first_at > now - NEW_FOR


def new_groups(records: Records, asked: Asked, now: datetime) -> NewGroups:
    """The groups that were not there a day before `now`. What is counted by day names those that failed in
    these two days, in UTC; of each the oldest failure is read, whatever else failed."""
    today = now.astimezone(UTC).date()
    rows = [
        row for day in (today, today - timedelta(days=1)) for row in _failed_on(records, asked, day)
    ]
    of = sorted({(row.pipeline, row.first) for row in rows if row.count > 0})
    wheres = [{"failure_group": group, "pipeline": pipeline} for pipeline, group in of]
    oldest = records.first_of_each(EntryRow, wheres, ("settled_at",))
    began = [one for one in oldest if one is not None and _fits(one, asked, now)]
    began.sort(key=lambda one: one.settled_at or now, reverse=True)
    return NewGroups(
        list(described(records, _counts(records, began[:NEW_SHOWN]))),
        len(began),
        len(rows) <= LOOKED_AT_MAX,
    )


def _failed_on(records: Records, asked: Asked, day: date) -> Iterator[TallyRow]:
    """What failed on one day, by group. Asked for several days at once, SQLite would walk all there are."""
    where = {"counted": FAILURES_BY_DAY, "second": day_of(day)}
    where |= {"pipeline": asked.pipeline} if asked.pipeline else {}
    where |= {"first": asked.group} if asked.group else {}
    return records.find(TallyRow, where, count_max=LOOKED_AT_MAX + 1)


def _fits(first: EntryRow, asked: Asked, now: datetime) -> bool:
    is_asked = asked.step in (None, first.step) and asked.reason in (None, first.reason)
    return is_asked and first.settled_at is not None and first.settled_at > now - NEW_FOR


def _counts(records: Records, began: Sequence[EntryRow]) -> list[TallyRow]:
    """How many failures the groups of these have, in their order."""
    keys = [
        (COUNTED_AS, one.pipeline, one.failure_group or "", one.step or "", one.reason or "")
        for one in began
    ]
    found = {(row.pipeline, row.first): row for row in records.get(TallyRow, keys)}
    return [found[key[1], key[2]] for key in keys if (key[1], key[2]) in found]


def last_accepted(records: Records) -> EntryRow | None:
    """The failure that was accepted as final last; None when none ever was."""
    where = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    return next(iter(outcomes(records, where, count_max=1)), None)
