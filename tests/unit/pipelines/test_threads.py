"""Worker threads process all messages, stop on request or on a fatal error, and report the cause."""

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
def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WAIT_S", "PAUSE_FIRST_S", "POLL_S"):
        monkeypatch.setattr(threads_module, name, 0.001)


def create_threads(
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
    chosen_queue = queue or place.queue
    handover = Handover(chosen_queue, place.ledger, local, HandoverLimits(age_s=0.01))

    def make_loop(bound: BoundStage) -> BatchLoop:
        return BatchLoop(StageIO(bound, chosen_queue, place.ledger, handover, place.clock), RETRY)

    return WorkerThreads(place.queue, handover, stages, make_loop, threads, is_patient=patient)


def test_all_messages_are_processed_through_all_stages(place: Workplace) -> None:
    ids = place.enter(*range(50))
    threads = create_threads(place)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert threads.get_failure() is None
    assert {id_ for id_ in ids if place.row(id_, "keep")} == set(ids)


def test_an_empty_queue_is_drained_at_once(place: Workplace) -> None:
    assert create_threads(place).drain(60.0) == 0


def test_long_delayed_messages_are_not_waited_for(place: Workplace) -> None:
    place.enter(1)
    threads = create_threads(place, raise_transient)
    threads.start()
    assert threads.drain(0.01) == 1
    assert threads.stop()
    assert place.get_depth().delayed == 1


def raise_transient(item: Number) -> Result:
    raise TransientError("no answer")


def test_an_unavailable_store_is_retried(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    ids = place.enter(1, 2)
    deaf = RaisesOnce(place.queue, "settle", StoreUnavailableError("deaf"))
    threads = create_threads(place, queue=deaf)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert threads.get_failure() is None
    assert set(place.list_endings()) == set(ids)
    assert "deaf; retrying in" in caplog.text


def test_patient_threads_wait_for_disk_space_and_continue(
    place: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    ids = place.enter(1, 2)
    failures_left = [True, True, True]

    def fail_at_first(item: Number) -> Result:
        if failures_left:
            failures_left.pop()
            raise StorageFullError("no room")
        return double(item)

    threads = create_threads(place, fail_at_first, patient=True)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert threads.get_failure() is None
    assert set(place.list_endings()) == set(ids)
    assert "no room; retrying in" in caplog.text


def test_a_failing_depth_request_is_retried(place: Workplace) -> None:
    place.enter(1)
    threads = create_threads(place)
    threads.queue = RaisesOnce(place.queue, "get_depth", StoreUnavailableError("deaf"), nth=2)
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()


def test_a_stop_request_during_an_outage_releases_all_messages(
    place: Workplace,
) -> None:
    place.enter(*range(3))
    tried = threading.Event()

    def raise_unavailable(item: Number) -> Result:
        tried.set()
        raise StoreUnavailableError("away")

    threads = create_threads(place, raise_unavailable)
    threads.start()
    assert tried.wait(10)
    assert threads.stop()
    assert (place.get_depth().ready, place.get_depth().in_hand) == (3, 0)


def test_a_configuration_error_stops_the_threads_and_is_reported(place: Workplace) -> None:
    place.enter(1, 2)

    def raise_full(item: Number) -> Result:
        raise ConfigurationError("the disk is full")

    threads = create_threads(place, raise_full)
    threads.start()
    assert threads.drain(60.0) == 2
    assert threads.is_stopping()
    assert threads.stop()
    assert isinstance(threads.get_failure(), ConfigurationError)


def test_an_error_in_the_loop_stops_the_threads_and_is_reported(place: Workplace) -> None:
    place.enter(1)
    threads = create_threads(
        place, queue=RaisesOnce(place.queue, "settle", ZeroDivisionError("ours"))
    )
    threads.start()
    threads.drain(60.0)
    assert threads.stop()
    assert isinstance(threads.get_failure(), ZeroDivisionError)


def test_a_stop_request_finishes_the_received_messages(place: Workplace) -> None:
    place.enter(*range(30))
    is_started, may_finish = threading.Event(), threading.Event()

    def wait_then_double(item: Number) -> Result:
        is_started.set()
        may_finish.wait(10)
        return double(item)

    threads = create_threads(place, wait_then_double)
    threads.start()
    assert is_started.wait(10)
    threads.request_stop()
    may_finish.set()
    assert threads.stop()
    assert len(place.list_endings()) == 10
    assert (place.get_depth().ready, place.get_depth().in_hand) == (20, 0)


def test_a_thread_that_does_not_end_is_reported(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads_module, "STOP_WAIT_S", 0.05)
    place.enter(1)
    is_started, may_finish = threading.Event(), threading.Event()

    def wait_then_double(item: Number) -> Result:
        is_started.set()
        may_finish.wait(10)
        return double(item)

    threads = create_threads(place, wait_then_double)
    threads.start()
    assert is_started.wait(10)
    assert not threads.stop()
    may_finish.set()
    assert threads.stop()


def test_an_external_failure_stops_the_threads(place: Workplace) -> None:
    threads = create_threads(place)
    threads.start()
    threads.fail(ValueError("beside"))
    assert threads.stop()
    assert str(threads.get_failure()) == "beside"


def test_a_stage_without_a_thread_count_gets_the_default(place: Workplace) -> None:
    threads = create_threads(place, threads=3)
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
    threads = create_threads(place)
    threads.stages = [bound for bound in threads.stages for _ in range(1)]
    loops = [threading.Thread(target=run_until_empty, args=(place,)) for _ in range(4)]
    for thread in loops:
        thread.start()
    for thread in loops:
        thread.join(30)
    assert len(place.list_endings()) == 60
    assert len(place.take_all("sums.keep-in")) == 60


def run_until_empty(place: Workplace) -> None:
    loop = place.loop()
    ends_at = time.monotonic() + 20
    while place.get_depth().pending and time.monotonic() < ends_at:
        loop.run_once(0.001)


def test_ticks_are_called_during_a_drain(place: Workplace) -> None:
    place.enter(1)
    ticks: list[int] = []
    threads = create_threads(place, raise_transient)
    threads.start()
    threads.drain(0.01, lambda: ticks.append(1))
    threads.stop()
    assert ticks


def test_messages_between_stages_of_one_process_skip_the_queue(
    place: Workplace,
) -> None:
    ids = place.enter(*range(30))
    calls: list[str] = []
    threads = create_threads(place, queue=Spy(place.queue, calls))
    threads.start()
    assert threads.drain(0.0) == 0
    assert threads.stop()
    assert {id_ for id_ in ids if place.row(id_, "keep")} == set(ids)
    assert [call for call in calls if call.startswith("put")] == []
    assert place.ledger.recount() == []


def test_a_stop_in_the_middle_loses_no_message(place: Workplace) -> None:
    ids = place.enter(*range(40))
    is_at_item_20 = threading.Event()

    def double_and_signal(item: Number) -> Result:
        if item.value == 20:
            is_at_item_20.set()
        return double(item)

    threads = create_threads(place, double_and_signal)
    threads.start()
    assert is_at_item_20.wait(30)
    assert threads.stop()
    assert threads.handover.pending_count == 0
    second_run = create_threads(place)
    second_run.start()
    assert second_run.drain(0.0) == 0
    assert second_run.stop()
    assert place.outcomes() == dict.fromkeys(ids, "done")
