"""The pace of steps that have many items in hand at once, each as long as it takes: fetching."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from itertools import count

from fonds.model.errors import ConfigurationError, TransientError
from fonds.model.message import Delivery
from fonds.model.step import Result
from fonds.ports import Errands
from fonds.runtime.hand import Hand
from fonds.runtime.paces.loop import Observer, unobserved
from fonds.runtime.working import RetryPolicy, Worker

logger = logging.getLogger(__name__)

ASK_EVERY_S = 0.1
"""How often the queue is asked for more while something is in hand and there was nothing the last time."""
LOOK_EVERY_S = 0.1


class Crowd:
    """One stage at work, in one thread; its step is an `Errands`.

    What is in hand is the step's to bound. Each item that ends is handed on with what else ended at the
    time, in any order; `observe` is told of them as a loop tells it.
    """

    def __init__(self, hand: Hand, retry: RetryPolicy, observe: Observer = unobserved) -> None:
        self.hand = hand
        self.bound = hand.bound
        self._observe = observe
        stage = self.bound.stage
        self._errands: Errands = self.bound.step
        self._worker = Worker(stage.name, self.bound.step, stage.reads, stage.sink, retry)
        self._numbers = count()
        self._in_hand: dict[int, Delivery] = {}
        self._ended: dict[int, Result] = {}
        self._ask_at_s = 0.0

    def turn(self, wait_s: float) -> int:
        """Take what there is room for, and hand on what has ended; how many ended.

        Raises as a loop's turn does: what is in hand stays so.
        """
        self._hand_on()
        self._take(0.0 if self._in_hand else wait_s)
        if not self._in_hand:
            return 0
        started_s = time.monotonic()
        for number, end in self._errands.ended(min(wait_s, LOOK_EVERY_S)):
            delivery = self._in_hand.get(number)
            if delivery is not None:
                self._ended[number] = self._worker.result(end, delivery)
        return self._hand_on(started_s)

    def give_back(self) -> None:
        """Give what is in hand back, unfinished; what has ended is handed on if it can be."""
        try:
            self._hand_on()
            self._errands.forget(list(self._in_hand))
            self.hand.give_back(list(self._in_hand.values()))
        except (TransientError, ConfigurationError) as error:
            # They come back by themselves when the process ends, or after the lease.
            logger.warning("%s: could not give back: %s", self.bound.stage.name, error)
        self._in_hand.clear()
        self._errands.close()

    def _take(self, wait_s: float) -> None:
        room = min(self._errands.room, self.bound.stage.batch_max)
        now_s = time.monotonic()
        if room <= 0 or (self._in_hand and now_s < self._ask_at_s):
            return
        deliveries = self.hand.take(room, wait_s)
        if len(deliveries) < room:
            self._ask_at_s = now_s + ASK_EVERY_S
        begun: list[tuple[int, object]] = []
        for delivery in deliveries:
            number = next(self._numbers)
            self._in_hand[number] = delivery
            item = self._worker.item(delivery)
            if isinstance(item, Result):
                self._ended[number] = item
            else:
                begun.append((number, item))
        if begun:
            self._errands.begin(begun)

    def _hand_on(self, started_s: float | None = None) -> int:
        numbers = list(self._ended)
        if numbers:
            deliveries: Sequence[Delivery] = [self._in_hand[number] for number in numbers]
            rows = self.hand.let_go(deliveries, [self._ended[number] for number in numbers])
            for number in numbers:
                del self._in_hand[number], self._ended[number]
            took_s = time.monotonic() - started_s if started_s is not None else 0.0
            self._observe(self.bound.stage.name, rows, took_s)
        self.hand.flush()
        return len(numbers)
