"""What came in day by day, out of the counts the ledger keeps, and the entries of some days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain

from fonds.failures.accounting.tallies import INPUTS_MAX, OutcomeTally, build_tally
from fonds.model.rows import EntryRow, InputRow, TallyRow
from fonds.model.rows.row import TimeRange
from fonds.model.tallies import ENTRIES_BY_DAY, INPUTS_BY_DAY
from fonds.ports import Records

LATEST = ("-entered_at", "-entry_id", "-pipeline")
"""The order the entries of some days are listed in."""
DAYS_MAX = 400
"""Of more days than these all counts are read; of fewer theirs alone."""
_KINDS = (ENTRIES_BY_DAY, INPUTS_BY_DAY)
_TALLIED = {"outcome": "second", "reason": "third", "pipeline": "pipeline"}


@dataclass(frozen=True, slots=True)
class DayRange:
    """Days from `first` to `last`, both included, in UTC; None where there is no limit."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: str) -> bool:
        """Whether a day, YYYY-MM-DD, is one of them."""
        begins = self.first is None or day >= self.first.isoformat()
        return begins and (self.last is None or day <= self.last.isoformat())

    def build_time_range(self) -> TimeRange:
        """Their moments."""
        first = datetime.combine(self.first or date.min, time.min, UTC)
        return TimeRange(first, datetime.combine(self.last or date.max, time.max, UTC))

    def list_days(self) -> list[str] | None:
        """Each of them; None where they are without a limit, or more than 400."""
        if self.first is None or self.last is None or (self.last - self.first).days >= DAYS_MAX:
            return None
        count = max(0, (self.last - self.first).days + 1)
        return [(self.first + timedelta(days=n)).isoformat() for n in range(count)]


def iter_daily_tallies(
    records: Records,
    counters: Sequence[str],
    days: DayRange,
    pipelines: Sequence[str],
    **where: object,
) -> Iterator[TallyRow]:
    """The counts of some days (`ENTRIES_BY_DAY`, `INPUTS_BY_DAY`) in these pipelines."""
    named = days.list_days()
    asked = {"counted": list(counters), "pipeline": list(pipelines), **where}
    for row in records.find(TallyRow, asked if named is None else {**asked, "first": named}):
        if row.first in days:
            yield row


def list_pipelines(records: Records) -> list[str]:
    """Those anything entered, or was counted in."""
    where = {"counted": [EntryRow.TABLE, InputRow.TABLE]}
    return sorted(name for (name,) in records.count(TallyRow, ("pipeline",), where))


def build_daily_tallies(
    records: Records, days: DayRange, pipelines: Sequence[str]
) -> dict[date, OutcomeTally]:
    """The tally of each of these days on which something came into these pipelines.

    Entries are of the day they entered; what inputs counted and did not emit is `dropped` on the day the
    input was last read.
    """
    ended: dict[str, Counter[tuple[str, str]]] = {}
    aside: dict[str, Counter[str]] = {}
    for row in iter_daily_tallies(records, _KINDS, days, pipelines):
        if row.counted == ENTRIES_BY_DAY:
            ended.setdefault(row.first, Counter())[row.second, row.third] += row.count
        else:
            aside.setdefault(row.first, Counter())[row.second] += row.count
    return {
        date.fromisoformat(day): build_tally(ended.get(day, Counter()), aside.get(day, Counter()))
        for day in sorted(ended.keys() | aside.keys())
        if day
    }


def count_after(records: Records, last: date, pipelines: Sequence[str]) -> int:
    """How many came into these pipelines after a day, as a clock that was wrong may have said."""
    wheres = [{"counted": what, "pipeline": one} for one in pipelines for what in _KINDS]
    newest = records.first_of_each(TallyRow, wheres, ("-first",))
    if all(row is None or row.first <= last.isoformat() for row in newest):
        return 0
    behind = DayRange(last + timedelta(days=1), None)
    return sum(row.count for row in iter_daily_tallies(records, _KINDS, behind, pipelines))


