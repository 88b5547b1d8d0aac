"""Buffer of messages read from Kafka but not yet requested: ready ones, and delayed ones until they
are due.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from fonds.model.message import Delivery

READY_MAX, READY_MAX_BYTES = 1_000, 48 * 1024 * 1024
BUFFER_MAX, BUFFER_MAX_BYTES = 10_000, 12 * 1024 * 1024
"""Limit for each topic of delayed messages, so that short delays do not wait for space behind long
ones.
"""
Partition = tuple[str, int]
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Position from which a delivery was read; `term` numbers assignments to tell an old one from
    the current one.
    """

    partition: Partition
    offset: int
    term: int


@dataclass(slots=True)
class _DelayedMessages:
    """Delayed messages of one topic, the next one due first."""

    heap: list[tuple[int, int, Delivery]] = field(default_factory=list)
    size_bytes: int = 0


class DeliveryBuffer:
    """Deliveries read by this process and not handed out. The caller holds the reader's lock."""

    def __init__(self, delayed: Iterable[str]) -> None:
        self._ready: deque[Delivery] = deque()
        self._ready_bytes = 0
        self._delayed = {topic: _DelayedMessages() for topic in delayed}

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, delivery: Delivery, due_ms: int) -> None:
        """Append a delivery. From a topic of delayed messages it becomes ready at `due_ms` (Unix
        milliseconds).
        """
        delayed_messages = self._delayed.get(get_partition(delivery)[0])
        if delayed_messages is None:
            self._ready.append(delivery)
            self._ready_bytes += len(delivery.message.body)
        else:
            heapq.heappush(delayed_messages.heap, (due_ms, next(_NUMBERS), delivery))
            delayed_messages.size_bytes += len(delivery.message.body)

    def release_due(self, now_ms: float) -> None:
        """Make delayed messages ready that are due."""
        for delayed_messages in self._delayed.values():
            while delayed_messages.heap and delayed_messages.heap[0][0] <= now_ms:
                _, _, delivery = heapq.heappop(delayed_messages.heap)
                size_bytes = len(delivery.message.body)
                delayed_messages.size_bytes -= size_bytes
                self._ready.append(delivery)
                self._ready_bytes += size_bytes

    def take(self, count_max: int) -> list[Delivery]:
        """Remove and return up to `count_max` ready messages."""
        deliveries = [self._ready.popleft() for _ in range(min(count_max, len(self._ready)))]
        self._ready_bytes -= sum(len(delivery.message.body) for delivery in deliveries)
        return deliveries

    def put_back(self, deliveries: Sequence[Delivery]) -> None:
        """Put deliveries back in front of all others, in this order."""
        self._ready.extendleft(reversed(deliveries))
        self._ready_bytes += sum(len(delivery.message.body) for delivery in deliveries)

    def drop(self, partitions: Collection[Partition]) -> None:
        """Drop messages of revoked partitions; they are delivered elsewhere."""
        self._ready = deque(
            delivery for delivery in self._ready if get_partition(delivery) not in partitions
        )
        self._ready_bytes = sum(len(delivery.message.body) for delivery in self._ready)
        for delayed_messages in self._delayed.values():
            delayed_messages.heap = [
                delivery
                for delivery in delayed_messages.heap
                if get_partition(delivery[2]) not in partitions
            ]
            heapq.heapify(delayed_messages.heap)
            delayed_messages.size_bytes = sum(
                len(delivery[2].message.body) for delivery in delayed_messages.heap
            )

    def is_crowded(self, topic: str, *, is_paused: bool) -> bool:
        """Return whether reading of the topic should pause. A paused topic resumes when the
        buffer is half empty.

        A resumed partition fetches again what it had prefetched, so it must not be resumed for
        every message.
        """
        share = 2 if is_paused else 1
        delayed_messages = self._delayed.get(topic, _DelayedMessages())
        return (
            len(self._ready) * share >= READY_MAX
            or self._ready_bytes * share >= READY_MAX_BYTES
            or len(delayed_messages.heap) * share >= BUFFER_MAX
            or delayed_messages.size_bytes * share >= BUFFER_MAX_BYTES
        )

    @property
    def ready_delayed_count(self) -> int:
        """Number of ready messages that were delayed before."""
        return sum(get_partition(delivery)[0] in self._delayed for delivery in self._ready)


def get_partition(delivery: Delivery) -> Partition:
    """Return the partition a delivery was read from."""
    receipt = delivery.receipt
    return receipt.partition if isinstance(receipt, Receipt) else ("", 0)
