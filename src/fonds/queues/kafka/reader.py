"""Reading one address: a consumer in a thread of its own that goes on polling whatever the steps do.

What it read waits here until it is asked for; partitions rest while enough does. Offsets are committed
up to the first record that is not settled.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaRecord

from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Delivery
from fonds.queues.kafka.coding import to_message
from fonds.queues.kafka.faults import explained, translated
from fonds.queues.kafka.ledger import Ledger

BUFFER_MAX, BUFFER_MAX_BYTES = 1_000, 48 * 1024 * 1024
HELD_MAX, HELD_MAX_BYTES = 10_000, 48 * 1024 * 1024
POLL_S, POLL_BUSY_S, POLL_COUNT = 0.05, 0.005, 200
BUSY_S = 2.0
JOIN_MAX_S, ON_THE_WAY_S = 20.0, 2.0
ANSWER_MAX_S = 20.0
Partition = tuple[str, int]
_NUMBERS = count(1)

logger = logging.getLogger(__name__)

# The member was put out or is being moved: what it holds comes again to whoever has the partition now.
_MOVED = frozenset(
    {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError._STATE,
        KafkaError._NO_OFFSET,
    }
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a delivery was read; `term` counts assignments, so that an old one is told from a new."""

    partition: Partition
    offset: int
    term: int


