"""What became of everything that entered, counted from the records store."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from fonds.model.disposition import Reason, Weight
from fonds.model.rows import DispositionRow, FileMetaRow, InputRow, OutcomeRow
from fonds.ports import Records

INPUTS_A_QUERY = 500
INPUTS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that entered, by what became of it; `received` is always the sum of the rest.

    `dropped` and `quarantined` map a reason's value to a count.
    """

    received: int = 0
    done: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    pending: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether every record that entered has exactly one outcome."""
        ended = self.done + sum(self.dropped.values()) + sum(self.quarantined.values())
        return self.received == ended + self.pending

    def weighing(self, weight: Weight) -> dict[str, int]:
        """The reasons of one weight with their counts, the largest first."""
        both = Counter(self.dropped) + Counter(self.quarantined)
        return {name: n for name, n in both.most_common() if Reason(name).weight is weight}


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Messages quarantined at one step for one reason; `sample` is one of them."""

    step: str
    reason: Reason
    count: int
    sample: OutcomeRow | None


def tally(records: Records, input_ids: Sequence[str] | None = None) -> Tally:
    """The tally of all inputs, or of some; what sources counted and did not emit is `dropped`."""
    outcomes: Counter[tuple[str, str | None]] = Counter()
    counted: Counter[str] = Counter()
    for where in _scopes(input_ids):
        for (outcome, reason), count in records.count(
            OutcomeRow, ("outcome", "reason"), where
        ).items():
            outcomes[outcome, reason] += count
        for row in records.find(InputRow, where):
            counted.update(row.tally)
    dropped = counted + Counter(
        {reason: n for (outcome, reason), n in outcomes.items() if outcome == "dropped" and reason}
    )
    quarantined = {
        reason: n
        for (outcome, reason), n in outcomes.items()
        if outcome == "quarantined" and reason
    }
    return Tally(
        received=sum(outcomes.values()) + counted.total(),
        done=sum(n for (outcome, _), n in outcomes.items() if outcome == "done"),
        dropped=dict(sorted(dropped.items())),
        quarantined=dict(sorted(quarantined.items())),
        pending=sum(n for (outcome, _), n in outcomes.items() if outcome == "pending"),
    )


def _scopes(input_ids: Sequence[str] | None) -> Iterator[Mapping[str, object] | None]:
    if input_ids is None:
        yield None
        return
    for start in range(0, len(input_ids), INPUTS_A_QUERY):
        yield {"input_id": list(input_ids[start : start + INPUTS_A_QUERY])}


def files_by_type(records: Records) -> list[tuple[str, int]]:
    """How many distinct files were kept of each type, the most frequent first."""
    counts = records.count(FileMetaRow, ("mimetype",))
    return sorted(((key[0], n) for key, n in counts.items()), key=lambda pair: (-pair[1], pair[0]))


def failure_groups(records: Records) -> list[FailureGroup]:
    """The quarantined messages by step and reason, the largest group first."""
    counts = records.count(OutcomeRow, ("step", "reason"), {"outcome": "quarantined"})
    groups = []
    for (step, reason), count in sorted(counts.items(), key=lambda item: -item[1]):
        where = {"outcome": "quarantined", "step": step, "reason": reason}
        sample = next(records.find(OutcomeRow, where, count_max=1), None)
        groups.append(FailureGroup(step, Reason(reason), count, sample))
    return groups


def outcomes(
    records: Records, where: Mapping[str, object], *, offset: int = 0, count_max: int = 50
) -> list[OutcomeRow]:
    """One page of the captures with these columns, newest first: the rows behind any number shown."""
    return list(
        records.find(
            OutcomeRow,
            where,
            order=("-settled_at", "capture_id"),
            offset=offset,
            count_max=count_max,
        )
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """What sources counted and did not keep one by one; `inputs` are those with the most, at most 50."""

    total: int = 0
    inputs_count: int = 0
    inputs: Sequence[tuple[InputRow, int]] = ()


def counted(records: Records, reasons: Collection[str] | None = None) -> Counted:
    """The tallies of all inputs, for some reasons or (None) for all."""
    total = inputs_count = 0
    largest: list[tuple[int, int, InputRow]] = []
    for position, row in enumerate(records.find(InputRow)):
        count = sum(n for name, n in row.tally.items() if reasons is None or name in reasons)
        if not count:
            continue
        total += count
        inputs_count += 1
        heapq.heappush(largest, (count, -position, row))
        if len(largest) > INPUTS_SHOWN:
            heapq.heappop(largest)
    shown = sorted(largest, key=lambda one: one[:2], reverse=True)
    return Counted(total, inputs_count, [(row, count) for count, _, row in shown])


def broken_inputs(records: Records, count_max: int = INPUTS_SHOWN) -> list[InputRow]:
    """Inputs whose reading ended early, in order of their ids, `count_max` of them at most."""
    return list(islice((row for row in records.find(InputRow) if row.error), count_max))


def history(records: Records, sha1hex: str) -> list[DispositionRow]:
    """Every disposition of every message about one file, oldest first."""
    rows = records.find(DispositionRow, {"sha1hex": sha1hex}, order=("settled_at", "step"))
    return list(rows)


def step_counts(records: Records) -> dict[str, dict[str, int]]:
    """For each step how many messages ended in which verdict."""
    table: dict[str, dict[str, int]] = {}
    for (step, verdict), count in records.count(DispositionRow, ("step", "verdict")).items():
        table.setdefault(step, {})[verdict] = count
    return table


def summary(counted: Tally, seconds: float, known: int) -> dict[str, Any]:
    """The object `fonds ingest --json` ends with; `known` counts what earlier runs had settled."""
    return {
        "in": counted.received,
        "done": counted.done,
        "dropped": dict(counted.dropped),
        "quarantined": dict(counted.quarantined),
        "pending": counted.pending,
        "seconds": round(seconds, 3),
        "known": known,
    }


def newest_input(records: Records) -> datetime | None:
    """When something last entered; None when nothing ever did."""
    row = next(records.find(InputRow, order=("-updated",), count_max=1), None)
    return row.updated if row else None
