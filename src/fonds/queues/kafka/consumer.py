"""Reader of one queue address on Kafka.

It polls Kafka in threads, hands out messages, and commits the offsets of settled messages. Each
thread has one client, as a member of one consumer group.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka import Message as KafkaRecord

from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Delivery
from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.errors import REBALANCE_CODES, explain_error, translate_errors
from fonds.queues.kafka.lag import fetch_committed
from fonds.queues.kafka.partitions import NO_SELECTORS, BufferedCounts, ReaderState

# The client does not allow two threads at once, so a commit from another thread would wait for a
# poll. Threads that settle request a commit and wait; the polling thread performs it.


RESPONSE_TIMEOUT_S = 20.0


class PendingCommits:
    """Offset commits of one Kafka client. Any thread requests a commit; the polling thread performs
    it.

    Two threads must not use the Kafka client at once. `state` is the lock on the Kafka reader's
    state (`ReaderState`).
    """

    def __init__(self, state: threading.Condition, broker_name: str) -> None:
        self._state, self._broker_name = state, broker_name
        self._requested: set[Partition] = set()
        self._has_request = threading.Event()
        self._request_count = self._done_count = 0
        self._fault: KafkaError | None = None

    @property
    def outstanding(self) -> set[Partition]:
        """Partitions whose offset commit was requested and is still pending or has failed.

        The caller must hold the lock on the Kafka reader's state (`ReaderState`).
        """
        return set(self._requested)

    def commit(self, partitions: Iterable[Partition]) -> None:
        """Request offset commits for these partitions, and wait until the polling thread has done
        them.

        Raises StoreUnavailableError if there is no result within `RESPONSE_TIMEOUT_S` seconds or
        Kafka does not answer, and ConfigurationError if Kafka refuses a commit.
        """
        requested_partitions = set(partitions)
        if not requested_partitions:
            return
        with self._state:
            self._requested |= requested_partitions
            request = self._request_count = self._request_count + 1
            self._has_request.set()
            is_done = self._state.wait_for(lambda: self._done_count >= request, RESPONSE_TIMEOUT_S)
            fault = self._fault
        if not is_done:
            raise StoreUnavailableError(f"Kafka at {self._broker_name} does not accept offsets")
        if fault is not None:
            raise explain_error(fault, self._broker_name)

    def wait_for_request(self, duration_max_s: float) -> None:
        """Wait until a thread requests a commit, for at most `duration_max_s` seconds."""
        self._has_request.wait(duration_max_s)

    def run_commits(
        self,
        consumer: Consumer,
        state: ReaderState,
        changed_partitions: Collection[Partition] = (),
    ) -> None:
        """Commit the offsets of all requested partitions and of `changed_partitions`, whose change
        no thread waits for. Then wake waiting threads.

        Only the polling thread calls this method, with its Kafka client. After an error, the
        partitions stay requested.
        """
        with self._state:
            self._has_request.clear()
            request_count, to_commit = (
                self._request_count,
                self._requested.union(changed_partitions),
            )
            if request_count == self._done_count and not changed_partitions:
                return
            self._requested = set()
            offsets = state.list_offsets(to_commit)
        fault = _commit_offsets(consumer, offsets) if offsets else None
        with self._state:
            self._fault, self._done_count = fault, request_count
            if fault is None:
                state.confirm(offsets)
            else:
                self._requested |= to_commit
            self._state.notify_all()


def _commit_offsets(consumer: Consumer, offsets: list[TopicPartition]) -> KafkaError | None:
    """Commit offsets to Kafka. Return the first error, or None.

    Errors are ignored if they mean that the partition is assigned to another consumer now.
    """
    try:
        results = consumer.commit(offsets=offsets, asynchronous=False) or []
    except KafkaException as error:
        faults = [error.args[0]]
    else:
        faults = [partition_result.error for partition_result in results if partition_result.error]
    return next((fault for fault in faults if fault.code() not in REBALANCE_CODES), None)


# A group member polls in its own thread, however long a step takes. It pauses partitions while
# enough messages are buffered, so that it never has to stop polling.


POLL_S, POLL_BUSY_S, POLL_COUNT = 0.05, 0.005, 200
BUSY_S = 2.0
PAUSE_AFTER_S = 1.0
"""Seconds for which the buffer must be full before partitions are paused.

