"""Which topics and consumer groups stand for a subscription's addresses, and making them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.message import Subscription, Traits
from fonds.queues.kafka.faults import explained

ANSWER_MAX_S = 20.0
LOOK_AGAIN_S = 0.02
DELAY_LEVELS_S = (4, 64, 1024, 16384)
MESSAGE_MAX_BYTES = 16_000_000
UNREAD_KEPT_MS = 7 * 24 * 3600 * 1000
LEGAL = re.compile(r"[A-Za-z0-9._-]{1,200}\Z")
PLAIN = Traits(partitions=1)


@dataclass(frozen=True, slots=True)
class Places:
    """The names of one subscription on the cluster; environments share a cluster by their prefix."""

    subscription: Subscription

    @property
    def name(self) -> str:
        """The group that reads the shared topic, and beginning of the names of its own topics."""
        return self.subscription.qualified_name

    @property
    def direct(self) -> str:
        """The topic of what is put to this subscription alone, and the group that reads its own topics."""
        return f"{self.name}-in"

    @property
    def own(self) -> list[str]:
        """The topics of its own that its readers read."""
        return [self.direct, *self.delays]

    @property
    def quarantine(self) -> str:
        """The topic, and the group of those who read it."""
        return f"{self.name}-quar"

    @property
    def delays(self) -> list[str]:
        """The topics of delayed messages, one for each order of magnitude of the delay."""
        return [f"{self.name}-delay-{level_s}s" for level_s in DELAY_LEVELS_S]

    def delay(self, delay_s: float) -> str:
        """The topic a message waits in: the first that is not shorter than its delay, else the longest."""
        fitting = [
            name for s, name in zip(DELAY_LEVELS_S, self.delays, strict=True) if delay_s <= s
        ]
        return (fitting or self.delays[-1:])[0]

    def topics(self, partitions: int | None) -> dict[str, Traits]:
        """All topics it needs with their traits; `partitions` over those of the traits."""
        shared = self.subscription.traits
        count = partitions or shared.partitions
        whole = Traits(count, shared.compression, shared.compacted)
        names = {self.subscription.topic: whole, self.direct: Traits(count)}
        return names | dict.fromkeys([*self.delays, self.quarantine], PLAIN)


def make_topics(
    admin: AdminClient, topics: dict[str, Traits], replication: int, where: str
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
            config=_settings(topics[name]),
        )
        for name in missing
    ]
    asked = admin.create_topics(new, operation_timeout=ANSWER_MAX_S, request_timeout=ANSWER_MAX_S)
    for future in asked.values():
        try:
            future.result(ANSWER_MAX_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise explained(error.args[0], where) from error
    _wait_until_known(admin, missing, where)
    return existing


def message_limits(admin: AdminClient, names: Sequence[str]) -> dict[str, int]:
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


def _wait_until_known(admin: AdminClient, names: list[str], where: str) -> None:
    """Until every partition has a leader: who subscribes earlier may wait minutes for his first message."""
    deadline = time.monotonic() + ANSWER_MAX_S
    while True:
        known = admin.list_topics(timeout=ANSWER_MAX_S).topics
        parts = [list(known[name].partitions.values()) if name in known else [] for name in names]
        if all(some and all(one.leader >= 0 for one in some) for some in parts):
            return
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Kafka at {where} has no leader for new topics yet")
        time.sleep(LOOK_AGAIN_S)


def _settings(traits: Traits) -> dict[str, str]:
    """A topic's settings; nothing unread is compacted away within a week, nothing ever by its age."""
    compression = "uncompressed" if traits.compression == "none" else traits.compression
    settings = {
        "compression.type": compression,
        "max.message.bytes": str(MESSAGE_MAX_BYTES),
        "retention.ms": "-1",
    }
    if traits.compacted:
        settings |= {"cleanup.policy": "compact", "min.compaction.lag.ms": str(UNREAD_KEPT_MS)}
    return settings


def all_topics(
    places: Iterable[Places], others: Mapping[str, Traits], partitions: int | None
) -> dict[str, Traits]:
    """The topics of several subscriptions, and those only put to; `partitions` over those of the traits."""
    wanted = {
        name: replace(traits, partitions=partitions or traits.partitions)
        for name, traits in others.items()
    }
    return wanted | {
        name: traits for one in places for name, traits in one.topics(partitions).items()
    }
