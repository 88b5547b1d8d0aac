"""The threads: it works everything off, stops when told or when it must, and tells why."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.step import Result
from fonds.pipelines.runtime import worker_threads as threads_module
from fonds.pipelines.runtime.binding import BoundStage, bind
from fonds.pipelines.runtime.handoff import Handover, HandoverLimits
from fonds.pipelines.runtime.loops import BatchLoop
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from small_pipeline import RETRY, SUMS, Number, RaisesOnce, Spy, Workplace, double, keep


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WAIT_S", "PAUSE_FIRST_S", "POLL_S"):
        monkeypatch.setattr(threads_module, name, 0.001)


def _threads(
    place: Workplace,
    step: Callable[[Number], Result] = double,
    queue: Any = None,
    threads: int = 1,
    *,
    patient: bool = False,
    in_memory: bool = True,
) -> WorkerThreads:
    stages = bind(SUMS, {"double": step, "keep": keep}, "t")
    local = [stage.subscription.incoming for stage in stages] if in_memory else []
    chosen = queue or place.queue
    handover = Handover(chosen, place.ledger, local, HandoverLimits(age_s=0.01))

    def make_loop(bound: BoundStage) -> BatchLoop:
        return BatchLoop(StageIO(bound, chosen, place.ledger, handover, place.clock), RETRY)

    return WorkerThreads(place.queue, handover, stages, make_loop, threads, is_patient=patient)


def test_everything_is_worked_off_through_all_stages(place: Workplace) -> None:
    ids = place.enter(*range(50))
    threads = _threads(place)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert threads.get_failure() is None
    assert {one for one in ids if place.row(one, "keep")} == set(ids)


def test_an_empty_queue_is_drained_at_once(place: Workplace) -> None:
    assert _threads(place).drain(60.0) == 0


def test_what_is_delayed_for_long_is_not_waited_for(place: Workplace) -> None:
    place.enter(1)
    threads = _threads(place, _unavailable)
    threads.start()
    assert threads.drain(0.01) == 1
    assert threads.stop()
    assert place.get_depth().delayed == 1


def _unavailable(item: Number) -> Result:
    raise TransientError("no answer")


def test_a_store_that_does_not_answer_for_a_while_is_asked_again(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    ids = place.enter(1, 2)
    deaf = RaisesOnce(place.queue, "settle", StoreUnavailableError("deaf"))
    threads = _threads(place, queue=deaf)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert threads.get_failure() is None
    assert set(place.list_endings()) == set(ids)
    assert "deaf; retrying in" in caplog.text


def test_a_patient_crew_waits_for_room_and_goes_on(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    ids = place.enter(1, 2)
    full = [True, True, True]

    def full_at_first(item: Number) -> Result:
        if full:
            full.pop()
            raise StorageFullError("no room")
        return double(item)

    threads = _threads(place, full_at_first, patient=True)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert threads.get_failure() is None
    assert set(place.list_endings()) == set(ids)
    assert "no room; retrying in" in caplog.text


def test_a_queue_that_does_not_say_its_depth_is_asked_again(place: Workplace) -> None:
    place.enter(1)
    threads = _threads(place)
    threads.queue = RaisesOnce(place.queue, "get_depth", StoreUnavailableError("deaf"), nth=2)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()


def test_when_told_to_stop_while_a_store_is_away_everything_is_given_back(
    place: Workplace,
) -> None:
    place.enter(*range(3))
    tried = threading.Event()

    def away(item: Number) -> Result:
        tried.set()
        raise StoreUnavailableError("away")

    threads = _threads(place, away)
    threads.start()
    assert tried.wait(10)
    assert threads.stop()
    assert (place.get_depth().ready, place.get_depth().in_hand) == (3, 0)


def test_a_full_disk_stops_the_threads_and_is_told(place: Workplace) -> None:
    place.enter(1, 2)

    def full(item: Number) -> Result:
        raise ConfigurationError("the disk is full")

    threads = _threads(place, full)
    threads.start()
    assert threads.drain(60.0) == 2
    assert threads.is_stopping()
    assert threads.stop()
    assert isinstance(threads.get_failure(), ConfigurationError)


def test_a_fault_in_the_loop_itself_stops_the_threads_and_is_told(place: Workplace) -> None:
    place.enter(1)
    threads = _threads(place, queue=RaisesOnce(place.queue, "settle", ZeroDivisionError("ours")))
    threads.start()
    threads.drain(60.0)
    assert threads.stop()
    assert isinstance(threads.get_failure(), ZeroDivisionError)


def test_when_told_to_stop_what_is_in_hand_is_finished(place: Workplace) -> None:
    place.enter(*range(30))
    begun, go_on = threading.Event(), threading.Event()

    def slow(item: Number) -> Result:
        begun.set()
        go_on.wait(10)
        return double(item)

    threads = _threads(place, slow)
    threads.start()
    assert begun.wait(10)
    threads.request_stop()
    go_on.set()
    assert threads.stop()
    assert len(place.list_endings()) == 10
    assert (place.get_depth().ready, place.get_depth().in_hand) == (20, 0)


def test_a_thread_that_does_not_end_is_told(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads_module, "STOP_WAIT_S", 0.05)
    place.enter(1)
    begun, go_on = threading.Event(), threading.Event()

    def stuck(item: Number) -> Result:
        begun.set()
        go_on.wait(10)
        return double(item)

    threads = _threads(place, stuck)
    threads.start()
    assert begun.wait(10)
    assert not threads.stop()
    go_on.set()
    assert threads.stop()


def test_a_failure_beside_the_threads_stops_them(place: Workplace) -> None:
    threads = _threads(place)
    threads.start()
    threads.fail(ValueError("beside"))
    assert threads.stop()
    assert str(threads.get_failure()) == "beside"


def test_a_stage_without_a_number_of_workers_gets_the_default(place: Workplace) -> None:
    threads = _threads(place, threads=3)
    running: set[str] = set()
    threads.stages = [
        replace(bound, stage=replace(bound.stage, threads=None)) for bound in threads.stages[:1]
    ]
    before = {thread.name for thread in threading.enumerate()}
    threads.start()
    running = {thread.name for thread in threading.enumerate()} - before
    assert threads.stop()
    assert running == {"double-0", "double-1", "double-2", "keeper"}


def test_several_workers_of_one_stage_share_its_messages(place: Workplace) -> None:
    place.enter(*range(60))
    threads = _threads(place)
    threads.stages = [bound for bound in threads.stages for _ in range(1)]
    loops = [threading.Thread(target=_turn_until_empty, args=(place,)) for _ in range(4)]
    for thread in loops:
        thread.start()
    for thread in loops:
        thread.join(30)
    assert len(place.list_endings()) == 60
    assert len(place.take_all("sums.keep-in")) == 60


def _turn_until_empty(place: Workplace) -> None:
    loop = place.loop()
    ends_at = time.monotonic() + 20
    while place.get_depth().pending and time.monotonic() < ends_at:
        loop.run_once(0.001)


def test_ticks_are_given_while_waiting(place: Workplace) -> None:
    place.enter(1)
    ticks: list[int] = []
    threads = _threads(place, _unavailable)
    threads.start()
    threads.drain(0.01, lambda: ticks.append(1))
    threads.stop()
    assert ticks


def test_with_stages_of_one_process_messages_between_them_never_touch_the_queue(
    place: Workplace,
) -> None:
    ids = place.enter(*range(30))
    calls: list[str] = []
    threads = _threads(place, queue=Spy(place.queue, calls))
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert {one for one in ids if place.row(one, "keep")} == set(ids)
    assert [call for call in calls if call.startswith("put")] == []
    assert place.ledger.recount() == []


def test_stopped_in_the_middle_everything_is_done_or_comes_again(place: Workplace) -> None:
    ids = place.enter(*range(40))
    slowed = threading.Event()

    def slow(item: Number) -> Result:
        if item.value == 20:
            slowed.set()
        return double(item)

    threads = _threads(place, slow)
    threads.start()
    assert slowed.wait(30)
    assert threads.stop()
    assert threads.handover.pending_count == 0
    again = _threads(place)
    again.start()
    assert again.drain(0.0) == 0
    assert again.stop()
    assert place.outcomes() == dict.fromkeys(ids, "done")
