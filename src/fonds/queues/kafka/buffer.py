"""What was read and not yet asked for: messages that are ready, and delayed ones until they are due."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from fonds.model.message import Delivery

READY_MAX, READY_MAX_BYTES = 1_000, 48 * 1024 * 1024
BUFFER_MAX, BUFFER_MAX_BYTES = 10_000, 12 * 1024 * 1024
"""Of each topic of delayed messages, so that a short delay does not wait for room behind long ones."""
Partition = tuple[str, int]
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a delivery was read; `term` counts assignments, so that an old one is told from a new."""

    partition: Partition
    offset: int
    term: int


@dataclass(slots=True)
class _DelayedMessages:
    """The delayed messages of one topic, the next one due first."""

    heap: list[tuple[int, int, Delivery]] = field(default_factory=list)
    size_bytes: int = 0


class DeliveryBuffer:
    """Deliveries in this process that are in nobody's hand; whoever uses it holds its reader's lock."""

    def __init__(self, delayed: Iterable[str]) -> None:
        self._ready: deque[Delivery] = deque()
        self._ready_bytes = 0
        self._delayed = {topic: _DelayedMessages() for topic in delayed}

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, delivery: Delivery, due_ms: int) -> None:
        """Last in the row; out of a topic of delayed messages only when it is due (Unix milliseconds)."""
        held = self._delayed.get(get_partition(delivery)[0])
        if held is None:
            self._ready.append(delivery)
            self._ready_bytes += len(delivery.message.body)
        else:
            heapq.heappush(held.heap, (due_ms, next(_NUMBERS), delivery))
            held.size_bytes += len(delivery.message.body)

    def release_due(self, now_ms: float) -> None:
        """What was held back and is due now is ready."""
        for held in self._delayed.values():
            while held.heap and held.heap[0][0] <= now_ms:
                _, _, delivery = heapq.heappop(held.heap)
                size_bytes = len(delivery.message.body)
                held.size_bytes -= size_bytes
                self._ready.append(delivery)
                self._ready_bytes += size_bytes

    def take(self, count_max: int) -> list[Delivery]:
        """The first that are ready, at most so many."""
        taken = [self._ready.popleft() for _ in range(min(count_max, len(self._ready)))]
        self._ready_bytes -= sum(len(one.message.body) for one in taken)
        return taken

    def put_back(self, deliveries: Sequence[Delivery]) -> None:
        """Ready again before all others, in this order."""
        self._ready.extendleft(reversed(deliveries))
        self._ready_bytes += sum(len(one.message.body) for one in deliveries)

    def drop(self, partitions: Collection[Partition]) -> None:
        """Forget what was read from these: it comes again elsewhere."""
        self._ready = deque(one for one in self._ready if get_partition(one) not in partitions)
        self._ready_bytes = sum(len(one.message.body) for one in self._ready)
        for held in self._delayed.values():
            held.heap = [one for one in held.heap if get_partition(one[2]) not in partitions]
            heapq.heapify(held.heap)
            held.size_bytes = sum(len(one[2].message.body) for one in held.heap)

    def is_crowded(self, topic: str, *, resting: bool) -> bool:
        """Whether no more of the topic is to be read; one that rests does so until half is gone.

        What a resting partition had fetched ahead is fetched once more, so that it must not be woken
        for every message.
        """
        share = 2 if resting else 1
        held = self._delayed.get(topic, _DelayedMessages())
        return (
            len(self._ready) * share >= READY_MAX
            or self._ready_bytes * share >= READY_MAX_BYTES
            or len(held.heap) * share >= BUFFER_MAX
            or held.size_bytes * share >= BUFFER_MAX_BYTES
        )

    @property
    def ready_delayed_count(self) -> int:
        """How many of those that are ready were delayed before."""
        return sum(get_partition(one)[0] in self._delayed for one in self._ready)


def get_partition(delivery: Delivery) -> Partition:
    """The partition a delivery was read from."""
    receipt = delivery.receipt
    return receipt.partition if isinstance(receipt, Receipt) else ("", 0)
