"""Density: groups where documents lie close, of whatever number; what lies between them is in none.

Source: R. Campello, D. Moulavi and J. Sander, "Density-based clustering based on hierarchical density
estimates", 2013 (HDBSCAN). Bound: found among 20,000 documents, the others go to the nearest group in reach.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import HDBSCAN

from fonds.grouping.families.partition import (
    NONE,
    Partition,
    Prepared,
    centroids,
    cosines,
    nearest,
    without_gaps,
)
from fonds.grouping.options import Options
from fonds.grouping.space.weighting import evenly

SAMPLE_DOCUMENTS = 20_000
_SMALLEST = 5
_REACH_PERCENTILE = 5


def density(prepared: Prepared, options: Options) -> Partition:
    """The dense groups of at least `size_min` and five documents."""
    vectors = prepared.vectors
    places = evenly(len(vectors), SAMPLE_DOCUMENTS)
    members = np.full(len(vectors), NONE, dtype=np.int64)
    if len(places) > _SMALLEST:
        found = HDBSCAN(max(options.size_min, _SMALLEST), min_samples=_SMALLEST, copy=True)
        members[places] = found.fit_predict(vectors.of(places))
    if members.max(initial=NONE) >= 0 and len(places) < len(vectors):
        centres = centroids(vectors, members, int(members.max()) + 1)
        scores = cosines(vectors, members, centres)
        reach = np.percentile(scores[members >= 0], _REACH_PERCENTILE)
        others = np.setdiff1d(np.arange(len(vectors)), places)
        near = nearest(vectors, centres)
        reached = cosines(vectors, near, centres) >= reach
        members[others] = np.where(reached[others], near[others], NONE)
    return Partition((without_gaps(members),))
