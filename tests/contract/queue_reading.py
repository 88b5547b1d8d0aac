"""What the suites of the queue have in common: two readers of a topic, and receiving until all came."""

from __future__ import annotations

from fonds.model.message import Delivery
from fonds.ports import Queue

PATIENCE_S = 20.0


def take(queue: Queue, address: str, count: int) -> list[Delivery]:
    """Receives until `count` messages are in hand."""
    found: list[Delivery] = []
    while len(found) < count:
        batch = queue.receive(address, count - len(found), PATIENCE_S)
        assert batch, f"{address}: {len(found)} of {count} messages came"
        found += batch
    return found


def ids(deliveries: list[Delivery]) -> list[str]:
    return [delivery.message.id for delivery in deliveries]
