"""Recent failures: failure groups that are new since yesterday, and the last failure accepted as
final.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta

from fonds.failures.accounting.tallies import list_outcomes
from fonds.failures.entries import FailureQuery
from fonds.failures.groups import LARGEST_FIRST, FailureGroup, iter_group_details
from fonds.model.disposition import Reason
from fonds.model.rows import EntryRow, TallyRow
from fonds.model.tallies import COUNTED_AS, FAILURES_BY_DAY, format_day
from fonds.ports import Records

GROUPS_EXAMINED = (50, 200, 750)
"""Sizes of the three batches in which the failure groups of one day are examined."""
GROUPS_EXAMINED_MAX = sum(GROUPS_EXAMINED)
NEW_GROUPS_MAX = 10


@dataclass(frozen=True, slots=True)
class NewGroups:
    """Failure groups whose failures are all from today or yesterday, in UTC.

    `groups`: the first ten groups. Those that began today come first, then the largest.
    `total`: number of new groups found.
    `is_all`: whether `total` is exact. Otherwise it is a lower bound: the search stops once ten new
        groups are found, or after 1,000 groups per day.
    """

    groups: Sequence[FailureGroup] = ()
    total: int = 0
    is_all: bool = True


def is_new(group: FailureGroup, now: datetime) -> bool:
    """Return whether all failures of a group are from today or yesterday, in UTC. `now`
    is aware.
    """
    return (
        group.first_at is not None and group.first_at.astimezone(UTC).date() >= _recent_days(now)[1]
    )


def find_new_groups(
    records: Records, query: FailureQuery, now: datetime, known_groups: Sequence[FailureGroup] = ()
) -> NewGroups:
    """Return the failure groups whose failures are all from today or yesterday, in UTC.

    `query`: filter for the failures.
    `now`: current time, aware.
    `known_groups`: groups already loaded, which are not read again.

    A group is new if its counts on these two days add up to its total count. So only stored counts
    are read, plus two entries for each returned group that is not in `known_groups`.
    """
    today, yesterday = _recent_days(now)
    search = _GroupSearch(records, query, yesterday)
    is_all = [search.search_day(day) for day in (today, yesterday)]
    search.new.sort(
        key=lambda new_group: (
            -new_group.began.toordinal(),
            -new_group.row.count,
            new_group.row.first,
        )
    )
    shown_rows = [new_group.row for new_group in search.new[:NEW_GROUPS_MAX]]
    groups = {
        (known_group.pipeline, known_group.group): known_group for known_group in known_groups
    }
    for new_group in iter_group_details(
        records, [row for row in shown_rows if _group_key(row) not in groups]
    ):
        groups[new_group.pipeline, new_group.group] = new_group
    return NewGroups([groups[_group_key(row)] for row in shown_rows], len(search.new), all(is_all))


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
    """Search for new failure groups: those whose failures are all from today or yesterday, in UTC.

    `query`: filter for the failures.
    `yesterday`: yesterday's date in UTC.
    `new`: the new groups found so far.
    `keys`: pipeline and id of all groups examined so far.
    """

    records: Records
    query: FailureQuery
    yesterday: date
    new: list[_NewGroup] = field(default_factory=list)
    keys: set[_Key] = field(default_factory=set)

    def search_day(self, day: date) -> bool:
        """Examine the failure groups with failures on a day. Return whether all these groups were
        examined.

        Call it first for today, then for yesterday. The largest groups are examined first. If all
        failures of a group are from one day, its count on that day is its size. So once ten groups
        that began on `day` or later are found, no further group can come before the tenth.
        """
        where, after = _build_day_filter(day, self.query), None
        for size in GROUPS_EXAMINED:
            rows = list(
                self.records.find(TallyRow, where, order=LARGEST_FIRST, after=after, count_max=size)
            )
            self._add_new_groups(
                day, [row for row in rows if row.count > 0 and _group_key(row) not in self.keys]
            )
            if len(rows) < size:
                return True
            if sum(new_group.began >= day for new_group in self.new) >= NEW_GROUPS_MAX:
                return False
            after = asdict(rows[-1])
        return False

    def _add_new_groups(self, day: date, rows: Sequence[TallyRow]) -> None:
        """Find the new groups among some failure groups, and add them to `new`.

        `rows`: the groups' counts of failures on `day`. The groups were not examined yet.

        A group is new if its failures of today and yesterday are all its failures.
        """
        recent_counts = {_group_key(row): row.count for row in rows}
        began = dict.fromkeys(recent_counts, day)
        if day > self.yesterday:
            for row in self._iter_group_tallies(
                recent_counts, _build_day_filter(self.yesterday, self.query)
            ):
                recent_counts[_group_key(row)] += row.count
                began[_group_key(row)] = self.yesterday
        self.keys |= recent_counts.keys()
        for row in self._iter_group_tallies(recent_counts, {"counted": COUNTED_AS}):
            if row.count == recent_counts[_group_key(row)] and _matches_query(row, self.query):
                self.new.append(_NewGroup(began[_group_key(row)], row))

    def _iter_group_tallies(
        self, keys: Iterable[_Key], where: Mapping[str, object]
    ) -> Iterator[TallyRow]:
        """Iterate over the stored counts above zero that match `where`, for failure groups given by
        pipeline and id.
        """
        groups_by_pipeline = defaultdict[str, list[str]](list)
        for pipeline, group in keys:
            groups_by_pipeline[pipeline].append(group)
        for pipeline, groups in sorted(groups_by_pipeline.items()):
            rows = self.records.find(TallyRow, {**where, "pipeline": pipeline, "first": groups})
            yield from (row for row in rows if row.count > 0)


def _group_key(row: TallyRow) -> _Key:
    return row.pipeline, row.first


def _build_day_filter(day: date, query: FailureQuery) -> dict[str, object]:
    """Return the filter for the stored counts of failures per group on one day.

    One query covers one day only: with several days, SQLite would scan all rows.
    """
    where: dict[str, object] = {"counted": FAILURES_BY_DAY, "second": format_day(day)}
    where |= {"pipeline": query.pipeline} if query.pipeline else {}
    return where | ({"first": query.group} if query.group else {})


def _matches_query(row: TallyRow, query: FailureQuery) -> bool:
    return query.step in (None, row.second) and query.reason in (None, row.third)


def find_last_accepted(records: Records) -> EntryRow | None:
    """Return the entry whose failure was accepted as final most recently; None if there is none."""
    where = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    return next(iter(list_outcomes(records, where, count_max=1)), None)
