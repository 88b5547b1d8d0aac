"""Outcomes of links are counted by source, and the counts agree with the entries."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import build_disposition, entry
from contract.test_ledger_by_time import histories
from depth import examples
from fonds.model.ledger_difference import CountDifference
from fonds.model.rows import DispositionRow, EntryRow, TallyRow
from fonds.model.tallies import (
    ENTRIES_BY_SOURCE,
    decode_step_reason,
    encode_step_reason,
    find_source_id,
)
from fonds.stores.records.sql import SqlRecords

FIRST_SOURCE, SECOND_SOURCE = "0123456789ab", "ba9876543210"
POLLS = (f"{FIRST_SOURCE}.000001", f"{FIRST_SOURCE}.000002", f"{SECOND_SOURCE}.1000000")
OTHER_INPUTS = (
    "input",
    FIRST_SOURCE,
    f"{FIRST_SOURCE}.",
    f"{FIRST_SOURCE}.12345",
    f"{FIRST_SOURCE}-000001",
    "",
)


def load_counts(records: SqlRecords) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for row in records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE}):
        counts[row.pipeline, row.first, row.second, row.third] += row.count
    assert all(count >= 0 for count in counts.values())
    return +counts


def count_rows(records: SqlRecords) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for row in records.find(EntryRow):
        if row.kind == "link" and row.input_id in POLLS:
            step_reason = encode_step_reason(row.outcome, row.step, row.reason)
            counts[row.pipeline, row.input_id[:12], row.outcome, step_reason] += 1
    return counts


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    history=histories(),
    inputs=st.lists(st.sampled_from([*POLLS, *OTHER_INPUTS]), min_size=3, max_size=3),
    kinds=st.lists(st.sampled_from(["link", "link", "capture"]), min_size=3, max_size=3),
)
def test_outcomes_of_links_are_counted_by_source(
    records: SqlRecords, history: list[list[DispositionRow]], inputs: list[str], kinds: list[str]
) -> None:
    records.delete(EntryRow, [(id_, "library") for id_ in "abc"])
    keys = [(row.message_id, row.pipeline, row.step) for row in records.find(DispositionRow)]
    records.delete(DispositionRow, keys)
    records.ledger.recount(repair=True)
    facts = zip("abc", inputs, kinds, strict=True)
    entries = [entry(name, input_id=input_id, kind=kind) for name, input_id, kind in facts]
    for rows in history:
        for _ in range(2):
            records.ledger.enter([], entries, ["identify"])
            records.ledger.write(rows)
        assert load_counts(records) == count_rows(records)
        assert records.ledger.recount() == []


def test_a_wrong_count_of_a_source_is_reported_and_repaired(records: SqlRecords) -> None:
    link = entry("a", input_id=POLLS[0], kind="link")
    records.ledger.enter([], [link], ["fetch"])
    records.ledger.write([build_disposition("a", "a", "fetch", "dropped", reason="robots-denied")])
    (row,) = records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE, "second": "dropped"})
    assert (row.first, decode_step_reason(row.third)) == (FIRST_SOURCE, ("fetch", "robots-denied"))
    values: tuple[Any, ...] = (row.counted, row.pipeline, row.first, row.second, row.third)
    records.put([TallyRow(*values, 7)])
    group = (ENTRIES_BY_SOURCE, "library", FIRST_SOURCE, "dropped", "fetch robots-denied")
    assert records.ledger.recount(repair=True) == [CountDifference(group, 7, 1)]
    assert load_counts(records) == count_rows(records)


def test_only_links_of_polls_have_a_source() -> None:
    assert [find_source_id("link", poll) for poll in POLLS] == [
        FIRST_SOURCE,
        FIRST_SOURCE,
        SECOND_SOURCE,
    ]
    assert {find_source_id("link", no_poll) for no_poll in OTHER_INPUTS} == {None}
    assert find_source_id("capture", POLLS[0]) is None
