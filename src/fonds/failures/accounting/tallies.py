"""Counts and lists of entries by outcome, reason and step. Uses stored counts (tallies) instead of
counting rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fonds.model.disposition import Reason, Verdict, Weight
from fonds.model.rows import (
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    TallyRow,
)
from fonds.model.rows.row import Prefix
from fonds.model.tallies import COUNTED_AS
from fonds.ports import Records

INPUTS_A_QUERY = 500
INPUTS_MAX = 50
_ENTRY_COLUMNS = {"step": "third", "reason": "second", "pipeline": "pipeline"}
_COLUMNS = {"failure_group": "first", "step": "second", "reason": "third", "pipeline": "pipeline"}


class OutcomeTally(msgspec.Struct, frozen=True, rename={"received": "in"}):
    """Counts of entries by outcome.

    `received` is always the sum of done, dropped, quarantined and pending. The fields `dropped`,
    `quarantined` and `without_text` have counts by reason.
    """

    received: Annotated[int, Meta(description="entries received: the sum of the next four")] = 0
    done: Annotated[int, Meta(description="entries that were processed and stored")] = 0
    dropped: Annotated[Mapping[str, int], Meta(description="entries dropped, by reason")] = (
        msgspec.field(default_factory=dict)
    )
    quarantined: Annotated[
        Mapping[str, int], Meta(description="entries in quarantine, by reason")
    ] = msgspec.field(default_factory=dict)
    pending: Annotated[int, Meta(description="entries in progress")] = 0
    without_text: Annotated[
        Mapping[str, int], Meta(description="entries of `done` without searchable text, by reason")
    ] = msgspec.field(default_factory=dict)

    @property
    def searchable_count(self) -> int:
        """Number of entries that were kept and have searchable text."""
        return self.done - sum(self.without_text.values())

    @property
    def is_balanced(self) -> bool:
        """Whether each received entry has exactly one outcome."""
        ended_count = self.done + sum(self.dropped.values()) + sum(self.quarantined.values())
        return self.received == ended_count + self.pending

    def filter_reasons(self, weight: Weight) -> dict[str, int]:
        """Return the number of entries by reason, for the reasons of one weight (severity).

        `weight`: stored without text, skipped, rejected or failed.

        The largest count is first.
        """
        counts = Counter(self.dropped) + Counter(self.quarantined) + Counter(self.without_text)
        return {name: n for name, n in counts.most_common() if Reason(name).weight is weight}


@dataclass(frozen=True, slots=True)
class StepFailures:
    """Number of quarantined entries with the same pipeline, step and reason, and one of these
    entries.

    `count`: number of entries.
    `sample`: the entry that ended last; None if none was found.
    """

    pipeline: str
    step: str
    reason: Reason
    count: int
    sample: EntryRow | None


def count_entries(
    records: Records, input_ids: Sequence[str] | None = None, pipeline: str | None = None
) -> OutcomeTally:
    """Count entries by outcome.

    `input_ids`: inputs whose entries are counted; None for all inputs.
    `pipeline`: pipeline of the entries; None for all pipelines.

    Records that inputs counted without creating entries count as `dropped`.
    """
    pipeline_filter = _build_pipeline_filter(pipeline)
    return build_tally(
        *(
            _count_all(records, pipeline_filter)
            if input_ids is None
            else _count_inputs(records, input_ids, pipeline_filter)
        )
    )


def count_given_entries(records: Records, keys: Sequence[tuple[str, str]]) -> OutcomeTally:
    """Count by outcome the entries with these keys (pairs of entry id and pipeline)."""
    outcome_counts: Counter[tuple[str, str]] = Counter()
    for start in range(0, len(keys), INPUTS_A_QUERY):
        for row in records.get(EntryRow, keys[start : start + INPUTS_A_QUERY]):
            outcome_counts[row.outcome, row.reason or ""] += 1
    return build_tally(outcome_counts, Counter())


def add_tallies(tally: OutcomeTally, other_tally: OutcomeTally) -> OutcomeTally:
    """Return the sum of two counts of entries by outcome. No entry may be in both counts."""
    return OutcomeTally(
        tally.received + other_tally.received,
        tally.done + other_tally.done,
        dict(Counter(tally.dropped) + Counter(other_tally.dropped)),
        dict(Counter(tally.quarantined) + Counter(other_tally.quarantined)),
        tally.pending + other_tally.pending,
        dict(Counter(tally.without_text) + Counter(other_tally.without_text)),
    )


def build_tally(outcome_counts: Counter[tuple[str, str]], counts: Counter[str]) -> OutcomeTally:
    """Build the counts of entries by outcome.

    `outcome_counts`: number of entries by outcome and reason.
    `counts`: number of records without entries, by reason; they count as `dropped`.
    """
    dropped_counts = counts + Counter(
        {
            reason: n
            for (outcome, reason), n in outcome_counts.items()
            if outcome == "dropped" and reason
        }
    )
    quarantined_counts = Counter(
        {
            reason: n
            for (outcome, reason), n in outcome_counts.items()
            if outcome == "quarantined" and reason
        }
    )
    without_text = Counter(
        {
            reason: n
            for (outcome, reason), n in outcome_counts.items()
            if outcome == "done" and reason
        }
    )
    return OutcomeTally(
        received=outcome_counts.total() + counts.total(),
        done=sum(n for (outcome, _), n in outcome_counts.items() if outcome == "done"),
        dropped=dict(sorted((+dropped_counts).items())),
        quarantined=dict(sorted((+quarantined_counts).items())),
        pending=sum(n for (outcome, _), n in outcome_counts.items() if outcome == "pending"),
        without_text=dict(sorted((+without_text).items())),
    )


def _count_all(
    records: Records, pipeline_filter: Mapping[str, object]
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    outcome_counts: Counter[tuple[str, str]] = Counter()
    reason_counts: Counter[str] = Counter()
    for row in _iter_tallies(records, EntryRow, **pipeline_filter):
        outcome_counts[row.first, row.second] += row.count
    for row in _iter_tallies(records, InputRow, **pipeline_filter):
        reason_counts[row.first] += row.count
    return outcome_counts, reason_counts


def _iter_tallies(records: Records, kind: type[Any], **where: object) -> Iterator[TallyRow]:
    return records.find(TallyRow, {"counted": kind.TABLE, **where})


def _count_inputs(
    records: Records, input_ids: Sequence[str], pipeline_filter: Mapping[str, object]
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    outcome_counts: Counter[tuple[str, str]] = Counter()
    reason_counts: Counter[str] = Counter()
    for start in range(0, len(input_ids), INPUTS_A_QUERY):
        where = {"input_id": list(input_ids[start : start + INPUTS_A_QUERY]), **pipeline_filter}
        for (outcome, reason), count in records.count(
            EntryRow, ("outcome", "reason"), where
        ).items():
            outcome_counts[outcome, reason or ""] += count
        for row in records.find(InputRow, where):
            reason_counts.update(row.tally)
    return outcome_counts, reason_counts


def count_files_by_type(records: Records) -> list[tuple[str, int]]:
    """Return the number of distinct files of each media type, most frequent type first."""
    counts = [(row.first, row.count) for row in _iter_tallies(records, FileMetaRow) if row.count]
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def count_step_failures(records: Records, pipeline: str | None = None) -> list[StepFailures]:
    """Return the number of quarantined entries by pipeline, step and reason, with the newest entry
    of each, largest number first.

    `pipeline` None means all pipelines.
    """
    rows = [
        row
        for row in _iter_tallies(
            records, EntryRow, first="quarantined", **_build_pipeline_filter(pipeline)
        )
        if row.count
    ]
    rows.sort(key=lambda row: (-row.count, row.pipeline, row.third, row.second))
    filters = [
        {"pipeline": row.pipeline, "outcome": row.first, "reason": row.second, "step": row.third}
        for row in rows
    ]
    samples = records.first_of_each(EntryRow, filters, NEWEST_FIRST)
    return [
        StepFailures(row.pipeline, row.third, Reason(row.second), row.count, sample)
        for row, sample in zip(rows, samples, strict=True)
    ]


def _build_pipeline_filter(pipeline: str | None) -> dict[str, object]:
    return {} if pipeline is None else {"pipeline": pipeline}


_TALLIED_COLUMNS = {"outcome": "first", "reason": "second", "step": "third", "pipeline": "pipeline"}
"""Columns of entries that the stored counts distinguish, each mapped to the column of the tally row
with its value.
"""
_GROUPED_COLUMNS = frozenset({"failure_group", "step", "reason", "pipeline"})


def count_outcomes(records: Records, where: Mapping[str, object]) -> int:
    """Count the entries that match the filter `where`.

    Filters on `outcome`, `reason`, `step` and `pipeline` use the stored counts. Pending entries
    have no reason and no step yet. Entries with a `failure_group` are in quarantine. With a filter
    on any other column, the rows of the SQL table `entries` are counted.
    """
    if "failure_group" in where and where.keys() <= _GROUPED_COLUMNS:
        return count_failures(records, where)
    if not where.keys() <= _TALLIED_COLUMNS.keys():
        return records.count(EntryRow, (), where)[()]
    return sum(row.count for row in _iter_counts(records, where))


def _iter_counts(records: Records, where: Mapping[str, object]) -> Iterator[TallyRow]:
    return _iter_tallies(
        records, EntryRow, **{_TALLIED_COLUMNS[name]: value for name, value in where.items()}
    )


def list_outcomes(
    records: Records,
    where: Mapping[str, object],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int = 50,
) -> list[EntryRow]:
    """Return one page of the entries that match the filter `where`, the entry that ended last
    first.

    `after`: sort and key columns of the last row of the previous page; None for the first page.
    `count_max`: maximum number of entries on the page.
    """
    groups = _list_groups(records, where) if where.keys() <= _TALLIED_COLUMNS.keys() else [where]
    return list_outcomes_of_any(records, groups, after=after, count_max=count_max)


def list_outcomes_of_any(
    records: Records,
    filters: Sequence[Mapping[str, object]],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int = 50,
) -> list[EntryRow]:
    """Return one page of the entries that match any of `filters`, the entry that ended last first.

    No entry may match two filters.

    `after`: sort and key columns of the last row of the previous page; None for the first page.
    `count_max`: maximum number of entries on the page.
    """
    # Within one filter, an index of the database returns the rows in order. One query for all
    # filters would sort all matching rows.
    pages = [
        records.find(EntryRow, group, order=NEWEST_FIRST, after=after, count_max=count_max)
        for group in filters
    ]
    return sorted(chain.from_iterable(pages), key=_newest_key)[:count_max]


def _list_groups(records: Records, where: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Split the filter `where` for entries into filters that each fix pipeline and outcome, so that
    a database index sorts the rows.

    Only combinations with matching entries are returned. Reason and step are fixed too if `where`
    has one of them.
    """
    by_reason = not where.keys().isdisjoint({"reason", "step"})
    groups: dict[tuple[str, ...], Mapping[str, object]] = {}
    for row in _iter_counts(records, where):
        group: dict[str, object] = {"pipeline": row.pipeline, "outcome": row.first}
        if by_reason:
            group |= {"reason": row.second or None, "step": row.third or None}
        if row.count:
            groups[tuple(map(str, group.values()))] = group
    return list(groups.values())


