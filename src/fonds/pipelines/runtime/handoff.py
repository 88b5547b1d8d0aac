"""In-process queue between the stages of one process, and outcomes not yet written to the ledger.

A message received from the queue is settled only when everything made from it in this process has
ended and is in the ledger. So messages from one stage to another in the same process need not be on
the queue. If the process is killed, the first message is delivered again and everything is repeated
with the same ids.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fonds.model.message import Delivery, Message
from fonds.model.rows import DispositionRow
from fonds.ports import Ledger, Queue

QUEUE_EVERY = 8
"""One receive in this many asks the queue first, so that messages there are not starved."""
OVERDUE_ROWS = 10
"""At this many times `rows_max` outcomes, all threads wait until they are written."""
POLL_S, PAUSE_S = 0.1, 0.005
"""Intervals at which a waiting thread checks for outcomes to write, and for messages on the queue
for a stage that other stages of this process feed.
"""


@dataclass(frozen=True, slots=True)
class HandoverLimits:
    """Limits on messages in memory between stages, and on how long outcomes wait to be written.

    Above `messages_max` or `max_bytes`, messages go through the queue. At `received_max` no new
    ones are received. A batch is written at `rows_max` outcomes, or when the oldest is `age_s`
    seconds old.
    """

    messages_max: int = 2_000
    max_bytes: int = 64 * 2**20
    received_max: int = 500
    rows_max: int = 400
    age_s: float = 0.2


@dataclass(slots=True, eq=False)
class PendingRoot:
    """Message from the queue and its outcomes in this process. `open` counts messages made from it,
    itself included, that have not ended.
    """

    delivery: Delivery
    open: int = 1
    rows: list[DispositionRow] = field(default_factory=list)
    ended_at_s: float = 0.0
    is_written: bool = False


class Handover:
    """In-process queue between the stages of one process and the external queue. Thread-safe.

    `local` are the addresses that stages of this process both write and read.
    """

    def __init__(
        self,
        queue: Queue,
        ledger: Ledger,
        local: Collection[str] = (),
        bounds: HandoverLimits | None = None,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._bounds = bounds or HandoverLimits()
        self._changed = threading.Lock()
        self._flushing = threading.Lock()
        self._waiting: dict[str, deque[Delivery]] = {address: deque() for address in local}
        self._arrived = {address: threading.Condition(self._changed) for address in local}
        self._messages = 0
        self._bytes = 0
        self._received: dict[int, PendingRoot] = {}
        self._ended: list[PendingRoot] = []
        self._turns = 0
        self._closing = False

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Return up to `count_max` messages; wait at most `wait_s` seconds for the first.

        Raises errors of the queue and the ledger; nothing new is leased then.
        """
        ends_at_s = time.monotonic() + wait_s
        while True:
            self.flush(due_only=True)
            self._turns += 1
            queue_first = self._turns % QUEUE_EVERY == 0
            deliveries = [] if queue_first else self._take_local(address, count_max)
            remaining_s = min(POLL_S, ends_at_s - time.monotonic())
            # A stage that is fed only by other processes can wait for the queue without
            # interruption.
            patience_s = 0.0 if address in self._waiting else max(0.0, remaining_s)
            deliveries = deliveries or self._take_queued(
                address, count_max, patience_s, ignores_limit=queue_first
            )
            deliveries = deliveries or self._take_local(address, count_max)
            if deliveries or remaining_s <= 0:
                return deliveries
            if address in self._waiting:
                self._wait_for_local(address, remaining_s)

    def _wait_for_local(self, address: str, wait_s: float) -> None:
        with self._changed:
            if not self._waiting[address]:
                self._arrived[address].wait(wait_s)

    def is_local(self, address: str, size_bytes: int) -> bool:
        """Return whether a message of this size may be delivered to this address in memory."""
        with self._changed:
            return (
                address in self._waiting
                and not self._closing
                and self._messages < self._bounds.messages_max
                and self._bytes + size_bytes <= self._bounds.max_bytes
            )

    def complete(
        self,
        ending: Iterable[tuple[Delivery, Sequence[DispositionRow]]],
        children: Iterable[tuple[Delivery, str, Message]],
    ) -> None:
        """Finish messages: record their rows, and pass on (parent, address, message) to stages
        here.
        """
        with self._changed:
            for parent, address, message in children:
                root = _get_root(parent)
                root.open += 1
                self._put_local(Delivery(message, address, _LocalReceipt(root)))
            for delivery, rows in ending:
                root = _get_root(delivery)
                root.rows += rows
                root.open -= 1
                if root.open == 0:
                    root.ended_at_s = time.monotonic()
                    self._ended.append(root)

    def flush(self, *, due_only: bool = False) -> None:
        """Write outcomes to the ledger, then settle their messages; with `due_only` only if it is
        time.

        Raises errors of ledger and queue; what was not settled is retried next time.
        """
        due, overdue = self._check_due()
        if not (due or (self._ended and not due_only)):
            return
        # Another thread is writing: do not wait for it, unless too much has accumulated.
        if not self._flushing.acquire(blocking=overdue or not due_only):
            return
        try:
            self._write_and_settle()
        finally:
            self._flushing.release()

    def _write_and_settle(self) -> None:
        with self._changed:
            roots = list(self._ended)
        unwritten = [root for root in roots if not root.is_written]
        self._ledger.write([row for root in unwritten for row in root.rows])
        for root in unwritten:
            root.is_written = True
        self._queue.settle([root.delivery for root in roots])
        settled_ids = {id(root) for root in roots}
        with self._changed:
            self._ended = [root for root in self._ended if id(root) not in settled_ids]
            for key in settled_ids:
                self._received.pop(key, None)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Release unfinished messages to the queue, or to the stage of this process they wait for."""
        queued = [
            delivery.receipt for delivery in deliveries if isinstance(delivery.receipt, PendingRoot)
        ]
        with self._changed:
            for delivery in deliveries:
                if isinstance(delivery.receipt, _LocalReceipt):
                    self._put_local(delivery, first=True)
            for root in queued:
                self._received.pop(id(root), None)
        self._queue.release([root.delivery for root in queued])

    def renew(self) -> None:
        """Renew the leases of all messages received from the queue."""
        with self._changed:
            leased = [root.delivery for root in self._received.values()]
        if leased:
            self._queue.renew(leased)

    def stop_receiving(self) -> None:
        """Stop receiving from the queue; messages already here are finished."""
        with self._changed:
            self._closing = True
            for condition in self._arrived.values():
                condition.notify_all()

    @property
    def pending_count(self) -> int:
        """Number of messages waiting between the stages of this process."""
        with self._changed:
            return self._messages

    def close(self) -> None:
        """Write and settle finished messages, and release all others."""
        self.stop_receiving()
        self.flush()
        with self._changed:
            unfinished = [root.delivery for root in self._received.values()]
            self._received.clear()
        self._queue.release(unfinished)

    def _take_local(self, address: str, count_max: int) -> list[Delivery]:
        with self._changed:
            waiting = self._waiting.get(address)
            deliveries: list[Delivery] = []
            while waiting and len(deliveries) < count_max:
                delivery = waiting.popleft()
                self._messages -= 1
                self._bytes -= len(delivery.message.body)
                deliveries.append(delivery)
            return deliveries

    def _take_queued(
        self, address: str, count_max: int, wait_s: float, *, ignores_limit: bool
    ) -> list[Delivery]:
        with self._changed:
            closing, full = self._closing, self._messages >= self._bounds.received_max
        if closing or (full and not ignores_limit):
            # Finish the messages already here first.
            time.sleep(min(wait_s, PAUSE_S))
            return []
        deliveries = self._queue.receive(address, count_max, wait_s)
        roots = [PendingRoot(delivery) for delivery in deliveries]
        with self._changed:
            self._received.update((id(root), root) for root in roots)
        return [replace(root.delivery, receipt=root) for root in roots]

    def _put_local(self, delivery: Delivery, *, first: bool = False) -> None:
        waiting = self._waiting[delivery.address]
        (waiting.appendleft if first else waiting.append)(delivery)
        self._arrived[delivery.address].notify()
        self._messages += 1
        self._bytes += len(delivery.message.body)

    def _check_due(self) -> tuple[bool, bool]:
        """Return whether outcomes are due to be written, and whether no more may accumulate before
        that.
        """
        with self._changed:
            if not self._ended:
                return False, False
            age_s = time.monotonic() - self._ended[0].ended_at_s
            rows = sum(len(root.rows) for root in self._ended)
        due = rows >= self._bounds.rows_max or age_s >= self._bounds.age_s
        return due, rows >= OVERDUE_ROWS * self._bounds.rows_max


@dataclass(frozen=True, slots=True, eq=False)
class _LocalReceipt:
    """Receipt of a message that was never on the queue."""

    root: PendingRoot


def _get_root(delivery: Delivery) -> PendingRoot:
    receipt = delivery.receipt
    if isinstance(receipt, _LocalReceipt):
        return receipt.root
    if isinstance(receipt, PendingRoot):
        return receipt
    raise TypeError(f"not a delivery of this process: {delivery.message.id}")
