"""Takes messages out of quarantine to be tried again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from fonds.model.disposition import Verdict
from fonds.model.message import Delivery, Message, Subscription
from fonds.model.rows import DispositionRow
from fonds.ports import Queue, Records

BATCH_MAX = 500


def release(
    queue: Queue,
    records: Records,
    subscription: Subscription,
    wanted: Callable[[Message], bool],
    clock: Callable[[], datetime],
) -> int:
    """Put the wanted messages of one quarantine back to work, with a clean slate; returns how many.

    Their disposition becomes `retried`, so that they count as pending until they end again.
    """
    released, left = 0, []
    while deliveries := queue.receive(subscription.quarantine, BATCH_MAX, 0.0):
        chosen = [delivery for delivery in deliveries if wanted(delivery.message)]
        left += [delivery for delivery in deliveries if not wanted(delivery.message)]
        if chosen:
            put_back(queue, records, subscription, chosen, clock())
            released += len(chosen)
    queue.release(left)
    return released


def put_back(
    queue: Queue,
    records: Records,
    subscription: Subscription,
    chosen: Sequence[Delivery],
    now: datetime,
) -> None:
    """Messages out of quarantine to work, and their dispositions to `retried`, before they can end anew."""
    fresh = [replace(one.message, attempt=0, headers={}) for one in chosen]
    keys = [(message.id, subscription.name) for message in fresh]
    rows = records.get(DispositionRow, keys)
    records.put(
        [
            replace(
                row,
                verdict=str(Verdict.RETRIED),
                detail=f"released by hand; before: {row.detail}"[:2000],
                emitted=(),
                emitted_count=0,
                settled_at=now,
            )
            for row in rows
        ]
    )
    queue.put(subscription.incoming, fresh)
    queue.settle(chosen)