def count_entered(records: Records, days: DayRange, where: Mapping[str, object]) -> int:
    """How many entries of these days have these values of `outcome`, `reason` and `pipeline`, by the counts;
    what is pending has no reason yet. With other columns they are counted row by row.
    """
    if not where.keys() <= _TALLIED.keys():
        return records.count(EntryRow, (), {**where, "entered_at": days.build_time_range()})[()]
    return sum(row.count for row in _iter_counts(records, days, where))


def _iter_counts(
    records: Records, days: DayRange, where: Mapping[str, object]
) -> Iterator[TallyRow]:
    asked = {_TALLIED[name]: value for name, value in where.items() if name != "pipeline"}
    one = where.get("pipeline")
    pipelines = [str(one)] if one else list_pipelines(records)
    return iter_daily_tallies(records, [ENTRIES_BY_DAY], days, pipelines, **asked)


def list_entered(
    records: Records,
    days: DayRange,
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
        groups = _list_groups(records, days, where)
    asked = {"entered_at": days.build_time_range()}
    # In one group the index gives the rows in their order.
    some = [
        records.find(EntryRow, {**one, **asked}, order=LATEST, after=after, count_max=count_max)
        for one in groups
    ]
    return sorted(chain.from_iterable(some), key=_latest_key, reverse=True)[:count_max]


def _list_groups(
    records: Records, days: DayRange, where: Mapping[str, object]
) -> list[dict[str, object]]:
    """The pipelines and outcomes that have any, each in the order of an index."""
    found = {(row.pipeline, row.second) for row in _iter_counts(records, days, where) if row.count}
    return [
        {**where, "pipeline": pipeline, "outcome": outcome} for pipeline, outcome in sorted(found)
    ]


def _latest_key(row: EntryRow) -> tuple[datetime, str, str]:
    return row.entered_at, row.entry_id, row.pipeline


# What sources counted and did not keep one by one.


INPUTS_SEARCHED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class UncapturedCounts:
    """What sources counted and did not keep one by one.

    `inputs` are those with the most, at most 50, out of `inputs_count`. Only the thousand inputs with the
    largest tallies are looked at; `complete` is False when there are more, which may have some too.
    """

    total: int = 0
    inputs_count: int = 0
    inputs: Sequence[tuple[InputRow, int]] = ()
    complete: bool = True


def count_uncaptured(
    records: Records,
    reasons: Collection[str] | None = None,
    pipeline: str | None = None,
    days: DayRange | None = None,
) -> UncapturedCounts:
    """The tallies of all inputs, or of those last read on some days, for some reasons or (None) for all."""
    if reasons is not None and not reasons:
        return UncapturedCounts()
    total = _sum_uncaptured(records, reasons, pipeline, days)
    if not total:
        return UncapturedCounts()
    found = []
    order = ("-tally_count", "input_id")
    of = {} if pipeline is None else {"pipeline": pipeline}
    where = of if days is None else {**of, "updated": days.build_time_range()}
    rows = list(records.find(InputRow, where, order=order, count_max=INPUTS_SEARCHED_MAX + 1))
    for row in rows[:INPUTS_SEARCHED_MAX]:
        if row.tally_count == 0:
            break
        count = sum(n for name, n in row.tally.items() if reasons is None or name in reasons)
        if count:
            found.append((row, count))
    largest = sorted(found, key=lambda one: -one[1])[:INPUTS_MAX]
    complete = len(rows) <= INPUTS_SEARCHED_MAX or rows[-1].tally_count == 0
    return UncapturedCounts(total, len(found), largest, complete)


def _sum_uncaptured(
    records: Records, reasons: Collection[str] | None, pipeline: str | None, days: DayRange | None
) -> int:
    of = {} if pipeline is None else {"pipeline": pipeline}
    if days is None:
        chosen = {} if reasons is None else {"first": list(reasons)}
        rows = records.find(TallyRow, {"counted": InputRow.TABLE, **chosen, **of})
    else:
        chosen = {} if reasons is None else {"second": list(reasons)}
        pipelines = [pipeline] if pipeline else list_pipelines(records)
        rows = iter_daily_tallies(records, [INPUTS_BY_DAY], days, pipelines, **chosen)
    return sum(row.count for row in rows)
