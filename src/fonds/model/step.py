"""Results of steps, and pipelines as data: topics, stages, flavours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fonds.model.disposition import DONE, Disposition
from fonds.model.message import DEFAULT_TRAITS, TopicTraits


class Item(Protocol):
    """Payload of a message.

    It may also have `order_key`, if it is ordered by something other than `about` (a fetched
    link by its registered domain), and `tag`, which distinguishes several kinds of one type.
    """

    @property
    def about(self) -> str:
        """Subject: a file's SHA-1 in hex, a story's or document's id; "" while unknown."""


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a step for one item: new items for other steps, and how the item ended.

    There may be any number of items, also several of one type. The runtime sends each to the topic
    for its type and tag. A failed or dropped item may still emit partial results. `about` is the
    subject found, as in `Item.about`; if None, that of the first of `items` counts.
    """

    disposition: Disposition = DONE
    items: tuple[Item, ...] = ()
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """Kind of item: a payload type and its tag; `tag` None matches any."""

    payload: type
    tag: str | None = None

    def covers(self, other: Output) -> bool:
        """Return whether every item that matches `other` matches this."""
        return self.payload is other.payload and self.tag in (None, other.tag)


@dataclass(frozen=True, slots=True)
class Topic:
    """Named stream of messages of one payload type (and tag), and how a broker stores it.

    A public topic is a contract with other programs: it has the same name in every pipeline, and is
    written whether or not a stage of Fonds reads it.
    """

    name: str
    payload: type
    traits: TopicTraits = DEFAULT_TRAITS
    tag: str | None = None
    public: bool = False

    @property
    def output(self) -> Output:
        """Kind of item that the topic carries."""
        return Output(self.payload, self.tag)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step in a pipeline: the topic it reads, those it writes, and the outputs it omits.

    - `writes`, `omits`: together all that the step may emit. A message whose outputs were all
      omitted ends as dropped, `not-wanted`, unless the stage is a sink, which has stored something.
    - `sink`: takes its messages as a batch.
    - `tag`: distinguishes stages of one step.
    - `threads`: None means one per core.
    - `is_concurrent`: works on many messages at once, as a ConcurrentStep.
    - `indexes`: writes the index, which some backends allow for one process only.
    - `batch_max`: number of messages taken at once.
    - `linger_s`: seconds to wait for more if fewer came, because a batch costs the store about as
      much as a message.
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
        """Name of the stage in the ledger, the queue and the user interface."""
        return f"{self.step}-{self.tag}" if self.tag else self.step


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Flavour: the topic its sources write, its stages, and a sentence for people.

    `warc_prefix` begins the names of the WARC files its bodies are written to, "" for that of the
    settings. `{YYYY}` in it is the year of the capture. With `copies`, bodies in WARCs of others
    are also written to ours, regardless of the settings.
    """

    name: str
    entry: Topic
    stages: Sequence[Stage]
    about: str = ""
    warc_prefix: str = ""
    copies: bool = False
