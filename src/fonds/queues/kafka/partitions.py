"""Reader's state of its assigned Kafka partitions: offsets, buffered messages and leased
messages.
"""

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
from fonds.queues.kafka.buffer import DeliveryBuffer, Partition, Receipt
from fonds.queues.kafka.records import decode_message, matches_pipeline

ENDS_MAX, RUNS_MAX_CHARS = 50, 2_800
"""Maximum number of offsets where earlier readers ended with unsettled messages, and of characters
for the ranges of settled records.

Both together fit the 4,096 bytes of metadata that Kafka stores with an offset commit.

Settled records beyond these limits are delivered again if their reader is killed.
"""
UNKNOWN = -1


@dataclass(slots=True)
class OffsetLedger:
    """Offsets of one Kafka partition since it was assigned to this process.

    Kafka stores one committed offset per partition, but messages may be settled in any order. So
    each commit stores `start` as its offset, and `handed_out_to`, `ends` and the ranges of settled
    records in its metadata, for the next reader.

    - `start`: offset to commit: all records before it are settled. UNKNOWN until a record was read.
    - `handed_out_to`: offset after the last record that this or an earlier reader handed out.
    - `ends`: values of `handed_out_to` when an earlier reader ended with unsettled messages. That
      reader had handed out the records before this offset.
    - `settled_ahead_ranges`: (first offset, end) of records after `start` that earlier readers
      settled.
    - `unsettled`: whether a record is settled, by offset, from the first unsettled record on.
    - `position`: offset to read next.
    - `last_committed`: offset that was committed last.
    - `announced_to`: offset after the last record that this reader will hand out next. A commit
      stores it as handed out.
    - `committing_to`, `committed_to`: offset before which the pending commit, and the last
      successful one, store records as handed out. The records before `committed_to` can be handed
      out without another commit.
    """

    start: int = UNKNOWN
    handed_out_to: int = 0
    ends: list[int] = field(default_factory=list)
    settled_ahead_ranges: list[tuple[int, int]] = field(default_factory=list)
    unsettled: dict[int, bool] = field(default_factory=dict)
    position: int = UNKNOWN
    last_committed: int = UNKNOWN
    announced_to: int = 0
    committing_to: int = 0
    committed_to: int = 0

    @classmethod
    def resume(cls, committed_offset: int, metadata: str | None) -> OffsetLedger:
        """Return the offsets of a partition as an earlier reader committed them.

        `committed_offset` is the committed offset; negative if there is none. `metadata` is the
        text that the earlier reader stored with the commit. Metadata that is missing or unreadable
        is ignored.
        """
        numbers, _, runs = (metadata or "").partition(";")
        words, lengths = numbers.split(","), runs.split()
        is_readable = all(
            word.isascii() and word.isdigit() and len(word) < 20 for word in words + lengths
        )
        if not is_readable or committed_offset < 0:
            return cls(
                max(committed_offset, UNKNOWN), last_committed=max(committed_offset, UNKNOWN)
            )
        handed_to, *ends = map(int, words)
        bounds = list(accumulate(map(int, lengths), initial=committed_offset))
        settled_ranges = list(zip(bounds[1::2], bounds[2::2], strict=False))
        ends = [end for end in (*ends, handed_to) if end > committed_offset][-ENDS_MAX:]
        return cls(
            committed_offset, handed_to, ends, settled_ranges, last_committed=committed_offset
        )

    def read(self, offset: int) -> bool:
        """Note that the Kafka record at `offset` was read. Return whether to hand the record out.

        A record that an earlier reader has settled is settled at once and not handed out.
        """
        was_rewound = offset < self.position
        self.unsettled[offset] = False
        self.position = offset + 1
        if self.start == UNKNOWN:
            self.start = offset
        if was_rewound:
            # The topic was recreated, or its offsets were reset.
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
        """Note that the end of the partition was reached at `offset`: all records before that
        offset are read.
        """
        self.position = max(self.position, offset)

    def count_returns(self, offset: int) -> int:
        """Return how many earlier readers may have handed out the record at `offset` without
        settling it.
        """
        return sum(offset < end for end in self.ends)

    def hand_out(self, offset: int) -> None:
        """Note that the Kafka record at `offset` was handed out.

        If this reader is killed, the next reader counts all records up to this offset as handed
        out.
        """
        self.handed_out_to = max(self.handed_out_to, offset + 1)

    def settle(self, offset: int) -> bool:
        """Mark the Kafka record at `offset` as settled, and advance the offset to commit where
        possible.

        Return whether the record was unsettled before; False if it was never read.
        """
        if self.unsettled.get(offset, True):
            return False
        self.unsettled[offset] = True
        previous_start = self.start
        while self.unsettled:
            first = next(iter(self.unsettled))
            if not self.unsettled[first]:
                break
            del self.unsettled[first]
            self.start = first + 1
        if self.start > previous_start:
            self.ends = [end for end in self.ends if end > self.start]
        return True

    @property
    def ahead_count(self) -> int:
        """Number of settled records of a partition that cannot be committed yet, because an earlier
        record is unsettled.
        """
        return sum(self.unsettled.values()) + sum(
            end - first for first, end in self._list_skipped()
        )

    @property
    def uncommitted_count(self) -> int:
        """Number of offsets between the last committed offset and the offset to commit next.

        It is 0 if the last committed offset is unknown.
        """
        return max(0, self.start - self.last_committed) if self.last_committed != UNKNOWN else 0

    @property
    def metadata(self) -> str:
        """Text to store with an offset commit, from which the next reader resumes.

        The format is `handed_out_to,end,…;gap run gap run…`. A run is a number of consecutive
        settled records. A gap is the number of records between the previous run, or `start`, and
        the next run. Runs beyond `RUNS_MAX_CHARS` characters are left out.
        """
        words, room, position = list[str](), RUNS_MAX_CHARS, self.start
        for first, end in [*self._iter_settled_runs(), *self._list_skipped()]:
            words.append(f"{first - position} {end - first}")
            room, position = room - len(words[-1]) - 1, end
            if room < 0:
                words.pop()
                break
        handed_out_to = max(self.handed_out_to, self.announced_to)
        numbers = ",".join(str(number) for number in (handed_out_to, *self.ends))
        return f"{numbers};{' '.join(words)}"

    def _iter_settled_runs(self) -> Iterator[tuple[int, int]]:
        """Yield (first offset, end) of each run of settled records that follow an unsettled
        record.
        """
        if not any(self.unsettled.values()):
            return
        first = end = UNKNOWN
        for offset, is_settled in self.unsettled.items():
            if is_settled:
                first, end = (offset if first == UNKNOWN else first), offset + 1
            elif first != UNKNOWN:
                yield first, end
                first = UNKNOWN
        if first != UNKNOWN:
            yield first, end

    def _list_skipped(self) -> list[tuple[int, int]]:
        """Return (first offset, end) of records that earlier readers settled and this reader has
        not reached.
        """
        return [
            (max(first, self.position), end)
            for first, end in self.settled_ahead_ranges
            if end > self.position
        ]


