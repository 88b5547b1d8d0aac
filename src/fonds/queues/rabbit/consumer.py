"""Consumer of one RabbitMQ queue. It buffers messages that the broker pushes until callers take
them.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
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
from fonds.queues.rabbit.topology import DELAY_PREFIX

IN_FLIGHT_S = 1.0
TAG_MAX = 2**64
_NUMBERS = count(1)
Republish = Callable[[Message, int, int], None]
"""Function that publishes a message again, after it came back or was delivered too early.

Arguments: message, number of returns, due time in Unix milliseconds.
"""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Identifies a message that RabbitMQ delivered, so that it can be settled.

    - `inbox`: number of the consumer that received it. If the consumer is closed, there is nothing
      to settle, because the broker delivers the message again.
    - `tag`: delivery tag of the message on the consumer's channel.
    """

    inbox: int
    tag: int


class Inbox:
    """Consumer of one RabbitMQ queue, on a channel of its own.

    The broker pushes only as many messages as callers have requested. A classic queue marks a
    message that came back, but does not count how often. Fonds therefore publishes such a message
    again with an increased count, and acknowledges the original. It does the same with a message
    whose delay is longer than the delay queues support.

    - `address`: queue address that received messages name.
    - `queue`: name of the RabbitMQ queue.
    - `republish`: function that publishes a message again.
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
        """Whether the connection or the channel of this consumer is closed.

        If so, the broker delivers the leased messages again, to this process or another.
        """
        return self._link.is_closed or not self._channel.is_open

    @property
    def waiting_count(self) -> int:
        """Number of messages that RabbitMQ has delivered to this consumer and that are not handed
        out yet.
        """
        return len(self._buffer)

    @property
    def in_hand_count(self) -> int:
        """Number of leased messages: handed out, and neither settled nor released."""
        return len(self._in_hand_tags)

    def take(self, count_max: int, wait_s: float) -> list[Delivery]:
        """Lease and return up to `count_max` messages; wait at most `wait_s` seconds for the first.

        If the queue has ready messages at the end of the wait, wait `IN_FLIGHT_S` seconds longer.
        Returns an empty list if there are none or the connection is closed.
        """
        deadline = time.monotonic() + wait_s
        with self._arrived:
            prefetch_count = len(self._in_hand_tags) + count_max
        if prefetch_count > self._allowed:
            self._link.run(partial(self._consume, prefetch_count))
        while True:
            with self._arrived:
                if not self._buffer and not self.is_closed:
                    self._arrived.wait(max(0.0, deadline - time.monotonic()))
                raw_deliveries = [
                    self._buffer.popleft() for _ in range(min(count_max, len(self._buffer)))
                ]
                self._in_hand_tags |= {method.delivery_tag for method, _, _ in raw_deliveries}
            deliveries = self._hand_out(raw_deliveries)
            if deliveries:
                return deliveries
            if self.is_closed:
                return []
            if time.monotonic() < deadline:
                continue
            # Messages delivered before this answer are in the buffer by now.
            if not raw_deliveries and not self.count_ready() and not self._buffer:
                return []
            deadline = time.monotonic() + IN_FLIGHT_S

    def _hand_out(
        self, raw_deliveries: Sequence[tuple[Basic.Deliver, Properties, bytes]]
    ) -> list[Delivery]:
        deliveries, republished_tags = [], []
        for method, properties, body in raw_deliveries:
            message, returns = decode_message(properties, body, _get_routing_key(method))
            due_ms = get_due_ms(properties)
            if method.redelivered or due_ms > time.time() * 1000:
                self._republish(message, returns + method.redelivered, due_ms)
                republished_tags.append(method.delivery_tag)
                continue
            receipt = Receipt(self.number, method.delivery_tag)
            deliveries.append(Delivery(message, self._address, receipt, returns))
        self._end_leases(republished_tags, self._acknowledge)
        return deliveries

    def settle(self, tags: Sequence[int]) -> None:
        """Acknowledge messages by delivery tag, and wait until the broker has processed that.

        AMQP does not confirm acknowledgements. So another request is sent after them, and its
        answer is awaited. Otherwise a process that is killed then would lose the last
        acknowledgements.
        """
        self._end_leases(tags, self._acknowledge)
        if tags and not self.is_closed:
            self.count_ready()

    def release(self, tags: Sequence[int]) -> None:
        """Return leased messages to the RabbitMQ queue, by delivery tag."""
        self._end_leases(tags, self._reject)

    def filter_in_hand(self, tags: Sequence[int]) -> set[int]:
        """Return those of the delivery tags `tags` whose messages are still leased."""
        with self._arrived:
            return set() if self.is_closed else self._in_hand_tags.intersection(tags)

    def _end_leases(self, tags: Sequence[int], act: Callable[[list[int], int], None]) -> None:
        """End the leases of messages by delivery tag, and call `act` with those that were leased.

        The second argument of `act` is the lowest tag of a message that stays leased. `act` sends
        acknowledgements or rejections. Returns when these are sent; the broker may not have
        processed them yet.
        """
        if not tags or self.is_closed:
            return

        def run(_: pika.SelectConnection, future: Future[None]) -> None:
            # Here no other thread can send between this choice and the acknowledgements.
            with self._arrived:
                open_tags = sorted(self._in_hand_tags.intersection(tags))
                self._in_hand_tags.difference_update(open_tags)
                first_leased_tag = min(self._in_hand_tags, default=TAG_MAX)
            if open_tags and self._channel.is_open:
                act(open_tags, first_leased_tag)
            succeed(future, None)

        self._link.run(run)

    def _acknowledge(self, tags: list[int], first_leased_tag: int) -> None:
        """Acknowledge messages: together up to the first message that stays leased, then one by
        one.

        Messages in the buffer have higher tags.
        """
        together_count = bisect_left(tags, first_leased_tag)
        if together_count:
            self._channel.basic_ack(tags[together_count - 1], multiple=True)
        for tag in tags[together_count:]:
            self._channel.basic_ack(tag)

    def _reject(self, tags: list[int], first_leased_tag: int) -> None:
        for tag in tags:
            self._channel.basic_nack(tag, requeue=True)

    def count_ready(self) -> int:
        """Return the number of ready messages in the RabbitMQ queue, from the broker."""

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

    def _consume(self, prefetch_count: int, _: pika.SelectConnection, future: Future[None]) -> None:
        """Ask the broker to push up to `prefetch_count` unacknowledged messages.

        An existing consumer is cancelled and a new one started. The broker applies a limit only to
        consumers that start after it is set.
        """

        def consume() -> None:
            self._channel.basic_qos(prefetch_count=prefetch_count)
            self._consumer = self._channel.basic_consume(
                self._queue, self._on_delivered, callback=lambda _: succeed(future, None)
            )
            self._allowed = prefetch_count

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
    """Return the routing key with which a message was published; '' if it was put directly on a
    queue.

    A message from the exchanges for delays counts as put directly on a queue.
    """
    is_direct = not method.exchange or method.exchange.startswith(DELAY_PREFIX)
    return "" if is_direct else str(method.routing_key)
