"""The pace of most steps: one batch after the other, each worked whole before the next is taken."""

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
    """The observer of those who count nothing."""


class BatchLoop:
    """One stage at work, in one thread.

    `observe` is told of each batch that was handed on: the step, how its messages ended and the seconds
    it took.
    """

    def __init__(self, io: StageIO, retry: RetryPolicy, observe: Observer = ignore_batch) -> None:
        self.io = io
        self.bound = io.stage
        self._observe = observe
        stage = self.bound.stage
        self._worker = StepRunner(stage.name, self.bound.step, stage.reads, stage.sink, retry)
        self._batch: WorkingBatch | None = None

    def run_once(self, wait_s: float) -> int:
        """Work off one batch; returns how many messages there were, 0 when none came in `wait_s`.

        Raises TransientError when the queue or a store does not answer, and StorageFullError: the batch
        stays in hand, and the next turn goes on with it. Raises ConfigurationError for anything else a
        person must change; the batch is then given back.
        """
        held = self._batch or self._take_batch(wait_s)
        if held is None:
            return 0
        started = time.monotonic()
        try:
            results = self._worker.run_batch(held)
            rows = self.io.complete(held.deliveries, results)
        except (TransientError, StorageFullError):
            raise
        except ConfigurationError:
            self.release()
            raise
        self._batch = None
        self._observe(self.bound.stage.name, rows, time.monotonic() - started)
        self.io.flush()
        return len(held.deliveries)

    def release(self) -> None:
        """Give what is in hand back, unfinished."""
        held, self._batch = self._batch, None
        if held is None:
            return
        try:
            self.io.release(held.deliveries)
        except (TransientError, ConfigurationError) as error:
            # They come back by themselves when the process ends, or after the lease.
            logger.warning("%s: could not give back: %s", self.bound.stage.name, error)

    def _take_batch(self, wait_s: float) -> WorkingBatch | None:
        """A batch; where batches are worth it, a moment is given to those that are on their way.

        What came first is in hand whatever befalls the queue meanwhile: nobody would give it back.
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


# The pace of steps that have many items in hand at once, each as long as it takes: fetching.


ASK_EVERY_S = 0.1
"""How often the queue is asked for more while something is in hand and there was nothing the last time."""
CHECK_EVERY_S = 0.1


class ConcurrentLoop:
    """One stage at work, in one thread; its step is an `ConcurrentStep`.

    What is in hand is the step's to bound. Each item that ends is handed on with what else ended at the
    time, in any order; `observe` is told of them as a loop tells it.
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
        """Take what there is room for, and hand on what has ended; how many ended.

        Raises as a loop's turn does: what is in hand stays so.
        """
        self._complete_finished()
        self._take(0.0 if self._deliveries else wait_s)
        if not self._deliveries:
            return 0
        started_s = time.monotonic()
        for number, end in self._step.collect_finished(min(wait_s, CHECK_EVERY_S)):
            delivery = self._deliveries.get(number)
            if delivery is not None:
                self._ended[number] = self._worker.build_result(end, delivery)
        return self._complete_finished(started_s)

    def release(self) -> None:
        """Give what is in hand back, unfinished; what has ended is handed on if it can be."""
        try:
            self._complete_finished()
            self._step.forget(list(self._deliveries))
            self.io.release(list(self._deliveries.values()))
        except (TransientError, ConfigurationError) as error:
            # They come back by themselves when the process ends, or after the lease.
            logger.warning("%s: could not give back: %s", self.bound.stage.name, error)
        self._deliveries.clear()
        self._step.close()

    def _take(self, wait_s: float) -> None:
        room = min(self._step.free_slots, self.bound.stage.batch_max)
        now_s = time.monotonic()
        if room <= 0 or (self._deliveries and now_s < self._receive_at_s):
            return
        deliveries = self.io.take(room, wait_s)
        if len(deliveries) < room:
            self._receive_at_s = now_s + ASK_EVERY_S
        begun: list[tuple[int, object]] = []
        for delivery in deliveries:
            number = next(self._numbers)
            self._deliveries[number] = delivery
            item = self._worker.decode_item(delivery)
            if isinstance(item, Result):
                self._ended[number] = item
            else:
                begun.append((number, item))
        if begun:
            self._step.begin(begun)

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
