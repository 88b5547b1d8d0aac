"""What a message is tried again for, how often and when: retried, deferred, set apart."""

from __future__ import annotations

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
from small_pipeline import AT_ONCE, RETRY, SUMS, Double, Number, Spy, Workplace, double, keep


def _unavailable(item: Number) -> Result:
    raise TransientError("no answer")


def test_a_transient_fault_is_retried_with_growing_delays_then_quarantined(
    place: Workplace,
) -> None:
    place.enter(1)
    loop = place.loop(_unavailable)
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
    (apart,) = place.take_all("sums.double-quar")
    assert "failed 4 times" in apart.headers["detail"]


def test_a_message_that_succeeds_in_the_end_is_done_once(place: Workplace) -> None:
    place.enter(1)
    place.loop(_unavailable).run_once(0.0)
    place.clock.pass_s(6)
    assert place.loop().run_once(0.0) == 1
    assert place.list_endings() == {"id-001": ("done", None)}
    assert len(place.take_all("sums.keep-in")) == 1


def test_a_step_may_ask_for_a_retry_itself(place: Workplace) -> None:
    place.enter(1)
    asked = retry(Reason.STORE_UNAVAILABLE, "not yet", 1.0)
    place.loop(lambda item: Result(asked)).run_once(0.0)
    assert place.list_endings() == {"id-001": ("retried", "store-unavailable")}
    assert place.get_depth().delayed == 1


@given(st.integers(0, 10_000), st.floats(0.001, 100), st.floats(0.001, 1e6))
def test_delays_grow_and_stay_within_the_longest(
    attempt: int, first_s: float, longest_s: float
) -> None:
    policy = RetryPolicy(10, first_s, longest_s)
    assert 0 < policy.compute_delay_s(attempt) <= policy.compute_delay_s(attempt + 1) <= longest_s


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "in batches"])
def test_a_step_that_asks_for_a_longer_wait_gets_it(place: Workplace, batch: bool) -> None:
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
def test_a_step_that_asks_for_a_shorter_wait_waits_as_long_as_any(
    place: Workplace, batch: bool
) -> None:
    """Five seconds after the first failure, whatever a server's Retry-After says."""
    place.enter(1)
    sooner = Result(retry(Reason.STORE_UNAVAILABLE, "in a second", 1.0))
    step = (lambda items: [sooner]) if batch else (lambda item: sooner)
    place.loop(step, batch=batch).run_once(0.0)
    place.clock.pass_s(4.0)
    assert place.loop().run_once(0.0) == 0
    place.clock.pass_s(1.0)
    assert place.loop().run_once(0.0) == 1


@pytest.mark.parametrize("batch", [False, True], ids=["one by one", "in batches"])
def test_retries_are_counted_and_end_whoever_asks_for_them(place: Workplace, batch: bool) -> None:
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
def test_what_is_deferred_waits_as_long_as_asked_and_no_attempt_is_charged(
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


def test_what_came_back_and_ended_stays_ended_though_its_siblings_end_later(
    place: Workplace,
) -> None:
    """Of two that were made of one message one is deferred, comes back and ends; then the other does."""
    stages = bind(SUMS, {"double": double, "keep": keep}, "t")
    handover = Handover(place.queue, place.ledger, [stages[1].subscription.incoming], AT_ONCE)
    first, last = (
        StageIO(stage, place.queue, place.ledger, handover, place.clock) for stage in stages
    )
    place.enter(1)
    two = Result(items=(Double(1, "1" * 40), Double(2, "2" * 40)))
    first.complete(first.take(1, 0.0), [two])
    early, late = last.take(2, 0.0)
    last.complete([early], [Result(defer(Reason.NOT_YET, "another has it", 2.0))])
    handover.flush()
    row = place.row(early.message.id, "keep")
    assert row is not None
    assert (row.verdict, row.is_open) == ("deferred", True)
    place.clock.pass_s(3)
    (again,) = last.take(1, 0.0)
    assert again.message.id == early.message.id
    last.complete([again], [Result()])
    handover.flush()
    last.complete([late], [Result()])
    handover.flush()
    verdicts = {found.message_id: found.verdict for found in place.records.find(DispositionRow)}
    assert set(verdicts.values()) == {"done"}
    assert place.outcomes() == {"id-001": "done"}
    assert place.ledger.recount() == []


def test_what_comes_back_is_on_the_books_before_it_is_on_the_queue_again(place: Workplace) -> None:
    place.enter(1)
    calls: list[str] = []
    loop = place.loop(_unavailable, queue=Spy(place.queue, calls), ledger=Spy(place.ledger, calls))
    loop.run_once(0.0)
    told = [call for call in calls if call.startswith(("write", "put", "settle"))]
    assert told[:2] == ["write", f"put {place.subscriptions[0].incoming}"]
    assert told[-1] == "settle"
