"""Failures by what they have in common, out of the counts the ledger keeps: a page costs what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from fonds.failures.accounting.tallies import tally_conditions
from fonds.model.disposition import Reason
from fonds.model.rows import EntryRow, FailureNoteRow, TallyRow
from fonds.model.tallies import FAILURES_BY_DAY, find_host, normalize_cause
from fonds.ports import Records

LARGEST = ("-count",)
"""The order groups are listed in; the key decides among equal counts."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures of one pipeline, step, reason, cause and host. `first_at` and `last_at` are when the oldest
    and the newest of them failed, `sample` is the newest; these are None where the rows are gone since
    they were counted. `host` is "" where there is none, `note` what a person noted about the group.
    """

    group: str
    pipeline: str
    step: str
    reason: Reason
    cause: str
    host: str
    count: int
    first_at: datetime | None
    last_at: datetime | None
    sample: EntryRow | None
    note: FailureNoteRow | None = None


def list_group_tallies(
    records: Records,
    where: Mapping[str, object],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int | None = None,
) -> list[TallyRow]:
    """The counts of the groups with these of `failure_group`, `pipeline`, `step` and `reason`, the largest
    first; behind the row `after` has the columns of. Those of which none is left come last and are left out.
    """
    rows = records.find(
        TallyRow, tally_conditions(where), order=LARGEST, after=after, count_max=count_max
    )
    return [row for row in rows if row.count > 0]


def count_groups(records: Records, where: Mapping[str, object]) -> int:
    """How many groups there are."""
    counts = records.count(TallyRow, ("count",), tally_conditions(where))
    return sum(rows for (count,), rows in counts.items() if count > 0)


def iter_group_details(records: Records, rows: Sequence[TallyRow]) -> Iterator[FailureGroup]:
    """What the groups of these counts have in common, and since when: two rows of each are read."""
    wheres = [{"failure_group": row.first, "pipeline": row.pipeline} for row in rows]
    oldest = records.first_of_each(EntryRow, wheres, ("settled_at",))
    newest = records.first_of_each(EntryRow, wheres, ("-settled_at",))
    groups = [row.first for row in rows]
    # By one column: a pair for each of fifty takes longer to be made a statement of than to be answered.
    noted = records.find(FailureNoteRow, {"failure_group": groups}) if groups else ()
    notes = {(one.pipeline, one.failure_group): one for one in noted}
    for row, first, last in zip(rows, oldest, newest, strict=True):
        yield FailureGroup(
            group=row.first,
            pipeline=row.pipeline,
            step=row.second,
            reason=Reason(row.third),
            cause=normalize_cause(last.detail or "") if last else "",
            host=find_host(last.url) if last else "",
            count=row.count,
            first_at=first.settled_at if first else None,
            last_at=last.settled_at if last else None,
            sample=last,
            note=notes.get((row.pipeline, row.first)),
        )


# When the failures of a group failed, day by day, out of the counts the ledger keeps.


DAYS = 30


def count_failures_by_day(
    records: Records, groups: Sequence[FailureGroup], last: date
) -> Mapping[tuple[str, str], list[int]]:
    """By pipeline and group, how many of its failures failed on each of the 30 days until `last`, in UTC, the
    oldest first. What was retried or accepted since is in none of them. One query for all groups.
    """
    days = [(last - timedelta(days=ago)).isoformat() for ago in reversed(range(DAYS))]
    found = {(one.pipeline, one.group): [0] * DAYS for one in groups}
    if not groups:
        return found
    where = {
        "counted": FAILURES_BY_DAY,
        "pipeline": sorted({one.pipeline for one in groups}),
        "first": sorted({one.group for one in groups}),
        "second": days,
    }
    for row in records.find(TallyRow, where):
        if (row.pipeline, row.first) in found:
            found[row.pipeline, row.first][days.index(row.second)] += row.count
    return found
