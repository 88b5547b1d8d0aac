"""Where clusters lie on a map: near each other where their middles are, at the same place as before.

Source: classical multidimensional scaling (W. S. Torgerson, 1952) and orthogonal Procrustes (P. H.
Schönemann, 1966). Bound: 2,000 clusters of 600 directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.float64]


def positions(
    centroids: NDArray[np.float32], ids: Sequence[str], before: Mapping[str, tuple[float, float]]
) -> Positions:
    """Clusters x 2, both within -1 and 1, turned and mirrored so that clusters that were on the map before,
    known by their ids, stay where they were as nearly as can be."""
    count = len(centroids)
    if count == 0:
        return np.zeros((0, 2))
    middle = centroids.astype(np.float64) - centroids.mean(axis=0, dtype=np.float64)
    left, strength, _ = np.linalg.svd(middle, full_matrices=False)
    flat = np.zeros((count, 2))
    rank = min(2, len(strength))
    flat[:, :rank] = left[:, :rank] * strength[:rank]
    kept = [at for at, id_ in enumerate(ids) if id_ in before]
    if len(kept) > 1:
        flat = _turned(flat, kept, np.array([before[ids[at]] for at in kept]))
    furthest = float(np.abs(flat).max())
    return flat / furthest if furthest > 0 else flat


def _turned(flat: Positions, kept: Sequence[int], wanted: Positions) -> Positions:
    some = flat[kept]
    left, _, right = np.linalg.svd((some - some.mean(axis=0)).T @ (wanted - wanted.mean(axis=0)))
    turned: Positions = flat @ (left @ right)
    return turned
