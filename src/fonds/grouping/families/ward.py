"""Weighted Ward linkage of centroids, and how many clusters to cut it into.

Source: J. H. Ward, "Hierarchical grouping to optimize an objective function", 1963; merging costs w1 w2 /
(w1 + w2) times the squared distance. Bound: the cube of the centroids' number in the least steps; 400.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.text.counting import Ints

Doubles = NDArray[np.float64]
CENTROIDS_MAX = 400


def merges(centroids: Doubles, weights: Doubles) -> tuple[list[tuple[int, int]], list[float]]:
    """Pairs of centroids, the cheapest first: the second is joined to the first, which stands for both.

    Beside them what each merge costs.
    """
    places, held = centroids.astype(np.float64), weights.astype(np.float64)
    costs = _costs(places, held, places, held)
    np.fill_diagonal(costs, np.inf)
    pairs, spent = [], []
    for _ in range(len(places) - 1):
        one, other = sorted(divmod(int(costs.argmin()), len(places)))
        spent.append(float(costs[one, other]))
        together = held[one] + held[other]
        places[one] = (places[one] * held[one] + places[other] * held[other]) / together
        held[one] = together
        gone = ~np.isfinite(costs[one])
        costs[other], costs[:, other] = np.inf, np.inf
        row = _costs(places[one : one + 1], held[one : one + 1], places, held)[0]
        row[gone] = np.inf
        row[[one, other]] = np.inf
        costs[one], costs[:, one] = row, row
        pairs.append((one, other))
    return pairs, spent


def cut(pairs: Sequence[tuple[int, int]], clusters: int) -> Ints:
    """The cluster of each centroid after as many merges as leave `clusters`, numbered without gaps."""
    stands = np.arange(len(pairs) + 1)
    for one, other in pairs[: max(len(pairs) + 1 - clusters, 0)]:
        stands[stands == other] = one
    return np.unique(stands, return_inverse=True)[1].astype(np.int64)


def choose(costs: Sequence[float], clusters_max: int) -> int:
    """The number of clusters from which a further merge costs most beside the one before it.

    `costs`: of the merges in order. 1 for a single centroid.
    """
    falling = np.maximum(np.array(costs[::-1][:clusters_max], dtype=np.float64), 1e-12)
    if len(falling) < 2:
        return len(falling) + 1
    return int(np.argmax(falling[:-1] / falling[1:])) + 2


def _squares(some: Doubles, others: Doubles) -> Doubles:
    squares: Doubles = (
        (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * some @ others.T
    )
    return squares


def _costs(some: Doubles, held: Doubles, others: Doubles, their: Doubles) -> Doubles:
    costs: Doubles = _squares(some, others) * (held[:, None] * their / (held[:, None] + their))
    return costs
