"""Reading one address: what its pollers fetched is handed out, and committed once it is settled."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Delivery
from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.errors import REBALANCE_CODES, explain_error, translate_errors
from fonds.queues.kafka.partitions import NO_SELECTORS, BufferedCounts, ReaderState, list_partitions

# Committing offsets for those who settle: they ask and wait, the thread that polls does it.
#
# The client lets no two threads in at once, so that a commit of another thread would wait for a poll.


ANSWER_MAX_S = 20.0
ListOffsets = Callable[[Iterable[Partition]], list[TopicPartition]]


class PendingCommits:
    """Partitions whose offsets are to be committed, and how it went; shares its reader's lock."""

    def __init__(self, state: threading.Condition, broker_name: str) -> None:
        self._state, self._broker_name = state, broker_name
        self._requested: set[Partition] = set()
        self._request_count = self._done_count = 0
        self._fault: KafkaError | None = None

    @property
    def outstanding(self) -> set[Partition]:
        """Those that could not be committed when it was last tried, or not yet; the lock is held."""
        return set(self._requested)

    def commit(self, partitions: Iterable[Partition]) -> None:
        """Return when all are committed.

        Raises StoreUnavailableError, and ConfigurationError when Kafka refuses.
        """
        wanted = set(partitions)
        if not wanted:
            return
        with self._state:
            self._requested |= wanted
            request = self._request_count = self._request_count + 1
            done = self._state.wait_for(lambda: self._done_count >= request, ANSWER_MAX_S)
            fault = self._fault
        if not done:
            raise StoreUnavailableError(f"Kafka at {self._broker_name} takes no offsets")
        if fault is not None:
            raise explain_error(fault, self._broker_name)

    def run_commits(
        self, consumer: Consumer, list_offsets: ListOffsets, skipped: Collection[Partition] = ()
    ) -> None:
        """Commit what was asked for since the last time, and for `skipped`; in the thread that polls."""
        with self._state:
            asked, wanted = self._request_count, self._requested.union(skipped)
            if asked == self._done_count and not skipped:
                return
            self._requested = set()
            offsets = list_offsets(wanted)
        fault = _commit_offsets(consumer, offsets) if offsets else None
        with self._state:
            self._fault, self._done_count = fault, asked
            if fault is not None:
                self._requested |= wanted
            self._state.notify_all()


def _commit_offsets(consumer: Consumer, offsets: list[TopicPartition]) -> KafkaError | None:
    """Commit; what went wrong, but for partitions that have gone to others."""
    try:
        results = consumer.commit(offsets=offsets, asynchronous=False) or []
    except KafkaException as error:
        faults = [error.args[0]]
    else:
        faults = [one.error for one in results if one.error]
    return next((fault for fault in faults if fault.code() not in REBALANCE_CODES), None)


# One member of a consumer group, in a thread of its own that goes on polling whatever the steps do.
#
# Partitions rest while enough waits, so that a poll never has to.


