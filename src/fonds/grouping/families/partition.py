"""What every family of algorithms takes and gives: vectors in, clusters by number out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.options import Options
from fonds.grouping.space.projecting import Vectors
from fonds.grouping.space.weighting import Floats
from fonds.grouping.text.counting import Ints, Matrix

NONE = -1
"""The cluster of a document that is in none."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Distinct documents with at least one feature, in rank order.

    `vectors`: documents x directions, asked for by parts; `weighted`: their tf-idf; `times_s`: seconds of
    any clock, float64, or None; `before`: the cluster of each in the clustering before, NONE for new ones,
    or None.
    """

    vectors: Vectors = field(repr=False)
    weighted: Matrix = field(repr=False)
    times_s: NDArray[np.float64] | None = None
    before: Ints | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """Clusters of the prepared documents at one or more granularities, the asked one first.

    `levels`: for each, an int64 array with every document's cluster, from 0 without gaps, or NONE.
    `evidence`: features x clusters of the first level, float32: which cluster each term speaks for; None
    where the nearest centroid decides.
    """

    levels: tuple[Ints, ...]
    evidence: Floats | None = None


class Family(Protocol):
    """An algorithm: the same documents with the same options give the same clusters."""

    def __call__(self, prepared: Prepared, options: Options) -> Partition:
        """The clusters of at least one document."""


def without_gaps(members: Ints) -> Ints:
    """Clusters numbered from 0 by size, the largest first; of one size by their first document."""
    used, first, inverse, sizes = np.unique(
        members, return_index=True, return_inverse=True, return_counts=True
    )
    is_none = used == NONE
    order = np.lexsort((first, -sizes, is_none))
    number = np.empty(len(used), dtype=np.int64)
    number[order] = np.arange(len(used))
    number[is_none] = NONE
    return number[inverse]


def centroids(vectors: Vectors, members: Ints, clusters: int) -> Floats:
    """The mean direction of each cluster: clusters x directions, float32 of length 1."""
    sums = np.zeros((clusters, vectors.width), dtype=np.float64)
    for some, placed in vectors.parts():
        of_some = members[some]
        inside = np.flatnonzero(of_some >= 0)
        inside = inside[np.argsort(of_some[inside], kind="stable")]
        begins = np.flatnonzero(np.diff(of_some[inside], prepend=-1))
        if len(begins):
            sums[of_some[inside][begins]] += np.add.reduceat(
                placed[inside], begins, axis=0, dtype=np.float64
            )
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(lengths, 1e-12), dtype=np.float32)


def cosines(vectors: Vectors, members: Ints, centres: Floats) -> Floats:
    """How near each document is to the middle of its cluster, float32; 0 in none."""
    scores = np.zeros(len(members), np.float32)
    for some, placed in vectors.parts():
        inside = np.flatnonzero(members[some] >= 0)
        own = centres[members[some][inside]]
        scores[some][inside] = np.einsum("ij,ij->i", placed[inside], own)
    return scores


def nearest(vectors: Vectors, centres: Floats) -> Ints:
    """The middle each document is nearest to."""
    found = np.zeros(len(vectors), dtype=np.int64)
    for some, placed in vectors.parts():
        found[some] = (placed @ centres.T).argmax(axis=1)
    return found
