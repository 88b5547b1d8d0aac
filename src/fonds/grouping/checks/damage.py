"""Damage of a collection and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Remedy(StrEnum):
    """Remedy for a damage, in order of execution."""

    COUNT = "count"
    """Recount the documents."""
    FORGET = "forget"
    """Remove vectors that an encoder computed from another text. They are recomputed on demand."""
    SWEEP = "sweep"
    """Remove the remains of a dead rebuild."""
    BUILD = "build"
    """Rebuild the clustering and remove the old one."""
    DROP = "drop"
    """Remove a kept clustering that is no longer served."""
    RELEASE = "release"
    """Remove exclusions of missing documents, and move others out of themes that exclude them."""
    SETTLE = "settle"
    """Rewrite each document's placement and vectors, and the dictionary and index."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage found in a collection.

    `conf` and `timestamp` identify the clustering; '' and 0 for the collection.
    """

    remedy: Remedy
    message: str
    conf: str = ""
    timestamp: int = 0
