"""Messages, the topics they travel on, and the subscriptions that read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

ENTRY, PARENT, ABOUT, PIPELINE = "entry", "parent", "about", "pipeline"
"""Fonds headers: the entry, the emitting step and message, the subject, and the pipeline on a
public topic.
"""
OTHERS_ONLY_PREFIX = "-"
"""Prefix of the pipeline's name on a message for other programs only: none of our stages selects
it.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """Message of a topic.

    - `id`: unique within a topic; the same if the work that made it is repeated.
    - `key`: orders and partitions.
    - `body`: at most the broker's limit.
    - `headers`: text; other types set by other programs are spelled as in `queues/headers.py`.
    - `attempt`: number of earlier failures of this message at this subscription.
    """

    id: str
    body: bytes
    key: str = ""
    attempt: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """Id of the entry it was made from; its own id for the first message."""
        return self.headers.get(ENTRY, self.id)

    @property
    def about(self) -> str:
        """Subject of the message; by default its key."""
        return self.headers.get(ABOUT, self.key)

    def is_for(self, pipeline: str) -> bool:
        """Return whether a subscription of this pipeline selects it from a topic.

        With "" it selects everything.
        """
        return not pipeline or self.headers.get(PIPELINE, pipeline) == pipeline

    def restrict_to_others(self) -> Message:
        """Return the message for other programs only; our stages receive it another way."""
        pipeline = OTHERS_ONLY_PREFIX + self.headers.get(PIPELINE, "").removeprefix(
            OTHERS_ONLY_PREFIX
        )
        return replace(self, headers={**self.headers, PIPELINE: pipeline})


@dataclass(frozen=True, slots=True)
class TopicTraits:
    """How a log-based broker stores a topic; other brokers ignore it.

    - `partitions`: parts read in parallel.
    - `compression`: `gzip`, `none`, ….
    - `compacted`: whether only the newest message per key is kept, for good.
    """

    partitions: int = 12
    compression: str = "gzip"
    compacted: bool = False


DEFAULT_TRAITS = TopicTraits()
NO_TOPICS: Mapping[str, TopicTraits] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Subscription:
    """Group of readers that share the messages of one topic; named after their step.

    Its three addresses are `NAME-in`, fed by the topic, `NAME-delay` and `NAME-quar`. `traits` are
    those of the topic. `pipeline` is its selector: it receives messages whose header `pipeline` is
    the same or missing. With "" it receives every message. Messages put to its own addresses are
    not filtered.
    """

    name: str
    topic: str
    traits: TopicTraits = DEFAULT_TRAITS
    pipeline: str = ""

    @property
    def qualified_name(self) -> str:
        """Name on a broker shared by several environments: with the prefix of the topic."""
        prefix, dot, _ = self.topic.rpartition(".")
        return f"{prefix}{dot}{self.name}"

    @property
    def incoming(self) -> str:
        """Address its readers receive from."""
        return f"{self.name}-in"

    @property
    def delay(self) -> str:
        """Address of messages that wait to return to `incoming`."""
        return f"{self.name}-delay"

    @property
    def quarantine(self) -> str:
        """Address of quarantined messages; only tools for people read it."""
        return f"{self.name}-quar"


@dataclass(frozen=True, slots=True)
class Delivery:
    """Received message that is not settled yet; `receipt` is the backend's own handle.

    `redelivered` counts earlier deliveries that were not settled.
    """

    message: Message
    address: str
    receipt: object
    redelivered: int = 0


@dataclass(frozen=True, slots=True)
class Depth:
    """Number of messages of a subscription: ready, received but unsettled, delayed, quarantined."""

    ready: int
    in_hand: int
    delayed: int
    quarantined: int

    @property
    def pending(self) -> int:
        """Number of messages still to process."""
        return self.ready + self.in_hand + self.delayed
