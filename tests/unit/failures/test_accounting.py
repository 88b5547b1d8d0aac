"""Accounting: every number is the sum of its parts, and the rows behind it can be had."""

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


def _entered(
    records: SqlRecords, ids: str, input_id: str = "one", pipeline: str = PIPELINE
) -> None:
    facts = ("number", input_id, "u", "20240305060708", "p", "c", MOMENT)
    records.ledger.enter([], [EntryRow(one, pipeline, *facts) for one in ids], ["double"])


def _ended(
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


def _promised(entry_id: str, step: str, pipeline: str = PIPELINE) -> DispositionRow:
    row = _ended(entry_id, step, pipeline=pipeline)
    return replace(row, verdict="pending", is_open=True, about=None, settled_at=None)


def _input(input_id: str, finished: bool = True, **values: int) -> InputRow:
    counts = {name.replace("_", "-"): n for name, n in values.items()}
    facts = ("warc", "1:1", 0, 0, counts, sum(counts.values()), finished, None, MOMENT, PIPELINE)
    return InputRow(input_id, f"/{input_id}", *facts)


@pytest.fixture
def records(place: Workplace) -> SqlRecords:
    """Six entries of two inputs: two done, one each dropped, quarantined, half way, and untouched."""
    records = place.records
    inputs = [_input("one", not_a_capture=3), _input("two", not_a_capture=1, revisit=2)]
    records.ledger.enter(inputs, [], ())
    _entered(records, "abcd")
    _entered(records, "ef", "two")
    records.ledger.write(
        [
            *(_ended("a", "double"), _promised("a", "keep"), _ended("a", "keep", after_s=1)),
            *(_ended("b", "double"), _promised("b", "keep"), _ended("b", "keep", after_s=2)),
            _ended("c", "double", "dropped", "http-status"),
            _ended("d", "double", "quarantined", "broken-pdf", after_s=9),
            *(_ended("e", "double"), _promised("e", "keep")),
        ]
    )
    return records


def test_everything_that_entered_has_one_outcome(records: SqlRecords) -> None:
    found = count_entries(records)
    assert found == OutcomeTally(
        received=12,
        done=2,
        dropped={"http-status": 1, "not-a-capture": 4, "revisit": 2},
        quarantined={"broken-pdf": 1},
        pending=2,
    )
    assert found.is_balanced


def test_the_tally_of_one_input_is_its_own(records: SqlRecords) -> None:
    found = count_entries(records, ["two"])
    assert found == OutcomeTally(5, 0, {"not-a-capture": 1, "revisit": 2}, {}, 2)


def test_the_tallies_of_all_inputs_are_the_tally(records: SqlRecords) -> None:
    many = [f"none-{n}" for n in range(1200)]
    assert count_entries(records, ["one", *many, "two"]) == count_entries(records)


def test_nothing_has_an_empty_tally(place: Workplace) -> None:
    assert count_entries(place.records) == OutcomeTally()
    assert count_entries(place.records, []) == OutcomeTally()


def test_reasons_are_weighed_with_the_largest_first(records: SqlRecords) -> None:
    found = count_entries(records)
    assert list(found.filter_reasons(Weight.SET_ASIDE).items()) == [
        ("not-a-capture", 4),
        ("revisit", 2),
    ]
    assert found.filter_reasons(Weight.REFUSED) == {"http-status": 1}
    assert found.filter_reasons(Weight.FAILED) == {"broken-pdf": 1}


@given(st.dictionaries(st.sampled_from([str(one) for one in Reason]), st.integers(1, 99)))
def test_weighing_leaves_nothing_out(dropped: dict[str, int]) -> None:
    found = OutcomeTally(received=sum(dropped.values()), dropped=dropped)
    assert found.is_balanced
    assert sum(sum(found.filter_reasons(weight).values()) for weight in Weight) == found.received


def test_a_tally_that_does_not_add_up_says_so() -> None:
    assert not OutcomeTally(received=2, done=1).is_balanced


def test_failures_are_grouped_with_a_sample(records: SqlRecords) -> None:
    (group,) = count_step_failures(records)
    assert (group.step, group.reason, group.count) == ("double", Reason.BROKEN_PDF, 1)
    assert group.sample is not None
    assert group.sample.entry_id == "d"


def test_the_rows_behind_a_number_come_newest_first(records: SqlRecords) -> None:
    rows = list_outcomes(records, {"outcome": "done"})
    assert [row.entry_id for row in rows] == ["b", "a"]
    rest = list_outcomes(records, {"outcome": "done"}, after=asdict(rows[0]))
    assert [row.entry_id for row in rest] == ["a"]
    assert len(list_outcomes(records, {}, count_max=2)) == 2


def test_what_sources_only_counted_can_be_asked_for_by_reason(records: SqlRecords) -> None:
    everything = count_uncaptured(records)
    assert (everything.total, everything.inputs_count) == (6, 2)
    assert [(row.input_id, n) for row, n in everything.inputs] == [("one", 3), ("two", 3)]
    revisits = count_uncaptured(records, ["revisit"])
    assert (revisits.total, [row.input_id for row, _ in revisits.inputs]) == (2, ["two"])


def test_only_the_inputs_with_the_most_are_listed(place: Workplace) -> None:
    inputs = [_input(f"i{n:03}", not_a_capture=n + 1) for n in range(70)]
    place.ledger.enter(inputs, [], ())
    found = count_uncaptured(place.records)
    assert (found.inputs_count, len(found.inputs)) == (70, 50)
    assert [n for _, n in found.inputs] == list(range(70, 20, -1))


def test_inputs_that_could_not_be_read_are_listed(place: Workplace) -> None:
    broken = replace(_input("b"), error="permission denied")
    place.ledger.enter([_input("a"), broken], [], ())
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


def test_files_are_counted_by_type_the_most_frequent_first(place: Workplace) -> None:
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


def test_when_something_last_entered(records: SqlRecords, place: Workplace) -> None:
    assert find_newest_input(records) == MOMENT


def test_nothing_ever_entered_an_empty_home(place: Workplace) -> None:
    assert find_newest_input(place.records) is None


@pytest.fixture
def two(records: SqlRecords) -> SqlRecords:
    """The same, and a second pipeline that read the input `two` and in which everything failed."""
    other = "pdf-only"
    records.ledger.enter([replace(_input("two", revisit=5), pipeline=other)], [], ())
    _entered(records, "def", "two", other)
    for one in "de":
        records.ledger.write([_ended(one, "double", "quarantined", "broken-pdf", pipeline=other)])
    return records


def test_each_pipeline_has_its_own_numbers_and_all_together_their_sum(two: SqlRecords) -> None:
    assert list_used_pipelines(two) == ["pdf-only", PIPELINE]
    mine, other = count_entries(two, pipeline=PIPELINE), count_entries(two, pipeline="pdf-only")
    assert (mine.received, mine.quarantined, mine.pending) == (12, {"broken-pdf": 1}, 2)
    assert other == OutcomeTally(8, 0, {"revisit": 5}, {"broken-pdf": 2}, 1)
    assert count_entries(two).received == mine.received + other.received
    assert count_entries(two, ["two"], "pdf-only") == other
    assert count_entries(two, ["two"], PIPELINE) == OutcomeTally(
        5, 0, {"not-a-capture": 1, "revisit": 2}, {}, 2
    )


def test_failures_of_each_pipeline_are_a_group_of_their_own(two: SqlRecords) -> None:
    groups = count_step_failures(two)
    assert [(group.pipeline, group.step, group.count) for group in groups] == [
        ("pdf-only", "double", 2),
        (PIPELINE, "double", 1),
    ]
    assert [group.sample.pipeline for group in groups if group.sample] == ["pdf-only", PIPELINE]
    assert count_step_failures(two, PIPELINE) == groups[1:]


def test_what_sources_counted_is_counted_by_pipeline_too(two: SqlRecords) -> None:
    assert count_uncaptured(two, ["revisit"]).total == 7
    found = count_uncaptured(two, ["revisit"], "pdf-only")
    assert (found.total, [(row.pipeline, n) for row, n in found.inputs]) == (5, [("pdf-only", 5)])


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
def test_every_row_is_on_one_page_in_order_and_as_many_as_are_counted(
    two: SqlRecords, where: dict[str, object]
) -> None:
    found: list[EntryRow] = []
    while rows := list_outcomes(
        two, where, after=asdict(found[-1]) if found else None, count_max=2
    ):
        found += rows
    assert len({(row.entry_id, row.pipeline) for row in found}) == len(found)
    assert len(found) == count_outcomes(two, where)
    # What is pending was decided by no step and for no reason, whatever its messages said so far.
    decided = not where.keys().isdisjoint({"step", "reason"})
    expected = [
        row
        for row in two.find(EntryRow)
        if all(getattr(row, n) in (v if isinstance(v, list) else [v]) for n, v in where.items())
        and not (decided and row.outcome == "pending")
    ]
    assert found == sorted(expected, key=_newest_first)


def _newest_first(row: EntryRow) -> tuple[bool, timedelta, str, str]:
    at = row.settled_at or MOMENT
    return row.settled_at is None, MOMENT - at, row.entry_id, row.pipeline


def test_only_a_thousand_inputs_are_looked_at_and_all_are_counted(place: Workplace) -> None:
    inputs = [_input(f"i{n:04}", not_a_capture=1) for n in range(1_003)]
    place.ledger.enter(inputs, [], ())
    found = count_uncaptured(place.records)
    assert (found.total, found.inputs_count, len(found.inputs)) == (1_003, 1_000, 50)


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