The Kafka client discards what it has fetched of a paused partition, and fetches it again later.
"""
PROBE_S = 1.0
COMMIT_SKIPPED_EVERY_S = 0.5
CONSUMER_SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "partition.assignment.strategy": "cooperative-sticky",
    "queued.max.messages.kbytes": 16 * 1024,
    "fetch.message.max.bytes": 4 * 1024 * 1024,
    "fetch.wait.max.ms": 50,
}

logger = logging.getLogger(__name__)


class Poller:
    """Member of a Kafka consumer group, with its own thread and client.

    The thread reads records of `topics` into `state` and commits the offsets of settled messages.

    - `is_assigned`: whether Kafka has assigned partitions (perhaps none) to this member.
    - `is_behind`: whether Kafka may have records that this member should read now. Paused
      partitions do not count.
    - `fault`: error because of which Kafka counts as unavailable; None if Kafka answers.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        group: str,
        topics: Sequence[str],
        state: ReaderState,
        broker_name: str,
    ) -> None:
        self.topics = frozenset(topics)
        self.commits = PendingCommits(state.lock, broker_name)
        self.is_assigned = False
        self.is_behind = True
        self.fault: KafkaError | None = None
        self._state = state
        self._group = group
        self._paused: set[Partition] = set()
        self._closing = False
        self._suspected_error: KafkaError | None = None
        self._busy_until = self._probe_after = self._skipped_after = self._full_since = 0.0
        with translate_errors(broker_name):
            group_settings = {"group.id": group, "error_cb": self._handle_error}
            self._consumer = Consumer({**settings, **CONSUMER_SETTINGS, **group_settings})
            self._consumer.subscribe(
                list(topics),
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_revoke,
            )
        self._thread = threading.Thread(target=self._run, name=f"kafka {group}", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether the polling thread reads no more, because of a fatal error or because it has
        ended.

        The caller must then create a new Poller.
        """
        fatal = self.fault is not None and self.fault.fatal()
        return fatal or not self._thread.is_alive()

    def stop(self) -> None:
        """Ask the polling thread to leave the consumer group, without waiting. `close` waits for
        the thread.
        """
        self._closing = True

    def close(self) -> None:
        """Leave the consumer group, and wait at most `RESPONSE_TIMEOUT_S` seconds for the polling
        thread.

        Kafka then delivers the unsettled messages to other members of the group immediately.
        """
        self.stop()
        self._thread.join(RESPONSE_TIMEOUT_S)

    def _run(self) -> None:
        while not self._closing:
            try:
                self._poll_once()
            except (KafkaException, RuntimeError) as error:
                logger.warning("reading %s: %s", self._group, error)
                time.sleep(POLL_S)
        changed_partitions = self._state.take_skipped(self.topics) | self._state.withdraw(
            self.topics
        )
        self.commits.run_commits(self._consumer, self._state, changed_partitions)
        self._consumer.close()

    def _poll_once(self) -> None:
        now = time.monotonic()
        skipped_partitions: set[Partition] = set()
        if now >= self._skipped_after:
            # Nobody settles skipped messages; uncommitted, they would count as waiting.
            self._skipped_after = now + COMMIT_SKIPPED_EVERY_S
            skipped_partitions = self._state.take_skipped(self.topics)
        self.commits.run_commits(self._consumer, self._state, skipped_partitions)
        records = self._consume(now)
        if records:
            self._busy_until = now + BUSY_S
        with self._state.lock:
            self._state.read(records)
            self._update_state(now)
        if self._suspected_error is not None and now >= self._probe_after:
            self._probe_after = now + PROBE_S
            self._probe(self._suspected_error)

    def _consume(self, now: float) -> list[KafkaRecord]:
        """Return the next records, or an empty list after a short wait.

        While this process has messages, a thread will request a commit soon. Then this method waits
        for that request, because a thread that waits for records in the Kafka client cannot be
        woken.
        """
        if not self._state.has_messages:
            records = self._consumer.consume(1, POLL_S)
            return records + self._consumer.consume(POLL_COUNT, 0) if records else []
        is_full = self._state.is_full(is_paused=False)
        is_briefly_full = is_full and now < self._full_since + PAUSE_AFTER_S
        records = [] if is_briefly_full else self._consumer.consume(POLL_COUNT, 0)
        if not records:
            self.commits.wait_for_request(POLL_BUSY_S if now < self._busy_until else POLL_S)
        return records

    def _update_state(self, now: float) -> None:
        """Update whether Kafka has more records for this reader, and pause or resume partitions.

        Partitions are paused while too many ready messages are buffered for a while, or too many
        delayed messages of their topic.
        """
        positions = self._state.get_positions(self.topics)
        self.is_behind = not self.is_assigned or any(
            partition not in self._paused and self._has_more(position, partition)
            for partition, position in positions.items()
        )
        if not self._state.is_full(is_paused=False):
            self._full_since = now
        is_long_full = now >= self._full_since + PAUSE_AFTER_S
        is_half_full = self._state.is_full(is_paused=True)
        to_pause = {
            partition
            for partition in positions
            if (is_half_full if partition in self._paused else is_long_full)
            or self._state.is_crowded(partition[0], is_paused=partition in self._paused)
        }
        changes: list[tuple[set[Partition], Callable[[list[TopicPartition]], None]]] = [
            (to_pause - self._paused, self._consumer.pause),
            ((self._paused - to_pause) & set(positions), self._consumer.resume),
        ]
        for partitions, change in changes:
            if partitions:
                change([TopicPartition(*partition) for partition in partitions])
        self._paused = to_pause

    def _has_more(self, position: int, partition: Partition) -> bool:
        """Return whether a partition has records at or after the offset `position`.

        Uses the end offset that the Kafka client has cached, without a request. Returns True if the
        client knows no end offset yet.
        """
        low_high = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        high = low_high[1] if low_high else -1
        return high < 0 or position < high

    def _probe(self, suspected_error: KafkaError) -> None:
        """Check with a request whether Kafka answers, and set or clear `fault`.

        A `suspected_error` that the client reported becomes the `fault` only if the request fails
        or the error is fatal.
        """
        try:
            self._consumer.list_topics(next(iter(self.topics)), timeout=PROBE_S)
        except KafkaException:
            fault: KafkaError | None = suspected_error
        else:
            fault = suspected_error if suspected_error.fatal() else None
        with self._state.lock:
            self._suspected_error = self.fault = fault
            self._state.lock.notify_all()

    def _handle_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.fatal():
            self._suspected_error = error

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            committed_partitions = fetch_committed(consumer, partitions) if partitions else []
        except KafkaException as error:
            logger.warning("cannot get the offsets of %s: %s", self._group, error)
            committed_partitions = partitions
        else:
            # Without explicit offsets, the client requests them once more, and never reads the
            # partition if another broker takes over the group meanwhile (librdkafka issue 5586).
            consumer.incremental_assign(
                [_choose_start(partition) for partition in committed_partitions]
            )
        with self._state.lock:
            self.is_assigned = True
            self._state.assign(committed_partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        revoked_partitions = {(partition.topic, partition.partition) for partition in partitions}
        # The client would keep the partition paused if it were assigned here again.
        paused_partitions = [
            TopicPartition(*partition) for partition in revoked_partitions & self._paused
        ]
        self._paused -= revoked_partitions
        if paused_partitions:
            consumer.resume(paused_partitions)
        self._state.revoke(revoked_partitions)


def _choose_start(committed_partition: TopicPartition) -> TopicPartition:
    """Return the Kafka partition with the offset to read first: the committed one, or the earliest
    if no offset is committed.
    """
    offset = committed_partition.offset if committed_partition.offset >= 0 else OFFSET_BEGINNING
    return TopicPartition(committed_partition.topic, committed_partition.partition, offset)


JOIN_MAX_S, IN_FLIGHT_S = 20.0, 2.0


class Reader:
    """Reads the messages of one queue address from Kafka.

    - `shares`: Kafka topics to read, by name of the consumer group that reads them. There are
      several groups because Kafka distributes the partitions of a group evenly over its members,
      whatever their topic. If one group read all topics, one process could get all partitions of
      the busy topic.
    - `delayed`: Kafka topics of delayed messages, which are handed out only when they are due.
    - `selectors`: name of the pipeline whose messages are handed out, by topic; '' hands out all
      messages.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        address: str,
        shares: Mapping[str, Sequence[str]],
        delay_topics: Sequence[str],
        broker_name: str,
        selectors: Mapping[str, str] = NO_SELECTORS,
    ) -> None:
        self._broker_name = broker_name
        self._state = ReaderState(address, delay_topics, selectors)
        self._pollers = [
            Poller(settings, group, topics, self._state, broker_name)
            for group, topics in shares.items()
        ]

    @property
    def has_ended(self) -> bool:
        """Whether this reader reads no more, because one of its polling threads has stopped.

        The caller must then create a new Reader.
        """
        return any(poller.has_ended for poller in self._pollers)

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Lease and return up to `count_max` messages; wait at most `wait_s` seconds for the first.

        The first call waits up to `JOIN_MAX_S` seconds until this process has joined its consumer
        groups. If Kafka has unread records at the end of the wait, `take` waits up to `IN_FLIGHT_S`
        seconds longer. Raises StoreUnavailableError if Kafka does not answer, and
        ConfigurationError if it refuses access.
        """
        deadline = time.monotonic() + wait_s
        with self._state.lock:
            self._state.lock.wait_for(lambda: self._has_joined or self._fault, JOIN_MAX_S)
            if not self._state.wait_until_ready(lambda: self._fault, deadline) and self._is_behind:
                in_flight_deadline = time.monotonic() + IN_FLIGHT_S
                self._state.wait_until_ready(
                    lambda: self._fault or not self._is_behind, in_flight_deadline
                )
            if self._fault is not None:
                raise explain_error(self._fault, self._broker_name)
            deliveries, uncommitted_partitions = self._state.take(count_max)
        try:
            # Commit before handing out, so that a message that crashes this process is counted as
            # delivered.
            self._commit(uncommitted_partitions)
        except BaseException:
            self._state.release(deliveries, increment=0)
            raise
        return deliveries

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages and commit their offsets to Kafka. Retry commits that failed before.

        If no other messages are leased, the same commit announces the messages of the next `take`.
        Messages are skipped if their partition is assigned to another consumer by now. Raises
        StoreUnavailableError if Kafka does not answer.
        """
        moved_partitions = self._state.settle(deliveries)
        with self._state.lock:
            # Retry commits that failed before.
            outstanding = [poller.commits.outstanding for poller in self._pollers]
        announced_partitions = self._state.announce() if moved_partitions else set()
        self._commit(moved_partitions.union(announced_partitions, *outstanding))

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Make leased messages ready again in this process, and count one more redelivery of each
        message.
        """
        self._state.release(deliveries, increment=1)

    def filter_owned(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Return the messages of `deliveries` that are still leased and in partitions assigned to
        this process.
        """
        return self._state.filter_in_hand(deliveries)

    def get_positions(self, topic: str) -> dict[Partition, int]:
        """Return the offset to read next in each partition of a Kafka topic that is assigned to
        this process.
        """
        return self._state.get_positions([topic])

    def get_counts(self) -> BufferedCounts:
        """Return how many messages this process has leased, buffered or settled, to correct the lag
        of its group.

        The lag of a Kafka consumer group is computed from committed offsets alone.
        """
        return self._state.get_counts()

    def close(self) -> None:
        """Leave all Kafka consumer groups. Kafka then delivers unsettled messages to other members
        immediately.
        """
        for poller in self._pollers:
            poller.stop()
        for poller in self._pollers:
            poller.close()

    def _commit(self, partitions: Iterable[Partition]) -> None:
        requested_partitions = set(partitions)
        for poller in self._pollers:
            poller.commits.commit(
                {partition for partition in requested_partitions if partition[0] in poller.topics}
            )

    @property
    def _has_joined(self) -> bool:
        return all(poller.is_assigned for poller in self._pollers)

    @property
    def _is_behind(self) -> bool:
        return any(poller.is_behind for poller in self._pollers)

    @property
    def _fault(self) -> KafkaError | None:
        return next((poller.fault for poller in self._pollers if poller.fault is not None), None)
