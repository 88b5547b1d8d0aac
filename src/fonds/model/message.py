"""Messages, the topics that carry messages, and the subscriptions that receive messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

ENTRY, PARENT, ABOUT, PIPELINE = "entry", "parent", "about", "pipeline"
FORMAT, DEFERRALS = "format", "deferrals"
"""Message headers that Fonds sets.

- `entry`: id of the entry from which the message was made.
- `parent`: step and message that emitted the message.
- `about`: subject of the message, such as the SHA-1 of a file.
- `pipeline`: name of the pipeline, on a public topic.
- `format`: version of the body's format, between steps.
- `deferrals`: how often workers put the message back on the queue without counting an attempt.
"""
OTHERS_ONLY_PREFIX = "-"
"""Prefix of the `pipeline` header on a message that is only for programs other than Fonds.

No stage of Fonds receives a message with this prefix.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """Message of a topic.

    - `id`: unique within a topic. Repeating the work that made the message gives the same id.
    - `body`: payload bytes, at most the size limit of the broker.
    - `key`: messages with equal keys stay in order and in one partition.
    - `attempt`: number of earlier failures of this message at this subscription.
    - `headers`: names and texts. Header values of other types, set by other programs, are written
      as text (`queues/headers.py`).
    """

    id: str
    body: bytes
    key: str = ""
    attempt: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """Id of the entry from which the message was made; the message's own id for the first
        message.
        """
        return self.headers.get(ENTRY, self.id)

    @property
    def about(self) -> str:
        """Subject of the message, such as the SHA-1 of a file; the message key if no subject is
        stated.
        """
        return self.headers.get(ABOUT, self.key)

    def is_for(self, pipeline: str) -> bool:
        """Return whether a subscription of `pipeline` receives the message from a shared topic.

        A subscription with the pipeline "" receives every message.
        """
        return not pipeline or self.headers.get(PIPELINE, pipeline) == pipeline

    def restrict_to_others(self) -> Message:
        """Return a copy of the message that only programs other than Fonds receive.

        The header `pipeline` of the copy is changed, so that no subscription of a pipeline of Fonds
        selects the copy. The steps of Fonds get the original message within their process.
        """
        pipeline = OTHERS_ONLY_PREFIX + self.headers.get(PIPELINE, "").removeprefix(
            OTHERS_ONLY_PREFIX
        )
        return replace(self, headers={**self.headers, PIPELINE: pipeline})


@dataclass(frozen=True, slots=True)
class TopicTraits:
    """Storage settings of a topic in a log-based broker; other brokers ignore the settings.

    - `partitions`: number of parts that can be read in parallel.
    - `compression`: `gzip`, `none`, ….
    - `compacted`: whether the broker keeps only the newest message per key, and keeps it forever.
    """

    partitions: int = 12
    compression: str = "gzip"
    compacted: bool = False


DEFAULT_TRAITS = TopicTraits()
NO_TOPICS: Mapping[str, TopicTraits] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Subscription:
    """Group of consumers that share the messages of one topic, named after the step that they run.

    - `name`: name of the step. The subscription has three queues: `NAME-in` for messages of the
      topic, `NAME-delay` and `NAME-quar`.
    - `topic`: name of the topic.
    - `traits`: storage settings of the topic.
    - `pipeline`: name of the pipeline whose messages the subscription receives. Messages without
      the header `pipeline` are received too. "" receives every message. Messages put directly into
      one of the three queues are not filtered.
    """

    name: str
    topic: str
    traits: TopicTraits = DEFAULT_TRAITS
    pipeline: str = ""

    @property
    def qualified_name(self) -> str:
        """Name of the subscription on a broker that several environments share.

        The name begins with the topic's name up to its last dot, so that environments do not share
        queues.
        """
        prefix, dot, _ = self.topic.rpartition(".")
        return f"{prefix}{dot}{self.name}"

    @property
    def incoming(self) -> str:
        """Name of the queue from which the consumers of the subscription receive messages."""
        return f"{self.name}-in"

    @property
    def delay(self) -> str:
        """Name of the subscription's queue for messages that wait to return to its queue
        `incoming`.
        """
        return f"{self.name}-delay"

    @property
    def quarantine(self) -> str:
        """Name of the subscription's queue for quarantined messages; only tools for people read
        this queue.
        """
        return f"{self.name}-quar"


@dataclass(frozen=True, slots=True)
class Delivery:
    """Received message that the consumer has neither acknowledged nor returned yet.

    - `address`: name of the queue from which the message was received.
    - `receipt`: handle with which the backend identifies the delivery.
    - `redelivered`: number of earlier deliveries of the message that were never acknowledged.
    """

    message: Message
    address: str
    receipt: object
    redelivered: int = 0


@dataclass(frozen=True, slots=True)
class Depth:
    """Number of messages of a subscription by state.

    - `ready`: waiting to be received.
    - `in_hand`: received but not acknowledged yet.
    - `delayed`: waiting to be delivered again later.
    - `quarantined`: failed and kept for a person.
    """

    ready: int
    in_hand: int
    delayed: int
    quarantined: int

    @property
    def pending(self) -> int:
        """Number of messages still to process: ready, received or delayed."""
        return self.ready + self.in_hand + self.delayed
