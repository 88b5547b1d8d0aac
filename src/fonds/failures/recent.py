"""What is new among failures, and which was the last of those that were accepted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta

from fonds.failures.accounting.tallies import list_outcomes
from fonds.failures.entries import FailureQuery
from fonds.failures.groups import LARGEST, FailureGroup, iter_group_details
from fonds.model.disposition import Reason
from fonds.model.rows import EntryRow, TallyRow
from fonds.model.tallies import COUNTED_AS, FAILURES_BY_DAY, format_day
from fonds.ports import Records

GROUPS_EXAMINED = (50, 200, 750)
"""So many groups that failed on a day are looked at, then so many more."""
GROUPS_EXAMINED_MAX = sum(GROUPS_EXAMINED)
NEW_GROUPS_MAX = 10


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
    return (
        group.first_at is not None and group.first_at.astimezone(UTC).date() >= _recent_days(now)[1]
    )


def find_new_groups(
    records: Records, query: FailureQuery, now: datetime, known_groups: Sequence[FailureGroup] = ()
) -> NewGroups:
    """The groups that are new at `now`. What is counted of a group on these two days is all there is of it,
    or it is not new: so counts are read and no failure is, but two of each group that is shown and is not
    among those `known_groups`."""
    today, yesterday = _recent_days(now)
    looked = _GroupSearch(records, query, yesterday)
    is_all = [looked.search_day(day) for day in (today, yesterday)]
    looked.new.sort(key=lambda one: (-one.began.toordinal(), -one.row.count, one.row.first))
    shown = [one.row for one in looked.new[:NEW_GROUPS_MAX]]
    told = {(one.pipeline, one.group): one for one in known_groups}
    for one in iter_group_details(records, [row for row in shown if _group_key(row) not in told]):
        told[one.pipeline, one.group] = one
    return NewGroups([told[_group_key(row)] for row in shown], len(looked.new), all(is_all))


def _recent_days(now: datetime) -> tuple[date, date]:
    today = now.astimezone(UTC).date()
    return today, today - timedelta(days=1)


_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _NewGroup:
    began: date
    row: TallyRow


@dataclass(slots=True)
class _GroupSearch:
    """The groups that were looked at, and those of them that are new."""

    records: Records
    query: FailureQuery
    yesterday: date
    new: list[_NewGroup] = field(default_factory=list)
    keys: set[_Key] = field(default_factory=set)

    def search_day(self, day: date) -> bool:
        """Look at those that failed on a day, today before yesterday; whether at all of them.

        The largest are looked at first, and one that failed on a single day is as large as its count on that
        day: once there are ten that began on it or later, none behind them would stand before the tenth.
        """
        where, after = _build_day_filter(day, self.query), None
        for size in GROUPS_EXAMINED:
            rows = list(
                self.records.find(TallyRow, where, order=LARGEST, after=after, count_max=size)
            )
            self._add_new_groups(
                day, [row for row in rows if row.count > 0 and _group_key(row) not in self.keys]
            )
            if len(rows) < size:
                return True
            if sum(one.began >= day for one in self.new) >= NEW_GROUPS_MAX:
                return False
            after = asdict(rows[-1])
        return False

    def _add_new_groups(self, day: date, rows: Sequence[TallyRow]) -> None:
        """Keep what is new among groups that failed on this day, and not on a later one."""
        lately = {_group_key(row): row.count for row in rows}
        began = dict.fromkeys(lately, day)
        if day > self.yesterday:
            for row in self._iter_group_tallies(
                lately, _build_day_filter(self.yesterday, self.query)
            ):
                lately[_group_key(row)] += row.count
                began[_group_key(row)] = self.yesterday
        self.keys |= lately.keys()
        for row in self._iter_group_tallies(lately, {"counted": COUNTED_AS}):
            if row.count == lately[_group_key(row)] and _matches_query(row, self.query):
                self.new.append(_NewGroup(began[_group_key(row)], row))

    def _iter_group_tallies(
        self, keys: Iterable[_Key], where: Mapping[str, object]
    ) -> Iterator[TallyRow]:
        """What is counted so of these groups."""
        of = defaultdict[str, list[str]](list)
        for pipeline, group in keys:
            of[pipeline].append(group)
        for pipeline, groups in sorted(of.items()):
            found = self.records.find(TallyRow, {**where, "pipeline": pipeline, "first": groups})
            yield from (row for row in found if row.count > 0)


def _group_key(row: TallyRow) -> _Key:
    return row.pipeline, row.first


def _build_day_filter(day: date, query: FailureQuery) -> dict[str, object]:
    """What failed on one day, by group. Asked for several days at once, SQLite would walk all there are."""
    where: dict[str, object] = {"counted": FAILURES_BY_DAY, "second": format_day(day)}
    where |= {"pipeline": query.pipeline} if query.pipeline else {}
    return where | ({"first": query.group} if query.group else {})


def _matches_query(row: TallyRow, query: FailureQuery) -> bool:
    return query.step in (None, row.second) and query.reason in (None, row.third)


def find_last_accepted(records: Records) -> EntryRow | None:
    """The failure that was accepted as final last; None when none ever was."""
    where = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    return next(iter(list_outcomes(records, where, count_max=1)), None)
