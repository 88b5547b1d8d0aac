"""What one reader has: partitions that are its own, messages on its buffer, messages in hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, count
from types import MappingProxyType

from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka import Message as KafkaRecord

from fonds.model.message import Delivery
from fonds.queues.kafka.buffer import DeliveryBuffer, Partition, Receipt, get_partition
from fonds.queues.kafka.records import decode_message, matches_pipeline

# What of one partition was handed out and settled here, and up to where it may be committed.


ENDS_MAX, RUNS_MAX_CHARS = 50, 2_800
"""Unclean ends and runs of settled records that are remembered: within the 4,096 bytes a broker takes as
a commit's metadata. Records settled beyond those that fit come again should their reader be killed."""
UNKNOWN = -1


@dataclass(slots=True)
class OffsetLedger:
    """Offsets of a partition since it was assigned.

    `start` is where to commit: all before it is settled; UNKNOWN until something was read.
    `handed_out_to` is the offset behind the last that was ever handed out, also by readers before us.
    `ends` holds what that was whenever a reader ended with something unsettled in hand: a record was
    handed out once for each that lies behind it. `settled_ahead_ranges` are the runs behind `start` that
    readers before us settled: first offset and the one behind the last. All travel as the commit's
    metadata."""

    start: int = UNKNOWN
    handed_out_to: int = 0
    ends: list[int] = field(default_factory=list)
    settled_ahead_ranges: list[tuple[int, int]] = field(default_factory=list)
    unsettled: dict[int, bool] = field(default_factory=dict)
    position: int = UNKNOWN
    last_committed: int = UNKNOWN

    @classmethod
    def resume(cls, committed: int, metadata: str | None) -> OffsetLedger:
        """Go on where a reader before us stopped: `committed` < 0 is none, or not known."""
        numbers, _, runs = (metadata or "").partition(";")
        words, lengths = numbers.split(","), runs.split()
        known = all(
            word.isascii() and word.isdigit() and len(word) < 20 for word in words + lengths
        )
        if not known or committed < 0:
            return cls(max(committed, UNKNOWN), last_committed=max(committed, UNKNOWN))
        handed_to, *ends = map(int, words)
        bounds = list(accumulate(map(int, lengths), initial=committed))
        ahead = list(zip(bounds[1::2], bounds[2::2], strict=False))
        ends = [end for end in (*ends, handed_to) if end > committed][-ENDS_MAX:]
        return cls(committed, handed_to, ends, ahead, last_committed=committed)

    def read(self, offset: int) -> bool:
        """A record was read; whether it is to be handed out: it is unsettled from now on."""
        again = offset < self.position
        self.unsettled[offset] = False
        self.position = offset + 1
        if self.start == UNKNOWN:
            self.start = offset
        if again:
            # The topic was made anew, or the place to read from was set back by somebody.
            self.unsettled = dict(sorted(self.unsettled.items()))
            self.start = min(self.start, offset)
            self.settled_ahead_ranges = []
        while self.settled_ahead_ranges and self.settled_ahead_ranges[0][1] <= offset:
            del self.settled_ahead_ranges[0]
        if self.settled_ahead_ranges and self.settled_ahead_ranges[0][0] <= offset:
            self.settle(offset)
            return False
        return True

    def mark_end(self, offset: int) -> None:
        """There is nothing to read before `offset`, the end of the partition."""
        self.position = max(self.position, offset)

    def count_returns(self, offset: int) -> int:
        """How often the record was handed out by readers that ended without settling it."""
        return sum(offset < end for end in self.ends)

    def hand_out(self, offset: int) -> None:
        """A record is in somebody's hand; those up to it count as such should we end."""
        self.handed_out_to = max(self.handed_out_to, offset + 1)

    def settle(self, offset: int) -> bool:
        """A record is finished; whether it was not before."""
        if self.unsettled.get(offset, True):
            return False
        self.unsettled[offset] = True
        before = self.start
        while self.unsettled:
            first = next(iter(self.unsettled))
            if not self.unsettled[first]:
                break
            del self.unsettled[first]
            self.start = first + 1
        if self.start > before:
            self.ends = [end for end in self.ends if end > self.start]
        return True

    @property
    def ahead_count(self) -> int:
        """Records settled that cannot be committed yet, because one before them is not."""
        return sum(self.unsettled.values()) + sum(
            end - first for first, end in self._list_skipped()
        )

    @property
    def uncommitted_count(self) -> int:
        """How many offsets were settled since the last commit was made."""
        return max(0, self.start - self.last_committed) if self.last_committed != UNKNOWN else 0

    @property
    def metadata(self) -> str:
        """What a reader after us must know: `handed_to,end,…;gap run gap run…`."""
        words, room, at = list[str](), RUNS_MAX_CHARS, self.start
        for first, end in [*self._iter_settled_runs(), *self._list_skipped()]:
            words.append(f"{first - at} {end - first}")
            room, at = room - len(words[-1]) - 1, end
            if room < 0:
                words.pop()
                break
        numbers = ",".join(str(number) for number in (self.handed_out_to, *self.ends))
        return f"{numbers};{' '.join(words)}"

    def _iter_settled_runs(self) -> Iterator[tuple[int, int]]:
        """Where records read here are settled behind one that is not: first offset, and behind the last."""
        if not any(self.unsettled.values()):
            return
        first = end = UNKNOWN
        for offset, settled in self.unsettled.items():
            if settled:
                first, end = (offset if first == UNKNOWN else first), offset + 1
            elif first != UNKNOWN:
                yield first, end
                first = UNKNOWN
        if first != UNKNOWN:
            yield first, end

    def _list_skipped(self) -> list[tuple[int, int]]:
        """What is left of `ahead`."""
        return [
            (max(first, self.position), end)
            for first, end in self.settled_ahead_ranges
            if end > self.position
        ]


