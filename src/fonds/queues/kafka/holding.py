"""What one reader has: partitions that are its own, messages on its buffer, messages in hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType

from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka import Message as KafkaRecord

from fonds.model.message import Delivery
from fonds.queues.kafka.buffer import DeliveryBuffer, Partition, Receipt, origin
from fonds.queues.kafka.coding import selects, to_message
from fonds.queues.kafka.ledger import Ledger

_TERMS = count(1)
NO_SELECTORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Counts:
    """Messages a group's lag counts as waiting though they are known better here.

    `in_hand` are those in hand; `due` lie ready here and were delayed. `known` and `known_delayed` are
    those in the topics, and in the topics of delayed messages, that are no longer what the lag says.
    """

    in_hand: int = 0
    due: int = 0
    known: int = 0
    known_delayed: int = 0


class Holding:
    """The state of a reader; `lock` guards it and is notified of every change.

    Of the topics in `selectors` only what is for the pipeline they name is handed out; the rest counts as
    settled from the moment it is read.
    """

    def __init__(
        self, address: str, delayed: Iterable[str], selectors: Mapping[str, str] = NO_SELECTORS
    ) -> None:
        self.lock = threading.Condition()
        self._address = address
        self._delayed = frozenset(delayed)
        self._buffer = DeliveryBuffer(self._delayed)
        self._ledgers: dict[Partition, tuple[int, Ledger]] = {}
        self._in_hand: set[tuple[Partition, int]] = set()
        self._selectors = selectors
        self._passed: set[Partition] = set()

    def assign(self, committed: Iterable[TopicPartition]) -> None:
        """These partitions are ours from where they were committed."""
        term = next(_TERMS)
        with self.lock:
            for one in committed:
                ledger = Ledger.resumed(one.offset, one.metadata)
                self._ledgers[one.topic, one.partition] = (term, ledger)
            self.lock.notify_all()

    def revoke(self, partitions: Collection[Partition]) -> None:
        """These have gone: what was read from them comes again elsewhere."""
        with self.lock:
            for partition in partitions:
                self._ledgers.pop(partition, None)
            self._in_hand = {one for one in self._in_hand if one[0] not in partitions}
            self._buffer.drop(partitions)

    def read(self, records: Sequence[KafkaRecord]) -> None:
        """Records of partitions that are ours go to the buffer, and what is due by now is ready."""
        with self.lock:
            for record in records:
                self._read(record)
            self._buffer.ripen(time.time() * 1000)
            self.lock.notify_all()

    def _read(self, record: KafkaRecord) -> None:
        partition = (record.topic() or "", record.partition() or 0)
        offset, error = record.offset() or 0, record.error()
        if partition not in self._ledgers:
            return
        term, ledger = self._ledgers[partition]
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                ledger.reached_end(offset)
            return
        wanted = ledger.read(offset)
        if not wanted or not selects(self._selectors.get(partition[0], ""), record):
            ledger.settle(offset)
            self._passed.add(partition)
            return
        message, due_ms = to_message(record)
        receipt = Receipt(partition, offset, term)
        delivery = Delivery(message, self._address, receipt, ledger.returned(offset))
        self._buffer.add(delivery, due_ms)

    def wait_for_some(self, given_up: Callable[[], object], deadline: float) -> bool:
        """Until something is ready, or the monotonic clock says `deadline`; whether something is."""
        with self.lock:
            left_s = max(0.0, deadline - time.monotonic())
            self.lock.wait_for(lambda: self._buffer or given_up(), left_s)
            return bool(self._buffer)

    def take(self, count_max: int) -> list[Delivery]:
        """What is ready is in hand now."""
        with self.lock:
            taken = self._buffer.take(count_max)
            for partition, offset in self._places(taken):
                self._in_hand.add((partition, offset))
                self._ledgers[partition][1].hand_out(offset)
        return taken

    def settle(self, deliveries: Sequence[Delivery]) -> set[Partition]:
        """Finished; the partitions whose books changed by it."""
        moved = set()
        with self.lock:
            for partition, offset in self._places(deliveries):
                self._in_hand.discard((partition, offset))
                if self._ledgers[partition][1].settle(offset):
                    moved.add(partition)
        return moved

    def passed(self, topics: Collection[str]) -> set[Partition]:
        """Partitions of these topics where something was passed over since this was asked last."""
        with self.lock:
            found = {one for one in self._passed if one[0] in topics}
            self._passed -= found
        return found

    def keep(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those that are in hand here as yet."""
        with self.lock:
            return [
                one for one in deliveries if any(p in self._in_hand for p in self._places([one]))
            ]

    def give_back(self, deliveries: Sequence[Delivery], counted: int) -> None:
        """Those in hand are ready again, `redelivered` as much higher as `counted` says."""
        with self.lock:
            back = []
            for one in deliveries:
                for place in self._places([one]):
                    if place in self._in_hand:
                        self._in_hand.discard(place)
                        back.append(replace(one, redelivered=one.redelivered + counted))
            self._buffer.put_back(back)
            self.lock.notify_all()

    def offsets(self, partitions: Iterable[Partition]) -> list[TopicPartition]:
        """Where those that are ours are to be committed."""
        with self.lock:
            known = [(one, self._ledgers[one][1]) for one in partitions if one in self._ledgers]
            found = []
            for (topic, number), ledger in known:
                if ledger.start >= 0:
                    ledger.told = ledger.start
                    metadata = ledger.metadata
                    found.append(TopicPartition(topic, number, ledger.start, metadata=metadata))
            return found

    def positions(self, topics: Collection[str]) -> dict[Partition, int]:
        """Up to where the partitions of these topics that are ours were read."""
        with self.lock:
            return {
                partition: max(ledger.position, ledger.start, 0)
                for partition, (_, ledger) in self._ledgers.items()
                if partition[0] in topics
            }

    def crowded(self, topic: str, *, resting: bool) -> bool:
        """Whether no more of this topic is to be read for now."""
        with self.lock:
            return self._buffer.crowded(topic, resting=resting)

    @property
    def some_in_hand(self) -> bool:
        """Whether somebody is at work, who will settle soon."""
        return bool(self._in_hand)

    def counts(self) -> Counts:
        """What the lag of the group does not tell."""
        with self.lock:
            in_hand = len(self._in_hand)
            delayed_hand = sum(partition[0] in self._delayed for partition, _ in self._in_hand)
            due = self._buffer.ready_of_delayed
            ahead = [
                (p[0], ledger.settled_ahead + ledger.untold)
                for p, (_, ledger) in self._ledgers.items()
            ]
        ahead_delayed = sum(n for topic, n in ahead if topic in self._delayed)
        ahead_main = sum(n for _, n in ahead) - ahead_delayed
        return Counts(
            in_hand=in_hand,
            due=due,
            known=in_hand - delayed_hand + ahead_main,
            known_delayed=delayed_hand + due + ahead_delayed,
        )

    def _places(self, deliveries: Iterable[Delivery]) -> list[tuple[Partition, int]]:
        """Where those lie whose partition is ours as it was when they were read."""
        return [
            (receipt.partition, receipt.offset)
            for receipt in (one.receipt for one in deliveries)
            if isinstance(receipt, Receipt)
            and self._ledgers.get(receipt.partition, (0,))[0] == receipt.term
        ]


def partitions_of(deliveries: Iterable[Delivery]) -> set[Partition]:
    """Where the deliveries were read."""
    return {origin(one) for one in deliveries}
