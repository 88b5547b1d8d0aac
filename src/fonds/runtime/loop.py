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

from fonds.formats.envelope import decode, encode
from fonds.model.disposition import (
    Disposition,
    Reason,
    Verdict,
    Weight,
    dropped,
    quarantined,
    retried,
)
from fonds.model.errors import ConfigurationError, PermanentError, TransientError
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.rows import DispositionRow
from fonds.model.step import Result, Stage
from fonds.ports import Queue, Records

logger = logging.getLogger(__name__)

RETURNS_MAX = 3
REDELIVERIES_MAX = 20
UNSETTLED = f"handed out {REDELIVERIES_MAX} times and never settled: perhaps it ends the process"
DETAIL_MAX_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a transient failure is tried again: `first_s` doubling up to `longest_s`, `count_max` times."""

    count_max: int = 10
    first_s: float = 5.0
    longest_s: float = 3600.0

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after the failure number `attempt` (from 0)."""
        return float(min(self.longest_s, self.first_s * 2.0 ** min(attempt, 60)))


@dataclass(frozen=True, slots=True)
class Bound:
    """A stage bound to what carries it out: `step` takes one item, or a sequence when it is a sink.

    `routes` maps each payload type the stage may write to the topic's name and its subscriptions.
    """

    stage: Stage
    subscription: Subscription
    step: Callable[[Any], Any]
    routes: Mapping[type, tuple[str, tuple[Subscription, ...]]]


@dataclass(frozen=True, slots=True)
class Loop:
    """One stage at work on one queue. `clock` gives aware UTC."""

    bound: Bound
    queue: Queue
    records: Records
    retry: RetryPolicy
    clock: Callable[[], datetime]

    def turn(self, wait_s: float) -> int:
        """Work off one batch; returns how many messages were settled, 0 when none came in `wait_s`.

        Raises TransientError when queue or records do not answer, and ConfigurationError (full disk):
        the messages in hand are then given back.
        """
        deliveries = self._receive(wait_s)
        if not deliveries:
            return 0
        try:
            results, outgoing = self._pack(deliveries, self._work(deliveries))
            self._hand_on(deliveries, results, outgoing)
            self.records.put([self._row(d, r) for d, r in zip(deliveries, results, strict=True)])
            self.queue.settle(deliveries)
        except (TransientError, ConfigurationError):
            self._give_back(deliveries)
            raise
        return len(deliveries)

    def _receive(self, wait_s: float) -> list[Delivery]:
        """A batch; where batches are worth it, a moment is given to those that are on their way."""
        incoming, stage = self.bound.subscription.incoming, self.bound.stage
        deliveries = self.queue.receive(incoming, stage.batch_max, wait_s)
        missing = stage.batch_max - len(deliveries)
        if deliveries and missing and stage.linger_s:
            time.sleep(stage.linger_s)
            deliveries += self.queue.receive(incoming, missing, 0.0)
        return deliveries

    def _give_back(self, deliveries: Sequence[Delivery]) -> None:
        try:
            self.queue.release(deliveries)
        except (TransientError, ConfigurationError) as error:
            # The lease gives them back later; the first error is the one to tell.
            logger.warning("%s: could not give back: %s", self.bound.stage.step, error)

    def _work(self, deliveries: Sequence[Delivery]) -> list[Result]:
        results: list[Result | None] = [None] * len(deliveries)
        items: list[tuple[int, object]] = []
        for position, delivery in enumerate(deliveries):
            message = delivery.message
            if delivery.redelivered >= REDELIVERIES_MAX:
                results[position] = Result(quarantined(Reason.INTERNAL_ERROR, UNSETTLED))
                continue
            try:
                items.append(
                    (position, decode(message.body, self.bound.stage.reads.payload, message.key))
                )
            except PermanentError as error:
                results[position] = Result(quarantined(error.reason, error.detail))
        if self.bound.stage.sink and len(items) > 1:
            together = self._try_batch([item for _, item in items])
            if together is not None:
                for (position, _), result in zip(items, together, strict=True):
                    results[position] = result
                items = []
        for position, item in items:
            results[position] = self._try_one(item, deliveries[position])
        return [result for result in results if result is not None]

    def _try_batch(self, items: Sequence[object]) -> Sequence[Result] | None:
        """The results of all, or None when one of them spoils it: they are then tried one by one."""
        try:
            results: Sequence[Result] = self.bound.step(items)
        except ConfigurationError:
            raise
        except Exception:  # noqa: BLE001 (whatever it was, one item is to blame: find it)
            return None
        if len(results) != len(items):
            raise RuntimeError(
                f"{self.bound.stage.step}: {len(results)} results for {len(items)} items"
            )
        return results

    def _try_one(self, item: object, delivery: Delivery) -> Result:
        try:
            result: Result = (
                self.bound.step([item])[0] if self.bound.stage.sink else self.bound.step(item)
            )
        except TransientError as error:
            return Result(self._again(delivery, Reason.STORE_UNAVAILABLE, str(error)))
        except PermanentError as error:
            return Result(_verdict(error))
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 (its traceback goes with the message)
            logger.error("%s failed on %s: %r", self.bound.stage.step, delivery.message.id, error)
            return Result(self._bug(delivery, traceback.format_exc()))
        if result.disposition.verdict is Verdict.RETRIED:
            reason = result.disposition.reason or Reason.STORE_UNAVAILABLE
            return replace(
                result, disposition=self._again(delivery, reason, result.disposition.detail)
            )
        return result

    def _again(self, delivery: Delivery, reason: Reason, detail: str) -> Disposition:
        attempt = delivery.message.attempt
        if attempt >= self.retry.count_max:
            return quarantined(reason, f"given up after {attempt + 1} attempts: {detail}")
        return retried(reason, detail, self.retry.delay_s(attempt))

    def _bug(self, delivery: Delivery, trace: str) -> Disposition:
        """A fault of ours comes back a few times, then stops standing in the way of the others."""
        if delivery.message.attempt >= RETURNS_MAX:
            return quarantined(Reason.INTERNAL_ERROR, trace[-DETAIL_MAX_CHARS:])
        return retried(Reason.INTERNAL_ERROR, trace[-DETAIL_MAX_CHARS:], 0.0)

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
                result, packed = Result(self._bug(delivery, traceback.format_exc())), []
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
            self.queue.put(address, messages)
        self._delay(deliveries, results)

    def _delay(self, deliveries: Sequence[Delivery], results: Sequence[Result]) -> None:
        waiting: dict[float, list[Message]] = defaultdict(list)
        for delivery, result in zip(deliveries, results, strict=True):
            if result.disposition.verdict is Verdict.RETRIED:
                again = replace(delivery.message, attempt=delivery.message.attempt + 1)
                waiting[max(result.disposition.after_s, 0.001)].append(again)
        for after_s, messages in waiting.items():
            self.queue.put(self.bound.subscription.incoming, messages, delay_s=after_s)

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
            settled_at=self.clock(),
        )


def _verdict(error: PermanentError) -> Disposition:
    """What is refused by a rule is dropped; what failed is quarantined."""
    if error.reason.weight is Weight.FAILED:
        return quarantined(error.reason, error.detail)
    return dropped(error.reason, error.detail)


def _key(item: object, otherwise: str) -> str:
    """The SHA-1 in hex of the file an item is about."""
    sha1hex = getattr(item, "sha1hex", None)
    if sha1hex is None:
        sha1hex = getattr(getattr(item, "file", None), "sha1", None)
    return sha1hex or otherwise