_TERMS = count(1)
NO_SELECTORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BufferedCounts:
    """Messages a group's lag counts as waiting though they are known better here.

    `unsettled` are those in hand; `due` lie ready here and were delayed. `buffered` and
    `buffered_delayed` are those in the topics, and in the topics of delayed messages, that are no longer
    what the lag says."""

    unsettled: int = 0
    due: int = 0
    buffered: int = 0
    buffered_delayed: int = 0


class ReaderState:
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
        self._ledgers: dict[Partition, tuple[int, OffsetLedger]] = {}
        self._in_hand: set[tuple[Partition, int]] = set()
        self._selectors = selectors
        self._passed: set[Partition] = set()

    def assign(self, committed: Iterable[TopicPartition]) -> None:
        """These partitions are ours from where they were committed."""
        term = next(_TERMS)
        with self.lock:
            for one in committed:
                ledger = OffsetLedger.resume(one.offset, one.metadata)
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
            self._buffer.release_due(time.time() * 1000)
            self.lock.notify_all()

    def _read(self, record: KafkaRecord) -> None:
        partition = (record.topic() or "", record.partition() or 0)
        offset, error = record.offset() or 0, record.error()
        if partition not in self._ledgers:
            return
        term, ledger = self._ledgers[partition]
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                ledger.mark_end(offset)
            return
        wanted = ledger.read(offset)
        if not wanted or not matches_pipeline(self._selectors.get(partition[0], ""), record):
            ledger.settle(offset)
            self._passed.add(partition)
            return
        message, due_ms = decode_message(record)
        receipt = Receipt(partition, offset, term)
        delivery = Delivery(message, self._address, receipt, ledger.count_returns(offset))
        self._buffer.add(delivery, due_ms)

    def wait_until_ready(self, is_given_up: Callable[[], object], deadline: float) -> bool:
        """Until something is ready, or the monotonic clock says `deadline`; whether something is."""
        with self.lock:
            left_s = max(0.0, deadline - time.monotonic())
            self.lock.wait_for(lambda: self._buffer or is_given_up(), left_s)
            return bool(self._buffer)

    def take(self, count_max: int) -> list[Delivery]:
        """What is ready is in hand now."""
        with self.lock:
            taken = self._buffer.take(count_max)
            for partition, offset in self._list_places(taken):
                self._in_hand.add((partition, offset))
                self._ledgers[partition][1].hand_out(offset)
        return taken

    def settle(self, deliveries: Sequence[Delivery]) -> set[Partition]:
        """Finished; the partitions whose books changed by it."""
        moved = set()
        with self.lock:
            for partition, offset in self._list_places(deliveries):
                self._in_hand.discard((partition, offset))
                if self._ledgers[partition][1].settle(offset):
                    moved.add(partition)
        return moved

    def take_passed(self, topics: Collection[str]) -> set[Partition]:
        """Partitions of these topics where something was passed over since this was asked last."""
        with self.lock:
            found = {one for one in self._passed if one[0] in topics}
            self._passed -= found
        return found

    def filter_in_hand(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those that are in hand here as yet."""
        with self.lock:
            return [
                one
                for one in deliveries
                if any(p in self._in_hand for p in self._list_places([one]))
            ]

    def release(self, deliveries: Sequence[Delivery], increment: int) -> None:
        """Those in hand are ready again, `redelivered` as much higher as `increment` says."""
        with self.lock:
            back = []
            for one in deliveries:
                for place in self._list_places([one]):
                    if place in self._in_hand:
                        self._in_hand.discard(place)
                        back.append(replace(one, redelivered=one.redelivered + increment))
            self._buffer.put_back(back)
            self.lock.notify_all()

    def list_offsets(self, partitions: Iterable[Partition]) -> list[TopicPartition]:
        """Where those that are ours are to be committed."""
        with self.lock:
            known = [(one, self._ledgers[one][1]) for one in partitions if one in self._ledgers]
            found = []
            for (topic, number), ledger in known:
                if ledger.start >= 0:
                    ledger.last_committed = ledger.start
                    metadata = ledger.metadata
                    found.append(TopicPartition(topic, number, ledger.start, metadata=metadata))
            return found

    def get_positions(self, topics: Collection[str]) -> dict[Partition, int]:
        """Up to where the partitions of these topics that are ours were read."""
        with self.lock:
            return {
                partition: max(ledger.position, ledger.start, 0)
                for partition, (_, ledger) in self._ledgers.items()
                if partition[0] in topics
            }

    def is_crowded(self, topic: str, *, resting: bool) -> bool:
        """Whether no more of this topic is to be read for now."""
        with self.lock:
            return self._buffer.is_crowded(topic, resting=resting)

    @property
    def has_in_hand(self) -> bool:
        """Whether somebody is at work, who will settle soon."""
        return bool(self._in_hand)

    def get_counts(self) -> BufferedCounts:
        """What the lag of the group does not tell."""
        with self.lock:
            in_hand = len(self._in_hand)
            delayed_hand = sum(partition[0] in self._delayed for partition, _ in self._in_hand)
            due = self._buffer.ready_delayed_count
            ahead = [
                (p[0], ledger.ahead_count + ledger.uncommitted_count)
                for p, (_, ledger) in self._ledgers.items()
            ]
        ahead_delayed = sum(n for topic, n in ahead if topic in self._delayed)
        ahead_main = sum(n for _, n in ahead) - ahead_delayed
        return BufferedCounts(
            unsettled=in_hand,
            due=due,
            buffered=in_hand - delayed_hand + ahead_main,
            buffered_delayed=delayed_hand + due + ahead_delayed,
        )

    def _list_places(self, deliveries: Iterable[Delivery]) -> list[tuple[Partition, int]]:
        """Where those lie whose partition is ours as it was when they were read."""
        return [
            (receipt.partition, receipt.offset)
            for receipt in (one.receipt for one in deliveries)
            if isinstance(receipt, Receipt)
            and self._ledgers.get(receipt.partition, (0,))[0] == receipt.term
        ]


def list_partitions(deliveries: Iterable[Delivery]) -> set[Partition]:
    """Where the deliveries were read."""
    return {get_partition(one) for one in deliveries}
