"""Everything that failed: what waits in quarantine, what sources counted, and inputs that broke off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fonds.library.accounting import (
    FailureGroup,
    broken_inputs,
    broken_inputs_count,
    count_outcomes,
    failure_groups,
    outcomes,
    tally,
)
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.ports import Records

KEYS_A_QUERY = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """Which failures; None and an empty `keys` do not narrow. `keys` are SHA-1s, ids of what a message was
    about, of messages or of entries.
    """

    pipeline: str | None = None
    step: str | None = None
    reason: str | None = None
    keys: Sequence[str] = ()

    def where(self) -> dict[str, object]:
        """The columns of `entries` asked for, the keys apart."""
        named = {"pipeline": self.pipeline, "step": self.step, "reason": self.reason}
        return {"outcome": "quarantined", **{name: one for name, one in named.items() if one}}


@dataclass(frozen=True, slots=True)
class Failed:
    """`groups` are quarantined entries by pipeline, step and reason, the largest first; `counted` what
    sources counted as failed by reason and did not keep one by one; `inputs` some of the `inputs_total`
    whose reading ended early.
    """

    groups: Sequence[FailureGroup]
    counted: Mapping[str, int]
    inputs: Sequence[InputRow]
    inputs_total: int

    @property
    def total(self) -> int:
        """How many records failed; inputs are none."""
        return sum(group.count for group in self.groups) + sum(self.counted.values())


def failed(records: Records, asked: Asked) -> Failed:
    """What failed, as far as it was asked for. What sources met was decided by no step and has no key."""
    if asked.keys:
        return Failed(_groups(list(_rows(records, asked))), {}, (), 0)
    groups = [
        group
        for group in failure_groups(records, asked.pipeline)
        if asked.reason in (None, group.reason) and asked.step in (None, group.step)
    ]
    if asked.step is not None:
        return Failed(groups, {}, (), 0)
    counted = {
        name: count
        for name, count in tally(records, None, asked.pipeline).dropped.items()
        if Reason(name).weight is Weight.FAILED and asked.reason in (None, name)
    }
    if asked.reason is not None:
        return Failed(groups, counted, (), 0)
    inputs = broken_inputs(records, pipeline=asked.pipeline)
    return Failed(groups, counted, inputs, broken_inputs_count(records, asked.pipeline))


def failed_entries(
    records: Records, asked: Asked, *, count_max: int | None = None
) -> tuple[list[EntryRow], int]:
    """The quarantined entries, newest first, `count_max` of them at most (None: all), and how many there
    are.
    """
    if asked.keys:
        rows = sorted(_rows(records, asked), key=lambda row: row.entry_id)
        return rows[:count_max], len(rows)
    total = count_outcomes(records, asked.where())
    wanted = total if count_max is None else min(count_max, total)
    return outcomes(records, asked.where(), count_max=wanted), total


def _rows(records: Records, asked: Asked) -> Iterator[EntryRow]:
    """The entries with these keys, each once."""
    keys = list(dict.fromkeys(asked.keys))
    ends = chain.from_iterable(
        records.find(DispositionRow, {column: keys}) for column in ("about", "message_id")
    )
    entries = list(dict.fromkeys([*keys, *(row.entry_id for row in ends)]))
    for start in range(0, len(entries), KEYS_A_QUERY):
        some = entries[start : start + KEYS_A_QUERY]
        yield from records.find(EntryRow, {**asked.where(), "entry_id": some})


def _groups(rows: Sequence[EntryRow]) -> list[FailureGroup]:
    by = Counter((row.pipeline, row.step or "", row.reason or "") for row in rows)
    samples = {(row.pipeline, row.step or "", row.reason or ""): row for row in rows}
    return [FailureGroup(*one[:2], Reason(one[2]), n, samples[one]) for one, n in by.most_common()]
