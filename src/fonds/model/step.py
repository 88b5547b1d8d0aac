"""What a step returns, and how a pipeline strings steps together: data, no logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fonds.model.disposition import DONE, Disposition
from fonds.model.message import USUAL, Traits


@dataclass(frozen=True, slots=True)
class Result:
    """What a step made of one item: things for other steps, and how the item ended here.

    Items are payload values; the runtime sends each to the topic that carries its type. A failed or
    dropped item may still hand on what could be had of it.
    """

    disposition: Disposition = DONE
    items: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """A named stream of messages of one payload type, and how a broker is to keep it."""

    name: str
    payload: type
    traits: Traits = USUAL


@dataclass(frozen=True, slots=True)
class Stage:
    """One step in a pipeline: the topic it reads and those it may write.

    The step `x` is the one class of `steps/x.py`, and so is each `x-VARIANT` of it; a sink takes its
    messages as a batch. `workers` None means one for each core; `batch_max` is how many messages are
    taken at once, `linger_s` how long more are waited for when fewer came, because a batch costs the
    store about as much as a message.
    """

    step: str
    reads: Topic
    writes: tuple[Topic, ...] = ()
    sink: bool = False
    workers: int | None = 1
    batch_max: int = 100
    linger_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A flavour: the topic its sources write and its stages."""

    name: str
    entry: Topic
    stages: Sequence[Stage]
