"""The exchanges and queues that stand for topics and subscriptions, and making them.

`TOPIC-out` hands every message to whoever binds a queue to it. A subscription that selects by pipeline
is fed by `TOPIC-select`: it matches the header `pipeline`, and hands on by its alternate, `TOPIC-unmarked`,
what has none; `TOPIC-marked` takes the rest, so that it does not count as having none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pika.channel import Channel

from fonds.model.message import PIPELINE, Subscription
from fonds.queues.rabbit.connection import succeed

# Delays to the second out of queues that each wait for one power of two.
#
# A queue gives out only its first message when that one's time is up: messages of different delays may not
# share one. So a delay is a sum of powers of two, and a message passes through one queue for each. Its
# routing key says which, a word for each power, then where it goes in the end. `fonds-delay-8s` hands it to
# a queue `NAME-delay-8s` or passes it on to `fonds-delay-4s`, and so does the queue when the time is up.


LEVELS_S = tuple(2**bit for bit in reversed(range(17)))
DELAY_MAX_S = sum(LEVELS_S)
"""36 hours; what waits longer is put to wait again when it comes out."""
DELAYS_BEGIN = "fonds-delay-"
END = f"{DELAYS_BEGIN}end"
TOPIC_EXCHANGE = "topic"


def name_incoming_queue(subscription: Subscription) -> str:
    """The queue its readers receive from."""
    return f"{subscription.qualified_name}-in"


@dataclass(frozen=True, slots=True)
class DelayTarget:
    """Where a delayed message is put: exchange and routing key; `is_longer` when it must wait again."""

    exchange: str
    routing_key: str
    is_longer: bool

    @classmethod
    def for_queue(cls, delay_s: float, queue: str) -> DelayTarget:
        """A delay before a queue, made whole seconds, at least one, so that nothing comes early."""
        whole_s = min(DELAY_MAX_S, max(1, math.ceil(delay_s)))
        words = ["1" if whole_s & level_s else "0" for level_s in LEVELS_S]
        first = LEVELS_S[words.index("1")]
        return cls(_name_exchange(first), ".".join([*words, queue]), delay_s > DELAY_MAX_S)

    @staticmethod
    def name_queue(subscription: Subscription, level_s: int) -> str:
        """The queue of a subscription that waits so long."""
        return f"{subscription.qualified_name}-delay-{level_s}s"


def _name_exchange(level_s: int) -> str:
    return f"{DELAYS_BEGIN}{level_s}s"


def declare_exchanges(channel: Channel, future: Future[None]) -> None:
    """The exchanges all subscriptions share."""
    channel.exchange_declare(END, TOPIC_EXCHANGE, durable=True)
    lower = END
    for level_s in reversed(LEVELS_S):
        bit = LEVELS_S.index(level_s)
        channel.exchange_declare(_name_exchange(level_s), TOPIC_EXCHANGE, durable=True)
        pattern = ".".join([*("*" * bit), "0", "#"])
        done = (lambda _: succeed(future, None)) if bit == 0 else None
        channel.exchange_bind(lower, _name_exchange(level_s), pattern, callback=done)
        lower = _name_exchange(level_s)


def declare_delays(subscription: Subscription, kind: Mapping[str, Any], channel: Channel) -> None:
    """The queues of a subscription; `kind` is what every queue is made with."""
    incoming = name_incoming_queue(subscription)
    safe = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
    for bit, level_s in enumerate(LEVELS_S):
        lower = _name_exchange(level_s // 2) if level_s > 1 else END
        waits = {"x-message-ttl": level_s * 1000, "x-dead-letter-exchange": lower}
        queue = DelayTarget.name_queue(subscription, level_s)
        arguments = {**kind, **waits, **(safe if kind else {})}
        channel.queue_declare(queue, durable=True, arguments=arguments)
        words = [*("*" * bit), "1", *("*" * (len(LEVELS_S) - bit - 1)), incoming]
        channel.queue_bind(queue, _name_exchange(level_s), ".".join(words))
    channel.queue_bind(incoming, END, ".".join([*("*" * len(LEVELS_S)), incoming]))


CONSUMER_TIMEOUT_MS = 24 * 3600 * 1000
ONLY_QUORUM_SINCE = (4, 3)


def name_exchange(topic: str) -> str:
    """The exchange messages of a topic are put to, and other people's queues are bound to."""
    return f"{topic}-out"


def name_quarantine_queue(subscription: Subscription) -> str:
    """The queue of messages set apart."""
    return f"{subscription.qualified_name}-quar"


def declare_topic(topic: str, channel: Channel, future: Future[None]) -> None:
    """The exchange alone."""
    channel.exchange_declare(
        name_exchange(topic), "fanout", durable=True, callback=lambda _: succeed(future, None)
    )


def declare_subscription(
    subscription: Subscription,
    kind: Mapping[str, Any],
    version: tuple[int, ...],
    channel: Channel,
    future: Future[None],
) -> None:
    """All of a subscription's queues; the binding comes last, and its answer is waited for.

    `kind` are the arguments every queue is made with, `version` is the broker's.
    """
    exchange, incoming = name_exchange(subscription.topic), name_incoming_queue(subscription)
    channel.exchange_declare(exchange, "fanout", durable=True)
    # Since 4.3 classic queues know no limit, and refuse one.
    limited = bool(kind) or version < ONLY_QUORUM_SINCE
    held = {"x-consumer-timeout": CONSUMER_TIMEOUT_MS} if limited else {}
    for queue in (incoming, name_quarantine_queue(subscription)):
        channel.queue_declare(queue, durable=True, arguments={**kind, **held})
    declare_delays(subscription, kind, channel)

    def done(_: object) -> None:
        succeed(future, None)

    if not subscription.pipeline:
        channel.queue_bind(incoming, exchange, callback=done)
        return
    select, unmarked = _declare_selection(subscription.topic, channel)
    channel.queue_bind(incoming, unmarked)
    matching = {"x-match": "all", PIPELINE: subscription.pipeline}
    channel.queue_bind(incoming, select, arguments=matching, callback=done)


def _declare_selection(topic: str, channel: Channel) -> tuple[str, str]:
    """The exchanges that select, and that take what no pipeline made."""
    select, marked, unmarked = (f"{topic}-{word}" for word in ("select", "marked", "unmarked"))
    for name in (marked, unmarked):
        channel.exchange_declare(name, "fanout", durable=True, internal=True)
    channel.exchange_declare(
        select,
        "headers",
        durable=True,
        internal=True,
        arguments={"alternate-exchange": unmarked},
    )
    # Without a value the header only has to be there.
    channel.exchange_bind(marked, select, arguments={"x-match": "all", PIPELINE: None})
    channel.exchange_bind(select, name_exchange(topic))
    return select, unmarked


def list_queues(subscription: Subscription) -> list[str]:
    """What a subscription's messages wait in: incoming, quarantine, then those of delays."""
    delays = [DelayTarget.name_queue(subscription, level_s) for level_s in LEVELS_S]
    return [name_incoming_queue(subscription), name_quarantine_queue(subscription), *delays]
