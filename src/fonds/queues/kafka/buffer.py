"""Buffer of messages read from Kafka but not handed out yet: ready messages, and delayed messages
until they are due.
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
"""Maximum number of messages, and of their bytes, for each topic of delayed messages. The limit is
per topic, so that messages with short delays need not wait for space behind messages with long
delays.
"""
Partition = tuple[str, int]
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Position from which a message was read.

    - `partition`, `offset`: the position.
    - `term`: number of the partition's assignment to this process, which distinguishes it from
      earlier assignments.
    """

    partition: Partition
    offset: int
    term: int


@dataclass(slots=True)
class _DelayedMessages:
    """Delayed messages of one topic.

    - `heap`: (due time in Unix milliseconds, sequence number, message); the first is due next.
    - `size_bytes`: size of all bodies.
    """

    heap: list[tuple[int, int, Delivery]] = field(default_factory=list)
    size_bytes: int = 0


class DeliveryBuffer:
    """Messages that this process has read and not handed out. The caller must hold the reader's
    lock.
    """

    def __init__(self, delayed: Iterable[str]) -> None:
        self._ready: deque[Delivery] = deque()
        self._ready_bytes = 0
        self._delayed = {topic: _DelayedMessages() for topic in delayed}

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, delivery: Delivery, due_ms: int) -> None:
        """Add a message. If it is from a topic of delayed messages, it becomes ready at `due_ms`
        (Unix milliseconds).
        """
        delayed_messages = self._delayed.get(get_partition(delivery)[0])
        if delayed_messages is None:
            self._ready.append(delivery)
            self._ready_bytes += len(delivery.message.body)
        else:
            heapq.heappush(delayed_messages.heap, (due_ms, next(_NUMBERS), delivery))
            delayed_messages.size_bytes += len(delivery.message.body)

    def release_due(self, now_ms: float) -> None:
        """Make delayed messages ready that are due at `now_ms` (Unix milliseconds)."""
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
        """Put messages back in front of all others, in the given order."""
        self._ready.extendleft(reversed(deliveries))
        self._ready_bytes += sum(len(delivery.message.body) for delivery in deliveries)

    def drop(self, partitions: Collection[Partition]) -> None:
        """Drop the messages of revoked partitions. The new owner of a partition receives them."""
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
        """Return whether reading of a topic should pause. A paused topic resumes when its buffer is
        half empty.

        A resumed partition is fetched again from its position, so resuming for every message would
        be slow.
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
        """Number of ready messages that came from topics of delayed messages."""
        return sum(get_partition(delivery)[0] in self._delayed for delivery in self._ready)


def get_partition(delivery: Delivery) -> Partition:
    """Return the partition that a message was read from."""
    receipt = delivery.receipt
    return receipt.partition if isinstance(receipt, Receipt) else ("", 0)
