"""The exchanges and queues that stand for topics and subscriptions, and making them.

`TOPIC-out` hands every message to whoever binds a queue to it. A subscription that selects by pipeline
is fed by `TOPIC-select`: it matches the header `pipeline`, and hands on by its alternate, `TOPIC-unmarked`,
what has none; `TOPIC-marked` takes the rest, so that it does not count as having none.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from pika.channel import Channel

from fonds.model.message import PIPELINE, Subscription
from fonds.queues.rabbit.delays import LEVELS_S, Delay, declare_delays, incoming_queue
from fonds.queues.rabbit.link import succeed

CONSUMER_TIMEOUT_MS = 24 * 3600 * 1000
ONLY_QUORUM_SINCE = (4, 3)


def exchange_of(topic: str) -> str:
    """The exchange messages of a topic are put to, and other people's queues are bound to."""
    return f"{topic}-out"


def quarantine_queue(one: Subscription) -> str:
    """The queue of messages set apart."""
    return f"{one.qualified_name}-quar"


def declare_topic(topic: str, channel: Channel, future: Future[None]) -> None:
    """The exchange alone."""
    channel.exchange_declare(
        exchange_of(topic), "fanout", durable=True, callback=lambda _: succeed(future, None)
    )


def declare_subscription(
    one: Subscription,
    kind: Mapping[str, Any],
    version: tuple[int, ...],
    channel: Channel,
    future: Future[None],
) -> None:
    """All of a subscription's queues; the binding comes last, and its answer is waited for.

    `kind` are the arguments every queue is made with, `version` is the broker's.
    """
    exchange, incoming = exchange_of(one.topic), incoming_queue(one)
    channel.exchange_declare(exchange, "fanout", durable=True)
    # Since 4.3 classic queues know no limit, and refuse one.
    limited = bool(kind) or version < ONLY_QUORUM_SINCE
    held = {"x-consumer-timeout": CONSUMER_TIMEOUT_MS} if limited else {}
    for queue in (incoming, quarantine_queue(one)):
        channel.queue_declare(queue, durable=True, arguments={**kind, **held})
    declare_delays(one, kind, channel)

    def done(_: object) -> None:
        succeed(future, None)

    if not one.pipeline:
        channel.queue_bind(incoming, exchange, callback=done)
        return
    select, unmarked = _declare_selection(one.topic, channel)
    channel.queue_bind(incoming, unmarked)
    matching = {"x-match": "all", PIPELINE: one.pipeline}
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
    channel.exchange_bind(select, exchange_of(topic))
    return select, unmarked


def queues_of(one: Subscription) -> list[str]:
    """What a subscription's messages wait in: incoming, quarantine, then those of delays."""
    delays = [Delay.queue(one, level_s) for level_s in LEVELS_S]
    return [incoming_queue(one), quarantine_queue(one), *delays]
