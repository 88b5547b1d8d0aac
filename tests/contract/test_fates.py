"""What became of a capture: the view `outcomes` of every SQL store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.record_rows import NOON, capture, ended
from fonds.model.rows import DispositionRow, OutcomeRow
from fonds.ports import Records


def fate_of(records: Records, rows: Iterable[DispositionRow]) -> OutcomeRow:
    records.put([capture("c"), capture("neighbour"), ended("neighbour", "x", "done"), *rows])
    (found,) = records.get(OutcomeRow, ["c"])
    assert list(records.find(OutcomeRow, {"capture_id": "c"})) == [found]
    assert records.count(OutcomeRow, ("outcome", "reason"), {"capture_id": "c"}) == {
        (found.outcome, found.reason): 1
    }
    return found


def test_a_capture_nobody_settled_is_pending(records: Records) -> None:
    found = fate_of(records, [])
    assert (found.outcome, found.reason, found.step, found.settled_at) == (
        "pending",
        None,
        None,
        None,
    )
    assert (found.url, found.place, found.input_id) == ("http://x.org/", "a.warc.gz:9", "input")


def test_a_capture_is_pending_until_every_emitted_message_is_settled(records: Records) -> None:
    first = ended("c", "a", "done", "b", "d", minute=0)
    assert fate_of(records, [first]).outcome == "pending"
    assert fate_of(records, [ended("c", "b", "done", minute=1)]).outcome == "pending"
    found = fate_of(records, [ended("c", "d", "done", minute=2, detail="last")])
    assert (found.outcome, found.step, found.detail) == ("done", "d", "last")
    assert found.settled_at == NOON + timedelta(minutes=2)


def test_the_one_settled_last_decides_that_all_is_done(records: Records) -> None:
    rows = [ended("c", "a", "done", "z", minute=5), ended("c", "z", "done", minute=1)]
    assert fate_of(records, rows).step == "a"


def test_a_dropped_capture_names_its_reason(records: Records) -> None:
    rows = [
        ended("c", "a", "done", "b", minute=0),
        ended("c", "b", "dropped", reason="duplicate", detail="of x", minute=1),
        ended("c", "z", "done", minute=9),
    ]
    found = fate_of(records, rows)
    assert (found.outcome, found.reason, found.step, found.detail) == (
        "dropped",
        "duplicate",
        "b",
        "of x",
    )


def test_a_dropped_message_with_work_still_out_is_pending(records: Records) -> None:
    rows = [ended("c", "a", "dropped", "b", reason="duplicate")]
    found = fate_of(records, rows)
    assert (found.outcome, found.reason) == ("pending", None)


def test_a_quarantined_capture_is_so_whatever_else_is_out(records: Records) -> None:
    rows = [
        ended("c", "a", "done", "b", "d", "e"),
        ended("c", "b", "quarantined", reason="timeout", detail="60 s"),
        ended("c", "d", "dropped", reason="duplicate", minute=9),
    ]
    found = fate_of(records, rows)
    assert (found.outcome, found.reason, found.step, found.detail) == (
        "quarantined",
        "timeout",
        "b",
        "60 s",
    )


def test_a_retried_message_counts_as_not_settled(records: Records) -> None:
    rows = [
        ended("c", "a", "done", "b"),
        ended("c", "b", "retried", reason="store-unavailable", sha1hex="a" * 40),
    ]
    found = fate_of(records, rows)
    assert (found.outcome, found.reason, found.sha1hex) == ("pending", None, "a" * 40)
    assert fate_of(records, [ended("c", "b", "done", minute=1)]).outcome == "done"


def test_a_capture_with_something_to_be_tried_again_is_pending_though_the_rest_is_settled(
    records: Records,
) -> None:
    rows = [ended("c", "a", "dropped", reason="duplicate"), ended("c", "b", "retried", minute=1)]
    assert fate_of(records, rows).outcome == "pending"


def test_a_quarantined_capture_stays_so_while_something_is_tried_again(records: Records) -> None:
    rows = [
        ended("c", "a", "quarantined", reason="bomb"),
        ended("c", "b", "retried", reason="store-unavailable", minute=1),
    ]
    found = fate_of(records, rows)
    assert (found.outcome, found.reason, found.step) == ("quarantined", "bomb", "a")


def test_fates_can_be_listed_counted_and_cannot_be_written(records: Records) -> None:
    records.put([capture(f"{i:05d}", f"input{i % 2}") for i in range(1100)])
    records.put([ended(f"{i:05d}", "a", "done", "b") for i in range(1100)])
    records.put([ended("00003", "b", "quarantined", reason="bomb")])
    assert records.count(OutcomeRow, ("input_id", "outcome")) == {
        ("input0", "pending"): 550,
        ("input1", "pending"): 549,
        ("input1", "quarantined"): 1,
    }
    assert [row.capture_id for row in records.find(OutcomeRow)] == [f"{i:05d}" for i in range(1100)]
    found = list(
        records.find(OutcomeRow, {"outcome": "pending"}, order=("-capture_id",), count_max=2)
    )
    assert [row.capture_id for row in found] == ["01099", "01098"]
    with pytest.raises(TypeError, match="view"):
        records.put(found)
    with pytest.raises(TypeError, match="view"):
        records.delete(OutcomeRow, ["00003"])


VERDICTS = st.sampled_from(["done", "dropped", "retried", "quarantined"])


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.lists(st.tuples(VERDICTS, st.integers(0, 2), st.integers(0, 3)), max_size=5),
)
def test_a_fate_is_what_its_definition_says(
    records: Records, parts: list[tuple[str, int, int]]
) -> None:
    rows = [
        ended("c", f"s{i}", verdict, *"xy"[:emitted], minute=minute, reason=f"r{i}")
        for i, (verdict, emitted, minute) in enumerate(parts)
    ]
    records.delete(DispositionRow, [("c", f"s{i}") for i in range(5)])
    found = fate_of(records, rows)
    settled = [row for row in rows if row.verdict != "retried"]
    verdicts = {row.verdict for row in settled}
    due = 1 + sum(row.emitted_count for row in settled)
    if "quarantined" in verdicts:
        expected = "quarantined"
    elif len(settled) < len(rows) or len(settled) < due:
        expected = "pending"
    else:
        expected = "dropped" if "dropped" in verdicts else "done"
    assert found.outcome == expected
    deciding = [row for row in settled if row.verdict == expected]
    last = max(deciding, key=lambda row: (row.settled_at, row.step), default=None)
    assert (found.step, found.reason, found.settled_at) == (
        (last.step, last.reason, last.settled_at) if last else (None, None, None)
    )
