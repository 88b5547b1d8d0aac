"""Works a batch of messages with one step: each ends with a result, or the store it needs is away.

A fault of one item is that item's; a store that does not answer, and a machine that has no files, memory
or room left, is nobody's. The batch is then kept, with what was worked of it, and tried again when the
loop comes round.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fonds.formats.envelope import decode
from fonds.model.disposition import (
    Disposition,
    Reason,
    Verdict,
    ending,
    quarantined,
    retried,
)
from fonds.model.errors import (
    ConfigurationError,
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.message import Delivery
from fonds.model.secrets import without_secrets
from fonds.model.shortage import shortage
from fonds.model.step import Result, Topic

logger = logging.getLogger(__name__)

RETURNS_MAX = 3
REDELIVERIES_MAX = 20
WAITS_MAX = 20
UNSETTLED = f"handed out {REDELIVERIES_MAX} times and never settled: perhaps it ends the process"
TRACE_MAX_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a transient failure is tried again: `first_s` doubling up to `longest_s`, `count_max` times."""

    count_max: int = 10
    first_s: float = 5.0
    longest_s: float = 3600.0

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after the failure number `attempt` (from 0)."""
        return float(min(self.longest_s, self.first_s * 2.0 ** min(attempt, 60)))


class Batch:
    """Messages in hand, with the results there are so far.

    `waits` counts how often in a row the same message found its store away.
    """

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries = list(deliveries)
        self.results: list[Result | None] = [None] * len(self.deliveries)
        self.waits = 0


@dataclass(frozen=True, slots=True)
class Worker:
    """One step at work: `step` takes one item of the topic `reads`, or a sequence when it is a sink."""

    name: str
    step: Callable[[Any], Any]
    reads: Topic
    sink: bool
    retry: RetryPolicy

    def work(self, held: Batch) -> list[Result]:
        """A result for each message, in order.

        Raises StoreUnavailableError while the store the step needs is away (what was worked stays in
        `held`), and ConfigurationError.
        """
        items = self._items(held)
        if self.sink and len(items) > 1:
            together = self._try_batch([item for _, item in items])
            if together is not None:
                for (position, _), result in zip(items, together, strict=True):
                    held.results[position] = self._judged(result, held.deliveries[position])
                items = []
        for position, item in items:
            held.results[position] = self._try_one(item, held, held.deliveries[position])
            held.waits = 0
        return [result for result in held.results if result is not None]

    def item(self, delivery: Delivery) -> object | Result:
        """What a message holds, or its result at once where it cannot be read or never ends."""
        if delivery.redelivered >= REDELIVERIES_MAX:
            return Result(quarantined(Reason.INTERNAL_ERROR, UNSETTLED))
        try:
            item: object = decode(delivery.message, self.reads.payload, self.reads.tag)
        except PermanentError as error:
            return Result(quarantined(error.reason, error.detail))
        return item

    def result(self, end: Result | Exception, delivery: Delivery) -> Result:
        """What the end of one item means for its message; no store is held to be away for one of many."""
        if isinstance(end, Result):
            return self._judged(end, delivery)
        held = Batch([delivery])
        held.waits = WAITS_MAX
        return self._failed(shortage(end) or end, held, delivery)

    def _items(self, held: Batch) -> list[tuple[int, object]]:
        """What is still to be worked, decoded; a message that cannot be read has its result at once."""
        items: list[tuple[int, object]] = []
        for position, delivery in enumerate(held.deliveries):
            if held.results[position] is not None:
                continue
            item = self.item(delivery)
            if isinstance(item, Result):
                held.results[position] = item
            else:
                items.append((position, item))
        return items

    def _try_batch(self, items: Sequence[object]) -> Sequence[Result] | None:
        """The results of all, or None when one of them spoils it: they are then tried one by one."""
        try:
            results: Sequence[Result] = self.step(items)
        except ConfigurationError:
            raise
        except Exception:  # noqa: BLE001 (whatever it was, one item is to blame: find it)
            return None
        if len(results) != len(items):
            raise RuntimeError(f"{self.name}: {len(results)} results for {len(items)} items")
        return results

    def _try_one(self, item: object, held: Batch, delivery: Delivery) -> Result:
        try:
            result: Result = self.step([item])[0] if self.sink else self.step(item)
        except Exception as error:  # noqa: BLE001 (what it is said below)
            away = isinstance(error, StoreUnavailableError)
            return self._failed(error if away else shortage(error) or error, held, delivery)
        return self._judged(result, delivery)

    def _failed(self, error: Exception, held: Batch, delivery: Delivery) -> Result:
        """How a message ends whose step raised. Raises the error when no message is to blame for it."""
        match error:
            case StoreUnavailableError() if held.waits < WAITS_MAX:
                # One message may be what a store cannot take; not one that has just been found away.
                held.waits += 1
                raise error
            case StoreUnavailableError() | TransientError():
                told = without_secrets(str(error))
                return Result(self._again(delivery, Reason.STORE_UNAVAILABLE, told, 0.0))
            case PermanentError():
                return Result(ending(error.reason, error.detail))
            case ConfigurationError():
                raise error
            case _:
                return self._faulty(error, delivery)

    def _faulty(self, error: Exception, delivery: Delivery) -> Result:
        message_id = delivery.message.id
        logger.error(
            "%s failed on %s: %r",
            self.name,
            message_id,
            error,
            exc_info=error,
            extra={"step": self.name, "message_id": message_id},
        )
        told = without_secrets("".join(traceback.format_exception(error)))
        return Result(bug(delivery, told))

    def _judged(self, result: Result, delivery: Delivery) -> Result:
        """A step may ask for a longer wait than the policy's, never for more attempts."""
        ended = result.disposition
        if ended.verdict is not Verdict.RETRIED:
            return result
        reason = ended.reason or Reason.STORE_UNAVAILABLE
        again = self._again(delivery, reason, ended.detail, ended.after_s)
        return replace(result, disposition=again)

    def _again(
        self, delivery: Delivery, reason: Reason, detail: str, after_s: float
    ) -> Disposition:
        attempt = delivery.message.attempt
        if attempt >= self.retry.count_max:
            return ending(reason, f"given up after {attempt + 1} attempts: {detail}")
        return retried(reason, detail, max(self.retry.delay_s(attempt), after_s))


def bug(delivery: Delivery, trace: str) -> Disposition:
    """A fault of ours comes back a few times, then stops standing in the way of the others."""
    if delivery.message.attempt >= RETURNS_MAX:
        return quarantined(Reason.INTERNAL_ERROR, trace[-TRACE_MAX_CHARS:])
    return retried(Reason.INTERNAL_ERROR, trace[-TRACE_MAX_CHARS:], 0.0)