_TERMS = count(1)
NO_SELECTORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BufferedCounts:
    """Numbers of messages in this process, which correct the lag of a Kafka consumer group.

    - `unsettled`: leased messages.
    - `due`: ready messages that came from topics of delayed messages.
    - `buffered`: messages that the lag counts as waiting, although this process has leased or
      settled them.
    - `buffered_delayed`: messages in topics of delayed messages that the lag counts as delayed,
      although in this process they are ready, leased or settled.
    """

    unsettled: int = 0
    due: int = 0
    buffered: int = 0
    buffered_delayed: int = 0


class ReaderState:
    """State of a Kafka reader: its assigned partitions, buffered messages and leased messages.

    - `address`: queue address that is read.
    - `delayed`: Kafka topics of delayed messages.
    - `selectors`: name of the pipeline whose messages are handed out, by topic. Messages of other
      pipelines are settled as soon as they are read.
    - `lock`: guards the state. Threads that wait for messages wait on it.
    """

    def __init__(
        self, address: str, delay_topics: Iterable[str], selectors: Mapping[str, str] = NO_SELECTORS
    ) -> None:
        self.lock = threading.Condition()
        self._address = address
        self._delayed = frozenset(delay_topics)
        self._buffer = DeliveryBuffer(self._delayed)
        self._ledgers: dict[Partition, tuple[int, OffsetLedger]] = {}
        self._in_hand: set[tuple[Partition, int]] = set()
        self._count_max = 0
        self._selectors = selectors
        self._passed: set[Partition] = set()

    def assign(self, committed_partitions: Iterable[TopicPartition]) -> None:
        """Add partitions that Kafka assigned to this process, starting at their committed
        offsets.
        """
        term = next(_TERMS)
        with self.lock:
            for committed_partition in committed_partitions:
                ledger = OffsetLedger.resume(
                    committed_partition.offset, committed_partition.metadata
                )
                self._ledgers[committed_partition.topic, committed_partition.partition] = (
                    term,
                    ledger,
                )
            self.lock.notify_all()

    def revoke(self, partitions: Collection[Partition]) -> None:
        """Remove partitions that Kafka took from this process, with their buffered and leased
        messages.

        Kafka delivers the unsettled messages to the consumer that the partitions are assigned to
        next.
        """
        with self.lock:
            for partition in partitions:
                self._ledgers.pop(partition, None)
            self._in_hand = {
                leased_record
                for leased_record in self._in_hand
                if leased_record[0] not in partitions
            }
            self._buffer.drop(partitions)

    def read(self, records: Sequence[KafkaRecord]) -> None:
        """Buffer the records of assigned partitions, and make delayed messages ready that are due
        now.
        """
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
        is_unsettled = ledger.read(offset)
        if not is_unsettled or not matches_pipeline(self._selectors.get(partition[0], ""), record):
            ledger.settle(offset)
            self._passed.add(partition)
            return
        message, due_ms = decode_message(record)
        receipt = Receipt(partition, offset, term)
        delivery = Delivery(message, self._address, receipt, ledger.count_returns(offset))
        self._buffer.add(delivery, due_ms)

    def wait_until_ready(self, is_given_up: Callable[[], object], deadline: float) -> bool:
        """Wait until the buffer has a ready message. Return whether it has one.

        Stop waiting if `is_given_up` returns a true value, or if the monotonic clock reaches
        `deadline` (seconds).
        """
        with self.lock:
            remaining_s = max(0.0, deadline - time.monotonic())
            self.lock.wait_for(lambda: self._buffer or is_given_up(), remaining_s)
            return bool(self._buffer)

    def take(self, count_max: int) -> tuple[list[Delivery], set[Partition]]:
        """Lease up to `count_max` ready messages. Return them, and the partitions whose offsets
        must be committed before the messages are handed out.

        Partitions are omitted if an earlier commit announced the messages.
        """
        uncommitted_partitions = set()
        with self.lock:
            self._count_max = count_max
            deliveries = self._buffer.take(count_max)
            for partition, offset in self._list_places(deliveries):
                ledger = self._ledgers[partition][1]
                self._in_hand.add((partition, offset))
                ledger.hand_out(offset)
                if offset >= ledger.committed_to:
                    uncommitted_partitions.add(partition)
        return deliveries, uncommitted_partitions

    def settle(self, deliveries: Sequence[Delivery]) -> set[Partition]:
        """Mark messages as settled. Return the partitions in which a message was unsettled before.

        Messages are skipped if their partition was reassigned since they were read.
        """
        changed_partitions = set()
        with self.lock:
            for partition, offset in self._list_places(deliveries):
                self._in_hand.discard((partition, offset))
                if self._ledgers[partition][1].settle(offset):
                    changed_partitions.add(partition)
        return changed_partitions

    def announce(self) -> set[Partition]:
        """Announce the messages of the next `take`, so that the next commit stores them as handed
        out. Return their partitions.

        Without this, each batch would need two commits. Does nothing while messages are leased: if
        this process is killed then, the announced messages would count as delivered too.
        """
        partitions = set()
        with self.lock:
            next_deliveries = [] if self._in_hand else self._buffer.get_next(self._count_max)
            for partition, offset in self._list_places(next_deliveries):
                ledger = self._ledgers[partition][1]
                ledger.announced_to = max(ledger.announced_to, offset + 1)
                partitions.add(partition)
        return partitions

    def withdraw(self, topics: Collection[str]) -> set[Partition]:
        """Withdraw the announcements of messages of `topics` that were not handed out. Return their
        partitions.
        """
        with self.lock:
            partitions = {
                partition
                for partition, (_, ledger) in self._ledgers.items()
                if partition[0] in topics and ledger.announced_to > ledger.handed_out_to
            }
            for partition in partitions:
                self._ledgers[partition][1].announced_to = 0
        return partitions

    def take_skipped(self, topics: Collection[str]) -> set[Partition]:
        """Return the partitions of `topics` in which records were skipped since the last call.

        A record is skipped if it is for another pipeline, or if an earlier reader settled it. It
        counts as settled and is not handed out.
        """
        with self.lock:
            partitions = {partition for partition in self._passed if partition[0] in topics}
            self._passed -= partitions
        return partitions

    def filter_in_hand(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Return the messages of `deliveries` that this process still leases."""
        with self.lock:
            return [
                delivery
                for delivery in deliveries
                if any(place in self._in_hand for place in self._list_places([delivery]))
            ]

    def release(self, deliveries: Sequence[Delivery], increment: int) -> None:
        """Make leased messages ready again, and add `increment` to their number of redeliveries."""
        with self.lock:
            released_deliveries = []
            for delivery in deliveries:
                for place in self._list_places([delivery]):
                    if place in self._in_hand:
                        self._in_hand.discard(place)
                        released_deliveries.append(
                            replace(delivery, redelivered=delivery.redelivered + increment)
                        )
            self._buffer.put_back(released_deliveries)
            self.lock.notify_all()

    def list_offsets(self, partitions: Iterable[Partition]) -> list[TopicPartition]:
        """Return the offset to commit, with its metadata text, for each of `partitions` that is
        assigned to this process.

        The returned offsets count as committed from then on. A partition is left out if no record
        of it was read and it has no committed offset.
        """
        with self.lock:
            ledgers = [
                (partition, self._ledgers[partition][1])
                for partition in partitions
                if partition in self._ledgers
            ]
            offsets = []
            for (topic, number), ledger in ledgers:
                if ledger.start >= 0:
                    ledger.last_committed = ledger.start
                    ledger.committing_to = max(ledger.handed_out_to, ledger.announced_to)
                    metadata = ledger.metadata
                    offsets.append(TopicPartition(topic, number, ledger.start, metadata=metadata))
            return offsets

    def confirm(self, offsets: Iterable[TopicPartition]) -> None:
        """Note that the offsets that `list_offsets` returned are committed."""
        with self.lock:
            for offset in offsets:
                _, ledger = self._ledgers.get((offset.topic, offset.partition), (0, None))
                if ledger is not None:
                    ledger.committed_to = ledger.committing_to

    def get_positions(self, topics: Collection[str]) -> dict[Partition, int]:
        """Return the offset to read next in each partition of these Kafka topics that is assigned
        to this process.
        """
        with self.lock:
            return {
                partition: max(ledger.position, ledger.start, 0)
                for partition, (_, ledger) in self._ledgers.items()
                if partition[0] in topics
            }

    def is_full(self, *, is_paused: bool) -> bool:
        """Return whether reading should pause, because too many ready messages are buffered.

        `is_paused` is whether reading is paused already; it then resumes at half the limits.
        """
        with self.lock:
            return self._buffer.is_full(is_paused=is_paused)

    def is_crowded(self, topic: str, *, is_paused: bool) -> bool:
        """Return whether reading of a topic should pause, because too many of its delayed messages
        are buffered.

        `is_paused` is whether the topic is paused already; it then resumes at half the limits.
        """
        with self.lock:
            return self._buffer.is_crowded(topic, is_paused=is_paused)

    @property
    def has_messages(self) -> bool:
        """Whether this process has ready or leased messages, of which some are likely to be handed
        out or settled soon.
        """
        return bool(self._buffer or self._in_hand)

    def get_counts(self) -> BufferedCounts:
        """Return how many messages this process has leased, buffered or settled, to correct the lag
        of its group.

        The lag of a Kafka consumer group is computed from committed offsets alone.
        """
        with self.lock:
            in_hand = len(self._in_hand)
            delayed_hand = sum(partition[0] in self._delayed for partition, _ in self._in_hand)
            due = self._buffer.ready_delayed_count
            ahead_counts = [
                (p[0], ledger.ahead_count + ledger.uncommitted_count)
                for p, (_, ledger) in self._ledgers.items()
            ]
        ahead_delayed = sum(n for topic, n in ahead_counts if topic in self._delayed)
        ahead_main = sum(n for _, n in ahead_counts) - ahead_delayed
        return BufferedCounts(
            unsettled=in_hand,
            due=due,
            buffered=in_hand - delayed_hand + ahead_main,
            buffered_delayed=delayed_hand + due + ahead_delayed,
        )

    def _list_places(self, deliveries: Iterable[Delivery]) -> list[tuple[Partition, int]]:
        """Return (partition, offset) of each message whose partition was not reassigned since it
        was read.
        """
        return [
            (receipt.partition, receipt.offset)
            for receipt in (delivery.receipt for delivery in deliveries)
            if isinstance(receipt, Receipt)
            and self._ledgers.get(receipt.partition, (0,))[0] == receipt.term
        ]
