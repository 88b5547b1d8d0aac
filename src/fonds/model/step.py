"""Results of steps, and the parts of a pipeline as data: topics, stages, and pipelines (also called
flavours).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fonds.model.disposition import DONE, Disposition
from fonds.model.message import DEFAULT_TRAITS, TopicTraits


class Item(Protocol):
    """Payload of a message between steps. A step receives one item per message.

    The class of an item may have two more attributes. `order_key` is the key by which messages are
    ordered, if that is not `about` (for a fetched link, its registered domain). `tag` distinguishes
    payloads of one type that go to different topics.
    """

    @property
    def about(self) -> str:
        """Subject of the message: SHA-1 of a file in hex, or the id of a story or document; ""
        while the subject is unknown.
        """


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a step for one item: how the item ended, and new items for other steps.

    - `disposition`: how the item ended.
    - `items`: any number of new items, also several of one type. The runtime sends each to the
      topic for its type and tag. A failed or dropped item may still emit partial results.
    - `about`: subject that the step found, such as the SHA-1 of a file; None to use the subject of
      the first new item.
    """

    disposition: Disposition = DONE
    items: tuple[Item, ...] = ()
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """Type of the payloads that a step emits or that a topic carries, with a tag that tells topics
    apart.

    The tag None matches every tag.
    """

    payload: type
    tag: str | None = None

    def covers(self, other: Output) -> bool:
        """Return whether this type and tag match every payload that those of `other` match."""
        return self.payload is other.payload and self.tag in (None, other.tag)


@dataclass(frozen=True, slots=True)
class Topic:
    """Named stream of messages with one payload type (and tag), and how a broker stores the stream.

    - `traits`: storage settings for a log-based broker.
    - `tag`: tag of the payloads; None for any.
    - `public`: whether other programs may rely on the topic's name and format. A public topic has
      the same name in every pipeline, and is written even if no stage of Fonds reads it.
    """

    name: str
    payload: type
    traits: TopicTraits = DEFAULT_TRAITS
    tag: str | None = None
    public: bool = False

    @property
    def output(self) -> Output:
        """Payload type and tag of the messages in the topic."""
        return Output(self.payload, self.tag)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step in a pipeline, with the topics that it reads and writes.

    - `step`: name of the step.
    - `reads`: topic whose messages the step processes.
    - `writes`, `omits`: topics to which the results are sent, and types of results that no topic
      receives. Together they contain everything that the step may emit. A message whose results
      were all of such types ends as dropped with the reason `not-wanted`, unless the stage is a
      sink, which has stored something.
    - `sink`: whether the step processes its messages as a batch and stores their content.
    - `tag`: distinguishes several stages of one step; "" if there is only one.
    - `threads`: number of threads; None means one per core.
    - `indexes`: whether the step writes the full-text index, which some backends allow for one
      process only.
    - `is_concurrent`: whether the step works on many messages at once, as a ConcurrentStep.
    - `batch_max`: maximum number of messages received at once.
    - `linger_s`: seconds to wait for more messages if fewer than `batch_max` were received. A batch
      costs the store about as much as one message.
    """

    step: str
    reads: Topic
    writes: tuple[Topic, ...] = ()
    omits: tuple[Output, ...] = ()
    sink: bool = False
    tag: str = ""
    threads: int | None = 1
    indexes: bool = False
    is_concurrent: bool = False
    batch_max: int = 100
    linger_s: float = 0.0

    @property
    def name(self) -> str:
        """Name of the stage in the ledger, the queue and the user interface: the step, and the tag
        if set.
        """
        return f"{self.step}-{self.tag}" if self.tag else self.step


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Named pipeline (flavour): the topic that its sources write to, and its stages.

    - `entry`: topic of the first messages.
    - `about`: sentence that describes the pipeline for people.
    - `warc_prefix`: start of the names of the WARC files to which the pipeline's bodies are
      written; "" for the prefix in the settings. `{YYYY}` in it is replaced by the year of the
      capture.
    - `copies`: whether bodies in WARC files of other programs are also written to WARC files of
      Fonds, regardless of the settings.
    """

    name: str
    entry: Topic
    stages: Sequence[Stage]
    about: str = ""
    warc_prefix: str = ""
    copies: bool = False
