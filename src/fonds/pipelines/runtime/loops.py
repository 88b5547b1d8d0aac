"""Loops that run a stage: one batch of messages after the other, or many items concurrently."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from itertools import count

from fonds.model.errors import ConfigurationError, StorageFullError, TransientError
from fonds.model.message import Delivery
from fonds.model.rows import DispositionRow
from fonds.model.step import Result
from fonds.pipelines.runtime.stage_io import StageIO
from fonds.pipelines.runtime.worker import RetryPolicy, StepRunner, WorkingBatch
from fonds.ports import ConcurrentStep

logger = logging.getLogger(__name__)

Observer = Callable[[str, Sequence[DispositionRow], float], None]


def ignore_batch(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
    """Ignore a finished batch: the callback for loops whose batches nobody observes."""


class BatchLoop:
    """Runs one stage in one thread. It finishes each batch before it takes the next.

    `observe` is called for each finished batch with the name of the step, the disposition rows of
    the messages, and the duration in seconds.
    """

    def __init__(self, io: StageIO, retry: RetryPolicy, observe: Observer = ignore_batch) -> None:
        self.io = io
        self.bound = io.stage
        self._observe = observe
        stage = self.bound.stage
        self._worker = StepRunner(stage.name, self.bound.step, stage.reads, stage.sink, retry)
        self._batch: WorkingBatch | None = None

    def run_once(self, wait_s: float) -> int:
        """Process one batch of messages, and return the number of messages.

        Returns 0 if none arrived within `wait_s` seconds. Raises TransientError or StorageFullError
        if the queue or a store is unavailable; the batch is kept for the next call. Raises
        ConfigurationError if a person must fix something; the batch is then released.
        """
        batch = self._batch or self._take_batch(wait_s)
        if batch is None:
            return 0
        started_at_s = time.monotonic()
        try:
            results = self._worker.run_batch(batch)
            rows = self.io.complete(batch.deliveries, results)
        except (TransientError, StorageFullError):
            raise
        except ConfigurationError:
            self.release()
            raise
        self._batch = None
        self._observe(self.bound.stage.name, rows, time.monotonic() - started_at_s)
        self.io.flush()
        return len(batch.deliveries)

    def release(self) -> None:
        """Release the unfinished messages of the current batch, so that they are received again."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        try:
            self.io.release(batch.deliveries)
        except (TransientError, ConfigurationError) as error:
            # They are redelivered when the process ends or the lease expires.
            logger.warning("%s: could not release messages: %s", self.bound.stage.name, error)

    def _take_batch(self, wait_s: float) -> WorkingBatch | None:
        """Receive a batch of messages; return None if there are none.

        A stage that prefers full batches then waits a moment for more messages. The first messages
        are already stored in the loop, so that they are released if the queue fails meanwhile.
        """
        stage = self.bound.stage
        deliveries = self.io.take(stage.batch_max, wait_s)
        if not deliveries:
            return None
        self._batch = WorkingBatch(deliveries)
        missing = stage.batch_max - len(deliveries)
        if missing and stage.linger_s:
            time.sleep(stage.linger_s)
            self._batch = WorkingBatch([*deliveries, *self.io.take(missing, 0.0)])
        return self._batch


RECEIVE_EVERY_S = 0.1
"""Minimum seconds between two receives while items are in progress and the last receive returned
fewer messages than requested.
"""
CHECK_EVERY_S = 0.1


class ConcurrentLoop:
    """Runs one stage with a `ConcurrentStep` in one thread.

    The step limits the number of items in progress. Items that end at the same time are completed
    together. `observe` is called for these with the name of the step, the disposition rows of their
    messages, and the duration in seconds.
    """

    def __init__(self, io: StageIO, retry: RetryPolicy, observe: Observer = ignore_batch) -> None:
        self.io = io
        self.bound = io.stage
        self._observe = observe
        stage = self.bound.stage
        self._step: ConcurrentStep = self.bound.step
        self._worker = StepRunner(stage.name, self.bound.step, stage.reads, stage.sink, retry)
        self._numbers = count()
        self._deliveries: dict[int, Delivery] = {}
        self._ended: dict[int, Result] = {}
        self._receive_at_s = 0.0

    def run_once(self, wait_s: float) -> int:
        """Begin as many items as the step accepts, and complete the finished ones.

        Returns the number of items completed. Raises TransientError or StorageFullError if the
        queue or a store is unavailable, and ConfigurationError if a person must fix something.
        Items in progress continue after an error.
        """
        self._complete_finished()
        self._take(0.0 if self._deliveries else wait_s)
        if not self._deliveries:
            return 0
        started_s = time.monotonic()
        for number, outcome in self._step.collect_finished(min(wait_s, CHECK_EVERY_S)):
            delivery = self._deliveries.get(number)
            if delivery is not None:
                self._ended[number] = self._worker.build_result(outcome, delivery)
        return self._complete_finished(started_s)

    def release(self) -> None:
        """Complete the finished items if possible, release all other messages to the queue, and
        close the step.
        """
        try:
            self._complete_finished()
            self._step.forget(list(self._deliveries))
            self.io.release(list(self._deliveries.values()))
        except (TransientError, ConfigurationError) as error:
            # They are redelivered when the process ends or the lease expires.
            logger.warning("%s: could not release messages: %s", self.bound.stage.name, error)
        self._deliveries.clear()
        self._step.close()

    def _take(self, wait_s: float) -> None:
        room = min(self._step.free_slots, self.bound.stage.batch_max)
        now_s = time.monotonic()
        if room <= 0 or (self._deliveries and now_s < self._receive_at_s):
            return
        deliveries = self.io.take(room, wait_s)
        if len(deliveries) < room:
            self._receive_at_s = now_s + RECEIVE_EVERY_S
        decoded_items: list[tuple[int, object]] = []
        for delivery in deliveries:
            number = next(self._numbers)
            self._deliveries[number] = delivery
            item = self._worker.decode_item(delivery)
            if isinstance(item, Result):
                self._ended[number] = item
            else:
                decoded_items.append((number, item))
        if decoded_items:
            self._step.begin(decoded_items)

    def _complete_finished(self, started_s: float | None = None) -> int:
        numbers = list(self._ended)
        if numbers:
            deliveries: Sequence[Delivery] = [self._deliveries[number] for number in numbers]
            rows = self.io.complete(deliveries, [self._ended[number] for number in numbers])
            for number in numbers:
                del self._deliveries[number], self._ended[number]
            took_s = time.monotonic() - started_s if started_s is not None else 0.0
            self._observe(self.bound.stage.name, rows, took_s)
        self.io.flush()
        return len(numbers)
