"""Damage that the consistency check of a collection finds, and its remedies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Remedy(StrEnum):
    """Remedy for damage in a collection.

    Remedies are executed in this order: count, forget, sweep, build, drop, release, settle.
    Only a person can accept rows.
    """

    COUNT = "count"
    """Recount the documents of the collection."""
    FORGET = "forget"
    """Remove encoder vectors that are damaged or of another text. They are recomputed on demand."""
    SWEEP = "sweep"
    """Remove the rows that an interrupted rebuild left."""
    BUILD = "build"
    """Build a new clustering and remove the damaged one."""
    DROP = "drop"
    """Remove a damaged clustering that is kept but no longer served."""
    RELEASE = "release"
    """Remove exclusions of missing documents, and move others out of themes that exclude them."""
    SETTLE = "settle"
    """Rewrite documents' clusters and vectors, and their collection's dictionary and index."""
    ACCEPT = "accept"
    """A person checks rows that nothing else confirms, and accepts or corrects them."""


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
