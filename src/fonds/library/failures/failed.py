"""Everything that failed: what waits in quarantine, what sources counted, and inputs that broke off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fonds.library.accounting import (
    broken_inputs,
    broken_inputs_count,
    count_outcomes,
    failures_total,
    outcomes,
    tally,
)
from fonds.library.failures.groups import FailureGroup, described, group_tallies, groups_total
from fonds.library.failures.retries import RetryGroup, retry_groups
from fonds.model.disposition import Reason, Weight
from fonds.model.failure import COUNTED_AS
from fonds.model.rows import DispositionRow, EntryRow, InputRow, TallyRow
from fonds.ports import Records

KEYS_A_QUERY = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """Which failures; None and an empty `keys` do not narrow. `keys` are SHA-1s, ids of what a message was
    about, of messages or of entries; `group` is the id of a failure group.
    """

    pipeline: str | None = None
    step: str | None = None
    reason: str | None = None
    keys: Sequence[str] = ()
    group: str | None = None

    def named(self) -> dict[str, object]:
        """The columns of `entries` asked for, the keys apart."""
        named = {
            "pipeline": self.pipeline,
            "step": self.step,
            "reason": self.reason,
            "failure_group": self.group,
        }
        return {name: one for name, one in named.items() if one}

    def where(self) -> dict[str, object]:
        """The same, of what is in quarantine; only that belongs to a group."""
        return self.named() if self.group else {"outcome": "quarantined", **self.named()}


@dataclass(frozen=True, slots=True)
class Failed:
    """`groups` are some of the `groups_total` groups of entries in quarantine, the largest first, and
    `quarantined` is how many entries all of them have; `counted` what sources counted as failed by reason
    and did not keep one by one; `inputs` some of the `inputs_total` whose reading ended early. `accepted`
    is how many failures were accepted as final: they are in none of the other numbers. `last` is the
    last count of the page, behind which the next begins. `retries` wait for their next attempt: they are
    in none of the other numbers.
    """

    groups: Sequence[FailureGroup]
    groups_total: int
    quarantined: int
    counted: Mapping[str, int]
    inputs: Sequence[InputRow]
    inputs_total: int
    accepted: int = 0
    rows: Sequence[TallyRow] = ()
    retries: Sequence[RetryGroup] = ()

    @property
    def total(self) -> int:
        """How many records failed; inputs are none."""
        return self.quarantined + sum(self.counted.values())


def failed(
    records: Records,
    asked: Asked,
    *,
    after: Mapping[str, object] | None = None,
    count_max: int | None = None,
    with_retries: bool = False,
) -> Failed:
    """What failed, as far as it was asked for; of its groups `count_max` at most, behind `after`. What
    sources met was decided by no step and has no key."""
    if asked.keys:
        found = list(_rows(records, asked))
        groups = _groups(records, found)
        return Failed(groups[:count_max], len(groups), len(found), {}, (), 0)
    rows = group_tallies(records, asked.named(), after=after, count_max=count_max)
    groups = list(described(records, rows))
    known = (groups_total(records, asked.named()), failures_total(records, asked.named()))
    counted = _counted(records, asked)
    inputs, inputs_count = _inputs(records, asked)
    return Failed(
        groups,
        *known,
        counted,
        inputs,
        inputs_count,
        _accepted(records, asked),
        rows,
        _retries(records, asked) if with_retries else (),
    )


def _retries(records: Records, asked: Asked) -> Sequence[RetryGroup]:
    """A group of failures has none: it is made of what is in quarantine."""
    if asked.group is not None:
        return ()
    return retry_groups(records, pipeline=asked.pipeline, step=asked.step, reason=asked.reason)


def _counted(records: Records, asked: Asked) -> dict[str, int]:
    if asked.step is not None or asked.group is not None:
        return {}
    return {
        name: count
        for name, count in tally(records, None, asked.pipeline).dropped.items()
        if Reason(name).weight is Weight.FAILED and asked.reason in (None, name)
    }


def _inputs(records: Records, asked: Asked) -> tuple[Sequence[InputRow], int]:
    if asked.step is not None or asked.group is not None or asked.reason is not None:
        return (), 0
    inputs = broken_inputs(records, pipeline=asked.pipeline)
    return inputs, broken_inputs_count(records, asked.pipeline)


def _accepted(records: Records, asked: Asked) -> int:
    """How many were accepted as final; of which reason and group they were is not counted."""
    where: dict[str, object] = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    where |= {name: one for name, one in asked.named().items() if name in ("pipeline", "step")}
    return count_outcomes(records, where)


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


def _groups(records: Records, rows: Sequence[EntryRow]) -> list[FailureGroup]:
    """The groups of a few entries; each counts those of them it has."""
    by = Counter((row.pipeline, row.failure_group or "", row.step, row.reason) for row in rows)
    counts = [
        TallyRow(COUNTED_AS, pipeline, group, step or "", reason or "", count)
        for (pipeline, group, step, reason), count in by.most_common()
    ]
    return list(described(records, counts))
