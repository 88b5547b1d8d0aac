"""Message queue on Kafka. A Fonds topic is a Kafka topic; consumer groups read a subscription."""

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
from fonds.queues.kafka.lag import (
    CommittedOffsets,
    Spans,
    count_all,
    count_others,
    list_spans,
)
from fonds.queues.kafka.partitions import BufferedCounts
from fonds.queues.kafka.producer import Outbox
from fonds.queues.kafka.purge import delete_read_records, describe_remains
from fonds.queues.kafka.topics import (
    MESSAGE_MAX_BYTES,
    SubscriptionTopics,
    collect_topics,
    create_topics,
    load_topic_settings,
)

FONDS_OPTIONS = frozenset({"partitions", "replication"})


class KafkaQueue:
    """Implements the Queue interface on Kafka, with
    `kafka://[user:password@]host:port[,host:port…]`.

    URL options: `partitions` (number per topic), `replication` (number of replicas, default 1), and
    any librdkafka setting, such as `security.protocol=SASL_SSL` or `session.timeout.ms=6000`.

    `get_depth` counts messages leased by this process. Messages leased by other processes count as
    ready. If Kafka removes a process from the consumer group, other members receive the messages
    that the process has leased.
    """

    def __init__(self, url: str) -> None:
        """Parse the URL of the Kafka brokers; the first use connects. Raises ConfigurationError for
        an invalid URL.
        """
        parts = urlsplit(url)
        self._broker_name = parts.netloc.rpartition("@")[2]
        options = dict(parse_qsl(parts.query))
        try:
            self._partitions = int(options["partitions"]) if "partitions" in options else None
            self._replication = int(options.get("replication", "1"))
        except ValueError:
            raise ConfigurationError("kafka: partitions and replication must be numbers") from None
        if not self._broker_name:
            raise ConfigurationError("kafka: the URL has no host. Write kafka://host:9092")
        self._settings = _build_client_settings(
            self._broker_name, parts.username, parts.password, options
        )
        self._settings["error_cb"] = self._handle_error
        self._refusal: KafkaError | None = None
        self._lock = threading.RLock()
        self._admin_client: AdminClient | None = None
        self._committed_offsets = CommittedOffsets(self._settings)
        self._outbox = Outbox(self._settings, self._broker_name)
        self._readers: dict[str, Reader] = {}
        self._places: dict[str, SubscriptionTopics] = {}
        self._topics: set[str] = set()
        self._limits: dict[str, int] = {}

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Create the Kafka topics of subscriptions and public topics that do not exist yet.
        Existing topics are not changed.

        Raises ConfigurationError if the cluster refuses the login or the creation of a topic, and
        StoreUnavailableError if it does not answer.
        """
        subscription_topics, self._refusal = (
            [SubscriptionTopics(names) for names in subscriptions],
            None,
        )
        try:
            with translate_errors(self._broker_name):
                declared_topics = collect_topics(subscription_topics, topics, self._partitions)
                existing = create_topics(
                    self._get_admin(), declared_topics, self._replication, self._broker_name
                )
                # Other programs may have created a topic with a limit of its own.
                limits = load_topic_settings(self._get_admin(), existing, "max.message.bytes")
        except StoreUnavailableError as error:
            self._get_admin().poll(0)  # The client reports what it noticed only now.
            if self._refusal is not None:
                raise explain_error(self._refusal, self._broker_name) from error
            raise
        with self._lock:
            self._limits |= {name: int(limit) for name, limit in limits.items()}
            self._places |= {names.subscription.name: names for names in subscription_topics}
            self._topics |= {*topics, *(names.subscription.topic for names in subscription_topics)}

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Put messages to an address, and wait until all in-sync replicas have stored them.

        After an error, some messages may have been stored. Raises ValueError for a delay at any
        address but the incoming address of a subscription, and ConfigurationError for an undeclared
        address.
        """
        topic, due_ms = self._find_topic(address), None
        if delay_s > 0:
            places = next(
                (o for o in self._places.values() if address == o.subscription.incoming), None
            )
            if places is None:
                raise ValueError(
                    f"{address}: only the incoming address of a subscription accepts a delay"
                )
            topic, due_ms = (
                places.choose_delay_topic(delay_s),
                round((time.time() + delay_s) * 1000),
            )
        if messages:
            self._outbox.put(topic, messages, due_ms)

    def get_message_max_bytes(self, address: str) -> int:
        """Return the maximum message size of an address in bytes.

        It is the Kafka topic's `max.message.bytes` at the time of `declare`, but at most 16 MB.
        """
        limit = self._limits.get(self._find_topic(address), MESSAGE_MAX_BYTES)
        return min(limit, MESSAGE_MAX_BYTES)

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Lease and return up to `count_max` messages, in the order of their partitions.

        Waits at most `wait_s` seconds for the first message. The first call also waits until this
        process has joined the consumer groups. Raises ConfigurationError for an undeclared address
        or a topic.
        """
        self._find_topic(address)
        return self._get_reader(address).take(count_max, wait_s) if count_max > 0 else []

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages, and commit to Kafka the offset of the first unsettled message of each
        partition.

        Messages that were settled after an unsettled one are stored in the commit's metadata.
        """
        for reader, group in self._group_by_reader(deliveries):
            reader.settle(group)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Make leased messages ready again in this process."""
        for reader, group in self._group_by_reader(deliveries):
            reader.release(group)

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Return the messages that are still leased and whose partition is still assigned to this
        process.

        No request is needed: a thread polls Kafka, so messages stay leased while the process lives
        and reaches the broker.
        """
        owned_receipts = {
            delivery.receipt
            for reader, group in self._group_by_reader(deliveries)
            for delivery in reader.filter_owned(group)
        }
        return [delivery for delivery in deliveries if delivery.receipt in owned_receipts]

    def get_depth(self, subscription: Subscription) -> Depth:
        """Return the numbers of ready, leased, delayed and quarantined messages of a subscription.

        They are the lag of its consumer groups, corrected for messages leased or settled by this
        process. If the subscription selects one pipeline, up to about 5,000 unread messages are
        sampled to estimate how many it receives.
        """
        places = SubscriptionTopics(subscription)
        shared_spans = self._list_spans(places.name, [subscription.topic])
        main = count_all(shared_spans) + count_all(
            self._list_spans(places.direct_topic, [places.direct_topic])
        )
        if subscription.pipeline:
            main -= self._count_others(shared_spans, subscription)
        delayed_count = count_all(self._list_spans(places.direct_topic, places.delay_topics))
        quarantined_count = count_all(
            self._list_spans(places.quarantine_topic, [places.quarantine_topic])
        )
        incoming_counts, quarantine_counts = (
            self._count_here(subscription.incoming),
            self._count_here(subscription.quarantine),
        )
        return Depth(
            ready=max(0, main - incoming_counts.buffered) + incoming_counts.due,
            in_hand=incoming_counts.unsettled,
            delayed=max(0, delayed_count - incoming_counts.buffered_delayed),
            quarantined=max(
                0, quarantined_count - (quarantine_counts.buffered - quarantine_counts.unsettled)
            ),
        )

    def purge(self) -> Sequence[str]:
        """Delete the settled messages of the topics that only the declared subscriptions read.

        Topics with messages for all readers are left alone, because programs that Fonds does not
        know may still read them.
        """
        with self._lock:
            places, shared_topics = list(self._places.values()), sorted(self._topics)
        with translate_errors(self._broker_name):
            admin = self._get_admin()
            for names in places:
                delete_read_records(
                    admin, self._committed_offsets, names.direct_topic, names.own_topics
                )
                delete_read_records(
                    admin,
                    self._committed_offsets,
                    names.quarantine_topic,
                    [names.quarantine_topic],
                )
            return describe_remains(admin, self._broker_name, shared_topics)

    def close(self) -> None:
        """Leave the Kafka consumer groups, and wait until Kafka has stored the records in
        transmission.
        """
        with self._lock:
            readers, self._readers = list(self._readers.values()), {}
        for reader in readers:
            reader.close()
        self._committed_offsets.close()
        self._outbox.close()

    def _handle_error(self, error: KafkaError) -> None:
        """Store the error of a refused login, so that `declare` can report it.

        The Kafka client retries a refused login forever and reports it nowhere else.
        """
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self._refusal = error

    def _get_admin(self) -> AdminClient:
        with self._lock:
            if self._admin_client is None:
                self._admin_client = AdminClient(self._settings)
            return self._admin_client

    def _find_topic(self, address: str) -> str:
        """Return the Kafka topic of a queue address. Raises ConfigurationError if the address was
        not declared.
        """
        if address in self._topics:
            return address
        for places in self._places.values():
            subscription = places.subscription
            if address == subscription.incoming:
                return places.direct_topic
            if address == subscription.quarantine:
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
            subscription = places.subscription
            if address == subscription.incoming:
                shares = {places.name: [subscription.topic], places.direct_topic: places.own_topics}
                selectors = {subscription.topic: subscription.pipeline}
                return Reader(
                    self._settings,
                    address,
                    shares,
                    places.delay_topics,
                    self._broker_name,
                    selectors,
                )
            if address == subscription.quarantine:
                shares = {places.quarantine_topic: [places.quarantine_topic]}
                return Reader(self._settings, address, shares, [], self._broker_name)
        raise ConfigurationError(f"{address!r} is a topic; receive from a subscription's address")

    def _group_by_reader(
        self, deliveries: Sequence[Delivery]
    ) -> list[tuple[Reader, list[Delivery]]]:
        groups = []
        for address in dict.fromkeys(delivery.address for delivery in deliveries):
            reader = self._readers.get(address)
            if reader is not None:
                groups.append(
                    (reader, [delivery for delivery in deliveries if delivery.address == address])
                )
        return groups

    def _count_here(self, address: str) -> BufferedCounts:
        reader = self._readers.get(address)
        return BufferedCounts() if reader is None else reader.get_counts()

    def _list_spans(self, group: str, topics: Sequence[str]) -> Spans:
        with translate_errors(self._broker_name):
            return list_spans(self._get_admin(), self._committed_offsets, group, topics)

    def _count_others(self, spans: Spans, subscription: Subscription) -> int:
        reader = self._readers.get(subscription.incoming)
        read_positions = {} if reader is None else reader.get_positions(subscription.topic)
        with translate_errors(self._broker_name):
            return count_others(self._settings, spans, read_positions, subscription.pipeline)


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
    settings |= {name: value for name, value in options.items() if name not in FONDS_OPTIONS}
    if user is not None:
        settings |= {"sasl.username": unquote(user), "sasl.password": unquote(password or "")}
        settings.setdefault("sasl.mechanism", "PLAIN")
        settings.setdefault("security.protocol", "SASL_SSL")
    return settings
