"""Quarantine, the store of messages that failed: take messages out, and retry them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from fonds.model.disposition import Verdict
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.rows import DispositionRow
from fonds.pipelines.runtime.binding import parse_subscription_name
from fonds.pipelines.runtime.result_messages import restart_message
from fonds.ports import Ledger, Queue

BATCH_MAX = 500


def take_messages(
    queue: Queue,
    subscription: Subscription,
    select: Callable[[Sequence[Message]], Collection[str]],
) -> Iterator[list[Delivery]]:
    """Take selected messages out of the quarantine of a subscription, in batches.

    `select` gets a batch of messages and returns the ids of those to take. All other messages are
    released at the end. The caller must settle the messages taken.
    """
    unselected_deliveries: list[Delivery] = []
    try:
        while deliveries := queue.receive(subscription.quarantine, BATCH_MAX, 0.0):
            ids = select([delivery.message for delivery in deliveries])
            unselected_deliveries += [
                delivery for delivery in deliveries if delivery.message.id not in ids
            ]
            if selected_deliveries := [
                delivery for delivery in deliveries if delivery.message.id in ids
            ]:
                yield selected_deliveries
    finally:
        queue.release(unselected_deliveries)


def release(
    queue: Queue,
    ledger: Ledger,
    subscription: Subscription,
    select: Callable[[Message], bool],
    clock: Callable[[], datetime],
) -> int:
    """Put the selected messages of a subscription's quarantine back on the queue of their step.

    Returns the number of messages. Their attempts count from 0 again. The ledger records them as
    `retried`, so they count as pending until they end.
    """

    def ids(messages: Sequence[Message]) -> set[str]:
        return {message.id for message in messages if select(message)}

    released_count = 0
    for selected_deliveries in take_messages(queue, subscription, ids):
        requeue(queue, ledger, subscription, selected_deliveries, clock())
        released_count += len(selected_deliveries)
    return released_count


def requeue(
    queue: Queue,
    ledger: Ledger,
    subscription: Subscription,
    deliveries: Sequence[Delivery],
    now: datetime,
) -> None:
    """Put quarantined messages back on the queue of their step.

    Their dispositions become `retried` first, because a message may end as soon as it is on the
    queue.
    """
    ledger.write(
        [_build_released_row(delivery.message, subscription, now) for delivery in deliveries]
    )
    queue.put(subscription.incoming, [restart_message(delivery.message) for delivery in deliveries])
    queue.settle(deliveries)


def _build_released_row(
    message: Message, subscription: Subscription, now: datetime
) -> DispositionRow:
    previous_detail = message.headers.get("detail", "")
    return build_decided_row(
        message,
        subscription,
        Verdict.RETRIED,
        None,
        f"released by a person; before: {previous_detail}",
        now,
    )


def build_decided_row(
    message: Message,
    subscription: Subscription,
    verdict: Verdict,
    reason: str | None,
    detail: str,
    now: datetime,
) -> DispositionRow:
    """Build the row that records a decision about a message, made by a person or by a later run.

    `verdict` says how the message ends, such as retried or dropped.
    """
    pipeline, step = parse_subscription_name(subscription)
    return DispositionRow(
        message_id=message.id,
        pipeline=pipeline,
        step=step,
        entry_id=message.entry,
        parent_id=None,
        parent_step=None,
        verdict=str(verdict),
        is_open=verdict is Verdict.RETRIED,
        reason=reason or message.headers.get("reason"),
        detail=detail[:2000],
        about=message.about or None,
        attempt=message.attempt,
        promised_at=now,
        settled_at=now,
    )
