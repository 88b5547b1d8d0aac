"""Message queue on RabbitMQ. A Fonds topic is an exchange; each address is a RabbitMQ queue."""

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
"""Maximum size of a message in bytes. RabbitMQ accepts 16 MiB since 4.0 and 128 MiB before, unless
`max_message_size` is configured.
"""
CHUNK = 500


class RabbitQueue:
    """Implements the Queue interface on RabbitMQ, with `amqp://user:password@host:port/vhost`.

    The URL option `?quorum=1` selects quorum queues instead of classic queues.

    A topic is the fanout exchange `TOPIC-out`. A subscription has the queues `NAME-in`, `NAME-quar`
    and `NAME-delay-1s` to `NAME-delay-65536s` (`topology.py`). NAME includes the topic's prefix, so
    environments can share a virtual host without sharing messages.

    A message stays leased while the connection lives and the broker's consumer timeout allows. Each
    queue requests 24 hours from delivery, which brokers support since 3.11.15. Older brokers use
    the configured `consumer_timeout` (30 minutes by default) for all queues. `renew` cannot extend
    the timeout. RabbitMQ does not report messages leased by other processes, so `get_depth` counts
    only those leased by this process.
    """

    def __init__(self, url: str) -> None:
        """Parse the URL of the RabbitMQ broker; the first use connects. Raises ConfigurationError
        for an invalid URL.
        """
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        self._quorum = options.pop("quorum", ["0"])[0] == "1"
        query = "&".join(f"{name}={values[0]}" for name, values in options.items())
        try:
            self._parameters = pika.URLParameters(urlunsplit(parts._replace(query=query)))
        except (ValueError, TypeError) as error:
            raise ConfigurationError(
                f"Invalid URL of RabbitMQ at {parts.hostname}: {type(error).__name__}"
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
        """Create the RabbitMQ exchanges and queues of subscriptions and topics.

        Raises ConfigurationError if an exchange or queue exists with other properties or a name is
        too long, and StoreUnavailableError if the broker does not answer.
        """
        declared_subscriptions = list(subscriptions)
        for name in [
            *topics,
            *(subscription.topic for subscription in declared_subscriptions),
            *(subscription.qualified_name for subscription in declared_subscriptions),
        ]:
            if len(name.encode()) > NAME_MAX_BYTES:
                raise ConfigurationError(f"{name}: a name can have at most {NAME_MAX_BYTES} bytes")
        kind = {"x-queue-type": "quorum"} if self._quorum else {}
        for topic in topics:
            self._call_broker(partial(declare_topic, topic))
        if declared_subscriptions:
            self._call_broker(declare_exchanges)
        for subscription in declared_subscriptions:
            version = self._open_link().version
            self._call_broker(partial(declare_subscription, subscription, kind, version))
        with self._lock:
            self._subscriptions |= {
                subscription.name: subscription for subscription in declared_subscriptions
            }
            self._topics |= {
                *topics,
                *(subscription.topic for subscription in declared_subscriptions),
            }

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Publish messages to an address, and wait for the broker's confirmation.

        After an error, some messages may have been published. Raises ValueError for a delay at any
        address but the incoming address of a subscription, and ConfigurationError for an undeclared
        address.
        """
        exchange, queue = self._find_target(address)
        if delay_s > 0:
            if not any(
                address == subscription.incoming for subscription in self._subscriptions.values()
            ):
                raise ValueError(
                    f"{address}: only the incoming address of a subscription accepts a delay"
                )
            self._put_delayed(queue, messages, delay_s)
            return
        readers = [
            subscription
            for subscription in self._subscriptions.values()
            if subscription.topic == address
        ]
        packed_messages = [
            (
                encode_properties(message),
                message.body,
                not exchange
                or any(message.is_for(subscription.pipeline) for subscription in readers),
            )
            for message in messages
        ]
        for start in range(0, len(packed_messages), CHUNK):
            self._get_outbox().publish(exchange, queue, packed_messages[start : start + CHUNK])

    def _put_delayed(
        self, queue: str, messages: Sequence[Message], delay_s: float, returns: int = 0
    ) -> None:
        delay = DelayTarget.for_queue(delay_s, queue)
        due_ms = round((time.time() + delay_s) * 1000) if delay.is_longer else None
        packed_messages = [
            (encode_properties(message, returns, due_ms), message.body, True)
            for message in messages
        ]
        for start in range(0, len(packed_messages), CHUNK):
            batch = packed_messages[start : start + CHUNK]
            self._get_outbox().publish(delay.exchange, delay.routing_key, batch)

    def get_message_max_bytes(self, address: str) -> int:
        """Return the maximum message size in bytes, `MESSAGE_MAX_BYTES`, for every address.

        Clients cannot query the limit of RabbitMQ.
        """
        return MESSAGE_MAX_BYTES

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Lease and return up to `count_max` messages, in the order in which the broker pushes
        them.

        Waits at most `wait_s` seconds for the first message. Released messages come last. Raises
        ConfigurationError for an undeclared address or a topic.
        """
        exchange, queue = self._find_target(address)
        if exchange:
            raise ConfigurationError(
                f"{address!r} is a topic; receive from a subscription's address"
            )
        return self._get_inbox(address, queue).take(count_max, wait_s) if count_max > 0 else []

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages. When this returns, the broker has removed them.

        Messages of a closed connection are skipped, because the broker delivers them again.
        """
        for inbox, tags in self._group_by_inbox(deliveries):
            inbox.settle(tags)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Make leased messages ready again.

        Messages of a closed connection are skipped, because the broker has released them.
        """
        for inbox, tags in self._group_by_inbox(deliveries):
            inbox.release(tags)

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Return the messages that are still leased because their connection is still open."""
        open_receipts = {
            (inbox.number, tag)
            for inbox, tags in self._group_by_inbox(deliveries)
            for tag in inbox.filter_in_hand(tags)
        }
        receipts = [(delivery, delivery.receipt) for delivery in deliveries]
        return [
            delivery
            for delivery, receipt in receipts
            if isinstance(receipt, Receipt) and (receipt.inbox, receipt.tag) in open_receipts
        ]

    def get_depth(self, subscription: Subscription) -> Depth:
        """Return the numbers of ready, leased, delayed and quarantined messages of a subscription.

        Messages leased by other processes are not counted.
        """
        ready, quarantined_count, *delayed_counts = self._call_broker(
            partial(_count, list_queues(subscription))
        )
        waiting, in_hand = self._count_here(subscription.incoming)
        return Depth(
            ready=ready + waiting,
            in_hand=in_hand,
            delayed=sum(delayed_counts),
            quarantined=quarantined_count + sum(self._count_here(subscription.quarantine)),
        )

    def purge(self) -> Sequence[str]:
        """Do nothing: RabbitMQ removes settled messages from its files by itself."""
        return (
            "RabbitMQ keeps the bytes of settled messages until it compacts the file, and quorum "
            "queues until their next snapshot.",
        )

    def close(self) -> None:
        """Close the connection to RabbitMQ. The broker releases leased messages immediately."""
        with self._lock:
            link, self._link = self._link, None
            self._outbox, self._inboxes = None, {}
        if link is not None:
            link.close()

    def _count_here(self, address: str) -> tuple[int, int]:
        """Return two numbers for an address: of messages buffered and of messages leased by this
        process.

        Messages leased by other processes are not counted.
        """
        inbox = self._inboxes.get(address)
        return (
            (0, 0)
            if inbox is None or inbox.is_closed
            else (inbox.waiting_count, inbox.in_hand_count)
        )

    def _find_target(self, address: str) -> tuple[str, str]:
        """Return the exchange and routing key for messages to an address.

        The exchange is '' for a subscription's address. Raises ConfigurationError if the address
        was not declared.
        """
        if address in self._topics:
            return name_exchange(address), ""
        for subscription in self._subscriptions.values():
            if address == subscription.incoming:
                return "", name_incoming_queue(subscription)
            if address == subscription.quarantine:
                return "", name_quarantine_queue(subscription)
        raise ConfigurationError(f"{address!r} was never declared")

    def _call_broker(self, act: Callable[[Channel, Future[Any]], None]) -> Any:
        """Call `act` with a new RabbitMQ channel and return the result that `act` sets on its
        future.

        Raises ConfigurationError if the broker closes the channel because it refuses a request, and
        StoreUnavailableError if it does not answer.
        """

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
        """Return the connection to RabbitMQ. Connect again if it has ended."""
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
        """Publish again a message that came back without being settled.

        - `queue`: name of the RabbitMQ queue.
        - `returns`: number of times that the message came back.
        - `due_ms`: due time in Unix milliseconds. If it is in the future, the message is delayed.
        """
        if (delay_s := due_ms / 1000 - time.time()) > 0:
            self._put_delayed(queue, [message], delay_s, returns)
            return
        self._get_outbox().publish(
            "", queue, [(encode_properties(message, returns), message.body, True)]
        )

    def _group_by_inbox(self, deliveries: Sequence[Delivery]) -> list[tuple[Inbox, list[int]]]:
        """Return the delivery tags of messages, grouped by the consumer that received them.

        Messages of consumers that were closed or replaced are omitted.
        """
        groups: list[tuple[Inbox, list[int]]] = []
        for address in dict.fromkeys(delivery.address for delivery in deliveries):
            inbox = self._inboxes.get(address)
            if inbox is None or inbox.is_closed:
                continue
            receipts = [delivery.receipt for delivery in deliveries if delivery.address == address]
            tags = [
                receipt.tag
                for receipt in receipts
                if isinstance(receipt, Receipt) and receipt.inbox == inbox.number
            ]
            groups.append((inbox, tags))
        return groups


def _count(names: Sequence[str], channel: Channel, future: Future[list[int]]) -> None:
    """Count the ready messages in RabbitMQ queues, and set the counts as the result of `future`.

    `names` are the names of the queues. The counts have the same order.
    """
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
