"""Run the stages of a pipeline in threads of one process, until there is no work left or they are
stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    TransientError,
)
from fonds.model.message import Depth
from fonds.model.secrets import redact_secrets
from fonds.pipelines.runtime.binding import BoundStage
from fonds.pipelines.runtime.handoff import Handover
from fonds.pipelines.runtime.heartbeat import Heartbeat
from fonds.pipelines.runtime.loops import BatchLoop, ConcurrentLoop
from fonds.pipelines.runtime.newer_messages import NewerMessages
from fonds.ports import Queue

logger = logging.getLogger(__name__)

WAIT_S = 0.5
PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 30.0
STOP_WAIT_S = 10.0
POLL_S = 0.05
RENEW_EVERY_S = 60.0
POLL_SHARE_MAX = 0.03  # maximum share of time spent polling a broker for the remaining messages


@dataclass(slots=True)
class WorkerThreads:
    """Threads that run the stages of a pipeline.

    - `handover`: queue in memory between the stages.
    - `stages`: stages in pipeline order. Waiting messages are counted in this order, so that a
      message that moves to the next stage is not missed.
    - `make_loop`: function that creates the loop of one thread.
    - `threads_default`: number of threads of a stage that declares no number of its own.
    - `threads`: number of threads of every stage; None for the stage's own number.
    - `is_patient`: whether to wait while a store is full, instead of ending the work. The threads
      always wait for an unavailable store.
    - `heartbeat`: writer of the rows that show other processes that this process works; None for no
      heartbeat.
    - `newer_messages`: record of the messages that only a newer version of Fonds can read.
    """

    queue: Queue
    handover: Handover
    stages: Sequence[BoundStage]
    make_loop: Callable[[BoundStage], BatchLoop | ConcurrentLoop]
    threads_default: int
    threads: int | None = None
    is_patient: bool = False
    heartbeat: Heartbeat | None = None
    newer_messages: NewerMessages = field(default_factory=NewerMessages)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _failure: list[BaseException] = field(default_factory=list)
    _troubles: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start the threads of the stages, of lease renewal and of the heartbeat."""
        for bound_stage in self.stages:
            for number in range(self._count_threads(bound_stage)):
                name = f"{bound_stage.stage.name}-{number}"
                thread = threading.Thread(
                    target=self._run_loop,
                    args=(self.make_loop(bound_stage),),
                    name=name,
                    daemon=True,
                )
                thread.start()
                self._threads.append(thread)
        keeper = threading.Thread(target=self._renew_leases, name="keeper", daemon=True)
        keeper.start()
        if self.heartbeat is not None:
            self.heartbeat.start(self.get_waits)

    def _count_threads(self, bound_stage: BoundStage) -> int:
        """Return the number of threads that run a stage."""
        if bound_stage.stage.is_concurrent:
            return 1
        return self.threads or bound_stage.stage.threads or self.threads_default

    def is_stopping(self) -> bool:
        """Return whether the threads should stop, by request or because one of them failed."""
        return self._stop.is_set()

    def request_stop(self) -> None:
        """Ask all threads to stop after their current batch."""
        self._stop.set()

    def fail(self, error: BaseException) -> None:
        """Stop all threads, and keep `error`, which occurred outside them, as the error that ended
        the work.
        """
        self._failure.append(error)
        self._stop.set()

    def get_failure(self) -> BaseException | None:
        """Return the error that ended the work; None if there was none."""
        return self._failure[0] if self._failure else None

    def get_troubles(self) -> dict[str, str]:
        """Return the error text for each thread that waits for an unavailable store, by thread
        name.
        """
        return dict(self._troubles)

    def get_waits(self) -> dict[str, str]:
        """Return what the process waits for: the error text of each thread that waits for an
        unavailable store, and a sentence for each step whose messages wait for a newer version of
        Fonds.

        The keys are names of threads, which begin with the name of the step.
        """
        newer = self.newer_messages.describe_waits()
        return {f"{step}-0": sentence for step, sentence in newer.items()} | self.get_troubles()

    def count_ready(self, stages: Collection[str]) -> int:
        """Return the number of messages that are ready to be received by the stages with these
        names.

        Returns 0 while the queue is unavailable.
        """
        subscriptions = [
            bound_stage.subscription
            for bound_stage in self.stages
            if bound_stage.stage.name in stages
        ]
        try:
            return sum(self.queue.get_depth(subscription).ready for subscription in subscriptions)
        except TransientError:
            return 0

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for a request to stop. Return whether there was one."""
        return self._stop.wait(seconds)

    def drain(self, delayed_wait_s: float, tick: Callable[[], None] | None = None) -> int:
        """Wait until the stages have no messages left, and return the number of messages left.

        If only delayed messages are left, wait for them at most `delayed_wait_s` seconds. `tick` is
        called regularly while waiting.
        """
        idle_since: float | None = None
        while not self.is_stopping():
            polled_at = time.monotonic()
            depths = self._get_depths()
            pause_s = max(POLL_S, (time.monotonic() - polled_at) / POLL_SHARE_MAX)
            if depths is not None:
                pending = sum(depth.pending for depth in depths)
                if pending == 0:
                    return 0
                busy = any(depth.ready or depth.in_hand for depth in depths)
                now = time.monotonic()
                idle_since = None if busy else (idle_since or now)
                if idle_since is not None and now - idle_since > delayed_wait_s:
                    return pending
            if tick is not None:
                tick()
            self._stop.wait(pause_s if depths is not None else PAUSE_FIRST_S)
        return sum(depth.pending for depth in self._get_depths() or ())

    def _get_depths(self) -> list[Depth] | None:
        """Return for each stage the numbers of ready, received, delayed and quarantined messages.

        Returns None while the queue is unavailable.
        """
        try:
            return [self.queue.get_depth(bound_stage.subscription) for bound_stage in self.stages]
        except TransientError:
            return None

    def stop(self) -> bool:
        """Stop the threads. Return whether all threads ended within a few seconds.

        Messages in memory are processed first, within these seconds. Messages that remain are
        released to the queue.
        """
        self.request_stop()
        self.handover.stop_receiving()
        deadline = time.monotonic() + STOP_WAIT_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        are_stopped = not any(thread.is_alive() for thread in self._threads)
        if self.heartbeat is not None:
            self.heartbeat.stop()
        try:
            self.handover.close()
        except (TransientError, ConfigurationError) as error:
            # They are redelivered when the process ends or the lease expires.
            logger.warning("could not release messages: %s", error)
        return are_stopped

    def _renew_leases(self) -> None:
        """Renew the leases of received messages at regular intervals."""
        while not self._stop.wait(RENEW_EVERY_S):
            try:
                self.handover.renew()
            except TransientError as error:
                logger.warning("could not renew leases of messages: %s", error)

    def _run_loop(self, loop: BatchLoop | ConcurrentLoop) -> None:
        try:
            self._work_until_stopped(loop)
        except BaseException as error:  # noqa: BLE001 (passed on through `get_failure`)
            self.fail(error)
        finally:
            loop.release()

    def _work_until_stopped(self, loop: BatchLoop | ConcurrentLoop) -> None:
        pause_s, name = PAUSE_FIRST_S, threading.current_thread().name
        while not self._stop.is_set() or (self.handover.pending_count and not self._failure):
            try:
                loop.run_once(0.0 if self._stop.is_set() else WAIT_S)
                self._troubles.pop(name, None)
                pause_s = PAUSE_FIRST_S
            except (TransientError, StorageFullError) as error:
                if isinstance(error, StorageFullError) and not self.is_patient:
                    raise
                step, self._troubles[name] = loop.bound.stage.name, redact_secrets(str(error))
                logger.warning(
                    "%s: %s; retrying in %.0f s", step, error, pause_s, extra={"step": step}
                )
                if self._stop.wait(pause_s):
                    return
                pause_s = min(PAUSE_MAX_S, pause_s * 2)
