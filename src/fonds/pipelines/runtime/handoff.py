"""In-process queue between the stages of one process, and buffer of ledger rows.

The ledger is the record of how every message ended. A message from the external queue is settled
only when all messages made from it in this process have ended and are in the ledger. So messages
between stages of one process need not be on the external queue. If the process is killed, the
external message is delivered again, and all work is repeated with the same message ids.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from fonds.model.message import Delivery, Message
from fonds.model.rows import DispositionRow
from fonds.ports import Ledger, Queue

QUEUE_EVERY = 8
"""Every eighth receive asks the external queue first, so that its messages are not starved by
messages in memory.
"""
OVERDUE_ROWS = 10
"""Once this many times `rows_max` ledger rows are waiting, all threads wait until the rows are
written.
"""
POLL_S, PAUSE_S = 0.1, 0.005
"""Two waits in seconds: between two checks of a waiting thread for ledger rows to write and for
messages, and before the next check while nothing may be received from the external queue.
"""


@dataclass(frozen=True, slots=True)
class HandoverLimits:
    """Limits of the messages kept in memory, and of the ledger rows that wait to be written.

    - `messages_max`, `max_bytes`: maximum number and total size of messages in memory. Above these,
      messages between stages go through the external queue.
    - `received_max`: number of messages in memory at which no more are received from the external
      queue, except by every eighth receive.
    - `rows_max`: number of waiting ledger rows at which all of them are written.
    - `age_s`: age in seconds of the oldest waiting row at which all waiting rows are written.
    """

    messages_max: int = 2_000
    max_bytes: int = 64 * 2**20
    received_max: int = 500
    rows_max: int = 400
    age_s: float = 0.2


@dataclass(slots=True, eq=False)
class PendingRoot:
    """Message from the external queue that is not settled yet, with the messages made from it.

    - `delivery`: the message as received.
    - `open`: number of messages that have not ended, among this message and all made from it in
      this process.
    - `rows`: ledger rows of these messages.
    - `ended_at_s`: time of the monotonic clock when the last of these messages ended.
    - `is_written`: whether the rows are in the ledger.
    """

    delivery: Delivery
    open: int = 1
    rows: list[DispositionRow] = field(default_factory=list)
    ended_at_s: float = 0.0
    is_written: bool = False


class Handover:
    """Queue in memory for messages from one stage to another in the same process. Thread-safe.

    It also receives the messages from the external queue, and settles them there. `local` are the
    queue addresses that stages of this process both write and read; only their messages stay in
    memory.
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
        self._ended_row_count = 0
        self._turns = 0
        self._closing = False

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Return up to `count_max` messages of an address; wait at most `wait_s` seconds for the
        first.

        Raises the errors of queue and ledger if one is unavailable; no new message is leased then.
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
        """Return whether a message of this size to this address may be kept in memory."""
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
        """Record that messages have ended, and put the messages made from them in the queue in
        memory.

        - `ending`: the ended messages, each with its ledger rows.
        - `children`: the new messages as (message they were made from, address, message).
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
                    self._ended_row_count += len(root.rows)

    def flush(self, *, due_only: bool = False) -> None:
        """Write the waiting ledger rows, then settle the messages from the external queue to which
        the rows belong.

        With `due_only`, do so only if the limit for the number of rows or for their age is reached.
        Raises the errors of the ledger and the queue if one is unavailable. Messages that could not
        be settled are settled by the next call.
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
            self._ended_row_count = sum(len(root.rows) for root in self._ended)
            for key in settled_ids:
                self._received.pop(key, None)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Return unfinished messages, so that they can be received again.

        Messages from the external queue are released there. Messages that exist only in memory go
        back to the front of the queue in memory.
        """
        pending_roots = [
            delivery.receipt for delivery in deliveries if isinstance(delivery.receipt, PendingRoot)
        ]
        with self._changed:
            for delivery in deliveries:
                if isinstance(delivery.receipt, _LocalReceipt):
                    self._put_local(delivery, first=True)
            for root in pending_roots:
                self._received.pop(id(root), None)
        self._queue.release([root.delivery for root in pending_roots])

    def renew(self) -> None:
        """Renew the leases of all unsettled messages from the external queue."""
        with self._changed:
            leased_deliveries = [root.delivery for root in self._received.values()]
        if leased_deliveries:
            self._queue.renew(leased_deliveries)

    def stop_receiving(self) -> None:
        """Stop receiving from the external queue. Messages in memory are still processed."""
        with self._changed:
            self._closing = True
            for condition in self._arrived.values():
                condition.notify_all()

    @property
    def pending_count(self) -> int:
        """Number of messages in the queue in memory that no stage has received yet."""
        with self._changed:
            return self._messages

    def close(self) -> None:
        """Stop receiving, write the waiting ledger rows, settle the finished external messages, and
        release all other external messages to the queue.
        """
        self.stop_receiving()
        self.flush()
        with self._changed:
            unfinished_deliveries = [root.delivery for root in self._received.values()]
            self._received.clear()
        self._queue.release(unfinished_deliveries)

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
        return [
            Delivery(delivery.message, delivery.address, root, delivery.redelivered)
            for delivery, root in zip(deliveries, roots, strict=True)
        ]

    def _put_local(self, delivery: Delivery, *, first: bool = False) -> None:
        waiting = self._waiting[delivery.address]
        (waiting.appendleft if first else waiting.append)(delivery)
        self._arrived[delivery.address].notify()
        self._messages += 1
        self._bytes += len(delivery.message.body)

    def _check_due(self) -> tuple[bool, bool]:
        """Return two booleans: whether waiting ledger rows must be written now, and whether they
        are overdue.

        If they are overdue, so many rows wait that other threads must wait until they are written.
        """
        with self._changed:
            if not self._ended:
                return False, False
            age_s = time.monotonic() - self._ended[0].ended_at_s
            rows = self._ended_row_count
        due = rows >= self._bounds.rows_max or age_s >= self._bounds.age_s
        return due, rows >= OVERDUE_ROWS * self._bounds.rows_max


@dataclass(frozen=True, slots=True, eq=False)
class _LocalReceipt:
    """Receipt of a message that exists only in memory and was never on the external queue.

    `root` is the message from the external queue from which it was made, directly or through other
    messages.
    """

    root: PendingRoot


def _get_root(delivery: Delivery) -> PendingRoot:
    receipt = delivery.receipt
    if isinstance(receipt, _LocalReceipt):
        return receipt.root
    if isinstance(receipt, PendingRoot):
        return receipt
    raise TypeError(f"not a delivery of this process: {delivery.message.id}")
