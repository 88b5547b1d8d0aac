"""The pace of most steps: one batch after the other, each worked whole before the next is taken."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from fonds.model.errors import ConfigurationError, StorageFullError, TransientError
from fonds.model.rows import DispositionRow
from fonds.runtime.hand import Hand
from fonds.runtime.working import Batch, RetryPolicy, Worker

logger = logging.getLogger(__name__)

Observer = Callable[[str, Sequence[DispositionRow], float], None]


def unobserved(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
    """The observer of those who count nothing."""


class Loop:
    """One stage at work, in one thread.

    `observe` is told of each batch that was handed on: the step, how its messages ended and the seconds
    it took.
    """

    def __init__(self, hand: Hand, retry: RetryPolicy, observe: Observer = unobserved) -> None:
        self.hand = hand
        self.bound = hand.bound
        self._observe = observe
        stage = self.bound.stage
        self._worker = Worker(stage.name, self.bound.step, stage.reads, stage.sink, retry)
        self._held: Batch | None = None

    def turn(self, wait_s: float) -> int:
        """Work off one batch; returns how many messages there were, 0 when none came in `wait_s`.

        Raises TransientError when the queue or a store does not answer, and StorageFullError: the batch
        stays in hand, and the next turn goes on with it. Raises ConfigurationError for anything else a
        person must change; the batch is then given back.
        """
        held = self._held or self._take(wait_s)
        if held is None:
            return 0
        started = time.monotonic()
        try:
            results = self._worker.work(held)
            rows = self.hand.let_go(held.deliveries, results)
        except (TransientError, StorageFullError):
            raise
        except ConfigurationError:
            self.give_back()
            raise
        self._held = None
        self._observe(self.bound.stage.name, rows, time.monotonic() - started)
        self.hand.flush()
        return len(held.deliveries)

    def give_back(self) -> None:
        """Give what is in hand back, unfinished."""
        held, self._held = self._held, None
        if held is None:
            return
        try:
            self.hand.give_back(held.deliveries)
        except (TransientError, ConfigurationError) as error:
            # They come back by themselves when the process ends, or after the lease.
            logger.warning("%s: could not give back: %s", self.bound.stage.name, error)

    def _take(self, wait_s: float) -> Batch | None:
        """A batch; where batches are worth it, a moment is given to those that are on their way.

        What came first is in hand whatever befalls the queue meanwhile: nobody would give it back.
        """
        stage = self.bound.stage
        deliveries = self.hand.take(stage.batch_max, wait_s)
        if not deliveries:
            return None
        self._held = Batch(deliveries)
        missing = stage.batch_max - len(deliveries)
        if missing and stage.linger_s:
            time.sleep(stage.linger_s)
            self._held = Batch([*deliveries, *self.hand.take(missing, 0.0)])
        return self._held
