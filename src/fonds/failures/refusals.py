"""Rejected (refused) entries: files that Fonds does not keep, such as unsupported types, counted by
reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fonds.failures.accounting.tallies import count_entries, list_outcomes
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import EntryRow
from fonds.ports import Records

TYPED_REASONS = frozenset({Reason.UNSUPPORTED_TYPE, Reason.IS_FEED, Reason.HTTP_STATUS})
"""Reasons of rejection whose detail is a media type or an HTTP status, not a sentence about one
file.
"""


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """Number of rejected entries with the same reason and the same media type or HTTP status."""

    reason: Annotated[Reason, Meta(description="reason of the rejection; see docs/reasons.md")]
    type: Annotated[
        str,
        Meta(description="media type or HTTP status of the records; empty if the reason has none"),
    ]
    count: Annotated[int, Meta(description="number of records")]


@dataclass(frozen=True, slots=True)
class RefusedRecords:
    """Numbers of rejected records: files that Fonds does not keep.

    `groups`: counts by reason and by media type or HTTP status, largest first; only records with an
        entry.
    `counted`: by reason, the number of records that sources counted without creating entries.
    """

    groups: Sequence[RefusedGroup]
    counted: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of rejected records that have an entry."""
        return sum(group.count for group in self.groups)


def build_refused_filter(
    pipeline: str | None, step: str | None, reason: str | None
) -> dict[str, object]:
    """Return the filter for rejected entries, as conditions on columns of the SQL table `entries`.

    A parameter that is None does not restrict the result.
    """
    reasons = [str(value) for value in Reason if value.weight is Weight.REJECTED]
    where: dict[str, object] = {
        "outcome": "dropped",
        "reason": [value for value in reasons if reason in (None, value)],
    }
    columns = {"pipeline": pipeline, "step": step}
    return where | {name: value for name, value in columns.items() if value}


def count_refused(
    records: Records,
    pipeline: str | None = None,
    step: str | None = None,
    reason: str | None = None,
) -> RefusedRecords:
    """Count the rejected records by reason and by media type or HTTP status.

    Records that sources counted without creating entries are counted by reason only. A parameter
    that is None does not restrict the result. With a `step`, records without entries are not
    counted, because they have no step.
    """
    counts: Counter[tuple[Reason, str]] = Counter()
    where = build_refused_filter(pipeline, step, reason)
    for (reason_name, detail), count in records.count(
        EntryRow, ("reason", "detail"), where
    ).items():
        refusal = Reason(reason_name)
        counts[refusal, (detail or "") if refusal in TYPED_REASONS else ""] += count
    groups = [
        RefusedGroup(reason_name, kind, count) for (reason_name, kind), count in counts.items()
    ]
    groups.sort(key=lambda group: (-group.count, group.reason, group.type))
    if step is not None:
        return RefusedRecords(groups, {})
    with_row: Counter[str] = Counter()
    for group in groups:
        with_row[group.reason] += group.count
    all_refused = Counter(count_entries(records, None, pipeline).filter_reasons(Weight.REJECTED))
    counted_rejections = {
        reason_name: count
        for reason_name, count in (all_refused - with_row).items()
        if reason in (None, reason_name)
    }
    return RefusedRecords(groups, counted_rejections)


def list_refused_entries(
    records: Records,
    pipeline: str | None,
    step: str | None,
    reason: str | None,
    count_max: int | None,
) -> list[EntryRow]:
    """Return the rejected entries with this pipeline, step and reason, the entry that ended last
    first.

    `pipeline`, `step` and `reason` of None do not restrict the result. At most `count_max` entries
    are returned; None returns all.
    """
    where = build_refused_filter(pipeline, step, reason)
    count = records.count(EntryRow, (), where)[()] if count_max is None else count_max
    return list_outcomes(records, where, count_max=count) if count else []
