"""The port Queue on RabbitMQ: a fanout exchange for each topic, a queue for each address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pika
import pika.exceptions
from pika.channel import Channel

from fonds.model.errors import ConfigurationError
from fonds.model.message import Delivery, Depth, Message, Subscription
from fonds.queues.rabbit.coding import to_message, to_properties
from fonds.queues.rabbit.inbox import Inbox, Receipt
from fonds.queues.rabbit.link import Link, fail, succeed
from fonds.queues.rabbit.outbox import Outbox

EXCHANGE_SUFFIX = "-out"
DELAY_LEVELS_S = (1, 4, 16, 64, 256, 1024, 4096, 16384)
DELAY_LONGEST_MS = 2**32 - 1
INCOMING_SUFFIX = "-in"
NAME_MAX_BYTES = 200
CHUNK = 500


class RabbitQueue:
    """Implements the port Queue over `amqp://user:password@host:port/vhost`; `?quorum=1` in the URL makes
    quorum queues.

    A topic is the fanout exchange `TOPIC-out`, a subscription the queues `NAME-in`, `NAME-quar` and
    `NAME-delay-1s` to `-16384s`: RabbitMQ looks only at the first message of a queue, so that a short delay
    would wait behind a long one if they shared one. A message waits in the first whose name is not
    shorter than its delay, and at most that long beyond it. How many messages are in other processes'
    hands RabbitMQ does not tell: `depth` counts those of this one.
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
        self._link: Link | None = None
        self._outbox: Outbox | None = None
        self._inboxes: dict[str, Inbox] = {}

    def declare(self, subscriptions: Iterable[Subscription]) -> None:
        """Make exchanges and queues. Raises ConfigurationError when they exist with other properties."""
        known = list(subscriptions)
        for one in known:
            if max(len(one.topic.encode()), len(one.name.encode())) > NAME_MAX_BYTES:
                raise ConfigurationError(f"{one.name}: a name has {NAME_MAX_BYTES} bytes at most")
            self._ask(partial(self._declare_one, one))
        with self._lock:
            self._subscriptions |= {one.name: one for one in known}

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """All of `messages` confirmed by the broker; on an error possibly some of them are."""
        exchange, queue = self._target(address)
        packed = [(to_properties(message), message.body) for message in messages]
        if delay_s > 0:
            if not exchange and queue.endswith(INCOMING_SUFFIX):
                queue = delay_queue(self._by_address()[queue], delay_s)
            else:
                raise ValueError(f"{address}: only what a step receives from takes a delay")
            for properties, _ in packed:
                properties.expiration = str(min(DELAY_LONGEST_MS, max(1, round(delay_s * 1000))))
        for start in range(0, len(packed), CHUNK):
            self._publisher().publish(exchange, queue, packed[start : start + CHUNK])

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Messages as the broker pushes them; those given back come behind the others."""
        self._target(address)
        return self._inbox(address).take(count_max, wait_s) if count_max > 0 else []

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Those of a connection that has ended are passed over: they come again."""
        for inbox, tags in self._by_inbox(deliveries):
            inbox.settle(tags)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Those of a connection that has ended were given back with it."""
        for inbox, tags in self._by_inbox(deliveries):
            inbox.release(tags)

    def depth(self, subscription: Subscription) -> Depth:
        """Ready, delayed and quarantined as the broker counts them; in hand those of this process."""
        delays = [f"{subscription.delay}-{level_s}s" for level_s in DELAY_LEVELS_S]
        names = [subscription.incoming, subscription.quarantine, *delays]
        ready, quarantined, *delayed = self._ask(partial(_count, names))
        waiting, in_hand = self._here(subscription.incoming)
        return Depth(
            ready=ready + waiting,
            in_hand=in_hand,
            delayed=sum(delayed),
            quarantined=quarantined + sum(self._here(subscription.quarantine)),
        )

    def close(self) -> None:
        """End the connection: what is in hand is given back at once."""
        with self._lock:
            link, self._link = self._link, None
            self._outbox, self._inboxes = None, {}
        if link is not None:
            link.close()

    def _here(self, address: str) -> tuple[int, int]:
        """How many messages lie in this process: not handed out yet, and in hand."""
        inbox = self._inboxes.get(address)
        return (0, 0) if inbox is None or inbox.over else (inbox.waiting, inbox.in_hand)

    def _by_address(self) -> dict[str, Subscription]:
        return {one.incoming: one for one in self._subscriptions.values()}

    def _target(self, address: str) -> tuple[str, str]:
        """Exchange and routing key of an address. Raises ConfigurationError for an undeclared one."""
        for one in self._subscriptions.values():
            if address == one.topic:
                return f"{address}{EXCHANGE_SUFFIX}", ""
            if address in (one.incoming, one.quarantine):
                return "", address
        raise ConfigurationError(f"{address!r} was never declared")

    def _declare_one(self, one: Subscription, channel: Channel, future: Future[None]) -> None:
        """All of a subscription's queues; the binding comes last, and its answer is waited for."""
        kind = {"x-queue-type": "quorum"} if self._quorum else {}
        exchange = f"{one.topic}{EXCHANGE_SUFFIX}"
        channel.exchange_declare(exchange, "fanout", durable=True)
        for queue in (one.incoming, one.quarantine):
            channel.queue_declare(queue, durable=True, arguments=kind)
        back = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": one.incoming}
        if self._quorum:
            back |= {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
        for level_s in DELAY_LEVELS_S:
            queue = f"{one.delay}-{level_s}s"
            channel.queue_declare(queue, durable=True, arguments={**kind, **back})
        channel.queue_bind(one.incoming, exchange, callback=lambda _: succeed(future, None))

    def _ask(self, act: Callable[[Channel, Future[Any]], None]) -> Any:
        """What comes of `act` on a channel of its own. Raises ConfigurationError when the broker refuses."""

        def run(connection: pika.SelectConnection, future: Future[Any]) -> None:
            def opened(channel: Channel) -> None:
                channel.add_on_close_callback(lambda _, reason: fail(future, _refused(reason)))
                future.add_done_callback(lambda _: channel.close() if channel.is_open else None)
                act(channel, future)

            connection.channel(on_open_callback=opened)

        return self._open_link().do(run)

    def _open_link(self) -> Link:
        """The connection; a new one when the last has ended."""
        with self._lock:
            if self._link is None or self._link.over:
                self._link, self._outbox, self._inboxes = Link(self._parameters), None, {}
            return self._link

    def _publisher(self) -> Outbox:
        with self._lock:
            link = self._open_link()
            if self._outbox is None or self._outbox.over:
                self._outbox = Outbox(link)
            return self._outbox

    def _inbox(self, address: str) -> Inbox:
        with self._lock:
            link = self._open_link()
            inbox = self._inboxes.get(address)
            if inbox is None or inbox.over:
                inbox = self._inboxes[address] = Inbox(
                    link, address, partial(self._recount, address)
                )
            return inbox

    def _recount(
        self, address: str, properties: pika.BasicProperties, body: bytes, returns: int
    ) -> None:
        """Put a message that came back again, with the count of how often."""
        message, _ = to_message(properties, body)
        self._publisher().publish("", address, [(to_properties(message, returns), body)])

    def _by_inbox(self, deliveries: Sequence[Delivery]) -> list[tuple[Inbox, list[int]]]:
        """The tags of each inbox that still is the one they came from."""
        found: list[tuple[Inbox, list[int]]] = []
        for address in dict.fromkeys(one.address for one in deliveries):
            inbox = self._inboxes.get(address)
            if inbox is None or inbox.over:
                continue
            receipts = [one.receipt for one in deliveries if one.address == address]
            tags = [r.tag for r in receipts if isinstance(r, Receipt) and r.inbox == inbox.number]
            found.append((inbox, tags))
        return found


def delay_queue(subscription: Subscription, delay_s: float) -> str:
    """The queue a message waits in: the first that is not shorter than its delay, else the longest."""
    fitting = [level_s for level_s in DELAY_LEVELS_S if delay_s <= level_s]
    return f"{subscription.delay}-{(fitting or DELAY_LEVELS_S[-1:])[0]}s"


def _count(names: Sequence[str], channel: Channel, future: Future[list[int]]) -> None:
    """How many messages the broker holds ready in each of `names`."""
    counts: list[int] = []

    def counted(frame: Any) -> None:
        counts.append(int(frame.method.message_count))
        if len(counts) == len(names):
            succeed(future, counts)

    for name in names:
        channel.queue_declare(name, passive=True, callback=counted)


def _refused(reason: Exception) -> Exception:
    if isinstance(reason, pika.exceptions.ChannelClosedByBroker):
        return ConfigurationError(f"RabbitMQ refuses: {reason.reply_text}")
    return reason
