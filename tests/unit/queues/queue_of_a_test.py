"""A queue in a file of a test's own, on a clock of its own, and what it gives."""

from __future__ import annotations

from fonds.model.message import Delivery, Subscription
from fonds.queues.sqlite import SqliteQueue, read_boot_clock_s

READER = Subscription("reader", "topic")


OTHER = Subscription("other", "topic")


class Clock:
    """Time that passes when a test says so; it begins as that of other processes, whose leases it reads."""

    def __init__(self) -> None:
        self.now_s = read_boot_clock_s()

    def __call__(self) -> float:
        return self.now_s


def receive(queue: SqliteQueue, address: str = READER.incoming) -> list[Delivery]:
    return queue.receive(address, 100, 0.0)


def seen(deliveries: list[Delivery]) -> list[tuple[str, int, int]]:
    return [
        (delivery.message.id, delivery.message.attempt, delivery.redelivered)
        for delivery in deliveries
    ]