POLL_S, POLL_BUSY_S, POLL_COUNT = 0.05, 0.005, 200
BUSY_S = 2.0
PROBE_S = 1.0
PASSED_EVERY_S = 0.5
CONSUMING: Mapping[str, Any] = {
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
    """Fills `holding` with the messages of `topics`, and commits what of them is settled."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        group: str,
        topics: Sequence[str],
        holding: ReaderState,
        broker_name: str,
    ) -> None:
        self.topics = frozenset(topics)
        self.commits = PendingCommits(holding.lock, broker_name)
        self.is_assigned = False
        self.is_behind = True
        self.fault: KafkaError | None = None
        self._holding = holding
        self._group = group
        self._resting: set[Partition] = set()
        self._closing = False
        self._suspicion: KafkaError | None = None
        self._busy_until = self._probe_after = self._passed_after = 0.0
        with translate_errors(broker_name):
            own = {"group.id": group, "error_cb": self._handle_error}
            self._consumer = Consumer({**settings, **CONSUMING, **own})
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
        """Whether it polls no more, and another one must take its place."""
        fatal = self.fault is not None and self.fault.fatal()
        return fatal or not self._thread.is_alive()

    def stop(self) -> None:
        """Have it leave the group as soon as it can; see `close`."""
        self._closing = True

    def close(self) -> None:
        """Leave the group, so that what is in hand goes to others at once."""
        self.stop()
        self._thread.join(ANSWER_MAX_S)

    def _run(self) -> None:
        while not self._closing:
            try:
                self._poll_once()
            except (KafkaException, RuntimeError) as error:
                logger.warning("reading %s: %s", self._group, error)
                time.sleep(POLL_S)
        passed = self._holding.take_passed(self.topics)
        self.commits.run_commits(self._consumer, self._holding.list_offsets, passed)
        self._consumer.close()

    def _poll_once(self) -> None:
        now = time.monotonic()
        passed: set[Partition] = set()
        if now >= self._passed_after:
            # What is passed over is settled by nobody, and would look as if it waited.
            self._passed_after = now + PASSED_EVERY_S
            passed = self._holding.take_passed(self.topics)
        self.commits.run_commits(self._consumer, self._holding.list_offsets, passed)
        busy = now < self._busy_until
        records = self._consumer.consume(POLL_COUNT, POLL_BUSY_S if busy else POLL_S)
        if records or self._holding.has_in_hand:
            self._busy_until = now + BUSY_S
        with self._holding.lock:
            self._holding.read(records)
            self._update_state()
        if self._suspicion is not None and now >= self._probe_after:
            self._probe_after = now + PROBE_S
            self._probe(self._suspicion)

    def _update_state(self) -> None:
        """Note whether there is more than was read, and let partitions rest or go on."""
        positions = self._holding.get_positions(self.topics)
        self.is_behind = not self.is_assigned or any(
            one not in self._resting and self._has_more(position, one)
            for one, position in positions.items()
        )
        wanted = {
            one
            for one in positions
            if self._holding.is_crowded(one[0], resting=one in self._resting)
        }
        changes: list[tuple[set[Partition], Callable[[list[TopicPartition]], None]]] = [
            (wanted - self._resting, self._consumer.pause),
            ((self._resting - wanted) & set(positions), self._consumer.resume),
        ]
        for partitions, change in changes:
            if partitions:
                change([TopicPartition(*one) for one in partitions])
        self._resting = wanted

    def _has_more(self, position: int, partition: Partition) -> bool:
        """Whether the partition goes on behind `position`, as far as is known without asking."""
        low_high = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        high = low_high[1] if low_high else -1
        return high < 0 or position < high

    def _probe(self, suspicion: KafkaError) -> None:
        """Find out whether Kafka answers; it is only said to be away when it does not."""
        try:
            self._consumer.list_topics(next(iter(self.topics)), timeout=PROBE_S)
        except KafkaException:
            fault: KafkaError | None = suspicion
        else:
            fault = suspicion if suspicion.fatal() else None
        with self._holding.lock:
            self._suspicion = self.fault = fault
            self._holding.lock.notify_all()

    def _handle_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.fatal():
            self._suspicion = error

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            committed = consumer.committed(partitions, timeout=ANSWER_MAX_S) if partitions else []
        except KafkaException as error:
            logger.warning("offsets of %s are not known: %s", self._group, error)
            committed = partitions
        with self._holding.lock:
            self.is_assigned = True
            self._holding.assign(committed)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {(one.topic, one.partition) for one in partitions}
        # The client would have it rest for ever should it come back.
        rested = [TopicPartition(*one) for one in gone & self._resting]
        self._resting -= gone
        if rested:
            consumer.resume(rested)
        self._holding.revoke(gone)


JOIN_MAX_S, IN_FLIGHT_S = 20.0, 2.0


class Reader:
    """The messages of an address; those of `delayed` are held back until they are due.

    `shares` are the topics by the group that reads them. A group gives each member as many partitions
    as the others, whatever of: were all topics read by one, some process would get every partition of
    the busy topic, and another those in which nothing happens.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        address: str,
        shares: Mapping[str, Sequence[str]],
        delayed: Sequence[str],
        broker_name: str,
        selectors: Mapping[str, str] = NO_SELECTORS,
    ) -> None:
        self._broker_name = broker_name
        self._holding = ReaderState(address, delayed, selectors)
        self._pollers = [
            Poller(settings, group, topics, self._holding, broker_name)
            for group, topics in shares.items()
        ]

    @property
    def has_ended(self) -> bool:
        """Whether it reads no more, and another one must be opened."""
        return any(one.has_ended for one in self._pollers)

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first.

        The first call waits until the group has let us in. Raises StoreUnavailableError when Kafka does
        not answer.
        """
        deadline = time.monotonic() + wait_s
        with self._holding.lock:
            self._holding.lock.wait_for(lambda: self._has_joined or self._fault, JOIN_MAX_S)
            if (
                not self._holding.wait_until_ready(lambda: self._fault, deadline)
                and self._is_behind
            ):
                on_the_way = time.monotonic() + IN_FLIGHT_S
                self._holding.wait_until_ready(
                    lambda: self._fault or not self._is_behind, on_the_way
                )
            if self._fault is not None:
                raise explain_error(self._fault, self._broker_name)
            taken = self._holding.take(count_max)
        try:
            # Written down before they are used: should a message end this process, that is known.
            self._commit(list_partitions(taken))
        except BaseException:
            self._holding.release(taken, increment=0)
            raise
        return taken

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Finished; those of partitions that went to others are passed over."""
        moved = self._holding.settle(deliveries)
        with self._holding.lock:
            # What could not be committed before is asked for again.
            outstanding = [one.commits.outstanding for one in self._pollers]
        self._commit(moved.union(*outstanding))

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Ready again here, counted once more."""
        self._holding.release(deliveries, increment=1)

    def filter_owned(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those of partitions that are ours as yet."""
        return self._holding.filter_in_hand(deliveries)

    def get_positions(self, topic: str) -> dict[Partition, int]:
        """Up to where the partitions of a topic that are ours were read."""
        return self._holding.get_positions([topic])

    def get_counts(self) -> BufferedCounts:
        """What the lag of the group does not tell."""
        return self._holding.get_counts()

    def close(self) -> None:
        """Leave the group: what is in hand goes to others at once."""
        for one in self._pollers:
            one.stop()
        for one in self._pollers:
            one.close()

    def _commit(self, partitions: Iterable[Partition]) -> None:
        wanted = set(partitions)
        for poller in self._pollers:
            poller.commits.commit({one for one in wanted if one[0] in poller.topics})

    @property
    def _has_joined(self) -> bool:
        return all(one.is_assigned for one in self._pollers)

    @property
    def _is_behind(self) -> bool:
        return any(one.is_behind for one in self._pollers)

    @property
    def _fault(self) -> KafkaError | None:
        return next((one.fault for one in self._pollers if one.fault is not None), None)
