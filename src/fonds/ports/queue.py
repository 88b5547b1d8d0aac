"""What a queue promises: messages by topic and subscription, at least once."""

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
    """Streams of messages. At least once: a message is handed out until it is settled.

    Order: roughly first in, first out within a key; no priorities. An address is a topic (every
    subscription that selects a message receives a copy), or one of a subscription's own (`incoming`,
    `delay`, `quarantine`). Putting a message whose id already waits at an address may replace it or add
    a second copy: readers are idempotent by id. Headers a broker adds for itself are never shown.
    """

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Durable when it returns: all of `messages` or, on an error, possibly some of them.

        `delay_s` > 0, of any length, is allowed for a subscription's `incoming` only: the messages wait
        in its `delay`. They never come early, and while readers are about at most some two seconds late.
        What is put to a topic is kept where a subscription selects it or the backend keeps logs, and
        gone elsewhere. Raises ConfigurationError for an address that was never declared.
        """

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first; [] when none came.

        What is never settled comes back: at once when the process ends, else after the backend's lease.
        """

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """The messages are finished here and do not come again; any of those in hand, in any order.

        A process killed afterwards brings back all it had not settled. Where more is known of a message
        than fits the backend's books, a few settled ones may come with them.
        """

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give messages back unfinished; they are ready again, `redelivered` one higher."""

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """The messages are still being worked on: their lease begins anew.

        Returns those in hand as yet; the others were settled or released, or come again elsewhere, and
        what is done for them will be done twice.
        """

    def get_depth(self, subscription: Subscription) -> Depth:
        """How many messages wait; exact on one machine, an estimate on brokers."""


class Topics(Protocol):
    """What a queue's messages travel on; whoever composes a home makes it, nobody else."""

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Make topics and addresses exist; again is harmless. Each handle declares what it uses.

        `topics` are those put to whoever reads them: other people's programs, or nobody. A topic that
        exists with other traits is used as it is. A subscription keeps its topic and pipeline for good:
        whatever reads another has another name. Raises ConfigurationError for names the backend has no
        room for.
        """


class TopicQueue(Queue, Topics, Protocol):
    """A queue as its backends are: messages, and the making of what they travel on."""

    def get_message_max_bytes(self, address: str) -> int:
        """Largest message this address accepts, in bytes: body, key and headers together."""
