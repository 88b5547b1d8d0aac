"""The threads that work off a pipeline in one process, until it is empty or told to stop."""

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
from fonds.ports import Queue

logger = logging.getLogger(__name__)

WAIT_S = 0.5
PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 30.0
STOP_WAIT_S = 10.0
POLL_S = 0.05
RENEW_EVERY_S = 60.0
POLL_SHARE_MAX = 0.1  # of the time may go into asking a broker how much is left


@dataclass(slots=True)
class WorkerThreads:
    """Runs stages of a pipeline in threads; `make_loop` gives each thread its own loop.

    `stages` stand in the order of the pipeline, so that looking at them in turn sees every message.
    `threads` None means what each stage says, and `threads_default` where it says nothing.
    A store that does not answer is waited for; a full one too when they are `is_patient`, else it ends
    the work. `heartbeat` tells others that they are at work.
    """

    queue: Queue
    handover: Handover
    stages: Sequence[BoundStage]
    make_loop: Callable[[BoundStage], BatchLoop | ConcurrentLoop]
    threads_default: int
    threads: int | None = None
    is_patient: bool = False
    heartbeat: Heartbeat | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _failure: list[BaseException] = field(default_factory=list)
    _troubles: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start the threads."""
        for bound in self.stages:
            for number in range(self._count_threads(bound)):
                name = f"{bound.stage.name}-{number}"
                thread = threading.Thread(
                    target=self._run_loop, args=(self.make_loop(bound),), name=name, daemon=True
                )
                thread.start()
                self._threads.append(thread)
        keeper = threading.Thread(target=self._renew_leases, name="keeper", daemon=True)
        keeper.start()
        if self.heartbeat is not None:
            self.heartbeat.start(self.get_troubles)

    def _count_threads(self, bound: BoundStage) -> int:
        """How many threads work a stage."""
        if bound.stage.many:
            return 1
        return self.threads or bound.stage.threads or self.threads_default

    def is_stopping(self) -> bool:
        """Whether they were told to stop, or had to."""
        return self._stop.is_set()

    def request_stop(self) -> None:
        """Ask all threads to leave off after the batch in hand."""
        self._stop.set()

    def fail(self, error: BaseException) -> None:
        """Stop everything because of an error met beside the threads."""
        self._failure.append(error)
        self._stop.set()

    def get_failure(self) -> BaseException | None:
        """The error that ended the work, if one did."""
        return self._failure[0] if self._failure else None

    def get_troubles(self) -> dict[str, str]:
        """The threads that wait for a store, each with what the store said."""
        return dict(self._troubles)

    def count_ready(self, stages: Collection[str]) -> int:
        """How many messages wait at these stages in nobody's hand; 0 while the queue does not answer."""
        here = [one.subscription for one in self.stages if one.stage.name in stages]
        try:
            return sum(self.queue.get_depth(one).ready for one in here)
        except TransientError:
            return 0

    def wait(self, seconds: float) -> bool:
        """Wait until they are told to stop or have to, `seconds` at most; whether they were."""
        return self._stop.wait(seconds)

    def drain(self, delayed_wait_s: float, tick: Callable[[], None] | None = None) -> int:
        """Wait until nothing is left, or only what is delayed for longer than `delayed_wait_s`.

        Returns how many messages are still pending. `tick` is called while waiting.
        """
        waited_since: float | None = None
        while not self.is_stopping():
            asked_at = time.monotonic()
            depths = self._get_depths()
            pause_s = max(POLL_S, (time.monotonic() - asked_at) / POLL_SHARE_MAX)
            if depths is not None:
                pending = sum(depth.pending for depth in depths)
                if pending == 0:
                    return 0
                busy = any(depth.ready or depth.in_hand for depth in depths)
                now = time.monotonic()
                waited_since = None if busy else (waited_since or now)
                if waited_since is not None and now - waited_since > delayed_wait_s:
                    return pending
            if tick is not None:
                tick()
            self._stop.wait(pause_s if depths is not None else PAUSE_FIRST_S)
        return sum(depth.pending for depth in self._get_depths() or ())

    def _get_depths(self) -> list[Depth] | None:
        """How many messages wait at each stage; None while the queue does not answer."""
        try:
            return [self.queue.get_depth(bound.subscription) for bound in self.stages]
        except TransientError:
            return None

    def stop(self) -> bool:
        """Stop the threads; True when all had left off within a few seconds, and everything was let go of.

        What waits between the stages is worked off first, as long as that takes no longer.
        """
        self.request_stop()
        self.handover.stop_receiving()
        deadline = time.monotonic() + STOP_WAIT_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        left_off = not any(thread.is_alive() for thread in self._threads)
        if self.heartbeat is not None:
            self.heartbeat.stop()
        try:
            self.handover.close()
        except (TransientError, ConfigurationError) as error:
            # It comes back by itself when the process ends, or after the lease.
            logger.warning("could not give back what was in hand: %s", error)
        return left_off

    def _renew_leases(self) -> None:
        """Renew what is in hand while it is worked on."""
        while not self._stop.wait(RENEW_EVERY_S):
            try:
                self.handover.renew()
            except TransientError as error:
                logger.warning("could not renew what is in hand: %s", error)

    def _run_loop(self, loop: BatchLoop | ConcurrentLoop) -> None:
        try:
            self._work_until_stopped(loop)
        except BaseException as error:  # noqa: BLE001 (told to whoever waits for the threads)
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
                    "%s: %s; again in %.0f s", step, error, pause_s, extra={"step": step}
                )
                if self._stop.wait(pause_s):
                    return
                pause_s = min(PAUSE_MAX_S, pause_s * 2)
