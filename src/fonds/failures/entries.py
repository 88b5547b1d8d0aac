"""Everything that failed: what waits in quarantine, what sources counted, and inputs that broke off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fonds.failures.accounting.tallies import (
    count_broken_inputs,
    count_entries,
    count_failures,
    count_outcomes,
    list_broken_inputs,
    list_outcomes,
)
from fonds.failures.groups import (
    FailureGroup,
    count_groups,
    iter_group_details,
    list_group_tallies,
)
from fonds.failures.retries import RetryGroup, retry_groups
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import DispositionRow, EntryRow, InputRow, TallyRow
from fonds.model.tallies import COUNTED_AS
from fonds.ports import Records

KEYS_A_QUERY = 500


@dataclass(frozen=True, slots=True)
class FailureQuery:
    """Which failures; None and an empty `keys` do not narrow. `keys` are SHA-1s, ids of what a message was
    about, of messages or of entries; `group` is the id of a failure group.
    """

    pipeline: str | None = None
    step: str | None = None
    reason: str | None = None
    keys: Sequence[str] = ()
    group: str | None = None

    def build_filter(self) -> dict[str, object]:
        """The columns of `entries` asked for, the keys apart."""
        named = {
            "pipeline": self.pipeline,
            "step": self.step,
            "reason": self.reason,
            "failure_group": self.group,
        }
        return {name: one for name, one in named.items() if one}

    def build_quarantine_filter(self) -> dict[str, object]:
        """The same, of what is in quarantine; only that belongs to a group."""
        return (
            self.build_filter() if self.group else {"outcome": "quarantined", **self.build_filter()}
        )


@dataclass(frozen=True, slots=True)
class FailureList:
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


def list_failures(
    records: Records,
    query: FailureQuery,
    *,
    after: Mapping[str, object] | None = None,
    count_max: int | None = None,
    with_retries: bool = False,
) -> FailureList:
    """What failed, as far as it was asked for; of its groups `count_max` at most, behind `after`. What
    sources met was decided by no step and has no key."""
    if query.keys:
        found = list(_iter_entries(records, query))
        groups = _group_entries(records, found)
        return FailureList(groups[:count_max], len(groups), len(found), {}, (), 0)
    rows = list_group_tallies(records, query.build_filter(), after=after, count_max=count_max)
    groups = list(iter_group_details(records, rows))
    known = (
        count_groups(records, query.build_filter()),
        count_failures(records, query.build_filter()),
    )
    counted = _count_tallied(records, query)
    inputs, inputs_count = _list_inputs(records, query)
    return FailureList(
        groups,
        *known,
        counted,
        inputs,
        inputs_count,
        _count_accepted(records, query),
        rows,
        _list_retries(records, query) if with_retries else (),
    )


def _list_retries(records: Records, query: FailureQuery) -> Sequence[RetryGroup]:
    """A group of failures has none: it is made of what is in quarantine."""
    if query.group is not None:
        return ()
    return retry_groups(records, pipeline=query.pipeline, step=query.step, reason=query.reason)


def _count_tallied(records: Records, query: FailureQuery) -> dict[str, int]:
    if query.step is not None or query.group is not None:
        return {}
    return {
        name: count
        for name, count in count_entries(records, None, query.pipeline).dropped.items()
        if Reason(name).weight is Weight.FAILED and query.reason in (None, name)
    }


def _list_inputs(records: Records, query: FailureQuery) -> tuple[Sequence[InputRow], int]:
    if query.step is not None or query.group is not None or query.reason is not None:
        return (), 0
    inputs = list_broken_inputs(records, pipeline=query.pipeline)
    return inputs, count_broken_inputs(records, query.pipeline)


def _count_accepted(records: Records, query: FailureQuery) -> int:
    """How many were accepted as final; of which reason and group they were is not counted."""
    where: dict[str, object] = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    where |= {
        name: one for name, one in query.build_filter().items() if name in ("pipeline", "step")
    }
    return count_outcomes(records, where)


def list_failed_entries(
    records: Records, query: FailureQuery, *, count_max: int | None = None
) -> tuple[list[EntryRow], int]:
    """The quarantined entries, newest first, `count_max` of them at most (None: all), and how many there
    are.
    """
    if query.keys:
        rows = sorted(_iter_entries(records, query), key=lambda row: row.entry_id)
        return rows[:count_max], len(rows)
    total = count_outcomes(records, query.build_quarantine_filter())
    wanted = total if count_max is None else min(count_max, total)
    return list_outcomes(records, query.build_quarantine_filter(), count_max=wanted), total


def _iter_entries(records: Records, query: FailureQuery) -> Iterator[EntryRow]:
    """The entries with these keys, each once."""
    keys = list(dict.fromkeys(query.keys))
    ends = chain.from_iterable(
        records.find(DispositionRow, {column: keys}) for column in ("about", "message_id")
    )
    entries = list(dict.fromkeys([*keys, *(row.entry_id for row in ends)]))
    for start in range(0, len(entries), KEYS_A_QUERY):
        some = entries[start : start + KEYS_A_QUERY]
        yield from records.find(EntryRow, {**query.build_quarantine_filter(), "entry_id": some})


def _group_entries(records: Records, rows: Sequence[EntryRow]) -> list[FailureGroup]:
    """The groups of a few entries; each counts those of them it has."""
    by = Counter((row.pipeline, row.failure_group or "", row.step, row.reason) for row in rows)
    counts = [
        TallyRow(COUNTED_AS, pipeline, group, step or "", reason or "", count)
        for (pipeline, group, step, reason), count in by.most_common()
    ]
    return list(iter_group_details(records, counts))
