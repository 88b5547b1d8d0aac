"""Accounting: every number is the sum of its parts, and the rows behind it can be had."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.library.accounting import (
    Tally,
    broken_inputs,
    counted,
    failure_groups,
    files_by_type,
    history,
    newest_input,
    outcomes,
    step_counts,
    summary,
    tally,
)
from fonds.model.disposition import Reason, Weight
from fonds.model.rows import CaptureRow, DispositionRow, FileMetaRow, InputRow
from fonds.stores.records.sql import SqlRecords
from small_pipeline import Workplace

MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


def _captured(capture_id: str, input_id: str = "one") -> CaptureRow:
    return CaptureRow(capture_id, input_id, "u", "20240305060708", "p", "c", MOMENT)


def _ended(
    capture_id: str,
    step: str,
    verdict: str = "done",
    reason: str | None = None,
    emitted: tuple[str, ...] = (),
    after_s: int = 0,
) -> DispositionRow:
    at = MOMENT + timedelta(seconds=after_s)
    sha1hex = capture_id.encode().hex().rjust(40, "0")
    return DispositionRow(
        capture_id, step, verdict, reason, "", sha1hex, emitted, len(emitted), 0, at
    )


def _input(input_id: str, finished: bool = True, **values: int) -> InputRow:
    counts = {name.replace("_", "-"): n for name, n in values.items()}
    return InputRow(input_id, f"/{input_id}", "warc", "1:1", 0, 0, counts, finished, None, MOMENT)


@pytest.fixture
def records(place: Workplace) -> SqlRecords:
    """Six captures of two inputs: two done, one each dropped, quarantined, half way, and untouched."""
    done = ("keep",)
    place.records.put(
        [
            _input("one", not_a_capture=3),
            _input("two", not_a_capture=1, revisit=2),
            *(_captured(one) for one in "abcd"),
            *(_captured(one, "two") for one in "ef"),
            _ended("a", "double", emitted=done),
            _ended("a", "keep", after_s=1),
            _ended("b", "double", emitted=done),
            _ended("b", "keep", after_s=2),
            _ended("c", "double", "dropped", "http-status"),
            _ended("d", "double", "quarantined", "broken-pdf", after_s=9),
            _ended("e", "double", emitted=done),
        ]
    )
    return place.records


def test_everything_that_entered_has_one_fate(records: SqlRecords) -> None:
    found = tally(records)
    assert found == Tally(
        received=12,
        done=2,
        dropped={"http-status": 1, "not-a-capture": 4, "revisit": 2},
        quarantined={"broken-pdf": 1},
        pending=2,
    )
    assert found.adds_up


def test_the_tally_of_one_input_is_its_own(records: SqlRecords) -> None:
    found = tally(records, ["two"])
    assert found == Tally(5, 0, {"not-a-capture": 1, "revisit": 2}, {}, 2)


def test_the_tallies_of_all_inputs_are_the_tally(records: SqlRecords) -> None:
    many = [f"none-{n}" for n in range(1200)]
    assert tally(records, ["one", *many, "two"]) == tally(records)


def test_nothing_has_an_empty_tally(place: Workplace) -> None:
    assert tally(place.records) == Tally()
    assert tally(place.records, []) == Tally()


def test_reasons_are_weighed_with_the_largest_first(records: SqlRecords) -> None:
    found = tally(records)
    assert list(found.weighing(Weight.SET_ASIDE).items()) == [("not-a-capture", 4), ("revisit", 2)]
    assert found.weighing(Weight.REFUSED) == {"http-status": 1}
    assert found.weighing(Weight.FAILED) == {"broken-pdf": 1}


@given(st.dictionaries(st.sampled_from([str(one) for one in Reason]), st.integers(1, 99)))
def test_weighing_leaves_nothing_out(dropped: dict[str, int]) -> None:
    found = Tally(received=sum(dropped.values()), dropped=dropped)
    assert found.adds_up
    assert sum(sum(found.weighing(weight).values()) for weight in Weight) == found.received


def test_a_tally_that_does_not_add_up_says_so() -> None:
    assert not Tally(received=2, done=1).adds_up


def test_failures_are_grouped_with_a_sample(records: SqlRecords) -> None:
    (group,) = failure_groups(records)
    assert (group.step, group.reason, group.count) == ("double", Reason.BROKEN_PDF, 1)
    assert group.sample is not None
    assert group.sample.capture_id == "d"


def test_the_rows_behind_a_number_come_newest_first(records: SqlRecords) -> None:
    rows = outcomes(records, {"outcome": "done"})
    assert [row.capture_id for row in rows] == ["b", "a"]
    assert [row.capture_id for row in outcomes(records, {"outcome": "done"}, offset=1)] == ["a"]
    assert len(outcomes(records, {}, count_max=2)) == 2


def test_what_sources_only_counted_can_be_asked_for_by_reason(records: SqlRecords) -> None:
    everything = counted(records)
    assert (everything.total, everything.inputs_count) == (6, 2)
    assert [(row.input_id, n) for row, n in everything.inputs] == [("one", 3), ("two", 3)]
    revisits = counted(records, ["revisit"])
    assert (revisits.total, [row.input_id for row, _ in revisits.inputs]) == (2, ["two"])


def test_only_the_inputs_with_the_most_are_listed(place: Workplace) -> None:
    place.records.put([_input(f"i{n:03}", not_a_capture=n + 1) for n in range(70)])
    found = counted(place.records)
    assert (found.inputs_count, len(found.inputs)) == (70, 50)
    assert [n for _, n in found.inputs] == list(range(70, 20, -1))


def test_inputs_that_could_not_be_read_are_listed(place: Workplace) -> None:
    broken = InputRow("b", "/b", "warc", "1:1", 0, 0, {}, True, "permission denied", MOMENT)
    place.records.put([_input("a"), broken])
    assert broken_inputs(place.records) == [broken]


def test_the_history_of_a_file_is_in_order(records: SqlRecords) -> None:
    sha1hex = b"a".hex().rjust(40, "0")
    assert [row.step for row in history(records, sha1hex)] == ["double", "keep"]


def test_steps_are_counted_by_verdict(records: SqlRecords) -> None:
    assert step_counts(records) == {
        "double": {"done": 3, "dropped": 1, "quarantined": 1},
        "keep": {"done": 2},
    }


def test_files_are_counted_by_type_the_most_frequent_first(place: Workplace) -> None:
    mimes = ["text/html", "application/pdf", "text/html"]
    place.records.put(
        [
            FileMetaRow(f"{n:040}", "0" * 64, "0" * 32, 1, mime, "", MOMENT)
            for n, mime in enumerate(mimes)
        ]
    )
    assert files_by_type(place.records) == [("text/html", 2), ("application/pdf", 1)]


def test_the_summary_has_the_keys_of_the_command(records: SqlRecords) -> None:
    assert summary(tally(records, ["two"]), 1.23456, 7) == {
        "in": 5,
        "done": 0,
        "dropped": {"not-a-capture": 1, "revisit": 2},
        "quarantined": {},
        "pending": 2,
        "seconds": 1.235,
        "known": 7,
    }


def test_when_something_last_entered(records: SqlRecords, place: Workplace) -> None:
    assert newest_input(records) == MOMENT


def test_nothing_ever_entered_an_empty_home(place: Workplace) -> None:
    assert newest_input(place.records) is None
