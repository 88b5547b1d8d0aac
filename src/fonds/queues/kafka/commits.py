"""Committing offsets for those who settle: they ask and wait, the thread that polls does it.

The client lets no two threads in at once, so that a commit of another thread would wait for a poll.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from fonds.model.errors import StoreUnavailableError
from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.faults import MOVED, explained

ANSWER_MAX_S = 20.0
OffsetsOf = Callable[[Iterable[Partition]], list[TopicPartition]]


class Commits:
    """Partitions whose offsets are to be committed, and how it went; shares its reader's lock."""

    def __init__(self, state: threading.Condition, where: str) -> None:
        self._state, self._where = state, where
        self._wanted: set[Partition] = set()
        self._asked = self._done = 0
        self._fault: KafkaError | None = None

    @property
    def outstanding(self) -> set[Partition]:
        """Those that could not be committed when it was last tried, or not yet; the lock is held."""
        return set(self._wanted)

    def ask(self, partitions: Iterable[Partition]) -> None:
        """Return when all are committed.

        Raises StoreUnavailableError, and ConfigurationError when Kafka refuses.
        """
        wanted = set(partitions)
        if not wanted:
            return
        with self._state:
            self._wanted |= wanted
            request = self._asked = self._asked + 1
            done = self._state.wait_for(lambda: self._done >= request, ANSWER_MAX_S)
            fault = self._fault
        if not done:
            raise StoreUnavailableError(f"Kafka at {self._where} takes no offsets")
        if fault is not None:
            raise explained(fault, self._where)

    def answer(
        self, consumer: Consumer, offsets_of: OffsetsOf, passed: Collection[Partition] = ()
    ) -> None:
        """Commit what was asked for since the last time, and for `passed`; in the thread that polls."""
        with self._state:
            asked, wanted = self._asked, self._wanted.union(passed)
            if asked == self._done and not passed:
                return
            self._wanted = set()
            offsets = offsets_of(wanted)
        fault = _committed(consumer, offsets) if offsets else None
        with self._state:
            self._fault, self._done = fault, asked
            if fault is not None:
                self._wanted |= wanted
            self._state.notify_all()


def _committed(consumer: Consumer, offsets: list[TopicPartition]) -> KafkaError | None:
    """Commit; what went wrong, but for partitions that have gone to others."""
    try:
        results = consumer.commit(offsets=offsets, asynchronous=False) or []
    except KafkaException as error:
        faults = [error.args[0]]
    else:
        faults = [one.error for one in results if one.error]
    return next((fault for fault in faults if fault.code() not in MOVED), None)
