"""What became of everything that entered: read from the ledger's counts, never counted anew."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from fonds.kinds import kinds_with_rows
from fonds.kinds.kind import DerivativeKind
from fonds.model.disposition import Reason, Verdict, Weight
from fonds.model.failure import COUNTED_AS
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow, InputRow, TallyRow
from fonds.model.rows.row import Prefix
from fonds.ports import Records

INPUTS_A_QUERY = 500
INPUTS_SHOWN = 50
_ENTRY_COLUMNS = {"step": "third", "reason": "second", "pipeline": "pipeline"}
_COLUMNS = {"failure_group": "first", "step": "second", "reason": "third", "pipeline": "pipeline"}


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that entered, by what became of it; `received` is always the sum of the rest.

    `dropped` and `quarantined` map a reason's value to a count. `without_text` counts those of `done` that
    have no text, by reason.
    """

    received: int = 0
    done: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    pending: int = 0
    without_text: Mapping[str, int] = field(default_factory=dict)

    @property
    def searchable(self) -> int:
        """How many were kept with text."""
        return self.done - sum(self.without_text.values())

    @property
    def adds_up(self) -> bool:
        """Whether every record that entered has exactly one outcome."""
        ended = self.done + sum(self.dropped.values()) + sum(self.quarantined.values())
        return self.received == ended + self.pending

    def weighing(self, weight: Weight) -> dict[str, int]:
        """The reasons of one weight with their counts, the largest first."""
        both = Counter(self.dropped) + Counter(self.quarantined) + Counter(self.without_text)
        return {name: n for name, n in both.most_common() if Reason(name).weight is weight}


@dataclass(frozen=True, slots=True)
class StepFailures:
    """Entries of a pipeline quarantined at one step for one reason; `sample` is one of them."""

    pipeline: str
    step: str
    reason: Reason
    count: int
    sample: EntryRow | None


def tally(
    records: Records, input_ids: Sequence[str] | None = None, pipeline: str | None = None
) -> Tally:
    """The tally of everything, or of some inputs, in one pipeline or (None) in all.

    What sources counted and did not emit is `dropped`.
    """
    of = _of(pipeline)
    return summed(
        *(_of_all(records, of) if input_ids is None else _of_inputs(records, input_ids, of))
    )


def tally_entries(records: Records, keys: Sequence[tuple[str, str]]) -> Tally:
    """The tally of these entries, by id and pipeline, and of nothing else."""
    ended: Counter[tuple[str, str]] = Counter()
    for start in range(0, len(keys), INPUTS_A_QUERY):
        for row in records.get(EntryRow, keys[start : start + INPUTS_A_QUERY]):
            ended[row.outcome, row.reason or ""] += 1
    return summed(ended, Counter())


def added(one: Tally, other: Tally) -> Tally:
    """Return the tally of two sets of entries that share none."""
    return Tally(
        one.received + other.received,
        one.done + other.done,
        dict(Counter(one.dropped) + Counter(other.dropped)),
        dict(Counter(one.quarantined) + Counter(other.quarantined)),
        one.pending + other.pending,
        dict(Counter(one.without_text) + Counter(other.without_text)),
    )


def summed(ended: Counter[tuple[str, str]], counted: Counter[str]) -> Tally:
    """The tally of entries by outcome and reason, and of what sources counted by reason."""
    dropped = counted + Counter(
        {reason: n for (outcome, reason), n in ended.items() if outcome == "dropped" and reason}
    )
    quarantined = Counter(
        {reason: n for (outcome, reason), n in ended.items() if outcome == "quarantined" and reason}
    )
    without_text = Counter(
        {reason: n for (outcome, reason), n in ended.items() if outcome == "done" and reason}
    )
    return Tally(
        received=ended.total() + counted.total(),
        done=sum(n for (outcome, _), n in ended.items() if outcome == "done"),
        dropped=dict(sorted((+dropped).items())),
        quarantined=dict(sorted((+quarantined).items())),
        pending=sum(n for (outcome, _), n in ended.items() if outcome == "pending"),
        without_text=dict(sorted((+without_text).items())),
    )


