"""Takes messages out of quarantine to be tried again."""

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
    """Those messages of one quarantine that are wanted, a batch at a time, to be settled by the caller;
    `select` says of a batch of messages the ids of which. The others are given back in the end.
    """
    left: list[Delivery] = []
    try:
        while deliveries := queue.receive(subscription.quarantine, BATCH_MAX, 0.0):
            ids = select([one.message for one in deliveries])
            left += [one for one in deliveries if one.message.id not in ids]
            if chosen := [one for one in deliveries if one.message.id in ids]:
                yield chosen
    finally:
        queue.release(left)


def release(
    queue: Queue,
    ledger: Ledger,
    subscription: Subscription,
    select: Callable[[Message], bool],
    clock: Callable[[], datetime],
) -> int:
    """Put the wanted messages of one quarantine back to work, with a clean slate; returns how many.

    Their disposition becomes `retried`, so that they count as pending until they end again.
    """

    def ids(messages: Sequence[Message]) -> set[str]:
        return {one.id for one in messages if select(one)}

    released = 0
    for chosen in take_messages(queue, subscription, ids):
        requeue(queue, ledger, subscription, chosen, clock())
        released += len(chosen)
    return released


def requeue(
    queue: Queue,
    ledger: Ledger,
    subscription: Subscription,
    deliveries: Sequence[Delivery],
    now: datetime,
) -> None:
    """Messages out of quarantine to work, and their dispositions to `retried`, before they can end anew."""
    ledger.write([_build_released_row(one.message, subscription, now) for one in deliveries])
    queue.put(subscription.incoming, [restart_message(one.message) for one in deliveries])
    queue.settle(deliveries)


def _build_released_row(
    message: Message, subscription: Subscription, now: datetime
) -> DispositionRow:
    before = message.headers.get("detail", "")
    return build_decided_row(
        message, subscription, Verdict.RETRIED, None, f"released by hand; before: {before}", now
    )


def build_decided_row(
    message: Message,
    subscription: Subscription,
    verdict: Verdict,
    reason: str | None,
    detail: str,
    now: datetime,
) -> DispositionRow:
    """The row of a message about which a person decided."""
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
