"""Run a step on a batch of messages. Each message gets a result, unless a store is unavailable.

An error in one message affects only that message. If a store is unavailable, or the machine lacks
file descriptors, memory or disk space, no message caused the error. The batch is then kept with the
results so far, and continued later.
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
UNSETTLED = f"delivered {REDELIVERIES_MAX} times and never settled; it may kill the process"
TRACE_MAX_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Policy for retrying messages after temporary failures.

    - `count_max`: maximum number of retries.
    - `initial_s`: delay before the first retry in seconds. It doubles with each further retry.
    - `max_s`: maximum delay in seconds.
    """

    count_max: int = 10
    initial_s: float = 5.0
    max_s: float = 3600.0

    def compute_delay_s(self, attempt: int) -> float:
        """Return the delay in seconds after the failure of attempt number `attempt` (from 0)."""
        return float(min(self.max_s, self.initial_s * 2.0 ** min(attempt, 60)))


class WorkingBatch:
    """Messages that a step works on, with the results so far.

    - `results`: result of each message; None until the message was processed.
    - `waits`: number of consecutive times that processing stopped at the same message, because a
      store was unavailable.
    """

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries = list(deliveries)
        self.results: list[Result | None] = [None] * len(self.deliveries)
        self.waits = 0


@dataclass(frozen=True, slots=True)
class StepRunner:
    """Runs one step on messages of the topic `reads`, and gives each message a result.

    - `step`: function of one item, or of a list of items if `is_sink` is set.
    - `retry`: number and delays of the retries after temporary failures.
    """

    name: str
    step: Callable[[Any], Any]
    reads: Topic
    is_sink: bool
    retry: RetryPolicy

    def run_batch(self, batch: WorkingBatch) -> list[Result]:
        """Return a result for each message of a batch, in order.

        Raises StoreUnavailableError while a store that the step needs is unavailable; the results
        so far stay in `batch`. Raises ConfigurationError if a person must fix something.
        """
        items = self._decode_items(batch)
        if self.is_sink and len(items) > 1:
            batch_results = self._try_batch([item for _, item in items])
            if batch_results is not None:
                for (position, _), result in zip(items, batch_results, strict=True):
                    batch.results[position] = self._limit_wait(result, batch.deliveries[position])
                items = []
        for position, item in items:
            batch.results[position] = self._try_one(item, batch, batch.deliveries[position])
            batch.waits = 0
        return [result for result in batch.results if result is not None]

    def decode_item(self, delivery: Delivery) -> object | Result:
        """Decode the item that a message carries.

        If the message is malformed, or was delivered too often without being settled, return a
        Result that quarantines it.
        """
        if delivery.redelivered >= REDELIVERIES_MAX:
            return Result(quarantine(Reason.INTERNAL_ERROR, UNSETTLED))
        try:
            item: object = decode(delivery.message, self.reads.payload, self.reads.tag)
        except PermanentError as error:
            return Result(quarantine(error.reason, error.detail))
        return item

    def build_result(self, end: Result | Exception, delivery: Delivery) -> Result:
        """Return the result of an item that was processed concurrently.

        `end` is the Result that the step returned, or the error that it raised. If a store is
        unavailable, only this item is retried later; other items do not wait for it.
        """
        if isinstance(end, Result):
            return self._limit_wait(end, delivery)
        batch = WorkingBatch([delivery])
        batch.waits = WAITS_MAX
        return self._handle_error(find_shortage(end) or end, batch, delivery)

    def _decode_items(self, batch: WorkingBatch) -> list[tuple[int, object]]:
        """Decode the messages that have no result yet. Return (position in the batch, item) for
        each.

        A message that cannot be decoded gets its result here and is not returned.
        """
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
        """Run the step on all items at once, and return one result per item.

        Returns None if that fails, so that the caller can run the step on each item alone. Raises
        ConfigurationError if a person must fix something.
        """
        try:
            results: Sequence[Result] = self.step(items)
        except ConfigurationError:
            raise
        except Exception:  # noqa: BLE001 (one item caused it; the caller finds out which)
            return None
        if len(results) != len(items):
            raise RuntimeError(f"{self.name}: {len(results)} results for {len(items)} items")
        return results

    def _try_one(self, item: object, batch: WorkingBatch, delivery: Delivery) -> Result:
        try:
            result: Result = self.step([item])[0] if self.is_sink else self.step(item)
        except Exception as error:  # noqa: BLE001 (classified by `_handle_error`)
            is_store_unavailable = isinstance(error, StoreUnavailableError)
            return self._handle_error(
                error if is_store_unavailable else find_shortage(error) or error, batch, delivery
            )
        return self._limit_wait(result, delivery)

    def _handle_error(self, error: Exception, batch: WorkingBatch, delivery: Delivery) -> Result:
        """Return the result of a message for which the step raised `error`.

        Raises the error again if it is not due to this message, such as an unavailable store.
        """
        match error:
            case StoreUnavailableError() if batch.waits < WAITS_MAX:
                # A store may be unable to handle one particular message, but not right after it was
                # unavailable.
                batch.waits += 1
                raise error
            case StoreUnavailableError() | TransientError():
                message = redact_secrets(str(error))
                return Result(self._build_retry(delivery, Reason.STORE_UNAVAILABLE, message, 0.0))
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
        trace = redact_secrets("".join(traceback.format_exception(error)))
        return Result(handle_bug(delivery, trace))

    def _limit_wait(self, result: Result, delivery: Delivery) -> Result:
        """Limit how often and when a message is retried, by the retry policy.

        The step may request a longer delay, but not more attempts.
        """
        disposition = result.disposition
        if disposition.verdict is not Verdict.RETRIED:
            return result
        reason = disposition.reason or Reason.STORE_UNAVAILABLE
        limited_disposition = self._build_retry(
            delivery, reason, disposition.detail, disposition.after_s
        )
        return replace(result, disposition=limited_disposition)

    def _build_retry(
        self, delivery: Delivery, reason: Reason, detail: str, after_s: float
    ) -> Disposition:
        attempt = delivery.message.attempt
        if attempt >= self.retry.count_max:
            return end(reason, f"failed {attempt + 1} times, the last time with: {detail}")
        return retry(reason, detail, max(self.retry.compute_delay_s(attempt), after_s))


def handle_bug(delivery: Delivery, trace: str) -> Disposition:
    """Return the disposition of a message whose processing met a bug in Fonds.

    The message is retried a few times, then quarantined. `trace` is the traceback.
    """
    if delivery.message.attempt >= RETURNS_MAX:
        return quarantine(Reason.INTERNAL_ERROR, trace[-TRACE_MAX_CHARS:])
    return retry(Reason.INTERNAL_ERROR, trace[-TRACE_MAX_CHARS:], 0.0)
