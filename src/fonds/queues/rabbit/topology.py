"""Names and declaration of the RabbitMQ exchanges and queues of topics and subscriptions.

The exchange `TOPIC-out` delivers every message to all bound queues. A subscription that selects a
pipeline is bound to `TOPIC-select`, which matches the header `pipeline`. Messages without that
header go to its alternate exchange `TOPIC-unmarked`, to which all such subscriptions are bound. The
exchange `TOPIC-marked` accepts all messages with the header, so that a message that matches no
subscription does not go to the alternate exchange.
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

# Delays are precise to the second, built from queues that each hold a power of two.
#
# A queue releases only its first message when that message expires, so messages with different
# delays cannot share one. A delay is therefore a sum of powers of two, and a message passes through
# one queue for each. Its routing key has one word per power, then the final queue. `fonds-delay-8s`
# routes it to a queue `NAME-delay-8s` or on to `fonds-delay-4s`, and so does the queue when its
# time is up.


LEVELS_S = tuple(2**bit for bit in reversed(range(17)))
DELAY_MAX_S = sum(LEVELS_S)
"""Maximum delay of the delay queues in seconds: 36 hours. A message with a longer delay is delayed
again afterwards.
"""
DELAY_PREFIX = "fonds-delay-"
END_EXCHANGE = f"{DELAY_PREFIX}end"
TOPIC_EXCHANGE = "topic"


def name_incoming_queue(subscription: Subscription) -> str:
    """Return the name of the RabbitMQ queue from which the readers of a subscription receive."""
    return f"{subscription.qualified_name}-in"


@dataclass(frozen=True, slots=True)
class DelayTarget:
    """RabbitMQ exchange and routing key to which a delayed message is published.

    `is_longer` is whether the delay exceeds the longest one that the delay queues support. When
    such a message arrives, it must be delayed again for the rest of the time.
    """

    exchange: str
    routing_key: str
    is_longer: bool

    @classmethod
    def for_queue(cls, delay_s: float, queue: str) -> DelayTarget:
        """Return the exchange and routing key that deliver a message to `queue` after `delay_s`
        seconds.

        The delay is rounded up to whole seconds, and is at least one second.
        """
        whole_s = min(DELAY_MAX_S, max(1, math.ceil(delay_s)))
        words = ["1" if whole_s & level_s else "0" for level_s in LEVELS_S]
        first = LEVELS_S[words.index("1")]
        return cls(_name_exchange(first), ".".join([*words, queue]), delay_s > DELAY_MAX_S)

    @staticmethod
    def name_queue(subscription: Subscription, level_s: int) -> str:
        """Return the name of a subscription's RabbitMQ queue that delays messages by `level_s`
        seconds.
        """
        return f"{subscription.qualified_name}-delay-{level_s}s"


def _name_exchange(level_s: int) -> str:
    return f"{DELAY_PREFIX}{level_s}s"


def declare_exchanges(channel: Channel, future: Future[None]) -> None:
    """Declare the RabbitMQ exchanges for delayed messages, which all subscriptions share.

    Completes `future` when the broker has confirmed the last request.
    """
    channel.exchange_declare(END_EXCHANGE, TOPIC_EXCHANGE, durable=True)
    lower = END_EXCHANGE
    for level_s in reversed(LEVELS_S):
        bit = LEVELS_S.index(level_s)
        channel.exchange_declare(_name_exchange(level_s), TOPIC_EXCHANGE, durable=True)
        pattern = ".".join([*("*" * bit), "0", "#"])
        callback = (lambda _: succeed(future, None)) if bit == 0 else None
        channel.exchange_bind(lower, _name_exchange(level_s), pattern, callback=callback)
        lower = _name_exchange(level_s)


def declare_delays(subscription: Subscription, kind: Mapping[str, Any], channel: Channel) -> None:
    """Declare the RabbitMQ delay queues of a subscription, without waiting for the confirmation.

    `kind` are the arguments that are the same for all declared queues, such as the queue type.
    """
    incoming = name_incoming_queue(subscription)
    dead_letter_options = {
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }
    for bit, level_s in enumerate(LEVELS_S):
        lower = _name_exchange(level_s // 2) if level_s > 1 else END_EXCHANGE
        delay_options = {"x-message-ttl": level_s * 1000, "x-dead-letter-exchange": lower}
        queue = DelayTarget.name_queue(subscription, level_s)
        arguments = {**kind, **delay_options, **(dead_letter_options if kind else {})}
        channel.queue_declare(queue, durable=True, arguments=arguments)
        words = [*("*" * bit), "1", *("*" * (len(LEVELS_S) - bit - 1)), incoming]
        channel.queue_bind(queue, _name_exchange(level_s), ".".join(words))
    channel.queue_bind(incoming, END_EXCHANGE, ".".join([*("*" * len(LEVELS_S)), incoming]))


CONSUMER_TIMEOUT_MS = 24 * 3600 * 1000
ONLY_QUORUM_SINCE = (4, 3)


def name_exchange(topic: str) -> str:
    """Return the name of the RabbitMQ exchange to which a topic's messages are published.

    Other programs bind their queues to it.
    """
    return f"{topic}-out"


def name_quarantine_queue(subscription: Subscription) -> str:
    """Return the name of the RabbitMQ queue of a subscription's quarantined messages."""
    return f"{subscription.qualified_name}-quar"


