"""Receiving from one queue: what the broker pushes waits here until somebody asks for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import count

import pika
from pika.channel import Channel
from pika.spec import Basic

from fonds.model.message import Delivery, Message
from fonds.queues.rabbit.amqp_tables import Properties
from fonds.queues.rabbit.connection import BrokerConnection, succeed
from fonds.queues.rabbit.messages import decode_message, get_due_ms
from fonds.queues.rabbit.topology import DELAYS_BEGIN

IN_FLIGHT_S = 1.0
_NUMBERS = count(1)
Republish = Callable[[Message, int, int], None]
"""Puts a message that came out too early, or came back: how often it did, and when it is due."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Which delivery of which inbox it is; another inbox's are over and nothing need be done about them."""

    inbox: int
    tag: int


class Inbox:
    """A consuming channel of a link, of the queue that stands for `address`. The broker pushes as many
    messages as were asked for, not more.

    A message that comes back unsettled is counted: `again` puts it with the count one higher, and it is
    taken off here, because a classic queue only says that it came back, not how often. So is one whose
    delay is longer than the queues of delays wait.
    """

    def __init__(
        self, link: BrokerConnection, address: str, queue: str, republish: Republish
    ) -> None:
        self.number = next(_NUMBERS)
        self._link = link
        self._address = address
        self._queue = queue
        self._republish = republish
        self._arrived = threading.Condition()
        self._buffer: deque[tuple[Basic.Deliver, Properties, bytes]] = deque()
        self._in_hand_tags: set[int] = set()
        self._allowed = 0
        self._consumer = ""
        self._channel: Channel = link.run(self._open)

    @property
    def is_closed(self) -> bool:
        """Whether the link ended or the broker closed the channel: what was in hand comes again."""
        return self._link.is_closed or not self._channel.is_open

    @property
    def waiting_count(self) -> int:
        """How many messages lie here and in nobody's hand."""
        return len(self._buffer)

    @property
    def in_hand_count(self) -> int:
        """How many were handed out and neither settled nor given back."""
        return len(self._in_hand_tags)

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Up to `count_max` messages, waiting at most `wait_s` seconds for the first."""
        deadline = time.monotonic() + wait_s
        with self._arrived:
            wanted = len(self._in_hand_tags) + count_max
        if wanted > self._allowed:
            self._link.run(partial(self._consume, wanted))
        while True:
            with self._arrived:
                if not self._buffer and not self.is_closed:
                    self._arrived.wait(max(0.0, deadline - time.monotonic()))
                taken = [self._buffer.popleft() for _ in range(min(count_max, len(self._buffer)))]
                self._in_hand_tags |= {method.delivery_tag for method, _, _ in taken}
            found = self._hand_out(taken)
            if found:
                return found
            if self.is_closed:
                return []
            if time.monotonic() < deadline:
                continue
            # What was delivered before the answer lies here by now.
            if not taken and not self.count_ready() and not self._buffer:
                return []
            deadline = time.monotonic() + IN_FLIGHT_S

    def _hand_out(
        self, raw_deliveries: Sequence[tuple[Basic.Deliver, Properties, bytes]]
    ) -> list[Delivery]:
        found, counted = [], []
        for method, properties, body in raw_deliveries:
            message, returns = decode_message(properties, body, _get_routing_key(method))
            due_ms = get_due_ms(properties)
            if method.redelivered or due_ms > time.time() * 1000:
                self._republish(message, returns + method.redelivered, due_ms)
                counted.append(method.delivery_tag)
                continue
            receipt = Receipt(self.number, method.delivery_tag)
            found.append(Delivery(message, self._address, receipt, returns))
        self.acknowledge(counted, lambda tag: self._channel.basic_ack(tag))
        return found

    def settle(self, tags: Sequence[int]) -> None:
        """Tell the broker that these are finished; it knows when this returns.

        Nothing answers an acknowledgement: something that is answered is asked behind it. A process
        killed at once would else take the last ones with it.
        """
        self.acknowledge(tags, lambda tag: self._channel.basic_ack(tag))
        if tags and not self.is_closed:
            self.count_ready()

    def release(self, tags: Sequence[int]) -> None:
        """Give these back."""
        self.acknowledge(tags, lambda tag: self._channel.basic_nack(tag, requeue=True))

    def filter_in_hand(self, tags: Sequence[int]) -> set[int]:
        """Those of `tags` that are in hand as yet."""
        with self._arrived:
            return set() if self.is_closed else self._in_hand_tags.intersection(tags)

    def acknowledge(self, tags: Sequence[int], act: Callable[[int], None]) -> None:
        """Tell the broker about those of `tags` that are in hand here; returns when it was told."""
        with self._arrived:
            mine = [tag for tag in tags if tag in self._in_hand_tags]
            self._in_hand_tags.difference_update(mine)
        if not mine or self.is_closed:
            return

        def run(_: pika.SelectConnection, future: Future[None]) -> None:
            for tag in mine:
                if self._channel.is_open:
                    act(tag)
            succeed(future, None)

        self._link.run(run)

    def count_ready(self) -> int:
        """How many messages the broker holds ready."""

        def ask(_: pika.SelectConnection, future: Future[int]) -> None:
            self._channel.queue_declare(
                self._queue,
                passive=True,
                callback=lambda frame: succeed(future, int(frame.method.message_count)),
            )

        return self._link.run(ask)

    def _open(self, connection: pika.SelectConnection, future: Future[Channel]) -> None:
        def opened(channel: Channel) -> None:
            channel.add_on_close_callback(self._on_closed)
            succeed(future, channel)

        connection.channel(on_open_callback=opened)

    def _consume(self, allowed: int, _: pika.SelectConnection, future: Future[None]) -> None:
        """Ask for up to `allowed` messages at once; a limit holds for a consumer from its beginning on."""

        def consume() -> None:
            self._channel.basic_qos(prefetch_count=allowed)
            self._consumer = self._channel.basic_consume(
                self._queue, self._on_delivered, callback=lambda _: succeed(future, None)
            )
            self._allowed = allowed

        if self._consumer:
            self._channel.basic_cancel(self._consumer, callback=lambda _: consume())
        else:
            consume()

    def _on_delivered(
        self,
        channel: Channel,
        method: Basic.Deliver,
        properties: Properties,
        body: bytes,
    ) -> None:
        with self._arrived:
            self._buffer.append((method, properties, body))
            self._arrived.notify()

    def _on_closed(self, channel: Channel, reason: Exception) -> None:
        with self._arrived:
            self._buffer.clear()
            self._in_hand_tags.clear()
            self._arrived.notify_all()


def _get_routing_key(method: Basic.Deliver) -> str:
    """The routing key somebody gave a message; what is put straight to a queue has none."""
    own = not method.exchange or method.exchange.startswith(DELAYS_BEGIN)
    return "" if own else str(method.routing_key)
