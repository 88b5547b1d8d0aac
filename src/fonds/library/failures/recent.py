"""What is new among failures, and which was the last of those that were accepted."""

from __future__ import annotations

from collections import Counter, defaultdict
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
NEW_SHOWN = 10


@dataclass(frozen=True, slots=True)
class NewGroups:
    """`groups` are ten of `total` groups all of whose failures are of today or yesterday, in UTC: those that
    began today first, then the largest. `is_all` is false where more than a thousand groups failed on one of
    these days: there may be more, then."""

    groups: Sequence[FailureGroup] = ()
    total: int = 0
    is_all: bool = True


def is_new(group: FailureGroup, now: datetime) -> bool:
    """Whether all of its failures are of today or yesterday, in UTC."""
    return group.first_at is not None and group.first_at.astimezone(UTC).date() >= _days(now)[1]


def new_groups(records: Records, asked: Asked, now: datetime) -> NewGroups:
    """The groups that are new at `now`. What is counted of a group on these two days is all there is of it,
    or it is not new: so counts are read and no failure is, but two of each group that is shown."""
    today, yesterday = _days(now)
    rows = {day: list(_failed_on(records, asked, day)) for day in (today, yesterday)}
    lately = Counter[tuple[str, str]]()
    for row in (*rows[today], *rows[yesterday]):
        lately[row.pipeline, row.first] += row.count
    before = {(row.pipeline, row.first) for row in rows[yesterday] if row.count > 0}
    new = [
        row
        for row in _whole(records, lately)
        if row.count == lately[row.pipeline, row.first] and _fits(row, asked)
    ]
    new.sort(key=lambda row: ((row.pipeline, row.first) in before, -row.count, row.first))
    is_all = all(len(some) <= LOOKED_AT_MAX for some in rows.values())
    return NewGroups(list(described(records, new[:NEW_SHOWN])), len(new), is_all)


def _days(now: datetime) -> tuple[date, date]:
    today = now.astimezone(UTC).date()
    return today, today - timedelta(days=1)


def _failed_on(records: Records, asked: Asked, day: date) -> Iterator[TallyRow]:
    """What failed on one day, by group. Asked for several days at once, SQLite would walk all there are."""
    where = {"counted": FAILURES_BY_DAY, "second": day_of(day)}
    where |= {"pipeline": asked.pipeline} if asked.pipeline else {}
    where |= {"first": asked.group} if asked.group else {}
    return records.find(TallyRow, where, count_max=LOOKED_AT_MAX + 1)


def _whole(records: Records, lately: Counter[tuple[str, str]]) -> Iterator[TallyRow]:
    """All that is counted of groups that failed lately, by pipeline and group."""
    of = defaultdict[str, list[str]](list)
    for (pipeline, group), count in lately.items():
        if count > 0:
            of[pipeline].append(group)
    for pipeline, groups in sorted(of.items()):
        yield from records.find(
            TallyRow, {"counted": COUNTED_AS, "pipeline": pipeline, "first": groups}
        )


def _fits(row: TallyRow, asked: Asked) -> bool:
    return asked.step in (None, row.second) and asked.reason in (None, row.third)


def last_accepted(records: Records) -> EntryRow | None:
    """The failure that was accepted as final last; None when none ever was."""
    where = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    return next(iter(outcomes(records, where, count_max=1)), None)
