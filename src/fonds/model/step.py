"""What a step returns, and how a pipeline strings steps together: data, no logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fonds.model.disposition import DONE, Disposition
from fonds.model.message import DEFAULT_TRAITS, TopicTraits


class Item(Protocol):
    """A payload: what travels in a message.

    It may also have `order_key`, when it is ordered by something else than what it is about (a fetched
    link by its registered domain), and `tag`, which tells several sorts of one type apart.
    """

    @property
    def about(self) -> str:
        """What it is about: a file's SHA-1 in hex, a story's or document's id; '' while unknown."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a step made of one item: things for other steps, and how the item ended here.

    Any number of items, also several of one type; the runtime sends each to the topic that carries its
    type and tag. A failed or dropped item may still hand on what could be had of it. `about` is what the
    item turned out to be about, in the words of `Item.about`; where None, the first of `items` tells it.
    """

    disposition: Disposition = DONE
    items: tuple[Item, ...] = ()
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A sort of item: a payload type and its tag; `tag` None stands for any."""

    payload: type
    tag: str | None = None

    def covers(self, other: Output) -> bool:
        """Whether everything that is `other` is this."""
        return self.payload is other.payload and self.tag in (None, other.tag)


@dataclass(frozen=True, slots=True)
class Topic:
    """A named stream of messages of one payload type (and tag), and how a broker is to keep it.

    A public topic is a contract with others: it has the same name in every pipeline, and is written
    whether or not anybody here reads it.
    """

    name: str
    payload: type
    traits: TopicTraits = DEFAULT_TRAITS
    tag: str | None = None
    public: bool = False

    @property
    def carries(self) -> Output:
        """What may be put on it."""
        return Output(self.payload, self.tag)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step in a pipeline: the topic it reads, those it writes, and what it leaves unsent.

    `writes` and `omits` together are what the step may emit. A message of which everything was omitted
    ends as dropped, `not-wanted`, unless the stage is a sink, which has kept something of it. `tag`
    tells stages of one step apart. A sink takes its messages as a batch. `threads` None means one for
    each core; `batch_max` is how many messages are taken at once, `linger_s` how long more are waited
    for when fewer came, because a batch costs the store about as much as a message. `indexes` says that
    it writes the index, which some backends let one process only do.
    """

    step: str
    reads: Topic
    writes: tuple[Topic, ...] = ()
    omits: tuple[Output, ...] = ()
    sink: bool = False
    tag: str = ""
    threads: int | None = 1
    indexes: bool = False
    many: bool = False
    batch_max: int = 100
    linger_s: float = 0.0

    @property
    def name(self) -> str:
        """What the stage is called on the books, the queue and the screen."""
        return f"{self.step}-{self.tag}" if self.tag else self.step


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A flavour: the topic its sources write and its stages, and a sentence for people.

    `warc_prefix` begins the names of the WARC files its bodies are written to, "" for that of the settings;
    `{YYYY}` in it is the year of the capture.
    With `copies` bodies that lie in other people's WARCs are written to ours, whatever the settings say.
    """

    name: str
    entry: Topic
    stages: Sequence[Stage]
    about: str = ""
    warc_prefix: str = ""
    copies: bool = False
