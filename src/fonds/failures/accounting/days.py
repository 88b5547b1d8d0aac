"""Counts and lists of entries by the day on which they entered. Uses stored counts (tallies) where
possible.

Some inputs count records without creating an entry for each. Such records are counted here too.
"""

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

LATEST_FIRST = ("-entered_at", "-entry_id", "-pipeline")
"""Sort order of listed entries: the entry that entered last comes first."""
DAYS_MAX = 400
"""Maximum number of days that a query names one by one. For a longer range, the stored counts of
all days are read and filtered.
"""
_COUNTERS = (ENTRIES_BY_DAY, INPUTS_BY_DAY)
_TALLIED_COLUMNS = {"outcome": "second", "reason": "third", "pipeline": "pipeline"}


@dataclass(frozen=True, slots=True)
class DayRange:
    """Range of days in UTC from `first` to `last`, both included. None means no limit
    on that side.
    """

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: str) -> bool:
        """Return whether a day, as text YYYY-MM-DD, is in the range."""
        begins = self.first is None or day >= self.first.isoformat()
        return begins and (self.last is None or day <= self.last.isoformat())

    def build_time_range(self) -> TimeRange:
        """Return the range of times (aware UTC) from the start of the first day to the end of the
        last.
        """
        first = datetime.combine(self.first or date.min, time.min, UTC)
        return TimeRange(first, datetime.combine(self.last or date.max, time.max, UTC))

    def list_days(self) -> list[str] | None:
        """Return each day of the range as text YYYY-MM-DD.

        Returns None if `first` or `last` is None, or if the range is longer than 400 days.
        """
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
    """Yield the stored counts (tallies) of entries or inputs of these pipelines for a range of
    days.

    `counters`: names of the counts, such as `ENTRIES_BY_DAY` and `INPUTS_BY_DAY`.
    `where`: further conditions on columns of the tally rows.
    """
    day_names = days.list_days()
    where_tally = {"counted": list(counters), "pipeline": list(pipelines), **where}
    for row in records.find(
        TallyRow, where_tally if day_names is None else {**where_tally, "first": day_names}
    ):
        if row.first in days:
            yield row


def list_pipelines(records: Records) -> list[str]:
    """Return the sorted names of the pipelines that have stored counts of entries or inputs."""
    where = {"counted": [EntryRow.TABLE, InputRow.TABLE]}
    return sorted(name for (name,) in records.count(TallyRow, ("pipeline",), where))


def build_daily_tallies(
    records: Records, days: DayRange, pipelines: Sequence[str]
) -> dict[date, OutcomeTally]:
    """Return the numbers of entries by outcome for each day on which anything entered these
    pipelines.

    An entry counts on the day on which it entered. Records that an input counted without creating
    entries count as `dropped`, on the day on which the input was last read.
    """
    outcomes_by_day: dict[str, Counter[tuple[str, str]]] = {}
    without_entries: dict[str, Counter[str]] = {}
    for row in iter_daily_tallies(records, _COUNTERS, days, pipelines):
        if row.counted == ENTRIES_BY_DAY:
            outcomes_by_day.setdefault(row.first, Counter())[row.second, row.third] += row.count
        else:
            without_entries.setdefault(row.first, Counter())[row.second] += row.count
    return {
        date.fromisoformat(day): build_tally(
            outcomes_by_day.get(day, Counter()), without_entries.get(day, Counter())
        )
        for day in sorted(outcomes_by_day.keys() | without_entries.keys())
        if day
    }


def count_after(records: Records, last: date, pipelines: Sequence[str]) -> int:
    """Return how many entries, and records counted without entries, entered these pipelines after
    the day `last`.

    If `last` is today, the number is above 0 only if a clock was wrong.
    """
    filters = [
        {"counted": counter, "pipeline": pipeline}
        for pipeline in pipelines
        for counter in _COUNTERS
    ]
    newest = records.first_of_each(TallyRow, filters, ("-first",))
    if all(row is None or row.first <= last.isoformat() for row in newest):
        return 0
    later_days = DayRange(last + timedelta(days=1), None)
    return sum(row.count for row in iter_daily_tallies(records, _COUNTERS, later_days, pipelines))


def count_entered(records: Records, days: DayRange, where: Mapping[str, object]) -> int:
    """Count the entries that entered on these days and match the filter `where`.

    Filters on `outcome`, `reason` and `pipeline` use the stored counts, in which pending entries
    have no reason yet. With a filter on any other column, the rows of the SQL table `entries` are
    counted.
    """
    if not where.keys() <= _TALLIED_COLUMNS.keys():
        return records.count(EntryRow, (), {**where, "entered_at": days.build_time_range()})[()]
    return sum(row.count for row in _iter_counts(records, days, where))


