"""Subscriptions, a clock and helpers for tests of the SQLite queue."""

from __future__ import annotations

from fonds.model.message import Delivery, Subscription
from fonds.queues.sqlite import SqliteQueue, read_boot_clock_s

READER = Subscription("reader", "topic")


OTHER_READER = Subscription("other", "topic")


class Clock:
    """A clock that tests advance. It starts at the boot clock, because other processes write leases by it."""

    def __init__(self) -> None:
        self.now_s = read_boot_clock_s()

    def __call__(self) -> float:
        return self.now_s


def receive(queue: SqliteQueue, address: str = READER.incoming) -> list[Delivery]:
    return queue.receive(address, 100, 0.0)


def summarize(deliveries: list[Delivery]) -> list[tuple[str, int, int]]:
    return [
        (delivery.message.id, delivery.message.attempt, delivery.redelivered)
        for delivery in deliveries
    ]
