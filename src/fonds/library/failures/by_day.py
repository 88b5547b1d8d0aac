"""When the failures of a group failed, day by day, out of the counts the ledger keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from fonds.library.failures.groups import FailureGroup
from fonds.model.by_time import FAILURES_BY_DAY
from fonds.model.rows import TallyRow
from fonds.ports import Records

DAYS = 30


def failed_by_day(
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
