"""Groups of similar failures, read from stored counts of failures. A page of groups reads entries
only for the groups it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated

from msgspec import Meta

from fonds.failures.accounting.tallies import build_tally_conditions
from fonds.model.disposition import Reason
from fonds.model.rows import EntryRow, FailureNoteRow, TallyRow
from fonds.model.tallies import FAILURES_BY_DAY, find_host, normalize_cause
from fonds.ports import Records

LARGEST_FIRST = ("-count",)
"""Sort order of failure groups: largest count first. The primary key breaks ties."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Group of failures with the same pipeline, step, reason, cause and host.

    The cause is the detail of a failure without numbers, URLs, paths and hashes.
    """

    group: Annotated[str, Meta(description="id of the group, for --group")]
    pipeline: Annotated[str, Meta(description="pipeline of the failures")]
    step: Annotated[str, Meta(description="step that failed")]
    reason: Annotated[Reason, Meta(description="reason of the failures; see docs/reasons.md")]
    cause: Annotated[str, Meta(description="what the details have in common")]
    host: Annotated[str, Meta(description="host of the URLs; empty for none")]
    count: Annotated[int, Meta(description="number of failures")]
    first_at: Annotated[
        datetime | None, Meta(description="when the oldest failed; null if its row is gone")
    ]
    last_at: Annotated[
        datetime | None, Meta(description="when the newest failed; null if its row is gone")
    ]
    sample: Annotated[EntryRow | None, Meta(description="newest failure; null if its row is gone")]
    note: Annotated[FailureNoteRow | None, Meta(description="note of a person about the group")] = (
        None
    )


def list_group_tallies(
    records: Records,
    where: Mapping[str, object],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int | None = None,
) -> list[TallyRow]:
    """Return the stored counts of the failure groups that match `where`, largest count first.

    `where`: filter; its keys may be `failure_group`, `pipeline`, `step` and `reason`.
    `after`: columns of the last count of the previous page; None for the first page.
    `count_max`: maximum number of counts; None for all.

    Groups without remaining failures are left out.
    """
    rows = records.find(
        TallyRow,
        build_tally_conditions(where),
        order=LARGEST_FIRST,
        after=after,
        count_max=count_max,
    )
    return [row for row in rows if row.count > 0]


def count_groups(records: Records, where: Mapping[str, object]) -> int:
    """Return the number of failure groups that match `where` and have failures left."""
    counts = records.count(TallyRow, ("count",), build_tally_conditions(where))
    return sum(rows for (count,), rows in counts.items() if count > 0)


def iter_group_details(records: Records, rows: Sequence[TallyRow]) -> Iterator[FailureGroup]:
    """Yield the failure group of each stored count, with cause, host, times, newest failure and
    note.

    `rows`: stored counts, one per failure group.

    Reads two entries per group: the oldest and the newest failure.
    """
    filters = [{"failure_group": row.first, "pipeline": row.pipeline} for row in rows]
    oldest = records.first_of_each(EntryRow, filters, ("settled_at",))
    newest = records.first_of_each(EntryRow, filters, ("-settled_at",))
    groups = [row.first for row in rows]
    # Filter on the group only: with fifty pairs of pipeline and group, building the SQL statement
    # takes longer than running it.
    note_rows = records.find(FailureNoteRow, {"failure_group": groups}) if groups else ()
    notes = {(note.pipeline, note.failure_group): note for note in note_rows}
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


# Failures by day, from the stored counts of the ledger


DAYS = 30


def count_failures_by_day(
    records: Records, groups: Sequence[FailureGroup], last: date
) -> Mapping[tuple[str, str], list[int]]:
    """Count the failures of each group on each of the 30 days until `last`, in UTC.

    Returns a mapping from pipeline and group id to the daily counts, oldest day first. Failures
    that have been retried or accepted are not counted. One query covers all groups.
    """
    days = [(last - timedelta(days=ago)).isoformat() for ago in reversed(range(DAYS))]
    counts = {(group.pipeline, group.group): [0] * DAYS for group in groups}
    if not groups:
        return counts
    where = {
        "counted": FAILURES_BY_DAY,
        "pipeline": sorted({group.pipeline for group in groups}),
        "first": sorted({group.group for group in groups}),
        "second": days,
    }
    for row in records.find(TallyRow, where):
        if (row.pipeline, row.first) in counts:
            counts[row.pipeline, row.first][days.index(row.second)] += row.count
    return counts