NEWEST_FIRST = ("-settled_at", "entry_id")
"""Sort order of listed entries: the entry that ended last comes first."""


def _newest_key(row: EntryRow) -> tuple[float, str, str]:
    """Return the sort key of an entry for the order of `NEWEST_FIRST`: the entry that ended last
    comes first.

    Entries that have not ended come last.
    """
    settled_at = row.settled_at
    return (-settled_at.timestamp() if settled_at else math.inf, row.entry_id, row.pipeline)


def list_broken_inputs(
    records: Records, count_max: int = INPUTS_MAX, pipeline: str | None = None
) -> list[InputRow]:
    """Return at most `count_max` inputs that could not be read to the end, in order of id.

    `pipeline` None means all pipelines.
    """
    where = {"error": Prefix(""), **_build_pipeline_filter(pipeline)}
    return list(records.find(InputRow, where, count_max=count_max))


def count_broken_inputs(records: Records, pipeline: str | None = None) -> int:
    """Return the number of inputs that could not be read to the end. `pipeline` None means all
    pipelines.
    """
    return records.count(InputRow, (), {"error": Prefix(""), **_build_pipeline_filter(pipeline)})[
        ()
    ]


def count_by_step(records: Records, pipeline: str) -> dict[str, dict[str, int]]:
    """Return the number of messages of a pipeline as a mapping from step to verdict to count.

    Open messages, which have no final verdict yet, are included.
    """
    table: dict[str, dict[str, int]] = {}
    for row in _iter_tallies(records, DispositionRow, pipeline=pipeline):
        if row.count:
            table.setdefault(row.first, {})[row.second] = row.count
    return table


