"""Names and creation of the Kafka topics of queue subscriptions."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.message import Subscription, TopicTraits
from fonds.queues.kafka.errors import explain_error

RESPONSE_TIMEOUT_S = 20.0
RECHECK_S = 0.02
DELAY_LEVELS_S = (4, 64, 1024, 16384)
MESSAGE_MAX_BYTES = 16_000_000
UNREAD_RETENTION_MS = 7 * 24 * 3600 * 1000
VALID_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}\Z")
SINGLE_PARTITION = TopicTraits(partitions=1)


@dataclass(frozen=True, slots=True)
class SubscriptionTopics:
    """Names of the Kafka topics and consumer groups of one queue subscription.

    The names begin with the prefix of the topic, so that several environments can share a cluster.
    """

    subscription: Subscription

    @property
    def name(self) -> str:
        """Name of the consumer group that reads the subscription's topic, which other subscriptions
        may share.

        The names of the Kafka topics that only this subscription reads begin with this name.
        """
        return self.subscription.qualified_name

    @property
    def direct_topic(self) -> str:
        """Name of the Kafka topic for messages to this subscription only.

        The consumer group that reads this topic and the delay topics has the same name.
        """
        return f"{self.name}-in"

    @property
    def own_topics(self) -> list[str]:
        """Kafka topics that only this subscription reads: the direct topic and the delay topics."""
        return [self.direct_topic, *self.delay_topics]

    @property
    def quarantine_topic(self) -> str:
        """Name of the Kafka topic of quarantined messages, and of the consumer group that
        reads it.
        """
        return f"{self.name}-quar"

    @property
    def delay_topics(self) -> list[str]:
        """Kafka topics of delayed messages, one for each delay range: up to 4, 64, 1,024 and 16,384
        seconds.
        """
        return [f"{self.name}-delay-{level_s}s" for level_s in DELAY_LEVELS_S]

    def choose_delay_topic(self, delay_s: float) -> str:
        """Return the Kafka topic for messages with a delay of `delay_s` seconds.

        It is the first topic whose range covers the delay, or the last topic for longer delays.
        """
        fitting = [
            name for s, name in zip(DELAY_LEVELS_S, self.delay_topics, strict=True) if delay_s <= s
        ]
        return (fitting or self.delay_topics[-1:])[0]

    def build_topics(self, partitions: int | None) -> dict[str, TopicTraits]:
        """Return the number of partitions, compression and compaction of the subscription's Kafka
        topics, by topic name.

        `partitions` overrides the number of partitions unless None. Delay and quarantine topics
        always have one partition.
        """
        topic_traits = self.subscription.traits
        count = partitions or topic_traits.partitions
        shared_traits = TopicTraits(count, topic_traits.compression, topic_traits.compacted)
        names = {self.subscription.topic: shared_traits, self.direct_topic: TopicTraits(count)}
        return names | dict.fromkeys([*self.delay_topics, self.quarantine_topic], SINGLE_PARTITION)


def create_topics(
    admin: AdminClient, topics: dict[str, TopicTraits], replication: int, broker_name: str
) -> list[str]:
    """Create those of the Kafka topics `topics` that do not exist. Return the names of those that
    existed.

    Waits until the new topics have leaders. `replication` is the number of replicas. Raises
    ConfigurationError if a name is illegal or the cluster refuses, and StoreUnavailableError if a
    new topic has no leader in time.
    """
    illegal = [name for name in topics if not VALID_NAME.match(name)]
    if illegal:
        raise ConfigurationError(
            f"Kafka does not allow the topic {illegal[0]!r}. Use only letters, digits, "
            "dots, underscores and hyphens."
        )
    cluster_topics = admin.list_topics(timeout=RESPONSE_TIMEOUT_S).topics
    existing = [name for name in topics if name in cluster_topics]
    missing = [name for name in topics if name not in cluster_topics]
    if not missing:
        return existing
    new = [
        NewTopic(
            name,
            num_partitions=topics[name].partitions,
            replication_factor=replication,
            config=_build_settings(topics[name]),
        )
        for name in missing
    ]
    futures = admin.create_topics(
        new, operation_timeout=RESPONSE_TIMEOUT_S, request_timeout=RESPONSE_TIMEOUT_S
    )
    for future in futures.values():
        try:
            future.result(RESPONSE_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise explain_error(error.args[0], broker_name) from error
    _wait_until_known(admin, missing, broker_name)
    return existing


def load_topic_settings(admin: AdminClient, names: Sequence[str], setting: str) -> dict[str, str]:
    """Return the value of one Kafka setting of each topic.

    Topics whose settings Fonds is not authorized to read are omitted. Raises KafkaException if Kafka
    refuses for another reason or does not answer.
    """
    if not names:
        return {}
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    values: dict[str, str] = {}
    for resource, future in admin.describe_configs(
        resources, request_timeout=RESPONSE_TIMEOUT_S
    ).items():
        try:
            values[resource.name] = future.result(RESPONSE_TIMEOUT_S)[setting].value
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise
    return values


def _wait_until_known(admin: AdminClient, names: list[str], broker_name: str) -> None:
    """Wait until every partition of the new Kafka topics has a leader.

    A client that subscribes earlier may wait minutes for its first message. Raises
    StoreUnavailableError after `RESPONSE_TIMEOUT_S` seconds.
    """
    deadline = time.monotonic() + RESPONSE_TIMEOUT_S
    while True:
        cluster_topics = admin.list_topics(timeout=RESPONSE_TIMEOUT_S).topics
        partitions_by_topic = [
            list(cluster_topics[name].partitions.values()) if name in cluster_topics else []
            for name in names
        ]
        if all(
            partitions and all(partition.leader >= 0 for partition in partitions)
            for partitions in partitions_by_topic
        ):
            return
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Kafka at {broker_name} has no leader for new topics yet")
        time.sleep(RECHECK_S)


def _build_settings(traits: TopicTraits) -> dict[str, str]:
    """Return the Kafka settings of a new topic.

    Records are never deleted by age. In a compacted topic, records are compacted after a week at
    the earliest, so that all readers see them.
    """
    compression = "uncompressed" if traits.compression == "none" else traits.compression
    settings = {
        "compression.type": compression,
        "max.message.bytes": str(MESSAGE_MAX_BYTES),
        "retention.ms": "-1",
    }
    if traits.compacted:
        settings |= {"cleanup.policy": "compact", "min.compaction.lag.ms": str(UNREAD_RETENTION_MS)}
    return settings


def collect_topics(
    places: Iterable[SubscriptionTopics],
    public_topics: Mapping[str, TopicTraits],
    partitions: int | None,
) -> dict[str, TopicTraits]:
    """Return the partition count, compression and compaction of all Kafka topics to create, by
    topic name.

    These are the topics of several subscriptions and the public topics. `partitions` overrides the
    number of partitions unless None; delay and quarantine topics always have one.
    """
    topics = {
        name: replace(traits, partitions=partitions or traits.partitions)
        for name, traits in public_topics.items()
    }
    return topics | {
        name: traits
        for subscription_topics in places
        for name, traits in subscription_topics.build_topics(partitions).items()
    }
