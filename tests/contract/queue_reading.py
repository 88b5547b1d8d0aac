"""Shared functions of the queue suites: receive messages and list their ids."""

from __future__ import annotations

from fonds.model.message import Delivery
from fonds.ports import Queue

PATIENCE_S = 60.0


def take(queue: Queue, address: str, count: int) -> list[Delivery]:
    """Receive until `count` messages have arrived."""
    deliveries: list[Delivery] = []
    while len(deliveries) < count:
        batch = queue.receive(address, count - len(deliveries), PATIENCE_S)
        assert batch, f"{address}: {len(deliveries)} of {count} messages arrived"
        deliveries += batch
    return deliveries


def ids(deliveries: list[Delivery]) -> list[str]:
    return [delivery.message.id for delivery in deliveries]
