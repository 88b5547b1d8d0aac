"""Accounting: every number is the sum of its parts, and its rows can be listed."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.failures.accounting.days import DayRange, count_uncaptured
from fonds.failures.accounting.tallies import (
    OutcomeTally,
    count_by_step,
    count_entries,
    count_files_by_type,
    count_outcomes,
    count_step_failures,
    find_newest_input,
    list_broken_inputs,
    list_outcomes,
    list_used_pipelines,
)
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import DispositionRow, EntryRow, FileMetaRow, InputRow
from fonds.stores.records.sql import SqlRecords
from fonds.viewer.history import list_history
from small_pipeline import Workplace

PIPELINE = "sums"
MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


def _enter(records: SqlRecords, ids: str, input_id: str = "one", pipeline: str = PIPELINE) -> None:
    facts = ("number", input_id, "u", "20240305060708", "p", "c", MOMENT)
    records.ledger.enter([], [EntryRow(entry_id, pipeline, *facts) for entry_id in ids], ["double"])


def _make_disposition(
    entry_id: str,
    step: str,
    verdict: str = "done",
    reason: str | None = None,
    after_s: int = 0,
    pipeline: str = PIPELINE,
) -> DispositionRow:
    at = MOMENT + timedelta(seconds=after_s)
    parents = (entry_id, "double") if step != "double" else (None, None)
    about = entry_id.encode().hex().rjust(40, "0")
    return DispositionRow(
        *(entry_id, pipeline, step, entry_id, *parents),
        *(verdict, False, reason, "", about, 0, at, at),
    )


def _make_pending(entry_id: str, step: str, pipeline: str = PIPELINE) -> DispositionRow:
    row = _make_disposition(entry_id, step, pipeline=pipeline)
    return replace(row, verdict="pending", is_open=True, about=None, settled_at=None)


def _make_input(input_id: str, finished: bool = True, **values: int) -> InputRow:
    counts = {name.replace("_", "-"): n for name, n in values.items()}
    facts = ("warc", "1:1", 0, 0, counts, sum(counts.values()), finished, None, MOMENT, PIPELINE)
    return InputRow(input_id, f"/{input_id}", *facts)


@pytest.fixture
def records(place: Workplace) -> SqlRecords:
    """Six entries of two inputs: two done, one dropped, one quarantined, one half done, and one
    untouched."""
    records = place.records
    inputs = [_make_input("one", not_a_capture=3), _make_input("two", not_a_capture=1, revisit=2)]
    records.ledger.enter(inputs, [], ())
    _enter(records, "abcd")
    _enter(records, "ef", "two")
    records.ledger.write(
        [
            *(
                _make_disposition("a", "double"),
                _make_pending("a", "keep"),
                _make_disposition("a", "keep", after_s=1),
            ),
            *(
                _make_disposition("b", "double"),
                _make_pending("b", "keep"),
                _make_disposition("b", "keep", after_s=2),
            ),
            _make_disposition("c", "double", "dropped", "http-status"),
            _make_disposition("d", "double", "quarantined", "broken-pdf", after_s=9),
            *(_make_disposition("e", "double"), _make_pending("e", "keep")),
        ]
    )
    return records


def test_every_entry_has_one_outcome(records: SqlRecords) -> None:
    tally = count_entries(records)
    assert tally == OutcomeTally(
        received=12,
        done=2,
        dropped={"http-status": 1, "not-a-capture": 4, "revisit": 2},
        quarantined={"broken-pdf": 1},
        pending=2,
    )
    assert tally.is_balanced


def test_the_tally_of_one_input_counts_only_that_input(records: SqlRecords) -> None:
    tally = count_entries(records, ["two"])
    assert tally == OutcomeTally(5, 0, {"not-a-capture": 1, "revisit": 2}, {}, 2)


def test_the_tallies_of_all_inputs_add_up_to_the_tally(records: SqlRecords) -> None:
    other_ids = [f"none-{n}" for n in range(1200)]
    assert count_entries(records, ["one", *other_ids, "two"]) == count_entries(records)


def test_an_empty_home_has_an_empty_tally(place: Workplace) -> None:
    assert count_entries(place.records) == OutcomeTally()
    assert count_entries(place.records, []) == OutcomeTally()


def test_reasons_are_grouped_by_weight_with_the_largest_first(records: SqlRecords) -> None:
    tally = count_entries(records)
    assert list(tally.filter_reasons(Weight.SKIPPED).items()) == [
        ("not-a-capture", 4),
        ("revisit", 2),
    ]
    assert tally.filter_reasons(Weight.REJECTED) == {"http-status": 1}
    assert tally.filter_reasons(Weight.FAILED) == {"broken-pdf": 1}


@given(st.dictionaries(st.sampled_from([str(reason) for reason in Reason]), st.integers(1, 99)))
def test_weights_include_every_reason(dropped: dict[str, int]) -> None:
    tally = OutcomeTally(received=sum(dropped.values()), dropped=dropped)
    assert tally.is_balanced
    assert sum(sum(tally.filter_reasons(weight).values()) for weight in Weight) == tally.received


def test_a_tally_that_does_not_add_up_is_not_balanced() -> None:
    assert not OutcomeTally(received=2, done=1).is_balanced


def test_failures_are_grouped_with_a_sample(records: SqlRecords) -> None:
    (group,) = count_step_failures(records)
    assert (group.step, group.reason, group.count) == ("double", Reason.BROKEN_PDF, 1)
    assert group.sample is not None
    assert group.sample.entry_id == "d"


def test_the_rows_of_a_number_are_listed_newest_first(records: SqlRecords) -> None:
    rows = list_outcomes(records, {"outcome": "done"})
    assert [row.entry_id for row in rows] == ["b", "a"]
    rest = list_outcomes(records, {"outcome": "done"}, after=asdict(rows[0]))
    assert [row.entry_id for row in rest] == ["a"]
    assert len(list_outcomes(records, {}, count_max=2)) == 2


def test_counts_of_sources_can_be_filtered_by_reason(records: SqlRecords) -> None:
    all_reasons = count_uncaptured(records)
    assert (all_reasons.total, all_reasons.inputs_count) == (6, 2)
    assert [(row.input_id, n) for row, n in all_reasons.inputs] == [("one", 3), ("two", 3)]
    revisits = count_uncaptured(records, ["revisit"])
    assert (revisits.total, [row.input_id for row, _ in revisits.inputs]) == (2, ["two"])


def test_only_the_inputs_with_the_highest_counts_are_listed(place: Workplace) -> None:
    inputs = [_make_input(f"i{n:03}", not_a_capture=n + 1) for n in range(70)]
    place.ledger.enter(inputs, [], ())
    tally = count_uncaptured(place.records)
    assert (tally.inputs_count, len(tally.inputs)) == (70, 50)
    assert [n for _, n in tally.inputs] == list(range(70, 20, -1))


def test_unreadable_inputs_are_listed(place: Workplace) -> None:
    broken = replace(_make_input("b"), error="permission denied")
    place.ledger.enter([_make_input("a"), broken], [], ())
    assert list_broken_inputs(place.records) == [broken]


def test_the_history_of_a_file_is_in_order(records: SqlRecords) -> None:
    sha1hex = b"a".hex().rjust(40, "0")
    assert [row.step for row in list_history(records, sha1hex)] == ["double", "keep"]


def test_steps_are_counted_by_verdict(records: SqlRecords) -> None:
    assert count_by_step(records, PIPELINE) == {
        "double": {"done": 3, "dropped": 1, "quarantined": 1, "pending": 1},
        "keep": {"done": 2, "pending": 1},
    }
    assert count_by_step(records, "pdf-only") == {}


def test_files_are_counted_by_type_with_the_most_frequent_first(place: Workplace) -> None:
    mimes = ["text/html", "application/pdf", "text/html"]
    place.records.put(
        [
            FileMetaRow(f"{n:040}", "0" * 64, "0" * 32, 1, mime, "", MOMENT)
            for n, mime in enumerate(mimes)
        ]
    )
    assert count_files_by_type(place.records) == [("text/html", 2), ("application/pdf", 1)]


def test_the_tally_has_the_keys_of_the_command(records: SqlRecords) -> None:
    assert msgspec.to_builtins(count_entries(records, ["two"])) == {
        "in": 5,
        "done": 0,
        "dropped": {"not-a-capture": 1, "revisit": 2},
        "quarantined": {},
        "pending": 2,
        "without_text": {},
    }


def test_the_time_of_the_newest_input_is_returned(records: SqlRecords, place: Workplace) -> None:
    assert find_newest_input(records) == MOMENT


def test_an_empty_home_has_no_newest_input(place: Workplace) -> None:
    assert find_newest_input(place.records) is None


@pytest.fixture
def two_pipelines(records: SqlRecords) -> SqlRecords:
    """The same records with a second pipeline that read the input `two`, and in which everything
    failed."""
    other = "pdf-only"
    records.ledger.enter([replace(_make_input("two", revisit=5), pipeline=other)], [], ())
    _enter(records, "def", "two", other)
    for entry_id in "de":
        records.ledger.write(
            [_make_disposition(entry_id, "double", "quarantined", "broken-pdf", pipeline=other)]
        )
    return records


def test_each_pipeline_has_its_own_numbers_that_add_up_to_the_total(
    two_pipelines: SqlRecords,
) -> None:
    assert list_used_pipelines(two_pipelines) == ["pdf-only", PIPELINE]
    own, other = (
        count_entries(two_pipelines, pipeline=PIPELINE),
        count_entries(two_pipelines, pipeline="pdf-only"),
    )
    assert (own.received, own.quarantined, own.pending) == (12, {"broken-pdf": 1}, 2)
    assert other == OutcomeTally(8, 0, {"revisit": 5}, {"broken-pdf": 2}, 1)
    assert count_entries(two_pipelines).received == own.received + other.received
    assert count_entries(two_pipelines, ["two"], "pdf-only") == other
    assert count_entries(two_pipelines, ["two"], PIPELINE) == OutcomeTally(
        5, 0, {"not-a-capture": 1, "revisit": 2}, {}, 2
    )


def test_failures_are_grouped_by_pipeline(two_pipelines: SqlRecords) -> None:
    groups = count_step_failures(two_pipelines)
    assert [(group.pipeline, group.step, group.count) for group in groups] == [
        ("pdf-only", "double", 2),
        (PIPELINE, "double", 1),
    ]
    assert [group.sample.pipeline for group in groups if group.sample] == ["pdf-only", PIPELINE]
    assert count_step_failures(two_pipelines, PIPELINE) == groups[1:]


def test_counts_of_sources_are_by_pipeline(two_pipelines: SqlRecords) -> None:
    assert count_uncaptured(two_pipelines, ["revisit"]).total == 7
    tally = count_uncaptured(two_pipelines, ["revisit"], "pdf-only")
    assert (tally.total, [(row.pipeline, n) for row, n in tally.inputs]) == (5, [("pdf-only", 5)])


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"pipeline": "sums"},
        {"outcome": "pending"},
        {"outcome": ["dropped", "quarantined"]},
        {"reason": ["broken-pdf", "http-status"]},
        {"step": "double"},
        {"outcome": "pending", "step": "double"},
        {"outcome": "done", "step": "keep", "pipeline": "sums"},
        {"input_id": "two"},
        {"reason": "bomb"},
    ],
    ids=str,
)
def test_paging_returns_every_counted_row_once_in_order(
    two_pipelines: SqlRecords, where: dict[str, object]
) -> None:
    listed: list[EntryRow] = []
    while rows := list_outcomes(
        two_pipelines, where, after=asdict(listed[-1]) if listed else None, count_max=2
    ):
        listed += rows
    assert len({(row.entry_id, row.pipeline) for row in listed}) == len(listed)
    assert len(listed) == count_outcomes(two_pipelines, where)
    # Pending entries have no step and no reason, even if their messages had some before.
    has_decision = not where.keys().isdisjoint({"step", "reason"})
    expected = [
        row
        for row in two_pipelines.find(EntryRow)
        if all(getattr(row, n) in (v if isinstance(v, list) else [v]) for n, v in where.items())
        and not (has_decision and row.outcome == "pending")
    ]
    assert listed == sorted(expected, key=_newest_first)


def _newest_first(row: EntryRow) -> tuple[bool, timedelta, str, str]:
    at = row.settled_at or MOMENT
    return row.settled_at is None, MOMENT - at, row.entry_id, row.pipeline


def test_counts_include_all_inputs_but_only_a_thousand_are_examined(place: Workplace) -> None:
    inputs = [_make_input(f"i{n:04}", not_a_capture=1) for n in range(1_003)]
    place.ledger.enter(inputs, [], ())
    tally = count_uncaptured(place.records)
    assert (tally.total, tally.inputs_count, len(tally.inputs)) == (1_003, 1_000, 50)


def test_a_range_of_at_most_400_days_names_each_day() -> None:
    first = date(2024, 1, 1)
    for length in (1, 400):
        days = DayRange(first, first + timedelta(days=length - 1)).list_days()
        assert days is not None
        assert (len(days), days[0]) == (length, "2024-01-01")
        assert days[-1] in DayRange(first, first + timedelta(days=length - 1))
    assert DayRange(first, first + timedelta(days=400)).list_days() is None
    assert DayRange(first, None).list_days() is DayRange(None, first).list_days() is None
    assert DayRange(first, first - timedelta(days=1)).list_days() == []
