"""Partition of documents into clusters: input and result of the algorithms, and centroids.

Each algorithm has a module of its own: `topics.py`, `small_clusters.py`, `factors.py` and
`density.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.space import ProjectedVectors
from fonds.grouping.algorithms.term_counts import Floats, Ints, Matrix

NO_CLUSTER = -1
"""Cluster number of a document in no cluster."""


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """Distinct documents to partition, each with at least one feature (term that counts).

    Their order depends only on their content.

    `vectors`: vectors of the documents, computed on demand for some documents at a time.
    `weighted_rows`: tf-idf of the documents, documents x features.
    `times_s`: date of each document in seconds since any fixed time, float64; None if unknown.
    `previous_numbers`: cluster number of each document in the previous clustering, NO_CLUSTER for
        new documents and outliers; None without a previous clustering.
    """

    vectors: ProjectedVectors = field(repr=False)
    weighted_rows: Matrix = field(repr=False)
    times_s: NDArray[np.float64] | None = None
    previous_numbers: Ints | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """Clusters of the prepared documents at one or more granularities (levels).

    `levels`: for each level, the requested one first, an int64 array with the cluster number of
        each document. Clusters are numbered from 0 without gaps; NO_CLUSTER for none.
    `evidence`: features x clusters of the first level, float32: how strongly each term indicates
        each cluster. None if the nearest centroid decides.
    """

    levels: tuple[Ints, ...]
    evidence: Floats | None = None


class PartitionAlgorithm(Protocol):
    """Protocol of an algorithm that partitions documents into clusters.

    The algorithm is deterministic: the same documents and options always give the same clusters.
    """

    def __call__(self, prepared_documents: PreparedDocuments, options: Options) -> Partition:
        """Return the clusters of the prepared documents. There must be at least one document."""


def renumber_clusters(cluster_numbers: Ints) -> Ints:
    """Return cluster numbers that begin at 0 and are ordered by cluster size, largest first.

    Clusters of equal size are ordered by their first document. NO_CLUSTER stays.
    `cluster_numbers`: current cluster number of each document, NO_CLUSTER for none.
    """
    old_numbers, first_documents, inverse, sizes = np.unique(
        cluster_numbers, return_index=True, return_inverse=True, return_counts=True
    )
    is_none = old_numbers == NO_CLUSTER
    order = np.lexsort((first_documents, -sizes, is_none))
    new_numbers = np.empty(len(old_numbers), dtype=np.int64)
    new_numbers[order] = np.arange(len(old_numbers))
    new_numbers[is_none] = NO_CLUSTER
    return new_numbers[inverse]


def compute_centroids(
    vectors: ProjectedVectors, cluster_numbers: Ints, cluster_count: int
) -> Floats:
    """Return the normalized mean vector of each cluster: clusters x dimensions, float32, length 1.

    It is zero for a cluster without documents.
    `cluster_numbers`: cluster number of each document, NO_CLUSTER for none.
    """
    sums = np.zeros((cluster_count, vectors.width), dtype=np.float64)
    for part, part_vectors in vectors.iter_parts():
        part_numbers = cluster_numbers[part]
        rows = np.flatnonzero(part_numbers != NO_CLUSTER)
        rows = rows[np.argsort(part_numbers[rows], kind="stable")]
        begins = np.flatnonzero(np.diff(part_numbers[rows], prepend=NO_CLUSTER))
        if len(begins):
            sums[part_numbers[rows][begins]] += np.add.reduceat(
                part_vectors[rows], begins, axis=0, dtype=np.float64
            )
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(lengths, 1e-12), dtype=np.float32)


def compute_cosines(vectors: ProjectedVectors, cluster_numbers: Ints, centroids: Floats) -> Floats:
    """Return the cosine similarity of each document to its cluster's centroid, float32.

    It is 0 for documents in no cluster.
    `cluster_numbers`: cluster number of each document, NO_CLUSTER for none.
    `centroids`: clusters x dimensions.
    """
    scores = np.zeros(len(cluster_numbers), np.float32)
    for part, part_vectors in vectors.iter_parts():
        rows = np.flatnonzero(cluster_numbers[part] != NO_CLUSTER)
        own_centroids = centroids[cluster_numbers[part][rows]]
        scores[part][rows] = np.einsum("ij,ij->i", part_vectors[rows], own_centroids)
    return scores


def find_nearest_centroids(vectors: ProjectedVectors, centroids: Floats) -> Ints:
    """Return for each document the number of the cluster with the nearest centroid.

    The lowest number wins among equally near ones.
    `centroids`: clusters x dimensions.
    """
    nearest_numbers = np.zeros(len(vectors), dtype=np.int64)
    for part, part_vectors in vectors.iter_parts():
        nearest_numbers[part] = (part_vectors @ centroids.T).argmax(axis=1)
    return nearest_numbers
