"""Messages, the topics they travel on, and the subscriptions that read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

ENTRY, PARENT, ABOUT, PIPELINE = "entry", "parent", "about", "pipeline"
"""Headers of ours: what the message belongs to, which step and message emitted it, what it is about, and
whose it is on a public topic."""
OTHERS_ONLY_PREFIX = "-"
"""Prefix of the pipeline's name on a message that only other programs read: no stage of ours selects it."""


@dataclass(frozen=True, slots=True)
class Message:
    """What travels: `id` is unique within a topic, and the same when the work that made it is done again.

    `key` orders and partitions, `body` is at most the broker's limit. `headers` are text; those another
    program gave another type are spelled as `queues/headers.py` says. `attempt` counts earlier failures
    of this message at this subscription.
    """

    id: str
    body: bytes
    key: str = ""
    attempt: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """The id of the entry it was made of; its own for the one that entered."""
        return self.headers.get(ENTRY, self.id)

    @property
    def about(self) -> str:
        """What it is about; what orders it, where nothing else is said."""
        return self.headers.get(ABOUT, self.key)

    def is_for(self, pipeline: str) -> bool:
        """Whether a subscription of this pipeline selects it from a topic; "" selects everything."""
        return not pipeline or self.headers.get(PIPELINE, pipeline) == pipeline

    def restrict_to_others(self) -> Message:
        """The same message for other programs only: its stages receive it by another way."""
        pipeline = OTHERS_ONLY_PREFIX + self.headers.get(PIPELINE, "").removeprefix(
            OTHERS_ONLY_PREFIX
        )
        return replace(self, headers={**self.headers, PIPELINE: pipeline})


@dataclass(frozen=True, slots=True)
class TopicTraits:
    """How a broker that keeps logs keeps a topic: parts read side by side, compression (`gzip`, `none`,
    …), and whether only the newest message of a key is kept for good. Other brokers ignore them."""

    partitions: int = 12
    compression: str = "gzip"
    compacted: bool = False


DEFAULT_TRAITS = TopicTraits()
NO_TOPICS: Mapping[str, TopicTraits] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Subscription:
    """The readers of one topic that share its messages between them; named after their step.

    Its three addresses are `NAME-in`, fed by the topic, `NAME-delay` and `NAME-quar`. `traits` are the
    topic's. `pipeline` is its selector: of the topic it receives the messages whose header `pipeline` is
    the same, and those that have no such header; every message where it is "". What is put to one of its
    own addresses is not selected.
    """

    name: str
    topic: str
    traits: TopicTraits = DEFAULT_TRAITS
    pipeline: str = ""

    @property
    def qualified_name(self) -> str:
        """The name on a broker that several environments share: below the prefix of the topic."""
        prefix, dot, _ = self.topic.rpartition(".")
        return f"{prefix}{dot}{self.name}"

    @property
    def incoming(self) -> str:
        """The address its readers receive from."""
        return f"{self.name}-in"

    @property
    def delay(self) -> str:
        """The address messages wait in until they return to `incoming`."""
        return f"{self.name}-delay"

    @property
    def quarantine(self) -> str:
        """The address of messages set apart; nothing reads it but people's tools."""
        return f"{self.name}-quar"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in hand, not yet settled; `receipt` is the backend's own handle.

    `redelivered` counts how often it was handed out before without being settled.
    """

    message: Message
    address: str
    receipt: object
    redelivered: int = 0


@dataclass(frozen=True, slots=True)
class Depth:
    """How many messages a subscription holds: ready, in somebody's hand, delayed, quarantined."""

    ready: int
    in_hand: int
    delayed: int
    quarantined: int

    @property
    def pending(self) -> int:
        """All that are still to be worked on."""
        return self.ready + self.in_hand + self.delayed
