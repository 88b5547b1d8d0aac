"""One member of a consumer group, in a thread of its own that goes on polling whatever the steps do.

Partitions rest while enough waits, so that a poll never has to.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.commits import Commits
from fonds.queues.kafka.faults import translated
from fonds.queues.kafka.holding import Holding

POLL_S, POLL_BUSY_S, POLL_COUNT = 0.05, 0.005, 200
BUSY_S = 2.0
ANSWER_MAX_S = 20.0
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
        holding: Holding,
        where: str,
    ) -> None:
        self.topics = frozenset(topics)
        self.commits = Commits(holding.lock, where)
        self.assigned = False
        self.behind = True
        self.fault: KafkaError | None = None
        self._holding = holding
        self._group = group
        self._resting: set[Partition] = set()
        self._closing = False
        self._suspicion: KafkaError | None = None
        self._busy_until = self._probe_after = self._passed_after = 0.0
        with translated(where):
            own = {"group.id": group, "error_cb": self._noticed}
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
    def ended(self) -> bool:
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
                self._turn()
            except (KafkaException, RuntimeError) as error:
                logger.warning("reading %s: %s", self._group, error)
                time.sleep(POLL_S)
        passed = self._holding.passed(self.topics)
        self.commits.answer(self._consumer, self._holding.offsets, passed)
        self._consumer.close()

    def _turn(self) -> None:
        now = time.monotonic()
        passed: set[Partition] = set()
        if now >= self._passed_after:
            # What is passed over is settled by nobody, and would look as if it waited.
            self._passed_after = now + PASSED_EVERY_S
            passed = self._holding.passed(self.topics)
        self.commits.answer(self._consumer, self._holding.offsets, passed)
        busy = now < self._busy_until
        records = self._consumer.consume(POLL_COUNT, POLL_BUSY_S if busy else POLL_S)
        if records or self._holding.some_in_hand:
            self._busy_until = now + BUSY_S
        with self._holding.lock:
            self._holding.read(records)
            self._look_around()
        if self._suspicion is not None and now >= self._probe_after:
            self._probe_after = now + PROBE_S
            self._probe(self._suspicion)

    def _look_around(self) -> None:
        """Note whether there is more than was read, and let partitions rest or go on."""
        positions = self._holding.positions(self.topics)
        self.behind = not self.assigned or any(
            one not in self._resting and self._more_than(position, one)
            for one, position in positions.items()
        )
        wanted = {
            one for one in positions if self._holding.crowded(one[0], resting=one in self._resting)
        }
        changes: list[tuple[set[Partition], Callable[[list[TopicPartition]], None]]] = [
            (wanted - self._resting, self._consumer.pause),
            ((self._resting - wanted) & set(positions), self._consumer.resume),
        ]
        for partitions, change in changes:
            if partitions:
                change([TopicPartition(*one) for one in partitions])
        self._resting = wanted

    def _more_than(self, position: int, partition: Partition) -> bool:
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

    def _noticed(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.fatal():
            self._suspicion = error

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            committed = consumer.committed(partitions, timeout=ANSWER_MAX_S) if partitions else []
        except KafkaException as error:
            logger.warning("offsets of %s are not known: %s", self._group, error)
            committed = partitions
        with self._holding.lock:
            self.assigned = True
            self._holding.assign(committed)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {(one.topic, one.partition) for one in partitions}
        # The client would have it rest for ever should it come back.
        rested = [TopicPartition(*one) for one in gone & self._resting]
        self._resting -= gone
        if rested:
            consumer.resume(rested)
        self._holding.revoke(gone)
