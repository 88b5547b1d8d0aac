"""Delays to the second out of queues that each wait for one power of two.

A queue gives out only its first message when that one's time is up: messages of different delays may not
share one. So a delay is a sum of powers of two, and a message passes through one queue for each. Its
routing key says which, a word for each power, then where it goes in the end. `fonds-delay-8s` hands it to
a queue `NAME-delay-8s` or passes it on to `fonds-delay-4s`, and so does the queue when the time is up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from pika.channel import Channel

from fonds.model.message import Subscription
from fonds.queues.rabbit.link import succeed

LEVELS_S = tuple(2**bit for bit in reversed(range(17)))
LONGEST_S = sum(LEVELS_S)
"""36 hours; what waits longer is put to wait again when it comes out."""
DELAYS_BEGIN = "fonds-delay-"
END = f"{DELAYS_BEGIN}end"
TOPIC_EXCHANGE = "topic"


def incoming_queue(one: Subscription) -> str:
    """The queue its readers receive from."""
    return f"{one.qualified_name}-in"


@dataclass(frozen=True, slots=True)
class Delay:
    """Where a delayed message is put: exchange and routing key; `longer` when it must wait again."""

    exchange: str
    routing_key: str
    longer: bool

    @classmethod
    def of(cls, delay_s: float, queue: str) -> Delay:
        """A delay before a queue, made whole seconds, at least one, so that nothing comes early."""
        whole_s = min(LONGEST_S, max(1, math.ceil(delay_s)))
        words = ["1" if whole_s & level_s else "0" for level_s in LEVELS_S]
        first = LEVELS_S[words.index("1")]
        return cls(_exchange(first), ".".join([*words, queue]), delay_s > LONGEST_S)

    @staticmethod
    def queue(one: Subscription, level_s: int) -> str:
        """The queue of a subscription that waits so long."""
        return f"{one.qualified_name}-delay-{level_s}s"


def _exchange(level_s: int) -> str:
    return f"{DELAYS_BEGIN}{level_s}s"


def declare_exchanges(channel: Channel, future: Future[None]) -> None:
    """The exchanges all subscriptions share."""
    channel.exchange_declare(END, TOPIC_EXCHANGE, durable=True)
    lower = END
    for level_s in reversed(LEVELS_S):
        bit = LEVELS_S.index(level_s)
        channel.exchange_declare(_exchange(level_s), TOPIC_EXCHANGE, durable=True)
        pattern = ".".join([*("*" * bit), "0", "#"])
        done = (lambda _: succeed(future, None)) if bit == 0 else None
        channel.exchange_bind(lower, _exchange(level_s), pattern, callback=done)
        lower = _exchange(level_s)


def declare_delays(one: Subscription, kind: Mapping[str, Any], channel: Channel) -> None:
    """The queues of a subscription; `kind` is what every queue is made with."""
    incoming = incoming_queue(one)
    safe = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
    for bit, level_s in enumerate(LEVELS_S):
        lower = _exchange(level_s // 2) if level_s > 1 else END
        waits = {"x-message-ttl": level_s * 1000, "x-dead-letter-exchange": lower}
        queue = Delay.queue(one, level_s)
        arguments = {**kind, **waits, **(safe if kind else {})}
        channel.queue_declare(queue, durable=True, arguments=arguments)
        words = [*("*" * bit), "1", *("*" * (len(LEVELS_S) - bit - 1)), incoming]
        channel.queue_bind(queue, _exchange(level_s), ".".join(words))
    channel.queue_bind(incoming, END, ".".join([*("*" * len(LEVELS_S)), incoming]))
