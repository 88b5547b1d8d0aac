"""Damage that the consistency check of a collection finds, and its remedies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Remedy(StrEnum):
    """Remedy for damage in a collection. Remedies are executed in this order."""

    COUNT = "count"
    """Recount the documents of the collection."""
    FORGET = "forget"
    """Remove vectors that an encoder computed from another text. They are recomputed on demand."""
    SWEEP = "sweep"
    """Remove the rows that an interrupted rebuild left."""
    BUILD = "build"
    """Rebuild the damaged clustering and remove the old one."""
    DROP = "drop"
    """Remove a damaged clustering that is kept but no longer served."""
    RELEASE = "release"
    """Remove exclusions of missing documents, and move others out of themes that exclude them."""
    SETTLE = "settle"
    """Rewrite each document's cluster and vectors, and the dictionary and inverted index."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage found in a collection, with its remedy.

    `message`: description of the damage, for people.
    `conf`, `timestamp`: configuration and timestamp of the damaged clustering; '' and 0 if the
        damage concerns the whole collection.
    """

    remedy: Remedy
    message: str
    conf: str = ""
    timestamp: int = 0
