"""The one loop: receive, work, hand on, write down, settle; for any step, queue and store.

Order matters: what a message brought forth is put on its topics first, then its disposition is
written, then it is settled. A process that dies in between gets the message again, and everything it
did is done again with the same ids, so nothing is lost and nothing is counted twice.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fonds.formats.envelope import encode
from fonds.model.disposition import Verdict
from fonds.model.errors import ConfigurationError, StorageFullError, TransientError
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.rows import DispositionRow
from fonds.model.step import Result, Stage
from fonds.ports import Queue, Records
from fonds.runtime.working import DETAIL_MAX_CHARS, Held, RetryPolicy, Worker, bug

logger = logging.getLogger(__name__)

Observer = Callable[[str, Sequence[DispositionRow], float], None]


@dataclass(frozen=True, slots=True)
class Bound:
    """A stage bound to what carries it out: `step` takes one item, or a sequence when it is a sink.

    `routes` maps each payload type the stage may write to the topic's name and its subscriptions.
    """

    stage: Stage
    subscription: Subscription
    step: Callable[[Any], Any]
    routes: Mapping[type, tuple[str, tuple[Subscription, ...]]]


def unobserved(step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
    """The observer of those who count nothing."""


class Loop:
    """One stage at work on one queue, in one thread. `clock` gives aware UTC.

    `observe` is told of each batch that was settled: the step, its dispositions and the seconds it took.
    """

    def __init__(
        self,
        bound: Bound,
        queue: Queue,
        records: Records,
        retry: RetryPolicy,
        clock: Callable[[], datetime],
        observe: Observer = unobserved,
    ) -> None:
        self.bound = bound
        self._queue = queue
        self._records = records
        self._clock = clock
        self._observe = observe
        stage = bound.stage
        self._worker = Worker(stage.step, bound.step, stage.reads.payload, stage.sink, retry)
        self._held: Held | None = None

    def turn(self, wait_s: float) -> int:
        """Work off one batch; returns how many messages were settled, 0 when none came in `wait_s`.

        Raises TransientError when the queue or a store does not answer, and StorageFullError: the batch
        stays in hand, and the next turn goes on with it. Raises ConfigurationError for anything else a
        person must change; the batch is then given back.
        """
        held = self._held or self._take(wait_s)
        if held is None:
            return 0
        self._held = held
        started = time.monotonic()
        try:
            rows = self._finish(held)
        except (TransientError, StorageFullError):
            raise
        except ConfigurationError:
            self.give_back()
            raise
        self._held = None
        self._observe(self.bound.stage.step, rows, time.monotonic() - started)
        return len(held.deliveries)

    def give_back(self) -> None:
        """Give what is in hand back to the queue, unfinished."""
        held, self._held = self._held, None
        if held is None:
            return
        try:
            self._queue.release(held.deliveries)
        except (TransientError, ConfigurationError) as error:
            # They come back by themselves when the process ends, or after the lease.
            logger.warning("%s: could not give back: %s", self.bound.stage.step, error)

    def _take(self, wait_s: float) -> Held | None:
        """A batch; where batches are worth it, a moment is given to those that are on their way."""
        incoming, stage = self.bound.subscription.incoming, self.bound.stage
        deliveries = self._queue.receive(incoming, stage.batch_max, wait_s)
        missing = stage.batch_max - len(deliveries)
        if deliveries and missing and stage.linger_s:
            time.sleep(stage.linger_s)
            deliveries += self._queue.receive(incoming, missing, 0.0)
        return Held(deliveries) if deliveries else None

    def _finish(self, held: Held) -> Sequence[DispositionRow]:
        """What was handed on once is not handed on again when the records are away afterwards."""
        if held.rows is None:
            worked = self._worker.work(held)
            results, outgoing = self._pack(held.deliveries, worked)
            self._hand_on(held.deliveries, results, outgoing)
            held.rows = [self._row(d, r) for d, r in zip(held.deliveries, results, strict=True)]
        self._records.put(held.rows)
        self._queue.settle(held.deliveries)
        return held.rows

    def _pack(
        self, deliveries: Sequence[Delivery], worked: Sequence[Result]
    ) -> tuple[list[Result], dict[str, list[Message]]]:
        """The results, and their items as messages by topic; an item that cannot travel is a bug."""
        results: list[Result] = []
        outgoing: dict[str, list[Message]] = defaultdict(list)
        for delivery, result in zip(deliveries, worked, strict=True):
            try:
                packed = [self._message(item, delivery.message) for item in result.items]
            except Exception:
                step = self.bound.stage.step
                logger.exception("%s cannot hand on %s", step, delivery.message.id)
                result, packed = Result(bug(delivery, traceback.format_exc())), []
            results.append(result)
            for topic, message in packed:
                outgoing[topic].append(message)
        return results, outgoing

    def _message(self, item: object, about: Message) -> tuple[str, Message]:
        topic, _ = self.bound.routes[type(item)]
        return topic, Message(about.id, encode(item), _key(item, about.key))

    def _hand_on(
        self,
        deliveries: Sequence[Delivery],
        results: Sequence[Result],
        outgoing: dict[str, list[Message]],
    ) -> None:
        for delivery, result in zip(deliveries, results, strict=True):
            message, ended = delivery.message, result.disposition
            if ended.verdict is Verdict.QUARANTINED:
                headers = {"reason": str(ended.reason), "detail": ended.detail[:DETAIL_MAX_CHARS]}
                outgoing[self.bound.subscription.quarantine].append(
                    replace(message, headers={**message.headers, **headers})
                )
        for address, messages in outgoing.items():
            self._queue.put(address, messages)
        self._delay(deliveries, results)

    def _delay(self, deliveries: Sequence[Delivery], results: Sequence[Result]) -> None:
        waiting: dict[float, list[Message]] = defaultdict(list)
        for delivery, result in zip(deliveries, results, strict=True):
            if result.disposition.verdict is Verdict.RETRIED:
                again = replace(delivery.message, attempt=delivery.message.attempt + 1)
                waiting[max(result.disposition.after_s, 0.001)].append(again)
        for after_s, messages in waiting.items():
            self._queue.put(self.bound.subscription.incoming, messages, delay_s=after_s)

    def _row(self, delivery: Delivery, result: Result) -> DispositionRow:
        ended, message = result.disposition, delivery.message
        emitted = tuple(
            subscription.name
            for item in result.items
            for subscription in self.bound.routes[type(item)][1]
        )
        sha1hex = next((k for k in (_key(item, "") for item in result.items) if k), message.key)
        return DispositionRow(
            capture_id=message.id,
            step=self.bound.stage.step,
            verdict=str(ended.verdict),
            reason=str(ended.reason) if ended.reason else None,
            detail=ended.detail[:DETAIL_MAX_CHARS],
            sha1hex=sha1hex or None,
            emitted=emitted,
            emitted_count=len(emitted),
            attempt=message.attempt,
            settled_at=self._clock(),
        )


def _key(item: object, otherwise: str) -> str:
    """The SHA-1 in hex of the file an item is about."""
    sha1hex = getattr(item, "sha1hex", None)
    if sha1hex is None:
        sha1hex = getattr(getattr(item, "file", None), "sha1", None)
    return sha1hex or otherwise
