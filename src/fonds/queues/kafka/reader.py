"""Reading one address: what its pollers fetched is handed out, and committed once it is settled."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError

from fonds.model.message import Delivery
from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.faults import explained
from fonds.queues.kafka.holding import NO_SELECTORS, Counts, Holding, partitions_of
from fonds.queues.kafka.poller import Poller

JOIN_MAX_S, ON_THE_WAY_S = 20.0, 2.0


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
        where: str,
        selectors: Mapping[str, str] = NO_SELECTORS,
    ) -> None:
        self._where = where
        self._holding = Holding(address, delayed, selectors)
        self._pollers = [
            Poller(settings, group, topics, self._holding, where)
            for group, topics in shares.items()
        ]

    @property
    def ended(self) -> bool:
        """Whether it reads no more, and another one must be opened."""
        return any(one.ended for one in self._pollers)

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first.

        The first call waits until the group has let us in. Raises StoreUnavailableError when Kafka does
        not answer.
        """
        deadline = time.monotonic() + wait_s
        with self._holding.lock:
            self._holding.lock.wait_for(lambda: self._joined or self._fault, JOIN_MAX_S)
            if not self._holding.wait_for_some(lambda: self._fault, deadline) and self._behind:
                on_the_way = time.monotonic() + ON_THE_WAY_S
                self._holding.wait_for_some(lambda: self._fault or not self._behind, on_the_way)
            if self._fault is not None:
                raise explained(self._fault, self._where)
            taken = self._holding.take(count_max)
        try:
            # Written down before they are used: should a message end this process, that is known.
            self._commit(partitions_of(taken))
        except BaseException:
            self._holding.give_back(taken, counted=0)
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
        self._holding.give_back(deliveries, counted=1)

    def keep(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those of partitions that are ours as yet."""
        return self._holding.keep(deliveries)

    def positions(self, topic: str) -> dict[Partition, int]:
        """Up to where the partitions of a topic that are ours were read."""
        return self._holding.positions([topic])

    def counts(self) -> Counts:
        """What the lag of the group does not tell."""
        return self._holding.counts()

    def close(self) -> None:
        """Leave the group: what is in hand goes to others at once."""
        for one in self._pollers:
            one.stop()
        for one in self._pollers:
            one.close()

    def _commit(self, partitions: Iterable[Partition]) -> None:
        wanted = set(partitions)
        for poller in self._pollers:
            poller.commits.ask({one for one in wanted if one[0] in poller.topics})

    @property
    def _joined(self) -> bool:
        return all(one.assigned for one in self._pollers)

    @property
    def _behind(self) -> bool:
        return any(one.behind for one in self._pollers)

    @property
    def _fault(self) -> KafkaError | None:
        return next((one.fault for one in self._pollers if one.fault is not None), None)
