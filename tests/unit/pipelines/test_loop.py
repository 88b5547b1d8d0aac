"""The batch loop on real queue and records: order of writes, retries, quarantine and batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fonds.model.disposition import Reason, drop, quarantine
from fonds.model.errors import (
    ConfigurationError,
    DamagedInputError,
    LimitError,
    StoreUnavailableError,
)
from fonds.model.message import Message
from fonds.model.rows import DispositionRow
from fonds.model.step import Result
from fonds.pipelines.runtime.result_messages import DETAIL_MAX_CHARS
from fonds.pipelines.runtime.worker import REDELIVERIES_MAX, RETURNS_MAX
from fonds.queues.messages.envelope import decode
from fonds.queues.sqlite import SqliteQueue
from small_pipeline import Double, Number, RaisesOnce, Spy, Workplace, double, doubles


def test_a_message_is_passed_on_recorded_and_settled(place: Workplace) -> None:
    place.enter(3)
    assert place.loop().run_once(0.0) == 1
    row = place.row("id-003")
    assert row is not None
    assert (row.verdict, row.reason, row.attempt) == ("done", None, 0)
    assert row.about == f"{3:040x}"
    child = place.row("id-003", "keep")
    assert child is not None
    assert (child.verdict, child.parent_id, child.parent_step) == ("pending", "id-003", "double")
    (handed_on,) = place.take_all("sums.keep-in")
    assert (handed_on.id, handed_on.key) == ("id-003", f"{3:040x}")
    assert decode(handed_on, Double) == Double(6, f"{3:040x}")
    assert place.get_depth().pending == 0


def test_an_empty_turn_settles_no_messages(place: Workplace) -> None:
    assert place.loop().run_once(0.0) == 0


def test_a_step_without_items_promises_no_messages(place: Workplace) -> None:
    place.enter(1)
    place.loop(lambda item: Result()).run_once(0.0)
    row = place.row("id-001")
    assert row is not None
    assert row.about is None
    assert place.row("id-001", "keep") is None
    assert place.outcomes() == {"id-001": "done"}


def test_items_are_put_before_the_message_is_recorded_and_settled(
    place: Workplace,
) -> None:
    place.enter(1)
    calls: list[str] = []
    place.loop(queue=Spy(place.queue, calls), ledger=Spy(place.ledger, calls)).run_once(0.0)
    assert calls == ["receive sums.double-in", "put t.sums.doubles", "write", "settle"]


@pytest.mark.parametrize("is_killed", [False, True], ids=["goes-on", "is-killed"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method_path", ["queue.put", "ledger.write", "queue.settle"])
def test_a_failure_between_the_writes_loses_and_repeats_no_message(
    place: Workplace, tmp_path: Path, method_path: str, after: bool, is_killed: bool
) -> None:
    ids = place.enter(*range(5))
    store, _, method = method_path.partition(".")
    error = StoreUnavailableError("the answer was lost")
    handle = SqliteQueue(tmp_path / "queue.sqlite", clock=place.clock.seconds)
    stores = {"queue": handle, "ledger": place.ledger}
    stores[store] = RaisesOnce(stores[store], method, error, after=after)
    loop = place.loop(**stores)
    with pytest.raises(StoreUnavailableError):
        loop.run_once(0.0)
    if is_killed:
        handle.close()
        loop = place.loop()
    # A message that was passed on only has to be written and settled, unless the process was killed.
    is_repeated = method_path == "queue.put" or (
        is_killed and (method_path, after) != ("queue.settle", True)
    )
    assert loop.run_once(0.0) == (5 if is_repeated else 0)
    assert place.list_endings() == dict.fromkeys(ids, ("done", None))
    assert place.get_depth().pending == 0
    assert sorted(message.id for message in place.take_all("sums.keep-in")) == ids
    assert place.ledger.recount() == []
    handle.close()


def test_messages_of_a_closed_queue_handle_are_delivered_again(
    place: Workplace, tmp_path: Path
) -> None:
    ids = place.enter(1, 2)
    other_queue = SqliteQueue(tmp_path / "queue.sqlite", clock=place.clock.seconds)
    assert len(other_queue.receive("sums.double-in", 10, 0.0)) == 2
    assert place.loop().run_once(0.0) == 0
    other_queue.close()
    assert place.loop().run_once(0.0) == 2
    assert set(place.list_endings()) == set(ids)


def test_a_message_put_twice_is_processed_once(place: Workplace) -> None:
    place.enter(1)
    place.enter(1)
    assert place.loop().run_once(0.0) == 1
    assert len(place.take_all("sums.keep-in")) == 1


def test_a_permanent_failure_is_quarantined_with_its_reason(place: Workplace) -> None:
    place.enter(1)

    def raise_damaged(item: Number) -> Result:
        raise DamagedInputError(Reason.DAMAGED_RECORD, "half a record")

    place.loop(raise_damaged).run_once(0.0)
    assert place.list_endings() == {"id-001": ("quarantined", "damaged-record")}
    (quarantined,) = place.take_all("sums.double-quar")
    assert dict(quarantined.headers) == {"reason": "damaged-record", "detail": "half a record"}
    assert decode(quarantined, Number) == Number(1)


def test_a_refused_message_is_dropped_and_not_quarantined(place: Workplace) -> None:
    place.enter(1)

    def raise_too_large(item: Number) -> Result:
        raise LimitError(Reason.TOO_LARGE, "9 bytes, at most 8")

    place.loop(raise_too_large).run_once(0.0)
    assert place.list_endings() == {"id-001": ("dropped", "too-large")}
    assert place.get_depth().quarantined == 0


@pytest.mark.parametrize(
    "disposition", [drop(Reason.NO_TEXT), quarantine(Reason.BROKEN_PDF, "cut")]
)
def test_items_of_a_failed_step_are_passed_on(place: Workplace, disposition: Any) -> None:
    place.enter(4)
    place.loop(lambda item: Result(disposition, double(item).items)).run_once(0.0)
    assert [message.id for message in place.take_all("sums.keep-in")] == ["id-004"]
    row = place.row("id-004")
    assert row is not None
    assert place.row("id-004", "keep") is not None


def test_a_bug_is_retried_a_few_times_and_then_quarantined(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    place.enter(1, 2)

    def fail_on_1(item: Number) -> Result:
        if item.value == 1:
            raise ZeroDivisionError("a fault of ours")
        return double(item)

    loop = place.loop(fail_on_1)
    turns = 0
    while place.get_depth().pending:
        loop.run_once(0.0)
        place.clock.pass_s(1)
        turns += 1
    assert turns == RETURNS_MAX + 1
    assert place.list_endings() == {
        "id-001": ("quarantined", "internal-error"),
        "id-002": ("done", None),
    }
    row = place.row("id-001")
    assert row is not None
    assert "a fault of ours" in row.detail
    assert len(row.detail) <= DETAIL_MAX_CHARS
    assert "double failed on id-001" in caplog.text


def test_a_message_redelivered_too_often_is_quarantined(place: Workplace) -> None:
    place.enter(1)
    for _ in range(REDELIVERIES_MAX):
        place.queue.release(place.queue.receive("sums.double-in", 1, 0.0))
    place.loop(double).run_once(0.0)
    assert place.list_endings() == {"id-001": ("quarantined", "internal-error")}


def test_a_failing_item_is_isolated_and_the_rest_of_its_batch_is_done(place: Workplace) -> None:
    place.enter(*range(6))
    sizes: list[int] = []

    def fail_on_4(items: Sequence[Number]) -> list[Result]:
        sizes.append(len(items))
        if any(item.value == 4 for item in items):
            raise DamagedInputError(Reason.BAD_ENCODING, "number four")
        return doubles(items)

    place.loop(fail_on_4, batch=True).run_once(0.0)
    assert sizes == [6, 1, 1, 1, 1, 1, 1]
    endings = place.list_endings()
    assert endings.pop("id-004") == ("quarantined", "bad-encoding")
    assert set(endings.values()) == {("done", None)}
    assert len(place.take_all("sums.keep-in")) == 5


def test_a_batch_step_gets_its_items_in_one_call(place: Workplace) -> None:
    place.enter(*range(6))
    sizes: list[int] = []

    def count_items(items: Sequence[Number]) -> list[Result]:
        sizes.append(len(items))
        return doubles(items)

    place.loop(count_items, batch=True).run_once(0.0)
    assert sizes == [6]


def test_a_batch_step_with_too_few_results_stops_the_loop(place: Workplace) -> None:
    place.enter(1, 2)
    loop = place.loop(lambda items: doubles(items)[1:], batch=True)
    with pytest.raises(RuntimeError, match="1 results for 2 items"):
        loop.run_once(0.0)
    assert place.get_depth().pending == 2


def test_an_unreadable_message_is_quarantined_and_the_others_are_done(place: Workplace) -> None:
    place.enter(1)
    place.queue.put(place.subscriptions[0].topic, [Message("id-bad", b"\x80not an envelope")])
    place.enter(2)
    place.loop(doubles, batch=True).run_once(0.0)
    assert place.list_endings() == {
        "id-001": ("done", None),
        "id-002": ("done", None),
        "id-bad": ("quarantined", "internal-error"),
    }


def test_an_item_that_cannot_be_encoded_does_not_stop_the_others(place: Workplace) -> None:
    """A lone surrogate has no UTF-8 encoding, so an item with one cannot be put on a topic."""
    place.enter(1, 2)

    def emit_surrogate(item: Number) -> Result:
        return Result(items=(Double(item.value, "", "\udce9" if item.value == 1 else ""),))

    loop = place.loop(emit_surrogate)
    while place.get_depth().pending:
        loop.run_once(0.0)
        place.clock.pass_s(1)
    assert place.list_endings() == {
        "id-001": ("quarantined", "internal-error"),
        "id-002": ("done", None),
    }


def test_an_item_without_a_topic_does_not_stop_the_others(place: Workplace) -> None:
    place.enter(1, 2)

    def emit_stray(item: Number) -> Result:
        return Result(items=(item,)) if item.value == 1 else double(item)

    loop = place.loop(emit_stray)
    while place.get_depth().pending:
        loop.run_once(0.0)
        place.clock.pass_s(1)
    assert place.list_endings() == {
        "id-001": ("quarantined", "internal-error"),
        "id-002": ("done", None),
    }


def test_a_configuration_error_stops_the_loop_and_releases_all_messages(place: Workplace) -> None:
    place.enter(1, 2)

    def raise_full(item: Number) -> Result:
        raise ConfigurationError("the disk is full")

    with pytest.raises(ConfigurationError, match="full"):
        place.loop(raise_full).run_once(0.0)
    assert (place.get_depth().ready, place.get_depth().in_hand) == (2, 0)
    assert place.list_endings() == {}


def test_the_first_error_is_raised_if_releasing_fails_too(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    place.enter(1)
    failing_queue = RaisesOnce(place.queue, "release", StoreUnavailableError("still deaf"))
    loop = place.loop(queue=RaisesOnce(failing_queue, "put", ConfigurationError("no such queue")))
    with pytest.raises(ConfigurationError, match=r"^no such queue$"):
        loop.run_once(0.0)
    assert "could not release messages: still deaf" in caplog.text


def test_each_settled_batch_is_reported_to_the_observer(place: Workplace) -> None:
    place.enter(1, 2)
    observed: list[tuple[str, list[str], bool]] = []

    def observe(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        observed.append((step, [row.message_id for row in rows], seconds > 0))

    place.loop(observe=observe).run_once(0.0)
    assert observed == [("double", ["id-001", "id-002"], True)]


def test_details_are_truncated(place: Workplace) -> None:
    place.enter(1)
    place.loop(lambda item: Result(quarantine(Reason.BROKEN_PDF, "x" * 10_000))).run_once(0.0)
    row = place.row("id-001")
    assert row is not None
    assert len(row.detail) == DETAIL_MAX_CHARS
    assert len(place.take_all("sums.double-quar")[0].headers["detail"]) == DETAIL_MAX_CHARS
