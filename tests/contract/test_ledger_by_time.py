"""Counts by day and by hour sum up to the total counts, for any history of entries."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import NOON, build_disposition, build_promise, entry, input_row
from depth import examples
from fonds.model.disposition import PENDING, RETURNING_VERDICTS
from fonds.model.ledger_difference import CountDifference
from fonds.model.rows import DispositionRow, EntryRow, InputRow, TallyRow
from fonds.model.tallies import (
    ARRIVED,
    COUNTED_AS,
    ENDED,
    ENTRIES_BY_DAY,
    FAILURES_BY_DAY,
    INPUTS_BY_DAY,
    MESSAGES_BY_HOUR,
)
from fonds.stores.records.sql import SqlRecords

MIDNIGHT = NOON.replace(hour=0, microsecond=0) + timedelta(days=1)
MOMENTS = [MIDNIGHT + timedelta(microseconds=n) for n in (-1, 0, 1)] + [NOON, NOON.replace(day=28)]
# Dispositions of steps, decisions and takedowns.
ENDINGS = (
    ("done", None),
    ("dropped", "duplicate"),
    ("dropped", "accepted"),
    ("dropped", "taken-down"),
    ("quarantined", "timeout"),
    ("quarantined", "bomb"),
    ("retried", "timeout"),
    ("deferred", "busy"),
)


@st.composite
def histories(draw: st.DrawFn) -> list[list[DispositionRow]]:
    """Draw batches of dispositions and promises of three entries, in any order, with repeats."""
    return [
        [_draw_row(draw) for _ in range(draw(st.integers(1, 4)))]
        for _ in range(draw(st.integers(1, 6)))
    ]


def _draw_row(draw: st.DrawFn) -> DispositionRow:
    entry_id = draw(st.sampled_from("abc"))
    message = entry_id + draw(st.sampled_from(("", ".1")))
    if draw(st.integers(0, 4)) == 0:
        return build_promise(entry_id, message, "extract")
    verdict, reason = draw(st.sampled_from(ENDINGS))
    at = draw(st.sampled_from(MOMENTS))
    times = {"promised_at": draw(st.sampled_from(MOMENTS)), "settled_at": at}
    step = draw(st.sampled_from(("identify", "extract")))
    return build_disposition(entry_id, message, step, verdict, reason=reason, **times)


def _sum_tallies(
    records: SqlRecords, counted: str, *names: str, **conditions: Any
) -> Counter[tuple[str, ...]]:
    sums: Counter[tuple[str, ...]] = Counter()
    for row in records.find(TallyRow, {"counted": counted, **conditions}):
        sums[tuple(getattr(row, name) for name in names)] += row.count
    assert all(count >= 0 for count in sums.values())
    return +sums


def _check_sums(records: SqlRecords) -> None:
    by_day = _sum_tallies(records, ENTRIES_BY_DAY, "second", "third")
    assert by_day == _sum_tallies(records, EntryRow.TABLE, "first", "second")
    assert _sum_tallies(records, INPUTS_BY_DAY, "second") == _sum_tallies(
        records, InputRow.TABLE, "first"
    )
    assert _sum_tallies(records, FAILURES_BY_DAY, "first") == _sum_tallies(
        records, COUNTED_AS, "first"
    )
    ended = _sum_tallies(records, DispositionRow.TABLE, "first", "second")
    arrived: Counter[tuple[str, ...]] = Counter()
    settled: Counter[tuple[str, ...]] = Counter()
    for (step, verdict), count in ended.items():
        arrived[(step,)] += count
        settled[(step,)] += 0 if verdict in (PENDING, *map(str, RETURNING_VERDICTS)) else count
    assert _sum_tallies(records, MESSAGES_BY_HOUR, "first", third=ARRIVED) == arrived
    assert _sum_tallies(records, MESSAGES_BY_HOUR, "first", third=ENDED) == +settled
    assert records.ledger.recount() == []


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(history=histories(), days=st.lists(st.sampled_from(MOMENTS), min_size=3, max_size=3))
def test_counts_by_day_and_hour_sum_up_to_the_totals(
    records: SqlRecords, history: list[list[DispositionRow]], days: list[Any]
) -> None:
    records.delete(EntryRow, [(id_, "library") for id_ in "abc"])
    keys = [(row.message_id, row.pipeline, row.step) for row in records.find(DispositionRow)]
    records.delete(DispositionRow, keys)
    records.ledger.recount(repair=True)
    entries = [entry(id_, entered_at=at) for id_, at in zip("abc", days, strict=True)]
    for position, rows in enumerate(history):
        tally = {"revisit": position, "not-a-capture": 2}
        at = MOMENTS[position % len(MOMENTS)]
        counted = input_row("i", tally=tally, tally_count=position + 2, updated=at)
        # A killed process repeats its writes.
        for _ in range(2):
            records.ledger.enter([counted], entries, ["identify"])
            records.ledger.write(rows)
        _check_sums(records)


def test_a_day_begins_at_midnight_in_utc(records: SqlRecords) -> None:
    entries = [entry(name, entered_at=at) for name, at in zip("abc", MOMENTS, strict=False)]
    records.ledger.enter([], entries, ["identify"])
    assert _sum_tallies(records, ENTRIES_BY_DAY, "first") == {
        ("2024-05-06",): 1,
        ("2024-05-07",): 2,
    }


def test_a_wrong_count_of_a_day_is_reported_and_repaired(records: SqlRecords) -> None:
    records.ledger.enter([], [entry("a")], ["identify"])
    (row,) = records.find(TallyRow, {"counted": ENTRIES_BY_DAY})
    records.put([TallyRow(row.counted, row.pipeline, row.first, row.second, row.third, 7)])
    assert records.ledger.recount(repair=True) == [
        CountDifference((ENTRIES_BY_DAY, "library", "2024-05-06", "pending", ""), 7, 1)
    ]
    assert records.ledger.recount() == []
    _check_sums(records)