def list_used_steps(records: Records) -> list[str]:
    """Return the sorted names of the steps of all pipelines that have received messages."""
    return sorted({row.first for row in _iter_tallies(records, DispositionRow) if row.first})


def list_used_pipelines(records: Records) -> list[str]:
    """Return the sorted names of the pipelines that have or had entries."""
    return sorted({row.pipeline for row in _iter_tallies(records, EntryRow)})


def find_oldest_input(records: Records) -> datetime | None:
    """Return when the least recently read input was read (aware UTC); None if no input was read."""
    row = next(records.find(InputRow, order=("updated",), count_max=1), None)
    return row.updated if row else None


def find_newest_input(records: Records) -> datetime | None:
    """Return when the most recently read input was read (aware UTC); None if no input was read."""
    row = next(records.find(InputRow, order=("-updated",), count_max=1), None)
    return row.updated if row else None


def count_failures(records: Records, where: Mapping[str, object]) -> int:
    """Count the quarantined entries that match the filter `where`.

    Its keys may be `failure_group`, `step`, `reason` and `pipeline`. Without a `failure_group`, the
    stored counts of entries are used; the number of these counts does not grow with the number of
    failure groups.
    """
    if "failure_group" not in where:
        entry_filter = {_ENTRY_COLUMNS[name]: value for name, value in where.items()}
        rows = records.find(
            TallyRow, {"counted": EntryRow.TABLE, "first": str(Verdict.QUARANTINED), **entry_filter}
        )
        return sum(row.count for row in rows)
    return sum(row.count for row in records.find(TallyRow, build_tally_conditions(where)))


def build_tally_conditions(where: Mapping[str, object]) -> dict[str, object]:
    """Return the condition on tally rows (stored counts) that selects the counts of matching
    failure groups.

    `where`: filter; its keys may be `failure_group`, `step`, `reason` and `pipeline`.
    """
    return {"counted": COUNTED_AS, **{_COLUMNS[name]: value for name, value in where.items()}}
