"""The port Queue on Kafka: a topic for each topic, a consumer group for each subscription."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.message import (
    NO_TOPICS,
    Delivery,
    Depth,
    Message,
    Subscription,
    TopicTraits,
)
from fonds.queues.kafka.consumer import Reader
from fonds.queues.kafka.errors import explain_error, translate_errors
from fonds.queues.kafka.lag import Spans, count_all, count_others, list_spans
from fonds.queues.kafka.partitions import BufferedCounts
from fonds.queues.kafka.producer import Outbox
from fonds.queues.kafka.topics import (
    MESSAGE_MAX_BYTES,
    SubscriptionTopics,
    collect_topics,
    create_topics,
    list_message_limits,
)

OUR_OPTIONS = frozenset({"partitions", "replication"})


class KafkaQueue:
    """Implements the port Queue over `kafka://[user:password@]host:port[,host:port…]`.

    Options in the URL: `partitions` for those of every topic, `replication` (1), and any setting of
    librdkafka, as `security.protocol=SASL_SSL` or `session.timeout.ms=6000`. `get_depth` counts what is in
    hand here, and takes what others hold for ready. A message in hand when its reader is put out of the
    group comes again elsewhere.
    """

    def __init__(self, url: str) -> None:
        """Raises ConfigurationError for a URL that is none; connects when it is first needed."""
        parts = urlsplit(url)
        self._broker_name = parts.netloc.rpartition("@")[2]
        options = dict(parse_qsl(parts.query))
        try:
            self._partitions = int(options["partitions"]) if "partitions" in options else None
            self._replication = int(options.get("replication", "1"))
        except ValueError:
            raise ConfigurationError("kafka: partitions and replication are numbers") from None
        if not self._broker_name:
            raise ConfigurationError("kafka: the URL names no host: kafka://host:9092")
        self._settings = _build_client_settings(
            self._broker_name, parts.username, parts.password, options
        )
        self._settings["error_cb"] = self._handle_error
        self._refusal: KafkaError | None = None
        self._lock = threading.RLock()
        self._admin_client: AdminClient | None = None
        self._outbox = Outbox(self._settings, self._broker_name)
        self._readers: dict[str, Reader] = {}
        self._places: dict[str, SubscriptionTopics] = {}
        self._topics: set[str] = set()
        self._limits: dict[str, int] = {}

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Make topics that are not there; one somebody made is used as it is.

        Raises ConfigurationError when the cluster refuses.
        """
        places, self._refusal = [SubscriptionTopics(one) for one in subscriptions], None
        try:
            with translate_errors(self._broker_name):
                wanted = collect_topics(places, topics, self._partitions)
                existing = create_topics(
                    self._get_admin(), wanted, self._replication, self._broker_name
                )
                limits = list_message_limits(self._get_admin(), existing)
        except StoreUnavailableError as error:
            self._get_admin().poll(0)  # What the client noticed is told only now.
            if self._refusal is not None:
                raise explain_error(self._refusal, self._where) from error
            raise
        with self._lock:
            self._limits |= limits
            self._places |= {one.subscription.name: one for one in places}
            self._topics |= {*topics, *(one.subscription.topic for one in places)}

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """All of `messages` acknowledged by all replicas; on an error possibly some are."""
        topic, due_ms = self._find_topic(address), None
        if delay_s > 0:
            places = next(
                (o for o in self._places.values() if address == o.subscription.incoming), None
            )
            if places is None:
                raise ValueError(f"{address}: only what a step receives from takes a delay")
            topic, due_ms = (
                places.choose_delay_topic(delay_s),
                round((time.time() + delay_s) * 1000),
            )
        if messages:
            self._outbox.put(topic, messages, due_ms)

    def get_message_max_bytes(self, address: str) -> int:
        """The topic's own `max.message.bytes` as of `declare`, at most 16 MB."""
        limit = self._limits.get(self._find_topic(address), MESSAGE_MAX_BYTES)
        return min(limit, MESSAGE_MAX_BYTES)

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Messages in the order of their partitions; the first call joins the group."""
        self._find_topic(address)
        return self._get_reader(address).take(count_max, wait_s) if count_max > 0 else []

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Committed up to the first that is not settled; the rest as soon as that one is."""
        for reader, those in self._group_by_reader(deliveries):
            reader.settle(those)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Ready again in this process."""
        for reader, those in self._group_by_reader(deliveries):
            reader.release(those)

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """What is in hand stays there while its process lives and reaches the broker: a thread polls for it.

        Tells those of partitions apart that went to other processes meanwhile.
        """
        held = {
            one.receipt
            for reader, those in self._group_by_reader(deliveries)
            for one in reader.filter_owned(those)
        }
        return [one for one in deliveries if one.receipt in held]

    def get_depth(self, subscription: Subscription) -> Depth:
        """How far the groups are behind, less what is known here to be in hand or settled.

        Of a topic somebody else's pipeline writes too, what is not read yet is looked at to tell whose it
        is: some thousands of messages, the rest is taken to be like them.
        """
        places = SubscriptionTopics(subscription)
        shared = self._list_spans(places.name, [subscription.topic])
        main = count_all(shared) + count_all(
            self._list_spans(places.direct_topic, [places.direct_topic])
        )
        if subscription.pipeline:
            main -= self._count_others(shared, subscription)
        delayed = count_all(self._list_spans(places.direct_topic, places.delay_topics))
        apart = count_all(self._list_spans(places.quarantine_topic, [places.quarantine_topic]))
        here, apart_here = (
            self._count_here(subscription.incoming),
            self._count_here(subscription.quarantine),
        )
        return Depth(
            ready=max(0, main - here.buffered) + here.due,
            in_hand=here.unsettled,
            delayed=max(0, delayed - here.buffered_delayed),
            quarantined=max(0, apart - (apart_here.buffered - apart_here.unsettled)),
        )

    def close(self) -> None:
        """Leave the groups and wait for what is on its way."""
        with self._lock:
            readers, self._readers = list(self._readers.values()), {}
        for reader in readers:
            reader.close()
        self._outbox.close()

    def _handle_error(self, error: KafkaError) -> None:
        """The client tries again for ever what will never do: a wrong password is told nowhere else."""
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self._refusal = error

    def _get_admin(self) -> AdminClient:
        with self._lock:
            if self._admin_client is None:
                self._admin_client = AdminClient(self._settings)
            return self._admin_client

    def _find_topic(self, address: str) -> str:
        """The topic an address is put to. Raises ConfigurationError for an undeclared one."""
        if address in self._topics:
            return address
        for places in self._places.values():
            one = places.subscription
            if address == one.incoming:
                return places.direct_topic
            if address == one.quarantine:
                return places.quarantine_topic
        raise ConfigurationError(f"{address!r} was never declared")

    def _get_reader(self, address: str) -> Reader:
        with self._lock:
            reader = self._readers.get(address)
            if reader is None or reader.has_ended:
                reader = self._readers[address] = self._open_reader(address)
            return reader

    def _open_reader(self, address: str) -> Reader:
        for places in self._places.values():
            one = places.subscription
            if address == one.incoming:
                shares = {places.name: [one.topic], places.direct_topic: places.own_topics}
                selectors = {one.topic: one.pipeline}
                return Reader(
                    self._settings,
                    address,
                    shares,
                    places.delay_topics,
                    self._broker_name,
                    selectors,
                )
            if address == one.quarantine:
                shares = {places.quarantine_topic: [places.quarantine_topic]}
                return Reader(self._settings, address, shares, [], self._broker_name)
        raise ConfigurationError(
            f"{address!r} is a topic; receive from one of its readers' addresses"
        )

    def _group_by_reader(
        self, deliveries: Sequence[Delivery]
    ) -> list[tuple[Reader, list[Delivery]]]:
        found = []
        for address in dict.fromkeys(one.address for one in deliveries):
            reader = self._readers.get(address)
            if reader is not None:
                found.append((reader, [one for one in deliveries if one.address == address]))
        return found

    def _count_here(self, address: str) -> BufferedCounts:
        reader = self._readers.get(address)
        return BufferedCounts() if reader is None else reader.get_counts()

    def _list_spans(self, group: str, topics: Sequence[str]) -> Spans:
        with translate_errors(self._broker_name):
            return list_spans(self._get_admin(), group, topics)

    def _count_others(self, spans: Spans, subscription: Subscription) -> int:
        reader = self._readers.get(subscription.incoming)
        read_to = {} if reader is None else reader.get_positions(subscription.topic)
        with translate_errors(self._broker_name):
            return count_others(self._settings, spans, read_to, subscription.pipeline)


def _build_client_settings(
    hosts: str, user: str | None, password: str | None, options: Mapping[str, str]
) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": hosts,
        "client.id": "fonds",
        "allow.auto.create.topics": False,
        "reconnect.backoff.max.ms": 2_000,
        "log_level": 2,
    }
    settings |= {name: value for name, value in options.items() if name not in OUR_OPTIONS}
    if user is not None:
        settings |= {"sasl.username": unquote(user), "sasl.password": unquote(password or "")}
        settings.setdefault("sasl.mechanism", "PLAIN")
        settings.setdefault("security.protocol", "SASL_SSL")
    return settings
