"""What came in day by day, out of the counts the ledger keeps, and the entries of some days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain

from fonds.library.accounting import Tally, summed
from fonds.model.by_time import ENTRIES_BY_DAY, INPUTS_BY_DAY
from fonds.model.rows import EntryRow, InputRow, TallyRow
from fonds.model.rows.row import Within
from fonds.ports import Records

LATEST = ("-entered_at", "-entry_id", "-pipeline")
"""The order the entries of some days are listed in."""
DAYS_ASKED = 400
"""Of more days than these all counts are read; of fewer theirs alone."""
_KINDS = (ENTRIES_BY_DAY, INPUTS_BY_DAY)
_TALLIED = {"outcome": "second", "reason": "third", "pipeline": "pipeline"}


@dataclass(frozen=True, slots=True)
class Days:
    """Days from `first` to `last`, both included, in UTC; None where there is no limit."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: str) -> bool:
        """Whether a day, YYYY-MM-DD, is one of them."""
        begins = self.first is None or day >= self.first.isoformat()
        return begins and (self.last is None or day <= self.last.isoformat())

    def within(self) -> Within:
        """Their moments."""
        first = datetime.combine(self.first or date.min, time.min, UTC)
        return Within(first, datetime.combine(self.last or date.max, time.max, UTC))

    def named(self) -> list[str] | None:
        """Each of them; None where they are without a limit, or more than 400."""
        if self.first is None or self.last is None or (self.last - self.first).days >= DAYS_ASKED:
            return None
        count = max(0, (self.last - self.first).days + 1)
        return [(self.first + timedelta(days=n)).isoformat() for n in range(count)]


def counted(
    records: Records, what: Sequence[str], days: Days, pipelines: Sequence[str], **where: object
) -> Iterator[TallyRow]:
    """The counts of some days (`ENTRIES_BY_DAY`, `INPUTS_BY_DAY`) in these pipelines."""
    named = days.named()
    asked = {"counted": list(what), "pipeline": list(pipelines), **where}
    for row in records.find(TallyRow, asked if named is None else {**asked, "first": named}):
        if row.first in days:
            yield row


def pipelines_counted(records: Records) -> list[str]:
    """Those anything entered, or was counted in."""
    where = {"counted": [EntryRow.TABLE, InputRow.TABLE]}
    return sorted(name for (name,) in records.count(TallyRow, ("pipeline",), where))


def tally_by_day(records: Records, days: Days, pipelines: Sequence[str]) -> dict[date, Tally]:
    """The tally of each of these days on which something came into these pipelines.

    Entries are of the day they entered; what inputs counted and did not emit is `dropped` on the day the
    input was last read.
    """
    ended: dict[str, Counter[tuple[str, str]]] = {}
    aside: dict[str, Counter[str]] = {}
    for row in counted(records, _KINDS, days, pipelines):
        if row.counted == ENTRIES_BY_DAY:
            ended.setdefault(row.first, Counter())[row.second, row.third] += row.count
        else:
            aside.setdefault(row.first, Counter())[row.second] += row.count
    return {
        date.fromisoformat(day): summed(ended.get(day, Counter()), aside.get(day, Counter()))
        for day in sorted(ended.keys() | aside.keys())
        if day
    }


def later_than(records: Records, last: date, pipelines: Sequence[str]) -> int:
    """How many came into these pipelines after a day, as a clock that was wrong may have said."""
    wheres = [{"counted": what, "pipeline": one} for one in pipelines for what in _KINDS]
    newest = records.first_of_each(TallyRow, wheres, ("-first",))
    if all(row is None or row.first <= last.isoformat() for row in newest):
        return 0
    behind = Days(last + timedelta(days=1), None)
    return sum(row.count for row in counted(records, _KINDS, behind, pipelines))


def count_entered(records: Records, days: Days, where: Mapping[str, object]) -> int:
    """How many entries of these days have these values of `outcome`, `reason` and `pipeline`, by the counts;
    what is pending has no reason yet. With other columns they are counted row by row.
    """
    if not where.keys() <= _TALLIED.keys():
        return records.count(EntryRow, (), {**where, "entered_at": days.within()})[()]
    return sum(row.count for row in _counts(records, days, where))


def _counts(records: Records, days: Days, where: Mapping[str, object]) -> Iterator[TallyRow]:
    asked = {_TALLIED[name]: value for name, value in where.items() if name != "pipeline"}
    one = where.get("pipeline")
    pipelines = [str(one)] if one else pipelines_counted(records)
    return counted(records, [ENTRIES_BY_DAY], days, pipelines, **asked)


def entered(
    records: Records,
    days: Days,
    where: Mapping[str, object],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int = 50,
) -> list[EntryRow]:
    """One page of the entries of these days that have these values, the latest first; `after` has the columns
    of `LATEST`, and the key, of the row behind which the page begins.
    """
    if "failure_group" in where or "step" in where:
        groups: Sequence[Mapping[str, object]] = [where]
    else:
        groups = _groups(records, days, where)
    asked = {"entered_at": days.within()}
    # In one group the index gives the rows in their order.
    some = [
        records.find(EntryRow, {**one, **asked}, order=LATEST, after=after, count_max=count_max)
        for one in groups
    ]
    return sorted(chain.from_iterable(some), key=_latest, reverse=True)[:count_max]


def _groups(records: Records, days: Days, where: Mapping[str, object]) -> list[dict[str, object]]:
    """The pipelines and outcomes that have any, each in the order of an index."""
    found = {(row.pipeline, row.second) for row in _counts(records, days, where) if row.count}
    return [
        {**where, "pipeline": pipeline, "outcome": outcome} for pipeline, outcome in sorted(found)
    ]


def _latest(row: EntryRow) -> tuple[datetime, str, str]:
    return row.entered_at, row.entry_id, row.pipeline
