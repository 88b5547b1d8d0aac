"""Buffer of messages that were read from Kafka and not handed out yet.

It has ready messages, and delayed messages, which become ready when they are due.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from fonds.model.message import Delivery

READY_MAX, READY_MAX_BYTES = 1_000, 48 * 1024 * 1024
BUFFER_MAX, BUFFER_MAX_BYTES = 10_000, 12 * 1024 * 1024
"""Maximum number of buffered messages, and of their bytes, for each topic of delayed messages. The
limit is per topic, so that messages with short delays need not wait for space behind messages with
long delays.
"""
Partition = tuple[str, int]
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Identifies the Kafka record of a received message, so that the message can be settled.

    - `partition`: topic and partition number from which the record was read.
    - `offset`: offset of the record in the partition.
    - `term`: number that this process gave to the assignment of the partition. If Kafka takes the
      partition away and assigns it again, the number changes and the receipt is no longer valid.
    """

    partition: Partition
    offset: int
    term: int


@dataclass(slots=True)
class _DelayedMessages:
    """Buffered messages of one Kafka topic of delayed messages.

    - `heap`: (due time in Unix milliseconds, sequence number, message); the first is due next.
    - `size_bytes`: total size of the message bodies.
    """

    heap: list[tuple[int, int, Delivery]] = field(default_factory=list)
    size_bytes: int = 0


class DeliveryBuffer:
    """Messages that this process has read from Kafka and not handed out yet.

    `delayed` are the names of the Kafka topics of delayed messages. The methods are not
    thread-safe: the caller must hold the lock on the Kafka reader's state (`ReaderState`).
    """

    def __init__(self, delay_topics: Iterable[str]) -> None:
        self._ready: deque[Delivery] = deque()
        self._ready_bytes = 0
        self._delayed = {topic: _DelayedMessages() for topic in delay_topics}

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, delivery: Delivery, due_ms: int) -> None:
        """Add a message to the buffer.

        A message from a topic of delayed messages becomes ready at `due_ms` (Unix milliseconds).
        Any other message is ready immediately.
        """
        delayed_messages = self._delayed.get(get_partition(delivery)[0])
        if delayed_messages is None:
            self._ready.append(delivery)
            self._ready_bytes += len(delivery.message.body)
        else:
            heapq.heappush(delayed_messages.heap, (due_ms, next(_NUMBERS), delivery))
            delayed_messages.size_bytes += len(delivery.message.body)

    def release_due(self, now_ms: float) -> None:
        """Make the delayed messages ready that are due by `now_ms` (Unix milliseconds)."""
        for delayed_messages in self._delayed.values():
            while delayed_messages.heap and delayed_messages.heap[0][0] <= now_ms:
                _, _, delivery = heapq.heappop(delayed_messages.heap)
                size_bytes = len(delivery.message.body)
                delayed_messages.size_bytes -= size_bytes
                self._ready.append(delivery)
                self._ready_bytes += size_bytes

    def get_next(self, count_max: int) -> list[Delivery]:
        """Return the messages that `take` would remove from the buffer."""
        return list(islice(self._ready, count_max))

    def take(self, count_max: int) -> list[Delivery]:
        """Remove up to `count_max` ready messages from the buffer and return them, oldest first."""
        deliveries = [self._ready.popleft() for _ in range(min(count_max, len(self._ready)))]
        self._ready_bytes -= sum(len(delivery.message.body) for delivery in deliveries)
        return deliveries

    def put_back(self, deliveries: Sequence[Delivery]) -> None:
        """Put messages back in front of all ready messages, in the given order."""
        self._ready.extendleft(reversed(deliveries))
        self._ready_bytes += sum(len(delivery.message.body) for delivery in deliveries)

    def drop(self, partitions: Collection[Partition]) -> None:
        """Drop all buffered messages of revoked partitions.

        Kafka delivers them to the consumer that the partitions are assigned to next.
        """
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

    def is_full(self, *, is_paused: bool) -> bool:
        """Return whether reading should pause, because too many ready messages are buffered.

        `is_paused` is whether reading is paused already. It resumes only when the buffer is half
        empty, because a resumed partition is fetched again from its position.
        """
        share = 2 if is_paused else 1
        return len(self._ready) * share >= READY_MAX or self._ready_bytes * share >= READY_MAX_BYTES

    def is_crowded(self, topic: str, *, is_paused: bool) -> bool:
        """Return whether reading of a topic should pause, because too many of its delayed messages
        are buffered.

        `is_paused` is whether the topic is paused already; it then resumes at half the limits.
        """
        delayed_messages = self._delayed.get(topic)
        if delayed_messages is None:
            return False
        share = 2 if is_paused else 1
        return (
            len(delayed_messages.heap) * share >= BUFFER_MAX
            or delayed_messages.size_bytes * share >= BUFFER_MAX_BYTES
        )

    @property
    def ready_delayed_count(self) -> int:
        """Number of ready messages that came from topics of delayed messages and are now due."""
        return sum(get_partition(delivery)[0] in self._delayed for delivery in self._ready)


def get_partition(delivery: Delivery) -> Partition:
    """Return the (topic, partition number) that a message was read from; ("", 0) if it is not from
    Kafka.
    """
    receipt = delivery.receipt
    return receipt.partition if isinstance(receipt, Receipt) else ("", 0)
