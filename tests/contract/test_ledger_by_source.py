"""What became of the links of a source is counted as it changes, and agrees with the entries."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import build_disposition, entry
from contract.test_ledger_by_time import histories
from depth import examples
from fonds.model.rows import DispositionRow, EntryRow, TallyRow
from fonds.model.tallies import (
    ENTRIES_BY_SOURCE,
    decode_step_reason,
    encode_step_reason,
    find_source_id,
)
from fonds.stores.records.sql import SqlRecords

ONE, OTHER = "0123456789ab", "ba9876543210"
POLLS = (f"{ONE}.000001", f"{ONE}.000002", f"{OTHER}.1000000")
NO_POLLS = ("input", ONE, f"{ONE}.", f"{ONE}.12345", f"{ONE}-000001", "")


def counted(records: SqlRecords) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for row in records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE}):
        found[row.pipeline, row.first, row.second, row.third] += row.count
    assert all(count >= 0 for count in found.values())
    return +found


def of_rows(records: SqlRecords) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for row in records.find(EntryRow):
        if row.kind == "link" and row.input_id in POLLS:
            why = encode_step_reason(row.outcome, row.step, row.reason)
            found[row.pipeline, row.input_id[:12], row.outcome, why] += 1
    return found


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    history=histories(),
    inputs=st.lists(st.sampled_from([*POLLS, *NO_POLLS]), min_size=3, max_size=3),
    kinds=st.lists(st.sampled_from(["link", "link", "capture"]), min_size=3, max_size=3),
)
def test_links_are_counted_by_their_source(
    records: SqlRecords, history: list[list[DispositionRow]], inputs: list[str], kinds: list[str]
) -> None:
    records.delete(EntryRow, [(one, "library") for one in "abc"])
    gone = [(row.message_id, row.pipeline, row.step) for row in records.find(DispositionRow)]
    records.delete(DispositionRow, gone)
    records.ledger.recount(repair=True)
    facts = zip("abc", inputs, kinds, strict=True)
    entries = [entry(name, input_id=where, kind=kind) for name, where, kind in facts]
    for rows in history:
        for _ in range(2):
            records.ledger.enter([], entries, ["identify"])
            records.ledger.write(rows)
        assert counted(records) == of_rows(records)
        assert records.ledger.recount() == []


def test_a_source_that_was_miscounted_is_named_and_mended(records: SqlRecords) -> None:
    one = entry("a", input_id=POLLS[0], kind="link")
    records.ledger.enter([], [one], ["fetch"])
    records.ledger.write([build_disposition("a", "a", "fetch", "dropped", reason="robots-denied")])
    (row,) = records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE, "second": "dropped"})
    assert (row.first, decode_step_reason(row.third)) == (ONE, ("fetch", "robots-denied"))
    values: tuple[Any, ...] = (row.counted, row.pipeline, row.first, row.second, row.third)
    records.put([TallyRow(*values, 7)])
    (said,) = records.ledger.recount(repair=True)
    assert said.startswith(f"tally entries_by_source library {ONE} dropped fetch robots-denied: 7")
    assert counted(records) == of_rows(records)


def test_what_no_poll_found_is_of_no_source() -> None:
    assert [find_source_id("link", poll) for poll in POLLS] == [ONE, ONE, OTHER]
    assert {find_source_id("link", no_poll) for no_poll in NO_POLLS} == {None}
    assert find_source_id("capture", POLLS[0]) is None
