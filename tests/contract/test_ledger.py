"""The contract of the port Ledger: one suite for every database."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger_rows import NOON, build_disposition, build_promise, entry, input_row
from depth import examples
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


def outcomes(records: Records) -> dict[str, str]:
    return {row.entry_id: row.outcome for row in records.find(EntryRow)}


def entry_tallies(records: Records) -> dict[tuple[str, str, str], int]:
    rows = records.find(TallyRow, {"counted": "entries"})
    return {(row.first, row.second, row.third): row.count for row in rows if row.count}


def test_what_entered_is_pending_until_its_message_has_ended(records: SqlRecords) -> None:
    ledger = records.ledger
    assert ledger.enter([], [entry("a")], ["identify"]) == {"a"}
    assert outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a", "identify", "done")])
    assert outcomes(records) == {"a": "done"}
    assert entry_tallies(records) == {("done", "", "identify"): 1}


def test_an_entry_that_is_known_stays_as_it_is_and_says_whether_its_message_is_settled(
    records: SqlRecords,
) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a"), entry("b")], ["identify"])
    ledger.write([build_disposition("a", "a", "identify", "done")])
    assert ledger.enter([], [entry("a", url="http://other/"), entry("b")], ["identify"]) == {"b"}
    (a,) = records.get(EntryRow, [("a", "library")])
    assert (a.url, a.outcome) == ("http://x.org/", "done")
    assert ledger.recount() == []


def test_an_entry_is_not_over_while_a_promise_is_open(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    children = [build_promise("a", "a", "persist"), build_promise("a", "a.pages.1", "parse")]
    ledger.write([build_disposition("a", "a", "identify", "done"), *children])
    assert outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a", "persist", "done")])
    assert outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a.pages.1", "parse", "dropped", reason="no-text")])
    assert outcomes(records) == {"a": "dropped"}
    assert entry_tallies(records) == {("dropped", "no-text", "parse"): 1}


def test_a_child_that_ended_before_its_parent_does_not_end_the_entry(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    ledger.write([build_disposition("a", "a", "persist", "done")])
    assert outcomes(records) == {"a": "pending"}
    ledger.write(
        [build_disposition("a", "a", "identify", "done"), build_promise("a", "a", "persist")]
    )
    assert outcomes(records) == {"a": "done"}
    (child,) = records.get(DispositionRow, [("a", "library", "persist")])
    assert (child.verdict, child.parent_id, child.parent_step) == ("done", "a", "identify")


def test_what_is_quarantined_says_so_at_once_and_again_when_it_is_tried_again(
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
    assert outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a", "persist", "done")])
    (row,) = records.find(EntryRow)
    assert (row.outcome, row.reason) == ("done", None)
    assert ledger.recount() == []


@pytest.mark.parametrize("verdict", ["retried", "deferred"])
def test_what_is_to_come_back_keeps_its_entry_open_though_the_rest_has_ended(
    records: SqlRecords, verdict: str
) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    children = [build_promise("a", "a.1", "persist"), build_promise("a", "a.2", "parse")]
    ledger.write([build_disposition("a", "a", "identify", "done"), *children])
    ledger.write([build_disposition("a", "a.1", "persist", verdict, reason="store-unavailable")])
    ledger.write([build_disposition("a", "a.2", "parse", "done")])
    assert outcomes(records) == {"a": "pending"}
    ledger.write([build_disposition("a", "a.2", "parse", "quarantined", reason="timeout")])
    assert outcomes(records) == {"a": "quarantined"}


def test_of_endings_of_one_weight_the_latest_decides(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify", "extract"])
    ledger.write([build_disposition("a", "a", "extract", "dropped", reason="bomb", minute=2)])
    ledger.write([build_disposition("a", "a", "identify", "dropped", reason="no-text", minute=1)])
    (row,) = records.find(EntryRow)
    assert (row.outcome, row.reason, row.step) == ("dropped", "bomb", "extract")


def test_written_twice_is_written_once(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a")], ["identify"])
    rows = [build_disposition("a", "a", "identify", "done"), build_promise("a", "a", "persist")]
    for _ in range(3):
        ledger.write(rows)
        ledger.write(rows + rows)
    assert entry_tallies(records) == {("pending", "", ""): 1}
    assert ledger.recount() == []


def test_pipelines_have_books_of_their_own(records: SqlRecords) -> None:
    ledger = records.ledger
    both = [entry("a"), entry("a", pipeline="pdf-only")]
    ledger.enter([], both, ["identify"])
    ledger.write([build_disposition("a", "a", "identify", "done", pipeline="pdf-only")])
    assert {row.pipeline: row.outcome for row in records.find(EntryRow)} == {
        "library": "pending",
        "pdf-only": "done",
    }


def test_inputs_are_counted_as_they_are_read(records: SqlRecords) -> None:
    ledger = records.ledger
    for tally in ({"not-a-capture": 2}, {"not-a-capture": 5, "bomb": 1}):
        ledger.enter([input_row("i", tally=tally, tally_count=sum(tally.values()))], [], [])
    rows = records.find(TallyRow, {"counted": "inputs"})
    assert {row.first: row.count for row in rows} == {"not-a-capture": 5, "bomb": 1}
    assert [row.tally_count for row in records.find(InputRow)] == [6]


def test_files_are_counted_by_type_with_the_act_that_writes_them(records: SqlRecords) -> None:
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


def test_a_recount_names_what_does_not_add_up_and_mends_it(records: SqlRecords) -> None:
    ledger = records.ledger
    ledger.enter([], [entry("a"), entry("b")], ["identify"])
    ledger.write([build_disposition("a", "a", "identify", "done")])
    records.change(EntryRow, [("a", "library")], {"outcome": "dropped"})
    records.change(DispositionRow, [("b", "library", "identify")], {"is_open": False})
    told = ledger.recount()
    assert any(one.startswith("entry a (library) is recorded as dropped") for one in told)
    assert any(
        one.startswith("entry b (library) is recorded as pending with 1 open") for one in told
    )
    ledger.recount(repair=True)
    assert ledger.recount() == []
    records.delete(EntryRow, [("a", "library")])
    assert any("entry a (library) is not in the ledger" in one for one in ledger.recount())


VERDICTS = ("done", "dropped", "quarantined", "retried", "deferred", "pending")


@st.composite
def batches(draw: st.DrawFn) -> list[list[DispositionRow]]:
    """Rows of a few messages at a few steps, in any order and as often as one likes."""
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


def cleared(records: SqlRecords) -> SqlRecords:
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
def test_whatever_is_written_the_books_agree_with_a_recount(
    records: SqlRecords, batches: list[list[DispositionRow]]
) -> None:
    ledger = cleared(records).ledger
    ledger.enter([], [entry("a"), entry("b")], ["identify"])
    for rows in batches:
        ledger.write(rows)
        assert ledger.recount() == []
    settled_before = set()
    for rows in batches:
        for row in rows:
            if row.verdict != "pending":
                settled_before.add((row.message_id, row.step))
    stand = {(r.message_id, r.step): r for r in records.find(DispositionRow)}
    for key in settled_before:
        assert stand[key].verdict != "pending", "a promise undid an ending"
    verdicts = Counter(row.verdict for row in stand.values())
    tallied: Counter[str] = Counter()
    for row in records.find(TallyRow, {"counted": "dispositions"}):
        tallied[row.second] += row.count
    assert +tallied == verdicts


def test_many_writers_at_once_keep_the_books_right(records: SqlRecords) -> None:
    """Each writes about every entry: whoever looks before another wrote would count wrongly."""
    ids = [f"e{n}" for n in range(8)]
    records.ledger.enter([], [entry(one) for one in ids], ["identify"])
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for one in ids:
                rows = [build_disposition(one, f"{one}.{number}", "extract", "done")]
                if number == 0:
                    rows += [build_disposition(one, one, "identify", "done")]
                    rows += [build_promise(one, f"{one}.{k}", "extract") for k in range(4)]
                records.ledger.write(rows)
        except BaseException as error:  # noqa: BLE001 (told to the test)
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert faults == []
    assert set(outcomes(records).values()) == {"done"}
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
