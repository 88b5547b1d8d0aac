"""The port Queue on RabbitMQ: an exchange for each topic, a queue for each address."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pika
import pika.exceptions
from pika.channel import Channel

from fonds.model.errors import ConfigurationError
from fonds.model.message import (
    NO_TOPICS,
    Delivery,
    Depth,
    Message,
    Subscription,
    TopicTraits,
)
from fonds.queues.rabbit.connection import BrokerConnection, fail, succeed
from fonds.queues.rabbit.consumer import Inbox, Receipt
from fonds.queues.rabbit.messages import encode_properties
from fonds.queues.rabbit.publisher import Outbox
from fonds.queues.rabbit.topology import (
    DelayTarget,
    declare_exchanges,
    declare_subscription,
    declare_topic,
    list_queues,
    name_exchange,
    name_incoming_queue,
    name_quarantine_queue,
)

NAME_MAX_BYTES = 200
MESSAGE_MAX_BYTES = 16_000_000
"""RabbitMQ accepts 16 MiB since 4.0 and 128 MiB before, unless its `max_message_size` is another."""
CHUNK = 500


class RabbitQueue:
    """Implements the port Queue over `amqp://user:password@host:port/vhost`; `?quorum=1` in the URL makes
    quorum queues.

    A topic is the fanout exchange `TOPIC-out`, a subscription the queues `NAME-in`, `NAME-quar` and
    `NAME-delay-1s` to `-65536s` (`delays.py`), NAME being below the prefix of the topic: environments share
    a virtual host and no message. What is in hand stays there as long as the connection lives
    and the broker's consumer timeout allows: each queue asks for 24 hours from delivery, which brokers
    grant since 3.11.15; an older one has `consumer_timeout` in its configuration (30 minutes unless set)
    for all queues. `renew` cannot make it longer. How many messages are in other processes' hands
    RabbitMQ does not tell: `get_depth` counts those of this one.
    """

    def __init__(self, url: str) -> None:
        """Raises ConfigurationError for a URL that is none; connects when it is first needed."""
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        self._quorum = options.pop("quorum", ["0"])[0] == "1"
        query = "&".join(f"{name}={values[0]}" for name, values in options.items())
        try:
            self._parameters = pika.URLParameters(urlunsplit(parts._replace(query=query)))
        except (ValueError, TypeError) as error:
            raise ConfigurationError(
                f"the URL of RabbitMQ at {parts.hostname} cannot be read: {type(error).__name__}"
            ) from None
        self._lock = threading.RLock()
        self._subscriptions: dict[str, Subscription] = {}
        self._topics: set[str] = set()
        self._link: BrokerConnection | None = None
        self._outbox: Outbox | None = None
        self._inboxes: dict[str, Inbox] = {}

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Make exchanges and queues. Raises ConfigurationError when they exist with other properties."""
        known = list(subscriptions)
        for name in [
            *topics,
            *(one.topic for one in known),
            *(one.qualified_name for one in known),
        ]:
            if len(name.encode()) > NAME_MAX_BYTES:
                raise ConfigurationError(f"{name}: a name has {NAME_MAX_BYTES} bytes at most")
        kind = {"x-queue-type": "quorum"} if self._quorum else {}
        for topic in topics:
            self._call_broker(partial(declare_topic, topic))
        if known:
            self._call_broker(declare_exchanges)
        for one in known:
            version = self._open_link().version
            self._call_broker(partial(declare_subscription, one, kind, version))
        with self._lock:
            self._subscriptions |= {one.name: one for one in known}
            self._topics |= {*topics, *(one.topic for one in known)}

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """All of `messages` confirmed by the broker; on an error possibly some of them are."""
        exchange, queue = self._find_target(address)
        if delay_s > 0:
            if not any(address == one.incoming for one in self._subscriptions.values()):
                raise ValueError(f"{address}: only what a step receives from takes a delay")
            self._put_delayed(queue, messages, delay_s)
            return
        readers = [one for one in self._subscriptions.values() if one.topic == address]
        packed = [
            (
                encode_properties(message),
                message.body,
                not exchange or any(message.is_for(one.pipeline) for one in readers),
            )
            for message in messages
        ]
        for start in range(0, len(packed), CHUNK):
            self._get_outbox().publish(exchange, queue, packed[start : start + CHUNK])

    def _put_delayed(
        self, queue: str, messages: Sequence[Message], delay_s: float, returns: int = 0
    ) -> None:
        delay = DelayTarget.for_queue(delay_s, queue)
        due_ms = round((time.time() + delay_s) * 1000) if delay.is_longer else None
        packed = [(encode_properties(one, returns, due_ms), one.body, True) for one in messages]
        for start in range(0, len(packed), CHUNK):
            batch = packed[start : start + CHUNK]
            self._get_outbox().publish(delay.exchange, delay.routing_key, batch)

    def get_message_max_bytes(self, address: str) -> int:
        """The same for every address: RabbitMQ has one limit, which clients cannot ask for."""
        return MESSAGE_MAX_BYTES

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Messages as the broker pushes them; those given back come behind the others."""
        exchange, queue = self._find_target(address)
        if exchange:
            raise ConfigurationError(
                f"{address!r} is a topic; receive from an address of its readers"
            )
        return self._get_inbox(address, queue).take(count_max, wait_s) if count_max > 0 else []

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Those of a connection that has ended are passed over: they come again."""
        for inbox, tags in self._group_by_inbox(deliveries):
            inbox.settle(tags)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Those of a connection that has ended were given back with it."""
        for inbox, tags in self._group_by_inbox(deliveries):
            inbox.release(tags)

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """They are held as long as the connection lives; tells those of one that has ended apart."""
        held = {
            (inbox.number, tag)
            for inbox, tags in self._group_by_inbox(deliveries)
            for tag in inbox.filter_in_hand(tags)
        }
        receipts = [(one, one.receipt) for one in deliveries]
        return [one for one, r in receipts if isinstance(r, Receipt) and (r.inbox, r.tag) in held]

    def get_depth(self, subscription: Subscription) -> Depth:
        """Ready, delayed and quarantined as the broker counts them; in hand those of this process."""
        ready, quarantined, *delayed = self._call_broker(partial(_count, list_queues(subscription)))
        waiting, in_hand = self._count_here(subscription.incoming)
        return Depth(
            ready=ready + waiting,
            in_hand=in_hand,
            delayed=sum(delayed),
            quarantined=quarantined + sum(self._count_here(subscription.quarantine)),
        )

    def close(self) -> None:
        """End the connection: what is in hand is given back at once."""
        with self._lock:
            link, self._link = self._link, None
            self._outbox, self._inboxes = None, {}
        if link is not None:
            link.close()

    def _count_here(self, address: str) -> tuple[int, int]:
        """How many messages lie in this process: not handed out yet, and in hand."""
        inbox = self._inboxes.get(address)
        return (
            (0, 0)
            if inbox is None or inbox.is_closed
            else (inbox.waiting_count, inbox.in_hand_count)
        )

    def _find_target(self, address: str) -> tuple[str, str]:
        """Exchange and routing key of an address. Raises ConfigurationError for an undeclared one."""
        if address in self._topics:
            return name_exchange(address), ""
        for one in self._subscriptions.values():
            if address == one.incoming:
                return "", name_incoming_queue(one)
            if address == one.quarantine:
                return "", name_quarantine_queue(one)
        raise ConfigurationError(f"{address!r} was never declared")

    def _call_broker(self, act: Callable[[Channel, Future[Any]], None]) -> Any:
        """What comes of `act` on a channel of its own. Raises ConfigurationError when the broker refuses."""

        def run(connection: pika.SelectConnection, future: Future[Any]) -> None:
            def opened(channel: Channel) -> None:
                channel.add_on_close_callback(
                    lambda _, reason: fail(future, _explain_refusal(reason))
                )
                future.add_done_callback(lambda _: channel.close() if channel.is_open else None)
                act(channel, future)

            connection.channel(on_open_callback=opened)

        return self._open_link().run(run)

    def _open_link(self) -> BrokerConnection:
        """The connection; a new one when the last has ended."""
        with self._lock:
            if self._link is None or self._link.is_closed:
                self._link, self._outbox, self._inboxes = (
                    BrokerConnection(self._parameters),
                    None,
                    {},
                )
            return self._link

    def _get_outbox(self) -> Outbox:
        with self._lock:
            link = self._open_link()
            if self._outbox is None or self._outbox.is_closed:
                self._outbox = Outbox(link)
            return self._outbox

    def _get_inbox(self, address: str, queue: str) -> Inbox:
        with self._lock:
            link = self._open_link()
            inbox = self._inboxes.get(address)
            if inbox is None or inbox.is_closed:
                inbox = self._inboxes[address] = Inbox(
                    link, address, queue, partial(self._republish, queue)
                )
            return inbox

    def _republish(self, queue: str, message: Message, returns: int, due_ms: int) -> None:
        """Put a message that came back once more, with the count of how often, when it is due."""
        if (delay_s := due_ms / 1000 - time.time()) > 0:
            self._put_delayed(queue, [message], delay_s, returns)
            return
        self._get_outbox().publish(
            "", queue, [(encode_properties(message, returns), message.body, True)]
        )

    def _group_by_inbox(self, deliveries: Sequence[Delivery]) -> list[tuple[Inbox, list[int]]]:
        """The tags of each inbox that still is the one they came from."""
        found: list[tuple[Inbox, list[int]]] = []
        for address in dict.fromkeys(one.address for one in deliveries):
            inbox = self._inboxes.get(address)
            if inbox is None or inbox.is_closed:
                continue
            receipts = [one.receipt for one in deliveries if one.address == address]
            tags = [r.tag for r in receipts if isinstance(r, Receipt) and r.inbox == inbox.number]
            found.append((inbox, tags))
        return found


def _count(names: Sequence[str], channel: Channel, future: Future[list[int]]) -> None:
    """How many messages the broker holds ready in each of `names`."""
    counts: list[int] = []

    def counted(frame: Any) -> None:
        counts.append(int(frame.method.message_count))
        if len(counts) == len(names):
            succeed(future, counts)

    for name in names:
        channel.queue_declare(name, passive=True, callback=counted)


def _explain_refusal(reason: Exception) -> Exception:
    if isinstance(reason, pika.exceptions.ChannelClosedByBroker):
        return ConfigurationError(f"RabbitMQ refuses: {reason.reply_text}")
    return reason
