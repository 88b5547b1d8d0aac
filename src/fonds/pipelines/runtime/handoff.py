"""What one process has in hand: messages between its stages, and endings not yet written down.

A message taken from the queue is settled only when everything made of it in this process has ended and
is in the ledger. So what one stage makes for another of the same process need not touch the queue: killed
at any moment, the first message comes again, and all of it is done once more with the same ids.
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
"""Of so many receipts one looks at the queue first, so that what waits there gets its turn."""
OVERDUE_ROWS = 10
"""Times `rows_max` endings are so many that everybody waits until they are written."""
POLL_S, PAUSE_S = 0.1, 0.005
"""How often one who waits looks whether endings are to be written, and what the queue has for a stage that
others of this process feed."""


@dataclass(frozen=True, slots=True)
class HandoverLimits:
    """How much may be in memory between stages, and how long an ending may wait to be written.

    Beyond `messages_max` or `max_bytes` messages go by the queue; at `received_max` nothing new is taken
    from it. `rows_max` endings, or the oldest one's age of `age_s` seconds, make a batch.
    """

    messages_max: int = 2_000
    max_bytes: int = 64 * 2**20
    received_max: int = 500
    rows_max: int = 400
    age_s: float = 0.2


@dataclass(slots=True, eq=False)
class PendingRoot:
    """A message out of the queue, and what became of it here. `open` counts what has not ended yet."""

    delivery: Delivery
    open: int = 1
    rows: list[DispositionRow] = field(default_factory=list)
    ended_at_s: float = 0.0
    is_written: bool = False


class Handover:
    """Stands between the stages of one process and its queue; safe for several threads.

    `local` are the addresses that stages of this process feed and read.
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
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first.

        Raises what the queue and the ledger raise; nothing is in hand then that was not before.
        """
        ends_at_s = time.monotonic() + wait_s
        while True:
            self.flush(due_only=True)
            self._turns += 1
            queue_first = self._turns % QUEUE_EVERY == 0
            found = [] if queue_first else self._take_local(address, count_max)
            left_s = min(POLL_S, ends_at_s - time.monotonic())
            # Who is fed by nobody here need not look up while waiting for the queue.
            patience_s = 0.0 if address in self._waiting else max(0.0, left_s)
            found = found or self._take_queued(
                address, count_max, patience_s, whatever_waits=queue_first
            )
            found = found or self._take_local(address, count_max)
            if found or left_s <= 0:
                return found
            if address in self._waiting:
                self._wait_for_local(address, left_s)

    def _wait_for_local(self, address: str, wait_s: float) -> None:
        with self._changed:
            if not self._waiting[address]:
                self._arrived[address].wait(wait_s)

    def is_local(self, address: str, size_bytes: int) -> bool:
        """Whether a message of this size may go to this address without touching the queue."""
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
        """Messages have ended: their rows, and the (parent, address, message) they left for stages here."""
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
        """Write what has ended to the ledger, then settle its messages; with `due_only` if it is time.

        Raises what the two raise; what was not settled is tried again the next time.
        """
        due, overdue = self._check_due()
        if not (due or (self._ended and not due_only)):
            return
        # While somebody else writes, there is no need to wait for it, unless too much has gathered.
        if not self._flushing.acquire(blocking=overdue or not due_only):
            return
        try:
            self._write_and_settle()
        finally:
            self._flushing.release()

    def _write_and_settle(self) -> None:
        with self._changed:
            roots = list(self._ended)
        fresh = [root for root in roots if not root.is_written]
        self._ledger.write([row for root in fresh for row in root.rows])
        for root in fresh:
            root.is_written = True
        self._queue.settle([root.delivery for root in roots])
        done = {id(root) for root in roots}
        with self._changed:
            self._ended = [root for root in self._ended if id(root) not in done]
            for key in done:
                self._received.pop(key, None)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give messages back unfinished: to the queue, or to the stage of this process they wait for."""
        queued = [one.receipt for one in deliveries if isinstance(one.receipt, PendingRoot)]
        with self._changed:
            for one in deliveries:
                if isinstance(one.receipt, _LocalReceipt):
                    self._put_local(one, first=True)
            for root in queued:
                self._received.pop(id(root), None)
        self._queue.release([root.delivery for root in queued])

    def renew(self) -> None:
        """Renew the lease of everything that was taken from the queue."""
        with self._changed:
            taken = [root.delivery for root in self._received.values()]
        if taken:
            self._queue.renew(taken)

    def stop_receiving(self) -> None:
        """Take nothing more from the queue: what is here is worked off."""
        with self._changed:
            self._closing = True
            for arrived in self._arrived.values():
                arrived.notify_all()

    @property
    def pending_count(self) -> int:
        """How many messages wait between the stages of this process."""
        with self._changed:
            return self._messages

    def close(self) -> None:
        """Write and settle what has ended, and give back all the rest."""
        self.stop_receiving()
        self.flush()
        with self._changed:
            rest = [root.delivery for root in self._received.values()]
            self._received.clear()
        self._queue.release(rest)

    def _take_local(self, address: str, count_max: int) -> list[Delivery]:
        with self._changed:
            waiting = self._waiting.get(address)
            taken: list[Delivery] = []
            while waiting and len(taken) < count_max:
                one = waiting.popleft()
                self._messages -= 1
                self._bytes -= len(one.message.body)
                taken.append(one)
            return taken

    def _take_queued(
        self, address: str, count_max: int, wait_s: float, *, whatever_waits: bool
    ) -> list[Delivery]:
        with self._changed:
            closing, full = self._closing, self._messages >= self._bounds.received_max
        if closing or (full and not whatever_waits):
            # What is here is worked off first.
            time.sleep(min(wait_s, PAUSE_S))
            return []
        deliveries = self._queue.receive(address, count_max, wait_s)
        roots = [PendingRoot(one) for one in deliveries]
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
        """Whether it is time to write what has ended, and whether nothing more may gather before."""
        with self._changed:
            if not self._ended:
                return False, False
            age_s = time.monotonic() - self._ended[0].ended_at_s
            rows = sum(len(root.rows) for root in self._ended)
        due = rows >= self._bounds.rows_max or age_s >= self._bounds.age_s
        return due, rows >= OVERDUE_ROWS * self._bounds.rows_max


@dataclass(frozen=True, slots=True, eq=False)
class _LocalReceipt:
    """The receipt of a message that never was on the queue."""

    root: PendingRoot


def _get_root(delivery: Delivery) -> PendingRoot:
    receipt = delivery.receipt
    if isinstance(receipt, _LocalReceipt):
        return receipt.root
    if isinstance(receipt, PendingRoot):
        return receipt
    raise TypeError(f"not a delivery of this process: {delivery.message.id}")
