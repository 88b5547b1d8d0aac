"""Which topics and consumer groups stand for a subscription's addresses, and making them."""

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

ANSWER_MAX_S = 20.0
RECHECK_S = 0.02
DELAY_LEVELS_S = (4, 64, 1024, 16384)
MESSAGE_MAX_BYTES = 16_000_000
UNREAD_RETENTION_MS = 7 * 24 * 3600 * 1000
LEGAL = re.compile(r"[A-Za-z0-9._-]{1,200}\Z")
PLAIN = TopicTraits(partitions=1)


@dataclass(frozen=True, slots=True)
class SubscriptionTopics:
    """The names of one subscription on the cluster; environments share a cluster by their prefix."""

    subscription: Subscription

    @property
    def name(self) -> str:
        """The group that reads the shared topic, and beginning of the names of its own topics."""
        return self.subscription.qualified_name

    @property
    def direct_topic(self) -> str:
        """The topic of what is put to this subscription alone, and the group that reads its own topics."""
        return f"{self.name}-in"

    @property
    def own_topics(self) -> list[str]:
        """The topics of its own that its readers read."""
        return [self.direct_topic, *self.delay_topics]

    @property
    def quarantine_topic(self) -> str:
        """The topic, and the group of those who read it."""
        return f"{self.name}-quar"

    @property
    def delay_topics(self) -> list[str]:
        """The topics of delayed messages, one for each order of magnitude of the delay."""
        return [f"{self.name}-delay-{level_s}s" for level_s in DELAY_LEVELS_S]

    def choose_delay_topic(self, delay_s: float) -> str:
        """The topic a message waits in: the first that is not shorter than its delay, else the longest."""
        fitting = [
            name for s, name in zip(DELAY_LEVELS_S, self.delay_topics, strict=True) if delay_s <= s
        ]
        return (fitting or self.delay_topics[-1:])[0]

    def build_topics(self, partitions: int | None) -> dict[str, TopicTraits]:
        """All topics it needs with their traits; `partitions` over those of the traits."""
        shared = self.subscription.traits
        count = partitions or shared.partitions
        whole = TopicTraits(count, shared.compression, shared.compacted)
        names = {self.subscription.topic: whole, self.direct_topic: TopicTraits(count)}
        return names | dict.fromkeys([*self.delay_topics, self.quarantine_topic], PLAIN)


def create_topics(
    admin: AdminClient, topics: dict[str, TopicTraits], replication: int, broker_name: str
) -> list[str]:
    """Make those that are missing; return those that existed.

    Raises ConfigurationError when the cluster refuses.
    """
    illegal = [name for name in topics if not LEGAL.match(name)]
    if illegal:
        raise ConfigurationError(
            f"Kafka allows no topic {illegal[0]!r}: letters, digits, . _ - only"
        )
    there = admin.list_topics(timeout=ANSWER_MAX_S).topics
    existing = [name for name in topics if name in there]
    missing = [name for name in topics if name not in there]
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
    asked = admin.create_topics(new, operation_timeout=ANSWER_MAX_S, request_timeout=ANSWER_MAX_S)
    for future in asked.values():
        try:
            future.result(ANSWER_MAX_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise explain_error(error.args[0], broker_name) from error
    _wait_until_known(admin, missing, broker_name)
    return existing


def list_message_limits(admin: AdminClient, names: Sequence[str]) -> dict[str, int]:
    """`max.message.bytes` of topics, which others may have made; those we may not ask about are absent."""
    if not names:
        return {}
    wanted = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    found = {}
    for one, future in admin.describe_configs(wanted, request_timeout=ANSWER_MAX_S).items():
        try:
            value = future.result(ANSWER_MAX_S)["max.message.bytes"].value
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise
            continue
        found[one.name] = int(value)
    return found


def _wait_until_known(admin: AdminClient, names: list[str], broker_name: str) -> None:
    """Until every partition has a leader: who subscribes earlier may wait minutes for his first message."""
    deadline = time.monotonic() + ANSWER_MAX_S
    while True:
        known = admin.list_topics(timeout=ANSWER_MAX_S).topics
        parts = [list(known[name].partitions.values()) if name in known else [] for name in names]
        if all(some and all(one.leader >= 0 for one in some) for some in parts):
            return
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Kafka at {broker_name} has no leader for new topics yet")
        time.sleep(RECHECK_S)


def _build_settings(traits: TopicTraits) -> dict[str, str]:
    """A topic's settings; nothing unread is compacted away within a week, nothing ever by its age."""
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
    """The topics of several subscriptions, and those only put to; `partitions` over those of the traits."""
    wanted = {
        name: replace(traits, partitions=partitions or traits.partitions)
        for name, traits in public_topics.items()
    }
    return wanted | {
        name: traits for one in places for name, traits in one.build_topics(partitions).items()
    }