def _of_all(
    records: Records, of: Mapping[str, object]
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    ended: Counter[tuple[str, str]] = Counter()
    counted: Counter[str] = Counter()
    for row in _tallies(records, EntryRow, **of):
        ended[row.first, row.second] += row.count
    for row in _tallies(records, InputRow, **of):
        counted[row.first] += row.count
    return ended, counted


def _tallies(records: Records, kind: type[Any], **where: object) -> Iterator[TallyRow]:
    return records.find(TallyRow, {"counted": kind.TABLE, **where})


def _of_inputs(
    records: Records, input_ids: Sequence[str], of: Mapping[str, object]
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    ended: Counter[tuple[str, str]] = Counter()
    counted: Counter[str] = Counter()
    for start in range(0, len(input_ids), INPUTS_A_QUERY):
        where = {"input_id": list(input_ids[start : start + INPUTS_A_QUERY]), **of}
        for (outcome, reason), count in records.count(
            EntryRow, ("outcome", "reason"), where
        ).items():
            ended[outcome, reason or ""] += count
        for row in records.find(InputRow, where):
            counted.update(row.tally)
    return ended, counted


def files_by_type(records: Records) -> list[tuple[str, int]]:
    """How many distinct files were kept of each type, the most frequent first."""
    counts = [(row.first, row.count) for row in _tallies(records, FileMetaRow) if row.count]
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def derivative_counts(records: Records) -> list[tuple[DerivativeKind, dict[str, int]]]:
    """How many files have a derivative of each kind, by its status; of kinds that share a table the first."""
    counted = [kind.row.TABLE for kind in kinds_with_rows()]
    by_table: dict[str, list[TallyRow]] = {}
    for row in records.find(TallyRow, {"counted": counted}):
        by_table.setdefault(row.counted, []).append(row)
    found = []
    for kind in kinds_with_rows():
        rows = by_table.get(kind.row.TABLE, [])
        rows.sort(key=lambda row: (-row.count, row.first))
        found.append((kind, {row.first: row.count for row in rows if row.count}))
    return found


def step_failures(records: Records, pipeline: str | None = None) -> list[StepFailures]:
    """The quarantined entries by pipeline, step and reason, the most first."""
    rows = [
        row
        for row in _tallies(records, EntryRow, first="quarantined", **_of(pipeline))
        if row.count
    ]
    rows.sort(key=lambda row: (-row.count, row.pipeline, row.third, row.second))
    wheres = [
        {"pipeline": row.pipeline, "outcome": row.first, "reason": row.second, "step": row.third}
        for row in rows
    ]
    samples = records.first_of_each(EntryRow, wheres, NEWEST)
    return [
        StepFailures(row.pipeline, row.third, Reason(row.second), row.count, sample)
        for row, sample in zip(rows, samples, strict=True)
    ]


def _of(pipeline: str | None) -> dict[str, object]:
    return {} if pipeline is None else {"pipeline": pipeline}


_TALLIED = {"outcome": "first", "reason": "second", "step": "third", "pipeline": "pipeline"}
"""The columns entries are counted by, and where their values stand in a tally."""
_GROUPED = frozenset({"failure_group", "step", "reason", "pipeline"})


def count_outcomes(records: Records, where: Mapping[str, object]) -> int:
    """How many entries have these values of `outcome`, `reason`, `step` and `pipeline`, by the counts.

    What is pending has no reason and no step yet. What belongs to a `failure_group` is in quarantine.
    Other columns are counted row by row.
    """
    if "failure_group" in where and where.keys() <= _GROUPED:
        return failures_total(records, where)
    if not where.keys() <= _TALLIED.keys():
        return records.count(EntryRow, (), where)[()]
    return sum(row.count for row in _counts_of(records, where))


def _counts_of(records: Records, where: Mapping[str, object]) -> Iterator[TallyRow]:
    return _tallies(records, EntryRow, **{_TALLIED[name]: value for name, value in where.items()})


def outcomes(
    records: Records,
    where: Mapping[str, object],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int = 50,
) -> list[EntryRow]:
    """One page of the entries with these columns, newest first: the rows behind any number shown.

    `after` has the columns `NEWEST` names, and the key, of the row behind which the page begins.
    """
    groups = _groups(records, where) if where.keys() <= _TALLIED.keys() else [where]
    return outcomes_of_any(records, groups, after=after, count_max=count_max)


def outcomes_of_any(
    records: Records,
    wheres: Sequence[Mapping[str, object]],
    *,
    after: Mapping[str, object] | None = None,
    count_max: int = 50,
) -> list[EntryRow]:
    """One page of the entries that fit any of these conditions, no two of which fit one entry; as
    `outcomes`."""
    # In one group the index gives the rows in their order; over several everything would be sorted.
    some = [
        records.find(EntryRow, one, order=NEWEST, after=after, count_max=count_max)
        for one in wheres
    ]
    return sorted(chain.from_iterable(some), key=_newest)[:count_max]


def _groups(records: Records, where: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The groups of entries that have these values, each by columns that are an index."""
    by_reason = not where.keys().isdisjoint({"reason", "step"})
    groups: dict[tuple[str, ...], Mapping[str, object]] = {}
    for row in _counts_of(records, where):
        group: dict[str, object] = {"pipeline": row.pipeline, "outcome": row.first}
        if by_reason:
            group |= {"reason": row.second or None, "step": row.third or None}
        if row.count:
            groups[tuple(map(str, group.values()))] = group
    return list(groups.values())


NEWEST = ("-settled_at", "entry_id")
"""The order entries are shown in."""


def _newest(row: EntryRow) -> tuple[float, str, str]:
    """The order of `NEWEST`; what was never settled comes last."""
    at = row.settled_at
    return (-at.timestamp() if at else math.inf, row.entry_id, row.pipeline)


def broken_inputs(
    records: Records, count_max: int = INPUTS_SHOWN, pipeline: str | None = None
) -> list[InputRow]:
    """Inputs whose reading ended early, in order of their ids, `count_max` of them at most."""
    where = {"error": Prefix(""), **_of(pipeline)}
    return list(records.find(InputRow, where, count_max=count_max))


def broken_inputs_count(records: Records, pipeline: str | None = None) -> int:
    """How many there are of them."""
    return records.count(InputRow, (), {"error": Prefix(""), **_of(pipeline)})[()]


def step_counts(records: Records, pipeline: str) -> dict[str, dict[str, int]]:
    """For each step of a pipeline how many messages ended in which verdict, the open ones included."""
    table: dict[str, dict[str, int]] = {}
    for row in _tallies(records, DispositionRow, pipeline=pipeline):
        if row.count:
            table.setdefault(row.first, {})[row.second] = row.count
    return table


def steps_used(records: Records) -> list[str]:
    """The steps at which anything ever ended, or is on its way, by name."""
    return sorted({row.first for row in _tallies(records, DispositionRow) if row.first})


def pipelines_used(records: Records) -> list[str]:
    """The pipelines anything ever entered, by name."""
    return sorted({row.pipeline for row in _tallies(records, EntryRow)})


def account(counted: Tally) -> dict[str, Any]:
    """The tally as `--json` tells it: in = done + dropped + quarantined + pending."""
    return {
        "in": counted.received,
        "done": counted.done,
        "dropped": dict(counted.dropped),
        "quarantined": dict(counted.quarantined),
        "pending": counted.pending,
        "without_text": dict(counted.without_text),
    }


def summary(counted: Tally, seconds: float, known: int, processes: int) -> dict[str, Any]:
    """The object `fonds ingest --json` ends with; `known` counts what earlier runs had settled."""
    told = {"seconds": round(seconds, 3), "known": known, "processes": processes}
    return account(counted) | told


def oldest_input(records: Records) -> datetime | None:
    """When the input that was read longest ago was read; None when nothing ever was."""
    row = next(records.find(InputRow, order=("updated",), count_max=1), None)
    return row.updated if row else None


def newest_input(records: Records) -> datetime | None:
    """When something last entered; None when nothing ever did."""
    row = next(records.find(InputRow, order=("-updated",), count_max=1), None)
    return row.updated if row else None


def failures_total(records: Records, where: Mapping[str, object]) -> int:
    """How many failures these groups have. What is in quarantine is in a group: where none is named, the
    entries' own counts tell, which are as few however many groups there are."""
    if "failure_group" not in where:
        of = {_ENTRY_COLUMNS[name]: value for name, value in where.items()}
        rows = records.find(
            TallyRow, {"counted": EntryRow.TABLE, "first": str(Verdict.QUARANTINED), **of}
        )
        return sum(row.count for row in rows)
    return sum(row.count for row in records.find(TallyRow, tally_conditions(where)))


def tally_conditions(where: Mapping[str, object]) -> dict[str, object]:
    """Return the conditions on tallies that select these groups of failures."""
    return {"counted": COUNTED_AS, **{_COLUMNS[name]: value for name, value in where.items()}}
