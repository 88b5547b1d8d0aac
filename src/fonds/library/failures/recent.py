"""What is new among failures, and which was the last of those that were accepted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta

from fonds.library.accounting import outcomes
from fonds.library.failures.failed import Asked
from fonds.library.failures.groups import LARGEST, FailureGroup, described
from fonds.model.by_time import FAILURES_BY_DAY, day_of
from fonds.model.disposition import Reason
from fonds.model.failure import COUNTED_AS
from fonds.model.rows import EntryRow, TallyRow
from fonds.ports import Records

LOOKED_AT = (50, 200, 750)
"""So many groups that failed on a day are looked at, then so many more."""
LOOKED_AT_MAX = sum(LOOKED_AT)
NEW_SHOWN = 10


@dataclass(frozen=True, slots=True)
class NewGroups:
    """`groups` are the first ten of the groups all of whose failures are of today or yesterday, in UTC: those
    that began today first, then the largest. `total` is how many there are, where `is_all` is true; else
    there are at least as many, for no more were looked at once ten were found, nor more than a thousand of
    a day."""

    groups: Sequence[FailureGroup] = ()
    total: int = 0
    is_all: bool = True


def is_new(group: FailureGroup, now: datetime) -> bool:
    """Whether all of its failures are of today or yesterday, in UTC."""
    return group.first_at is not None and group.first_at.astimezone(UTC).date() >= _days(now)[1]


def new_groups(
    records: Records, asked: Asked, now: datetime, known: Sequence[FailureGroup] = ()
) -> NewGroups:
    """The groups that are new at `now`. What is counted of a group on these two days is all there is of it,
    or it is not new: so counts are read and no failure is, but two of each group that is shown and is not
    among those `known`."""
    today, yesterday = _days(now)
    looked = _Looked(records, asked, yesterday)
    is_all = [looked.at_those_of(day) for day in (today, yesterday)]
    looked.new.sort(key=lambda one: (-one.began.toordinal(), -one.row.count, one.row.first))
    shown = [one.row for one in looked.new[:NEW_SHOWN]]
    told = {(one.pipeline, one.group): one for one in known}
    for one in described(records, [row for row in shown if _key(row) not in told]):
        told[one.pipeline, one.group] = one
    return NewGroups([told[_key(row)] for row in shown], len(looked.new), all(is_all))


def _days(now: datetime) -> tuple[date, date]:
    today = now.astimezone(UTC).date()
    return today, today - timedelta(days=1)


_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _New:
    began: date
    row: TallyRow


@dataclass(slots=True)
class _Looked:
    """The groups that were looked at, and those of them that are new."""

    records: Records
    asked: Asked
    yesterday: date
    new: list[_New] = field(default_factory=list)
    keys: set[_Key] = field(default_factory=set)

    def at_those_of(self, day: date) -> bool:
        """Look at those that failed on a day, today before yesterday; whether at all of them.

        The largest are looked at first, and one that failed on a single day is as large as its count on that
        day: once there are ten that began on it or later, none behind them would stand before the tenth.
        """
        where, after = _counted_on(day, self.asked), None
        for size in LOOKED_AT:
            rows = list(
                self.records.find(TallyRow, where, order=LARGEST, after=after, count_max=size)
            )
            self._sift(day, [row for row in rows if row.count > 0 and _key(row) not in self.keys])
            if len(rows) < size:
                return True
            if sum(one.began >= day for one in self.new) >= NEW_SHOWN:
                return False
            after = asdict(rows[-1])
        return False

    def _sift(self, day: date, rows: Sequence[TallyRow]) -> None:
        """Keep what is new among groups that failed on this day, and not on a later one."""
        lately = {_key(row): row.count for row in rows}
        began = dict.fromkeys(lately, day)
        if day > self.yesterday:
            for row in self._of_these(lately, _counted_on(self.yesterday, self.asked)):
                lately[_key(row)] += row.count
                began[_key(row)] = self.yesterday
        self.keys |= lately.keys()
        for row in self._of_these(lately, {"counted": COUNTED_AS}):
            if row.count == lately[_key(row)] and _fits(row, self.asked):
                self.new.append(_New(began[_key(row)], row))

    def _of_these(self, keys: Iterable[_Key], where: Mapping[str, object]) -> Iterator[TallyRow]:
        """What is counted so of these groups."""
        of = defaultdict[str, list[str]](list)
        for pipeline, group in keys:
            of[pipeline].append(group)
        for pipeline, groups in sorted(of.items()):
            found = self.records.find(TallyRow, {**where, "pipeline": pipeline, "first": groups})
            yield from (row for row in found if row.count > 0)


def _key(row: TallyRow) -> _Key:
    return row.pipeline, row.first


def _counted_on(day: date, asked: Asked) -> dict[str, object]:
    """What failed on one day, by group. Asked for several days at once, SQLite would walk all there are."""
    where: dict[str, object] = {"counted": FAILURES_BY_DAY, "second": day_of(day)}
    where |= {"pipeline": asked.pipeline} if asked.pipeline else {}
    return where | ({"first": asked.group} if asked.group else {})


def _fits(row: TallyRow, asked: Asked) -> bool:
    return asked.step in (None, row.second) and asked.reason in (None, row.third)


def last_accepted(records: Records) -> EntryRow | None:
    """The failure that was accepted as final last; None when none ever was."""
    where = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    return next(iter(outcomes(records, where, count_max=1)), None)
