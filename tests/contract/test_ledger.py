"""Contract of the port Ledger, for every database."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import NOON, build_disposition, build_promise, entry, input_row
from depth import examples
from fonds.model.ledger_difference import MissingEntry, OutcomeDifference
from fonds.model.rows import (
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    TallyRow,
)
from fonds.ports import Records
from fonds.stores.records.sql import SqlRecords

STEPS = ("identify", "extract")


def load_outcomes(records: Records) -> dict[str, str]:
    return {row.entry_id: row.outcome for row in records.find(EntryRow)}


def load_entry_tallies(records: Records) -> dict[tuple[str, str, str], int]:
    rows = records.find(TallyRow, {"counted": "entries"})
    return {(row.first, row.second, row.third): row.count for row in rows if row.count}


def test_an_entry_is_pending_until_its_message_ends(records: SqlRecords) -> None:
    ledger = records.ledger
    assert ledger.enter([], [entry("a")], ["identify"]) == {"a"}
    assert load_outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a", "identify", "done")])
    assert load_outcomes(records) == {"a": "done"}
    assert load_entry_tallies(records) == {("done", "", "identify"): 1}


def test_a_known_entry_is_kept_and_returned_while_unsettled(
    records: SqlRecords,
) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a"), entry("b")], ["identify"])
    ledger.write([build_disposition("a", "a", "identify", "done")])
    assert ledger.enter([], [entry("a", url="http://other/"), entry("b")], ["identify"]) == {"b"}
    (a,) = records.get(EntryRow, [("a", "library")])
    assert (a.url, a.outcome) == ("http://x.org/", "done")
    assert ledger.recount() == []


def test_an_entry_with_an_open_promise_is_pending(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    children = [build_promise("a", "a", "persist"), build_promise("a", "a.pages.1", "parse")]
    ledger.write([build_disposition("a", "a", "identify", "done"), *children])
    assert load_outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a", "persist", "done")])
    assert load_outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a.pages.1", "parse", "dropped", reason="no-text")])
    assert load_outcomes(records) == {"a": "dropped"}
    assert load_entry_tallies(records) == {("dropped", "no-text", "parse"): 1}


def test_an_early_disposition_of_a_child_keeps_the_entry_pending(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    ledger.write([build_disposition("a", "a", "persist", "done")])
    assert load_outcomes(records) == {"a": "pending"}
    ledger.write(
        [build_disposition("a", "a", "identify", "done"), build_promise("a", "a", "persist")]
    )
    assert load_outcomes(records) == {"a": "done"}
    (child,) = records.get(DispositionRow, [("a", "library", "persist")])
    assert (child.verdict, child.parent_id, child.parent_step) == ("done", "a", "identify")


def test_a_quarantined_entry_is_pending_during_a_retry(
    records: SqlRecords,
) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    ledger.write(
        [build_disposition("a", "a", "identify", "done"), build_promise("a", "a", "persist")]
    )
    ledger.write(
        [build_disposition("a", "a", "persist", "quarantined", reason="timeout", detail="slow")]
    )
    (row,) = records.find(EntryRow)
    assert (row.outcome, row.reason, row.step, row.detail) == (
        *("quarantined", "timeout"),
        *("persist", "slow"),
    )
    ledger.write([build_disposition("a", "a", "persist", "retried")])
    assert load_outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a", "persist", "done")])
    (row,) = records.find(EntryRow)
    assert (row.outcome, row.reason) == ("done", None)
    assert ledger.recount() == []


@pytest.mark.parametrize("verdict", ["retried", "deferred"])
def test_a_retried_or_deferred_message_keeps_the_entry_pending(
    records: SqlRecords, verdict: str
) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    children = [build_promise("a", "a.1", "persist"), build_promise("a", "a.2", "parse")]
    ledger.write([build_disposition("a", "a", "identify", "done"), *children])
    ledger.write([build_disposition("a", "a.1", "persist", verdict, reason="store-unavailable")])
    ledger.write([build_disposition("a", "a.2", "parse", "done")])
    assert load_outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a.2", "parse", "quarantined", reason="timeout")])
    assert load_outcomes(records) == {"a": "quarantined"}


def test_the_latest_of_equal_dispositions_decides_the_outcome(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify", "extract"])
    ledger.write([build_disposition("a", "a", "extract", "dropped", reason="bomb", minute=2)])
    ledger.write([build_disposition("a", "a", "identify", "dropped", reason="no-text", minute=1)])
    (row,) = records.find(EntryRow)
    assert (row.outcome, row.reason, row.step) == ("dropped", "bomb", "extract")


def test_repeated_rows_are_counted_once(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    rows = [build_disposition("a", "a", "identify", "done"), build_promise("a", "a", "persist")]
    for _ in range(3):
        ledger.write(rows)
        ledger.write(rows + rows)
    assert load_entry_tallies(records) == {("pending", "", ""): 1}
    assert ledger.recount() == []


def test_each_pipeline_has_separate_outcomes(records: SqlRecords) -> None:
    ledger = records.ledger
    entries = [entry("a"), entry("a", pipeline="pdf-only")]
    ledger.enter([], entries, ["identify"])
    ledger.write([build_disposition("a", "a", "identify", "done", pipeline="pdf-only")])
    assert {row.pipeline: row.outcome for row in records.find(EntryRow)} == {
        "library": "pending",
        "pdf-only": "done",
    }


def test_tallies_of_inputs_follow_each_update(records: SqlRecords) -> None:
    ledger = records.ledger
    for tally in ({"not-a-capture": 2}, {"not-a-capture": 5, "bomb": 1}):
        ledger.enter([input_row("i", tally=tally, tally_count=sum(tally.values()))], [], [])
    rows = records.find(TallyRow, {"counted": "inputs"})
    assert {row.first: row.count for row in rows} == {"not-a-capture": 5, "bomb": 1}
    assert [row.tally_count for row in records.find(InputRow)] == [6]


def test_files_are_counted_by_type_when_written(records: SqlRecords) -> None:
    row = FileMetaRow("a" * 40, "b" * 64, "c" * 32, 1, "text/html", "capture", NOON)
    records.put([row, replace(row, sha1hex="b" * 40, mimetype="application/pdf")])
    records.put([row])
    records.put([replace(row, mimetype="application/pdf")])
    assert {r.first: r.count for r in records.find(TallyRow, {"counted": "file_meta"})} == {
        "text/html": 0,
        "application/pdf": 2,
    }
    records.delete(FileMetaRow, ["a" * 40])
    assert records.ledger.recount() == []


def test_a_recount_reports_and_repairs_inconsistencies(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a"), entry("b")], ["identify"])
    ledger.write([build_disposition("a", "a", "identify", "done")])
    records.change(EntryRow, [("a", "library")], {"outcome": "dropped"})
    records.change(DispositionRow, [("b", "library", "identify")], {"is_open": False})
    differences = ledger.recount()
    assert OutcomeDifference("a", "library", "dropped", 0, "done", 0) in differences
    assert OutcomeDifference("b", "library", "pending", 1, "pending", 0) in differences
    ledger.recount(repair=True)
    assert ledger.recount() == []
    records.delete(EntryRow, [("a", "library")])
    assert MissingEntry("a", "library", 1) in ledger.recount()


VERDICTS = ("done", "dropped", "quarantined", "retried", "deferred", "pending")


@st.composite
def batches(draw: st.DrawFn) -> list[list[DispositionRow]]:
    """Draw batches of rows of a few messages at a few steps, in any order, with repeats."""
    drawn = []
    for _ in range(draw(st.integers(1, 6))):
        rows = []
        for _ in range(draw(st.integers(1, 5))):
            entry_id = draw(st.sampled_from("ab"))
            message = entry_id + draw(st.sampled_from(("", ".1", ".2")))
            step, verdict = draw(st.sampled_from(STEPS)), draw(st.sampled_from(VERDICTS))
            reason = (
                None
                if verdict in ("done", "pending")
                else draw(st.sampled_from(("bomb", "timeout")))
            )
            if verdict == "pending":
                rows.append(build_promise(entry_id, message, step))
            else:
                minute = draw(st.integers(0, 3))
                rows.append(
                    build_disposition(
                        entry_id, message, step, verdict, reason=reason, minute=minute
                    )
                )
        drawn.append(rows)
    return drawn


def clear_ledger(records: SqlRecords) -> SqlRecords:
    records.delete(EntryRow, [(r.entry_id, r.pipeline) for r in records.find(EntryRow)])
    keys = [(r.message_id, r.pipeline, r.step) for r in records.find(DispositionRow)]
    records.delete(DispositionRow, keys)
    records.ledger.recount(repair=True)
    return records


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=batches())
def test_any_writes_agree_with_a_recount(
    records: SqlRecords, batches: list[list[DispositionRow]]
) -> None:
    ledger = clear_ledger(records).ledger
    ledger.enter([], [entry("a"), entry("b")], ["identify"])
    for rows in batches:
        ledger.write(rows)
        assert ledger.recount() == []
    settled_before = set()
    for rows in batches:
        for row in rows:
            if row.verdict != "pending":
                settled_before.add((row.message_id, row.step))
    dispositions = {(r.message_id, r.step): r for r in records.find(DispositionRow)}
    for key in settled_before:
        assert dispositions[key].verdict != "pending", "a promise replaced a disposition"
    verdicts = Counter(row.verdict for row in dispositions.values())
    tallied: Counter[str] = Counter()
    for row in records.find(TallyRow, {"counted": "dispositions"}):
        tallied[row.second] += row.count
    assert +tallied == verdicts


def test_concurrent_writers_keep_the_counts_consistent(records: SqlRecords) -> None:
    """Each thread writes rows of every entry; a read before the write of another would miscount."""
    ids = [f"e{n}" for n in range(8)]
    records.ledger.enter([], [entry(id_) for id_ in ids], ["identify"])
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for id_ in ids:
                rows = [build_disposition(id_, f"{id_}.{number}", "extract", "done")]
                if number == 0:
                    rows += [build_disposition(id_, id_, "identify", "done")]
                    rows += [build_promise(id_, f"{id_}.{k}", "extract") for k in range(4)]
                records.ledger.write(rows)
        except BaseException as error:  # noqa: BLE001 (reported to the test)
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert faults == []
    assert set(load_outcomes(records).values()) == {"done"}
    assert records.ledger.recount() == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_message_keeps_the_time_of_its_first_promise(records: SqlRecords, order: int) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    rows = [
        build_disposition("a", "b", "persist", "retried", minute=5),
        build_disposition("a", "b", "persist", "done", minute=9),
    ]
    for row in rows[::order]:
        ledger.write([row])
    (stored,) = records.get(DispositionRow, [("b", "library", "persist")])
    assert stored.promised_at == rows[0].promised_at
    assert stored.settled_at == rows[::order][1].settled_at
    (first,) = records.get(DispositionRow, [("a", "library", "identify")])
    ledger.write([build_disposition("a", "a", "identify", "done", minute=9)])
    (ended,) = records.get(DispositionRow, [("a", "library", "identify")])
    assert (ended.promised_at, ended.verdict) == (first.promised_at, "done")
