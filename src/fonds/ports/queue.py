"""Interfaces of message queues: messages by topic and subscription, delivered at least once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from fonds.model.message import NO_TOPICS

if TYPE_CHECKING:
    from fonds.model.message import (
        Delivery,
        Depth,
        Message,
        Subscription,
        TopicTraits,
    )


class Queue(Protocol):
    """Interface of queues. A message is delivered at least once, and again until it is settled.

    Order is roughly first in, first out within a key. There are no priorities. An address is a
    topic, or one of a subscription's own addresses (`incoming`, `delay`, `quarantine`). A message
    put to a topic is copied to every subscription that selects the message. Putting a message whose
    id already waits at an address may replace the waiting one or add a second copy. So readers must
    be idempotent by message id. Headers that a broker adds for itself are never returned.
    """

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Store messages at an address durably. After an error, some of them may have been stored.

        `delay_s`: seconds to wait before delivery, of any length. A value above 0 is allowed only
            for a subscription's `incoming` address; the messages wait in its `delay` address. They
            never arrive early. While readers are active they arrive at most about two seconds late.

        A message put to a topic is kept if a subscription selects it or the backend keeps logs.
        Otherwise it is dropped. Raises ConfigurationError for an address that was never declared.
        """

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Receive up to `count_max` messages from an address.

        Waits at most `wait_s` seconds for the first message; returns [] if none came. A message
        that is not settled is delivered again: at once when the process ends, otherwise when its
        lease expires in the backend.
        """

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge received messages so that they are not delivered again.

        Messages may be settled in any order. If the process is killed afterwards, all messages that
        it had not settled are delivered again. A few settled ones may be delivered again too, if
        the backend had no room to record them.
        """

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Return received but unfinished messages to the queue.

        They can be received again at once, with the count `redelivered` one higher.
        """

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Renew the leases of received messages that the caller still works on.

        Return the messages whose lease the caller still holds. The other messages were settled or
        released, or are delivered to another reader, which repeats the work.
        """

    def get_depth(self, subscription: Subscription) -> Depth:
        """Return the numbers of ready, received, delayed and quarantined messages of a
        subscription.

        The numbers are exact on one machine and estimates on brokers.
        """


class Topics(Protocol):
    """Interface for declaring the topics and subscriptions that a process uses on a queue.

    Only the code that sets up a home (the folder of a library) declares topics.
    """

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Create the topics and addresses of subscriptions; repeating it is harmless.

        Each open handle of a queue declares what it uses. `topics`: further topics that no step of
        Fonds subscribes to. An existing topic with other traits is used unchanged. A subscription
        keeps its topic and pipeline forever: a subscription to another topic needs another name.
        Raises ConfigurationError for names that the backend cannot store.
        """


class TopicQueue(Queue, Topics, Protocol):
    """Interface of a complete queue: messages and topics. Every queue backend implements it."""

    def get_message_max_bytes(self, address: str) -> int:
        """Return the maximum size in bytes of a message at an address, with body, key and
        headers.
        """
