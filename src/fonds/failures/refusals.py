"""Refused records: whole files that Fonds does not keep, by reason and type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.failures.accounting.tallies import count_entries, list_outcomes
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import EntryRow
from fonds.ports import Records

TYPED = frozenset({Reason.UNSUPPORTED_TYPE, Reason.IS_FEED, Reason.HTTP_STATUS})
"""The reasons whose detail is a type or a status, and not a sentence about one record."""


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """Refused records of one reason and type. `type` is '' where the reason names none."""

    reason: Reason
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class RefusedRecords:
    """Refused records by reason and type, the most first.

    `counted` has records by reason that sources counted without keeping a row for each.
    """

    groups: Sequence[RefusedGroup]
    counted: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of refused records that have a row."""
        return sum(group.count for group in self.groups)


def build_refused_filter(
    pipeline: str | None, step: str | None, reason: str | None
) -> dict[str, object]:
    """Return the columns of the entries that were refused; None does not narrow."""
    reasons = [str(one) for one in Reason if one.weight is Weight.REFUSED]
    where: dict[str, object] = {
        "outcome": "dropped",
        "reason": [one for one in reasons if reason in (None, one)],
    }
    named = {"pipeline": pipeline, "step": step}
    return where | {name: one for name, one in named.items() if one}


def count_refused(
    records: Records,
    pipeline: str | None = None,
    step: str | None = None,
    reason: str | None = None,
) -> RefusedRecords:
    """Count the refused records by reason and type."""
    counts: Counter[tuple[Reason, str]] = Counter()
    where = build_refused_filter(pipeline, step, reason)
    for (why, detail), count in records.count(EntryRow, ("reason", "detail"), where).items():
        one = Reason(why)
        counts[one, (detail or "") if one in TYPED else ""] += count
    groups = [RefusedGroup(why, kind, count) for (why, kind), count in counts.items()]
    groups.sort(key=lambda group: (-group.count, group.reason, group.type))
    if step is not None:
        return RefusedRecords(groups, {})
    with_row: Counter[str] = Counter()
    for group in groups:
        with_row[group.reason] += group.count
    all_refused = Counter(count_entries(records, None, pipeline).filter_reasons(Weight.REFUSED))
    counted = {why: n for why, n in (all_refused - with_row).items() if reason in (None, why)}
    return RefusedRecords(groups, counted)


def list_refused_entries(
    records: Records,
    pipeline: str | None,
    step: str | None,
    reason: str | None,
    count_max: int | None,
) -> list[EntryRow]:
    """Return the refused records, newest first."""
    where = build_refused_filter(pipeline, step, reason)
    count = records.count(EntryRow, (), where)[()] if count_max is None else count_max
    return list_outcomes(records, where, count_max=count) if count else []
