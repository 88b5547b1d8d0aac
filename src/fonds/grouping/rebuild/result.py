"""Result of a rebuild of a clustering."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """Result of a rebuild: counts of the new clustering once it is served.

    `timestamp`: timestamp of the clustering.
    `documents`: number of documents in first-level clusters.
    `clusters`: number of first-level clusters.
    `unclustered`: number of documents in no cluster, including those that people excluded from a
        theme.
    `caught_up`: number of documents that were added or changed during the rebuild.
    """

    timestamp: int
    documents: int
    clusters: int
    unclustered: int
    caught_up: int
