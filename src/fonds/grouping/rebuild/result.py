"""Result of a rebuild."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """Result of a rebuild, as served.

    `timestamp`: time of the clustering.
    `documents`: documents in first-level clusters.
    `clusters`: number of first-level clusters.
    `unclustered`: documents in none, including those excluded from a theme by people.
    `caught_up`: documents that were added or changed during the rebuild.
    """

    timestamp: int
    documents: int
    clusters: int
    unclustered: int
    caught_up: int