class Reader:
    """The messages of `topics` for one group; those of `delayed` are held back until they are due."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        address: str,
        group: str,
        topics: Sequence[str],
        delayed: Sequence[str],
        where: str,
    ) -> None:
        self._address, self._where = address, where
        self._delayed = frozenset(delayed)
        self._state = threading.Condition()
        self._buffer: deque[Delivery] = deque()
        self._buffer_bytes = self._held_bytes = 0
        self._held: list[tuple[int, int, Delivery]] = []
        self._ledgers: dict[Partition, tuple[int, Ledger]] = {}
        self._in_hand: set[tuple[Partition, int]] = set()
        self._resting: set[Partition] = set()
        self._assigned = self._closing = False
        self._behind = True
        self._to_commit: dict[Partition, None] = {}
        self._commits_asked = self._commits_done = 0
        self._commit_fault: KafkaError | None = None
        self._fault: KafkaError | None = None
        self._consumer = Consumer(
            {
                **settings,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "partition.assignment.strategy": "cooperative-sticky",
                "queued.max.messages.kbytes": 16 * 1024,
                "fetch.message.max.bytes": 4 * 1024 * 1024,
                "fetch.wait.max.ms": 50,
                "error_cb": self._noticed,
            }
        )
        with translated(where):
            self._consumer.subscribe(
                [*topics, *delayed],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_revoke,
            )
        self._thread = threading.Thread(target=self._run, name=f"kafka-{address}", daemon=True)
        self._thread.start()

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first.

        The first call waits until the group has let us in. Raises StoreUnavailableError when Kafka does
        not answer.
        """
        deadline = time.monotonic() + wait_s
        with self._state:
            self._state.wait_for(lambda: self._assigned or self._fault, JOIN_MAX_S)
            self._state.wait_for(lambda: self._buffer, max(0.0, deadline - time.monotonic()))
            if not self._buffer and self._behind:
                self._state.wait_for(lambda: self._buffer or not self._behind, ON_THE_WAY_S)
            taken = [self._buffer.popleft() for _ in range(min(count_max, len(self._buffer)))]
            self._buffer_bytes -= sum(len(one.message.body) for one in taken)
            marks = self._hand_out(taken)
            if not taken and self._fault is not None:
                raise explained(self._fault, self._where)
        # Written down before they are used: should a message end this process, that is known.
        self._commit(marks)
        return taken

    def _hand_out(self, taken: Sequence[Delivery]) -> list[Partition]:
        touched: dict[Partition, None] = {}
        for one in taken:
            receipt = one.receipt
            if isinstance(receipt, Receipt):
                self._in_hand.add((receipt.partition, receipt.offset))
                self._ledgers[receipt.partition][1].hand_out(receipt.offset)
                touched[receipt.partition] = None
        return list(touched)

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Finished; those of partitions that went to others are passed over."""
        moved: dict[Partition, None] = {}
        with self._state:
            for receipt in self._mine(deliveries):
                self._in_hand.discard((receipt.partition, receipt.offset))
                if self._ledgers[receipt.partition][1].settle(receipt.offset):
                    moved[receipt.partition] = None
        self._commit(list(moved))

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Ready again here, counted once more."""
        with self._state:
            mine = set(self._mine(deliveries))
            for one in reversed(deliveries):
                receipt = one.receipt
                if not isinstance(receipt, Receipt) or receipt not in mine:
                    continue
                if (receipt.partition, receipt.offset) in self._in_hand:
                    self._in_hand.discard((receipt.partition, receipt.offset))
                    self._buffer.appendleft(replace(one, redelivered=one.redelivered + 1))
                    self._buffer_bytes += len(one.message.body)
            self._state.notify_all()

    def counts(self) -> tuple[int, int, int, int]:
        """In hand; ready here out of the delay topics; settled but not committed, and of these (and of
        those in hand) how many lie in delay topics: what the lag of the group does not tell."""
        with self._state:
            delayed_hand = sum(p[0] in self._delayed for p, _ in self._in_hand)
            delayed_ready = sum(
                isinstance(one.receipt, Receipt) and one.receipt.partition[0] in self._delayed
                for one in self._buffer
            )
            ahead = [
                (p[0] in self._delayed, ledger.settled_ahead)
                for p, (_, ledger) in self._ledgers.items()
            ]
        ahead_main = sum(n for delayed, n in ahead if not delayed)
        ahead_delayed = sum(n for delayed, n in ahead if delayed)
        in_hand = len(self._in_hand)
        main = in_hand - delayed_hand + ahead_main
        return in_hand, delayed_ready, main, delayed_hand + delayed_ready + ahead_delayed

    def close(self) -> None:
        """Leave the group: what is in hand goes to others at once."""
        self._closing = True
        self._thread.join(ANSWER_MAX_S)

    def _mine(self, deliveries: Sequence[Delivery]) -> list[Receipt]:
        receipts = [one.receipt for one in deliveries]
        return [
            receipt
            for receipt in receipts
            if isinstance(receipt, Receipt)
            and self._ledgers.get(receipt.partition, (0,))[0] == receipt.term
        ]

    def _commit(self, partitions: Sequence[Partition]) -> None:
        """Have the offsets committed by the thread that polls: the client lets no two threads in at once."""
        if not partitions:
            return
        with self._state:
            self._to_commit.update(dict.fromkeys(partitions))
            request = self._commits_asked = self._commits_asked + 1
            done = self._state.wait_for(
                lambda: self._commits_done >= request or not self._thread.is_alive(), ANSWER_MAX_S
            )
            fault = self._commit_fault
        if not done or self._commits_done < request:
            raise StoreUnavailableError(f"Kafka at {self._where} takes no offsets")
        if fault is not None:
            raise explained(fault, self._where)

    def _commit_asked(self) -> None:
        with self._state:
            asked, wanted = self._commits_asked, self._to_commit
            if asked == self._commits_done:
                return
            self._to_commit = {}
            known = [(one, self._ledgers[one][1]) for one in wanted if one in self._ledgers]
            offsets = [
                TopicPartition(topic, number, ledger.start, metadata=ledger.metadata)
                for (topic, number), ledger in known
            ]
        fault = self._committed(offsets) if offsets else None
        with self._state:
            self._commit_fault, self._commits_done = fault, asked
            if fault is not None:
                # Asked again by whoever settles again; what is settled stays so here.
                self._to_commit.update(wanted)
            self._state.notify_all()

    def _committed(self, offsets: list[TopicPartition]) -> KafkaError | None:
        """Commit; what went wrong, but for partitions that have gone to others."""
        try:
            results = self._consumer.commit(offsets=offsets, asynchronous=False) or []
        except KafkaException as error:
            faults = [error.args[0]]
        else:
            faults = [one.error for one in results if one.error]
        return next((fault for fault in faults if fault.code() not in _MOVED), None)

    def _look_behind(self) -> None:
        """Note whether records are there that were not read yet, as far as is known without asking."""
        behind = not self._assigned
        for (topic, number), (_, ledger) in self._ledgers.items():
            if (topic, number) in self._resting:
                continue
            place = TopicPartition(topic, number)
            low_high = self._consumer.get_watermark_offsets(place, cached=True)
            high = low_high[1] if low_high else -1
            behind |= high < 0 or max(ledger.position, ledger.start) < high
        self._behind = behind

    def _run(self) -> None:
        quiet_since = time.monotonic()
        while not self._closing:
            self._commit_asked()
            busy = time.monotonic() - quiet_since < BUSY_S
            try:
                records = self._consumer.consume(POLL_COUNT, POLL_BUSY_S if busy else POLL_S)
            except (KafkaException, RuntimeError) as error:
                logger.warning("reading %s: %s", self._address, error)
                time.sleep(POLL_S)
                continue
            if records or self._in_hand:
                quiet_since = time.monotonic()
            with self._state:
                for record in records:
                    self._read(record)
                self._ripen()
                self._look_behind()
                self._state.notify_all()
            self._rest()
        self._commit_asked()
        self._consumer.close()

    def _read(self, record: KafkaRecord) -> None:
        if record.error() is not None:
            return
        partition = (record.topic() or "", record.partition() or 0)
        if partition not in self._ledgers:
            return
        self._fault = None
        term, ledger = self._ledgers[partition]
        offset = record.offset() or 0
        ledger.read(offset)
        message, due_ms = to_message(record)
        receipt = Receipt(partition, offset, term)
        delivery = Delivery(message, self._address, receipt, ledger.returned(offset))
        if partition[0] in self._delayed:
            heapq.heappush(self._held, (due_ms, next(_NUMBERS), delivery))
            self._held_bytes += len(message.body)
        else:
            self._buffer.append(delivery)
            self._buffer_bytes += len(message.body)

    def _ripen(self) -> None:
        """What was held back and is due now is ready."""
        now_ms = time.time() * 1000
        while self._held and self._held[0][0] <= now_ms:
            _, _, delivery = heapq.heappop(self._held)
            size_bytes = len(delivery.message.body)
            self._held_bytes -= size_bytes
            self._buffer.append(delivery)
            self._buffer_bytes += size_bytes

    def _rest(self) -> None:
        """Let partitions rest while enough waits, and go on when it does no more; in the poller's thread."""
        full = len(self._buffer) >= BUFFER_MAX or self._buffer_bytes >= BUFFER_MAX_BYTES
        holding = len(self._held) >= HELD_MAX or self._held_bytes >= HELD_MAX_BYTES
        wanted = {
            partition
            for partition in self._ledgers
            if full or (holding and partition[0] in self._delayed)
        }
        changes: list[tuple[set[Partition], Callable[[list[TopicPartition]], None]]] = [
            (wanted - self._resting, self._consumer.pause),
            ((self._resting - wanted) & set(self._ledgers), self._consumer.resume),
        ]
        for partitions, change in changes:
            if partitions:
                change([TopicPartition(*one) for one in partitions])
        self._resting = wanted

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            committed = consumer.committed(partitions, timeout=ANSWER_MAX_S) if partitions else []
        except KafkaException as error:
            logger.warning("offsets of %s are not known: %s", self._address, error)
            committed = partitions
        term = next(_NUMBERS)
        with self._state:
            for one in committed:
                ledger = Ledger.resumed(one.offset, one.metadata)
                self._ledgers[one.topic, one.partition] = (term, ledger)
            self._assigned = True
            self._state.notify_all()

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {(one.topic, one.partition) for one in partitions}
        with self._state:
            for partition in gone:
                self._ledgers.pop(partition, None)
            self._resting -= gone
            self._in_hand = {one for one in self._in_hand if one[0] not in gone}
            self._buffer = deque(one for one in self._buffer if not _of(one, gone))
            self._buffer_bytes = sum(len(one.message.body) for one in self._buffer)
            self._held = [one for one in self._held if not _of(one[2], gone)]
            heapq.heapify(self._held)
            self._held_bytes = sum(len(one[2].message.body) for one in self._held)

    def _noticed(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.fatal():
            with self._state:
                self._fault = error
                self._state.notify_all()


def _of(delivery: Delivery, partitions: set[Partition]) -> bool:
    return isinstance(delivery.receipt, Receipt) and delivery.receipt.partition in partitions
