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

from fonds.model.disposition import (
    Disposition,
    Reason,
    Verdict,
    end,
    quarantine,
    retry,
)
from fonds.model.errors import (
    ConfigurationError,
    PermanentError,
    StoreUnavailableError,
    TransientError,
    find_shortage,
)
from fonds.model.message import Delivery
from fonds.model.secrets import redact_secrets
from fonds.model.step import Result, Topic
from fonds.queues.messages.envelope import decode

logger = logging.getLogger(__name__)

RETURNS_MAX = 3
REDELIVERIES_MAX = 20
WAITS_MAX = 20
UNSETTLED = f"handed out {REDELIVERIES_MAX} times and never settled: perhaps it ends the process"
TRACE_MAX_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a transient failure is tried again: `initial_s` doubling up to `max_s`, `count_max` times."""

    count_max: int = 10
    initial_s: float = 5.0
    max_s: float = 3600.0

    def compute_delay_s(self, attempt: int) -> float:
        """Seconds to wait after the failure number `attempt` (from 0)."""
        return float(min(self.max_s, self.initial_s * 2.0 ** min(attempt, 60)))


class WorkingBatch:
    """Messages in hand, with the results there are so far.

    `waits` counts how often in a row the same message found its store away.
    """

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries = list(deliveries)
        self.results: list[Result | None] = [None] * len(self.deliveries)
        self.waits = 0


@dataclass(frozen=True, slots=True)
class StepRunner:
    """One step at work: `step` takes one item of the topic `reads`, or a sequence when it is a sink."""

    name: str
    step: Callable[[Any], Any]
    reads: Topic
    is_sink: bool
    retry: RetryPolicy

    def run_batch(self, batch: WorkingBatch) -> list[Result]:
        """A result for each message, in order.

        Raises StoreUnavailableError while the store the step needs is away (what was worked stays in
        `batch`), and ConfigurationError.
        """
        items = self._decode_items(batch)
        if self.is_sink and len(items) > 1:
            together = self._try_batch([item for _, item in items])
            if together is not None:
                for (position, _), result in zip(items, together, strict=True):
                    batch.results[position] = self._limit_wait(result, batch.deliveries[position])
                items = []
        for position, item in items:
            batch.results[position] = self._try_one(item, batch, batch.deliveries[position])
            batch.waits = 0
        return [result for result in batch.results if result is not None]

    def decode_item(self, delivery: Delivery) -> object | Result:
        """What a message holds, or its result at once where it cannot be read or never ends."""
        if delivery.redelivered >= REDELIVERIES_MAX:
            return Result(quarantine(Reason.INTERNAL_ERROR, UNSETTLED))
        try:
            item: object = decode(delivery.message, self.reads.payload, self.reads.tag)
        except PermanentError as error:
            return Result(quarantine(error.reason, error.detail))
        return item

    def build_result(self, end: Result | Exception, delivery: Delivery) -> Result:
        """What the end of one item means for its message; no store is held to be away for one of many."""
        if isinstance(end, Result):
            return self._limit_wait(end, delivery)
        held = WorkingBatch([delivery])
        held.waits = WAITS_MAX
        return self._handle_error(find_shortage(end) or end, held, delivery)

    def _decode_items(self, batch: WorkingBatch) -> list[tuple[int, object]]:
        """What is still to be worked, decoded; a message that cannot be read has its result at once."""
        items: list[tuple[int, object]] = []
        for position, delivery in enumerate(batch.deliveries):
            if batch.results[position] is not None:
                continue
            item = self.decode_item(delivery)
            if isinstance(item, Result):
                batch.results[position] = item
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

    def _try_one(self, item: object, batch: WorkingBatch, delivery: Delivery) -> Result:
        try:
            result: Result = self.step([item])[0] if self.is_sink else self.step(item)
        except Exception as error:  # noqa: BLE001 (what it is said below)
            away = isinstance(error, StoreUnavailableError)
            return self._handle_error(
                error if away else find_shortage(error) or error, batch, delivery
            )
        return self._limit_wait(result, delivery)

    def _handle_error(self, error: Exception, batch: WorkingBatch, delivery: Delivery) -> Result:
        """How a message ends whose step raised. Raises the error when no message is to blame for it."""
        match error:
            case StoreUnavailableError() if batch.waits < WAITS_MAX:
                # One message may be what a store cannot take; not one that has just been found away.
                batch.waits += 1
                raise error
            case StoreUnavailableError() | TransientError():
                told = redact_secrets(str(error))
                return Result(self._build_retry(delivery, Reason.STORE_UNAVAILABLE, told, 0.0))
            case PermanentError():
                return Result(end(error.reason, error.detail))
            case ConfigurationError():
                raise error
            case _:
                return self._handle_fault(error, delivery)

    def _handle_fault(self, error: Exception, delivery: Delivery) -> Result:
        message_id = delivery.message.id
        logger.error(
            "%s failed on %s: %r",
            self.name,
            message_id,
            error,
            exc_info=error,
            extra={"step": self.name, "message_id": message_id},
        )
        told = redact_secrets("".join(traceback.format_exception(error)))
        return Result(handle_bug(delivery, told))

    def _limit_wait(self, result: Result, delivery: Delivery) -> Result:
        """A step may ask for a longer wait than the policy's, never for more attempts."""
        ended = result.disposition
        if ended.verdict is not Verdict.RETRIED:
            return result
        reason = ended.reason or Reason.STORE_UNAVAILABLE
        again = self._build_retry(delivery, reason, ended.detail, ended.after_s)
        return replace(result, disposition=again)

    def _build_retry(
        self, delivery: Delivery, reason: Reason, detail: str, after_s: float
    ) -> Disposition:
        attempt = delivery.message.attempt
        if attempt >= self.retry.count_max:
            return end(reason, f"given up after {attempt + 1} attempts: {detail}")
        return retry(reason, detail, max(self.retry.compute_delay_s(attempt), after_s))


def handle_bug(delivery: Delivery, trace: str) -> Disposition:
    """A fault of ours comes back a few times, then stops standing in the way of the others."""
    if delivery.message.attempt >= RETURNS_MAX:
        return quarantine(Reason.INTERNAL_ERROR, trace[-TRACE_MAX_CHARS:])
    return retry(Reason.INTERNAL_ERROR, trace[-TRACE_MAX_CHARS:], 0.0)