def _iter_counts(
    records: Records, days: DayRange, where: Mapping[str, object]
) -> Iterator[TallyRow]:
    tally_filter = {
        _TALLIED_COLUMNS[name]: value for name, value in where.items() if name != "pipeline"
    }
    pipeline = where.get("pipeline")
    pipelines = [str(pipeline)] if pipeline else list_pipelines(records)
    return iter_daily_tallies(records, [ENTRIES_BY_DAY], days, pipelines, **tally_filter)


def list_entered(
    records: Records,
    days: DayRange,
    where: Mapping[str, object],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int = 50,
) -> list[EntryRow]:
    """Return one page of the entries that entered on these days and match `where`, latest first.

    `after`: sort and key columns of the last entry of the previous page; None for the first page.
    `count_max`: maximum number of entries on the page.
    """
    if "failure_group" in where or "step" in where:
        groups: Sequence[Mapping[str, object]] = [where]
    else:
        groups = _list_groups(records, days, where)
    time_filter = {"entered_at": days.build_time_range()}
    # Within one filter, an index of the database returns the rows in this order.
    pages = [
        records.find(
            EntryRow, {**group, **time_filter}, order=LATEST_FIRST, after=after, count_max=count_max
        )
        for group in groups
    ]
    return sorted(chain.from_iterable(pages), key=_latest_key, reverse=True)[:count_max]


def _list_groups(
    records: Records, days: DayRange, where: Mapping[str, object]
) -> list[dict[str, object]]:
    """Split the filter `where` by pipeline and outcome: return one filter for each pair with
    matching entries.

    With one of these filters, a database index sorts the entries by time.
    """
    pairs = {(row.pipeline, row.second) for row in _iter_counts(records, days, where) if row.count}
    return [
        {**where, "pipeline": pipeline, "outcome": outcome} for pipeline, outcome in sorted(pairs)
    ]


def _latest_key(row: EntryRow) -> tuple[datetime, str, str]:
    return row.entered_at, row.entry_id, row.pipeline


# Records that sources counted without creating an entry for each


INPUTS_SEARCHED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class UncapturedCounts:
    """Counts of records that inputs counted without creating an entry for each.

    `total`: number of such records in all inputs.
    `inputs_count`: number of examined inputs that have such records.
    `inputs`: up to 50 inputs with the most such records, each with its count.
    `complete`: False if further inputs may have such records. Only the 1,000 inputs with the
        largest counts are examined.
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
    """Count the records that inputs counted without creating an entry for each.

    `reasons`: reasons to count; None for all.
    `pipeline`: pipeline of the inputs; None for all.
    `days`: days on which the inputs were last read; None for all.
    """
    if reasons is not None and not reasons:
        return UncapturedCounts()
    total = _sum_uncaptured(records, reasons, pipeline, days)
    if not total:
        return UncapturedCounts()
    input_counts = []
    order = ("-tally_count", "input_id")
    pipeline_filter = {} if pipeline is None else {"pipeline": pipeline}
    where = (
        pipeline_filter if days is None else {**pipeline_filter, "updated": days.build_time_range()}
    )
    rows = list(records.find(InputRow, where, order=order, count_max=INPUTS_SEARCHED_MAX + 1))
    for row in rows[:INPUTS_SEARCHED_MAX]:
        if row.tally_count == 0:
            break
        count = sum(n for name, n in row.tally.items() if reasons is None or name in reasons)
        if count:
            input_counts.append((row, count))
    largest = sorted(input_counts, key=lambda input_count: -input_count[1])[:INPUTS_MAX]
    complete = len(rows) <= INPUTS_SEARCHED_MAX or rows[-1].tally_count == 0
    return UncapturedCounts(total, len(input_counts), largest, complete)


def _sum_uncaptured(
    records: Records, reasons: Collection[str] | None, pipeline: str | None, days: DayRange | None
) -> int:
    pipeline_filter = {} if pipeline is None else {"pipeline": pipeline}
    if days is None:
        reason_filter = {} if reasons is None else {"first": list(reasons)}
        rows = records.find(
            TallyRow, {"counted": InputRow.TABLE, **reason_filter, **pipeline_filter}
        )
    else:
        reason_filter = {} if reasons is None else {"second": list(reasons)}
        pipelines = [pipeline] if pipeline else list_pipelines(records)
        rows = iter_daily_tallies(records, [INPUTS_BY_DAY], days, pipelines, **reason_filter)
    return sum(row.count for row in rows)