def declare_topic(topic: str, channel: Channel, future: Future[None]) -> None:
    """Declare the RabbitMQ exchange of a topic. Complete `future` when the broker has
    confirmed it.
    """
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
    """Declare all RabbitMQ queues of a subscription, then bind them to the exchange of its topic.

    Completes `future` when the broker has confirmed the last request.

    - `kind`: arguments that are the same for all declared queues, such as the queue type.
    - `version`: version of the broker. Some versions accept a consumer timeout only for quorum
      queues.
    """
    exchange, incoming = name_exchange(subscription.topic), name_incoming_queue(subscription)
    channel.exchange_declare(exchange, "fanout", durable=True)
    # Since 4.3 classic queues have no consumer timeout, and refuse the argument.
    has_timeout = bool(kind) or version < ONLY_QUORUM_SINCE
    timeout_options = {"x-consumer-timeout": CONSUMER_TIMEOUT_MS} if has_timeout else {}
    for queue in (incoming, name_quarantine_queue(subscription)):
        channel.queue_declare(queue, durable=True, arguments={**kind, **timeout_options})
    declare_delays(subscription, kind, channel)

    def done(_: object) -> None:
        succeed(future, None)

    if not subscription.pipeline:
        channel.queue_bind(incoming, exchange, callback=done)
        return
    select, unmarked_exchange = _declare_selection(subscription.topic, channel)
    channel.queue_bind(incoming, unmarked_exchange)
    matching = {"x-match": "all", PIPELINE: subscription.pipeline}
    channel.queue_bind(incoming, select, arguments=matching, callback=done)


def _declare_selection(topic: str, channel: Channel) -> tuple[str, str]:
    """Declare the RabbitMQ exchanges through which subscriptions select one pipeline's messages.

    Return two names: of the exchange that matches the header `pipeline`, and of the exchange for
    messages without this header.
    """
    select, marked_exchange, unmarked_exchange = (
        f"{topic}-{word}" for word in ("select", "marked", "unmarked")
    )
    for name in (marked_exchange, unmarked_exchange):
        channel.exchange_declare(name, "fanout", durable=True, internal=True)
    channel.exchange_declare(
        select,
        "headers",
        durable=True,
        internal=True,
        arguments={"alternate-exchange": unmarked_exchange},
    )
    # Without a value, the header only has to be present.
    channel.exchange_bind(marked_exchange, select, arguments={"x-match": "all", PIPELINE: None})
    channel.exchange_bind(select, name_exchange(topic))
    return select, unmarked_exchange


def list_queues(subscription: Subscription) -> list[str]:
    """Return the names of all RabbitMQ queues of a subscription.

    The order is the incoming queue, the quarantine queue, then the delay queues.
    """
    delays = [DelayTarget.name_queue(subscription, level_s) for level_s in LEVELS_S]
    return [name_incoming_queue(subscription), name_quarantine_queue(subscription), *delays]
