"""Lists of failures: quarantined entries, failed records that sources counted without creating
entries, and unreadable input files.
"""

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
from fonds.failures.retries import RetryGroup, list_retry_groups
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import DispositionRow, EntryRow, InputRow, TallyRow
from fonds.model.tallies import COUNTED_AS
from fonds.ports import Records

KEYS_A_QUERY = 500


@dataclass(frozen=True, slots=True)
class FailureQuery:
    """Filter for failures. A field that is None, or an empty `keys`, does not restrict the result.

    `keys`: SHA-1s of files, ids of stories or documents, message ids or entry ids.
    `group`: id of a failure group.
    """

    pipeline: str | None = None
    step: str | None = None
    reason: str | None = None
    keys: Sequence[str] = ()
    group: str | None = None

    def build_filter(self) -> dict[str, object]:
        """Return the filter as a condition on columns of the SQL table `entries`.

        Fields that are None or empty are left out. `keys` is left out too, because most keys are
        found only in the SQL table `dispositions`.
        """
        columns = {
            "pipeline": self.pipeline,
            "step": self.step,
            "reason": self.reason,
            "failure_group": self.group,
        }
        return {name: value for name, value in columns.items() if value}

    def build_quarantine_filter(self) -> dict[str, object]:
        """Return the filter as a condition on columns of the SQL table `entries`, for quarantined
        entries only.

        A query for a failure group needs no condition on the outcome: only quarantined entries have
        a group.
        """
        return (
            self.build_filter() if self.group else {"outcome": "quarantined", **self.build_filter()}
        )


@dataclass(frozen=True, slots=True)
class FailureList:
    """One page of failures, with totals over all pages.

    `groups`: groups of quarantined entries on the page, largest first.
    `groups_total`: number of groups on all pages.
    `quarantined`: number of quarantined entries in all groups.
    `counted`: by reason, the number of failed records that sources counted without creating
        entries.
    `inputs`: input files that could not be read to the end; at most the first 50 by id.
    `inputs_total`: number of all input files that could not be read to the end.
    `accepted`: number of failures accepted as final; not part of the other numbers.
    `rows`: stored counts of the groups on the page. The next page begins after the last count.
    `retries`: messages that wait for their next attempt; not part of the other numbers.
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
        """Number of failed records: quarantined entries, and failures without an entry. Unreadable
        input files do not count.
        """
        return self.quarantined + sum(self.counted.values())


def list_failures(
    records: Records,
    query: FailureQuery,
    *,
    after: Mapping[str, object] | None = None,
    count_max: int | None = None,
    with_retries: bool = False,
) -> FailureList:
    """Return one page of the failures that match the query, with totals.

    `after`: columns of the last group of the previous page; None for the first page.
    `count_max`: maximum number of groups on the page; None for all.
    `with_retries`: whether to list messages that wait for their next attempt.

    Failed records that sources counted without creating entries have no step and no key. A filter
    on step or key excludes such records.
    """
    if query.keys:
        entries = list(_iter_entries(records, query))
        groups = _group_entries(records, entries)
        return FailureList(groups[:count_max], len(groups), len(entries), {}, (), 0)
    rows = list_group_tallies(records, query.build_filter(), after=after, count_max=count_max)
    groups = list(iter_group_details(records, rows))
    totals = (
        count_groups(records, query.build_filter()),
        count_failures(records, query.build_filter()),
    )
    counted_failures = _count_tallied(records, query)
    inputs, inputs_count = _list_inputs(records, query)
    return FailureList(
        groups,
        *totals,
        counted_failures,
        inputs,
        inputs_count,
        _count_accepted(records, query),
        rows,
        _list_retries(records, query) if with_retries else (),
    )


def _list_retries(records: Records, query: FailureQuery) -> Sequence[RetryGroup]:
    """Return the groups of messages that wait for their next attempt and match the query.

    A query for a failure group matches none, because failure groups consist of quarantined entries.
    """
    if query.group is not None:
        return ()
    return list_retry_groups(records, pipeline=query.pipeline, step=query.step, reason=query.reason)


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
    """Count the failures that were accepted as final, in the pipeline and step of the query.

    The original reason and failure group of an accepted failure are not stored, so the reason and
    group of the query are ignored.
    """
    where: dict[str, object] = {"outcome": "dropped", "reason": str(Reason.ACCEPTED)}
    where |= {
        name: value for name, value in query.build_filter().items() if name in ("pipeline", "step")
    }
    return count_outcomes(records, where)


def list_failed_entries(
    records: Records, query: FailureQuery, *, count_max: int | None = None
) -> tuple[list[EntryRow], int]:
    """Return the quarantined entries that match the query, and their total number.

    The entry that ended last is first; if the query has keys, entries are in order of their ids. At
    most `count_max` entries are returned (None: all).
    """
    if query.keys:
        rows = sorted(_iter_entries(records, query), key=lambda row: row.entry_id)
        return rows[:count_max], len(rows)
    total = count_outcomes(records, query.build_quarantine_filter())
    page_size = total if count_max is None else min(count_max, total)
    return list_outcomes(records, query.build_quarantine_filter(), count_max=page_size), total


def _iter_entries(records: Records, query: FailureQuery) -> Iterator[EntryRow]:
    """Iterate over the quarantined entries that the keys of a query select, each once.

    A key is an entry id, the id of a message of the entry, or the subject of a message, such as the
    SHA-1 of a file.
    """
    keys = list(dict.fromkeys(query.keys))
    ends = chain.from_iterable(
        records.find(DispositionRow, {column: keys}) for column in ("about", "message_id")
    )
    entries = list(dict.fromkeys([*keys, *(row.entry_id for row in ends)]))
    for start in range(0, len(entries), KEYS_A_QUERY):
        batch = entries[start : start + KEYS_A_QUERY]
        yield from records.find(EntryRow, {**query.build_quarantine_filter(), "entry_id": batch})


def _group_entries(records: Records, rows: Sequence[EntryRow]) -> list[FailureGroup]:
    """Group a few quarantined entries by pipeline, failure group, step and reason.

    The counts of the groups cover only the given entries.
    """
    entry_counts = Counter(
        (row.pipeline, row.failure_group or "", row.step, row.reason) for row in rows
    )
    counts = [
        TallyRow(COUNTED_AS, pipeline, group, step or "", reason or "", count)
        for (pipeline, group, step, reason), count in entry_counts.most_common()
    ]
    return list(iter_group_details(records, counts))
