"""Queue interface: messages by topic and subscription, delivered at least once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from fonds.model.message import (
    NO_TOPICS,
    Delivery,
    Depth,
    Message,
    Subscription,
    TopicTraits,
)


class Queue(Protocol):
    """Streams of messages. A message is delivered at least once, until it is settled.

    Order is roughly first in, first out within a key. There are no priorities. An address is a
    topic (every subscription that selects a message receives a copy), or one of a subscription's
    own addresses (`incoming`, `delay`, `quarantine`). Putting a message whose id already waits at
    an address may replace it or add a second copy: readers are idempotent by id. Headers that a
    broker adds for itself are never returned.
    """

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Store messages durably. On an error, some of `messages` may have been stored.

        `delay_s` > 0, of any length, is allowed only for a subscription's `incoming`: the messages
        wait in its `delay`. They never arrive early. While readers are active they arrive about two
        seconds late at most. A message put to a topic is kept if a subscription selects it or the
        backend keeps logs; otherwise it is dropped. Raises ConfigurationError for an address that
        was never declared.
        """

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Return up to `count_max` messages.

        Wait at most `wait_s` seconds for the first, [] if none came. A message that is not settled
        is delivered again: at once when the process ends, otherwise when the backend's lease
        expires.
        """

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge messages so that they are not delivered again.

        Received messages may be settled in any order. If the process is killed afterwards, all
        messages it had not settled are delivered again. A few settled ones may be delivered again
        with them if the backend had no room to record them.
        """

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Return unfinished messages to the queue.

        They are ready again, with `redelivered` one higher.
        """

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Renew the lease of messages that are still being worked on.

        Returns those that this reader still holds. The others were settled or released, or are
        delivered elsewhere; work on those is done twice.
        """

    def get_depth(self, subscription: Subscription) -> Depth:
        """Return the number of waiting messages; exact on one machine, an estimate on brokers."""


class Topics(Protocol):
    """Topics and addresses of a queue. Only the code that sets up a home declares them."""

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Create topics and addresses; repeating it is harmless. Each handle declares what it uses.

        `topics` are topics that no Fonds step subscribes to, read by other programs or by none. An
        existing topic with other traits is used unchanged. A subscription keeps its topic and
        pipeline for good: a subscription to another topic needs another name. Raises
        ConfigurationError for names that the backend cannot store.
        """


class TopicQueue(Queue, Topics, Protocol):
    """Queue with its topics, as every backend implements it."""

    def get_message_max_bytes(self, address: str) -> int:
        """Return the size in bytes of the largest message this address accepts: body, key and
        headers.
        """
