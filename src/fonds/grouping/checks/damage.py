"""What is wrong with a collection, and what makes it right."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Remedy(StrEnum):
    """What is done about a damage, in the order it is done."""

    COUNT = "count"
    """The documents are counted again."""
    FORGET = "forget"
    """Vectors an encoder made of another text are removed; who needs them next makes them again."""
    SWEEP = "sweep"
    """What a dead rebuild left is removed."""
    BUILD = "build"
    """The clustering is built anew, and the old one removed."""
    DROP = "drop"
    """A kept clustering that is served no more is removed."""
    RELEASE = "release"
    """Exclusions of documents that are gone are removed, and documents are taken out of themes they may not
    be in."""
    SETTLE = "settle"
    """Every document's place and vectors, dictionary and index are written again."""


@dataclass(frozen=True, slots=True)
class Damage:
    """`conf` and `timestamp`: the clustering it is about, '' and 0 where it is the collection itself."""

    remedy: Remedy
    message: str
    conf: str = ""
    timestamp: int = 0
