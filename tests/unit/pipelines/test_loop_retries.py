"""When and how often a message is retried or deferred, and when it is quarantined."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.disposition import Reason, defer, retry
from fonds.model.errors import TransientError
from fonds.model.rows import DispositionRow
from fonds.model.step import Result
from fonds.pipelines.runtime.binding import bind
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker import RetryPolicy
from fonds.ports import Queue
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.stores.blobs import FolderBlobs
from small_pipeline import AT_ONCE, RETRY, SUMS, Double, Number, Spy, Workplace, double, keep

LARGE_NOTE = "x" * 200


def raise_transient(item: Number) -> Result:
    raise TransientError("no answer")


def test_a_transient_error_is_retried_with_growing_delays_then_quarantined(
    place: Workplace,
) -> None:
    place.enter(1)
    loop = place.loop(raise_transient)
    for attempt, delay_s in enumerate((5.0, 10.0, 20.0)):
        assert loop.run_once(0.0) == 1
        row = place.row("id-001")
        assert row is not None
        assert (row.verdict, row.reason, row.attempt) == ("retried", "store-unavailable", attempt)
        assert place.get_depth().delayed == 1
        place.clock.pass_s(delay_s - 0.1)
        assert loop.run_once(0.0) == 0
        place.clock.pass_s(0.2)
    assert loop.run_once(0.0) == 1
    assert place.list_endings() == {"id-001": ("quarantined", "store-unavailable")}
    (quarantined,) = place.take_all("sums.double-quar")
    assert "failed 4 times" in quarantined.headers["detail"]


def test_a_message_that_succeeds_after_a_retry_is_done_once(place: Workplace) -> None:
    place.enter(1)
    place.loop(raise_transient).run_once(0.0)
    place.clock.pass_s(6)
    assert place.loop().run_once(0.0) == 1
    assert place.list_endings() == {"id-001": ("done", None)}
    assert len(place.take_all("sums.keep-in")) == 1


def test_a_step_can_return_a_retry(place: Workplace) -> None:
    place.enter(1)
    retry_soon = retry(Reason.STORE_UNAVAILABLE, "not yet", 1.0)
    place.loop(lambda item: Result(retry_soon)).run_once(0.0)
    assert place.list_endings() == {"id-001": ("retried", "store-unavailable")}
    assert place.get_depth().delayed == 1


@given(st.integers(0, 10_000), st.floats(0.001, 100), st.floats(0.001, 1e6))
def test_delays_grow_up_to_the_maximum(attempt: int, first_s: float, longest_s: float) -> None:
    policy = RetryPolicy(10, first_s, longest_s)
    assert 0 < policy.compute_delay_s(attempt) <= policy.compute_delay_s(attempt + 1) <= longest_s


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "in batches"])
def test_a_step_can_ask_for_a_longer_delay(place: Workplace, batch: bool) -> None:
    place.enter(1)
    later = Result(retry(Reason.STORE_UNAVAILABLE, "slow down", 1_800.0))
    place.loop((lambda items: [later]) if batch else (lambda item: later), batch=batch).run_once(
        0.0
    )
    place.clock.pass_s(1_799.0)
    assert place.loop().run_once(0.0) == 0
    place.clock.pass_s(1.0)
    assert place.loop().run_once(0.0) == 1
    assert place.outcomes() == {"id-001": "pending"}
    assert place.row("id-001").attempt == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "in batches"])
def test_a_shorter_delay_asked_for_by_a_step_is_ignored(place: Workplace, batch: bool) -> None:
    """The first retry waits at least five seconds, even if Retry-After is shorter."""
    place.enter(1)
    sooner = Result(retry(Reason.STORE_UNAVAILABLE, "in a second", 1.0))
    step = (lambda items: [sooner]) if batch else (lambda item: sooner)
    place.loop(step, batch=batch).run_once(0.0)
    place.clock.pass_s(4.0)
    assert place.loop().run_once(0.0) == 0
    place.clock.pass_s(1.0)
    assert place.loop().run_once(0.0) == 1


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "in batches"])
def test_retries_asked_for_by_a_step_are_counted_and_limited(place: Workplace, batch: bool) -> None:
    place.enter(1)
    later = Result(retry(Reason.STORE_UNAVAILABLE, "again", 0.0))
    loop = place.loop((lambda items: [later]) if batch else (lambda item: later), batch=batch)
    turns = 0
    while place.get_depth().pending:
        turns += loop.run_once(0.0)
        place.clock.pass_s(100.0)
    assert turns == RETRY.count_max + 1
    assert place.list_endings() == {"id-001": ("quarantined", "store-unavailable")}


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "in batches"])
def test_a_deferred_message_waits_without_counting_an_attempt(
    place: Workplace, batch: bool
) -> None:
    place.enter(1)
    later = Result(defer(Reason.STORE_UNAVAILABLE, "not its turn", 30.0))
    loop = place.loop((lambda items: [later]) if batch else (lambda item: later), batch=batch)
    for _ in range(3 * RETRY.count_max):
        assert loop.run_once(0.0) == 1
        row = place.row("id-001")
        assert row is not None
        assert (row.verdict, row.attempt, row.is_open) == ("deferred", 0, True)
        place.clock.pass_s(29.0)
        assert loop.run_once(0.0) == 0
        place.clock.pass_s(1.0)
    assert place.outcomes() == {"id-001": "pending"}
    assert place.loop().run_once(0.0) == 1
    assert place.list_endings() == {"id-001": ("done", None)}


def test_a_deferred_message_with_a_large_body_keeps_its_body(
    tmp_path: Path, place: Workplace
) -> None:
    queue: Queue = LargeBodies(
        place.queue, FolderBlobs(tmp_path / "bodies"), BodyLimits(100, 16_000_000)
    )
    queue.declare(place.subscriptions)  # type: ignore[attr-defined]
    place.enter(1, note=LARGE_NOTE)
    for message in place.take_all("sums.double-in"):
        queue.put("sums.double-in", [message])
    values: list[str] = []

    def defer_twice(item: Number) -> Result:
        values.append(item.note)
        later = defer(Reason.STORE_UNAVAILABLE, "not its turn", 30.0)
        return Result(later) if len(values) < 3 else double(item)

    loop = place.loop(defer_twice, queue=queue)
    for _ in range(3):
        assert loop.run_once(0.0) == 1
        place.clock.pass_s(31.0)
    assert values == [LARGE_NOTE] * 3
    assert place.list_endings() == {"id-001": ("done", None)}


def test_a_deferred_message_that_ended_stays_done_when_its_sibling_ends(
    place: Workplace,
) -> None:
    """One of two child messages is deferred, delivered again and done; then the other is done."""
    stages = bind(SUMS, {"double": double, "keep": keep}, "t")
    handover = Handover(place.queue, place.ledger, [stages[1].subscription.incoming], AT_ONCE)
    first, last = (
        StageIO(stage, place.queue, place.ledger, handover, place.clock) for stage in stages
    )
    place.enter(1)
    two_children = Result(items=(Double(1, "1" * 40), Double(2, "2" * 40)))
    first.complete(first.take(1, 0.0), [two_children])
    first_child, second = last.take(2, 0.0)
    last.complete([first_child], [Result(defer(Reason.NOT_YET, "another has it", 2.0))])
    handover.flush()
    row = place.row(first_child.message.id, "keep")
    assert row is not None
    assert (row.verdict, row.is_open) == ("deferred", True)
    place.clock.pass_s(3)
    (redelivered,) = last.take(1, 0.0)
    assert redelivered.message.id == first_child.message.id
    last.complete([redelivered], [Result()])
    handover.flush()
    last.complete([second], [Result()])
    handover.flush()
    verdicts = {ended.message_id: ended.verdict for ended in place.records.find(DispositionRow)}
    assert set(verdicts.values()) == {"done"}
    assert place.outcomes() == {"id-001": "done"}
    assert place.ledger.recount() == []


def test_a_retry_is_recorded_before_it_is_put_on_the_queue(place: Workplace) -> None:
    place.enter(1)
    calls: list[str] = []
    loop = place.loop(
        raise_transient, queue=Spy(place.queue, calls), ledger=Spy(place.ledger, calls)
    )
    loop.run_once(0.0)
    writes = [call for call in calls if call.startswith(("write", "put", "settle"))]
    assert writes[:2] == ["write", f"put {place.subscriptions[0].incoming}"]
    assert writes[-1] == "settle"
