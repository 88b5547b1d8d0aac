"""Small clusters: many clusters of similar documents, found in the order of time.

This is the algorithm `stories` of the configuration. A document joins the nearest open cluster if
it is similar enough, or else starts a new cluster. Documents are processed by time, then by
position. Centroids are updated after each batch of 512 documents.

With a half-life, a cluster without recent documents needs a higher cosine similarity. Without one,
a second pass moves documents to the nearest final cluster. Clusters below the minimum size are
dropped.

Limits: two passes; after each batch, at most 20,000 open clusters. Those without a document for
longest are closed first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.partition import (
    NO_CLUSTER,
    Partition,
    PreparedDocuments,
    compute_centroids,
    renumber_clusters,
)
from fonds.grouping.algorithms.space import ProjectedVectors
from fonds.grouping.algorithms.term_counts import Floats, Ints, normalize_rows

OPEN_CLUSTERS_MAX = 20_000
_DOCUMENT_BATCH = 512


def partition_into_small_clusters(
    prepared_documents: PreparedDocuments, options: Options
) -> Partition:
    """Partition documents into many small clusters of similar documents.

    Documents in clusters smaller than `options.size_min` are in no cluster.
    """
    vectors, times_s = prepared_documents.vectors, prepared_documents.times_s
    order = np.arange(len(vectors)) if times_s is None else np.argsort(times_s, kind="stable")
    open_clusters = _OpenClusters(vectors.width)
    cluster_numbers = np.full(len(order), NO_CLUSTER, dtype=np.int64)
    for start in range(0, len(order), _DOCUMENT_BATCH):
        batch = order[start : start + _DOCUMENT_BATCH]
        cluster_numbers[batch] = open_clusters.assign_batch(
            vectors.select(batch), None if times_s is None else times_s[batch], options
        )
    if options.half_life_s is None:
        cluster_numbers = _reassign(vectors, cluster_numbers, options.threshold)
    sizes = np.bincount(cluster_numbers)
    cluster_numbers[sizes[cluster_numbers] < options.size_min] = NO_CLUSTER
    return Partition((renumber_clusters(cluster_numbers),))


class _OpenClusters:
    """Open clusters: clusters that further documents may still join.

    For each cluster, the object keeps the sum of the vectors of its documents, and the time of its
    last document.
    """

    def __init__(self, dimension_count: int) -> None:
        self._sums = np.zeros((0, dimension_count), np.float32)
        self._numbers = np.zeros(0, np.int64)
        self._last_times_s = np.zeros(0, np.float64)
        self._created_cluster_count = 0
        self._assigned_document_count = 0

    def assign_batch(
        self, vectors: Floats, times_s: NDArray[np.float64] | None, options: Options
    ) -> Ints:
        """Assign documents, in order, to open clusters or new ones.

        Return the cluster number of each document. A document is compared with the centroids of the
        clusters opened in earlier batches, and with the first document of each cluster opened in
        this batch.
        `vectors`: vectors of the documents, of length 1.
        `times_s`: date of each document; None to count one second per document instead.
        """
        open_count = len(self._sums)
        centroid_similarities = vectors @ normalize_rows(self._sums).T
        batch_similarities = vectors @ vectors.T
        first_rows: list[int] = []
        cluster_indices = np.zeros(len(vectors), dtype=np.int64)
        last_times_s: list[float] = self._last_times_s.tolist()
        for row in range(len(vectors)):
            time_s = float(self._assigned_document_count + row if times_s is None else times_s[row])
            scores = np.concatenate(
                (centroid_similarities[row], batch_similarities[row, first_rows])
            )
            if options.half_life_s is not None and len(scores):
                idle_s = np.maximum(time_s - np.array(last_times_s), 0)
                scores = scores * np.exp2(-idle_s / options.half_life_s)
            best_index = int(scores.argmax()) if len(scores) else None
            if best_index is None or scores[best_index] < options.threshold:
                best_index = open_count + len(first_rows)
                first_rows.append(row)
                last_times_s.append(time_s)
            last_times_s[best_index] = max(last_times_s[best_index], time_s)
            cluster_indices[row] = best_index
        return self._add_documents(vectors, cluster_indices, len(first_rows), last_times_s)

    def _add_documents(
        self,
        vectors: Floats,
        cluster_indices: Ints,
        new_cluster_count: int,
        last_times_s: list[float],
    ) -> Ints:
        """Add a batch of documents to their clusters, then close clusters above the maximum.

        Return the cluster number of each document.
        `cluster_indices`: position of each document's cluster among the open clusters, which are
            followed by the new ones.
        `last_times_s`: time of the last document of each open and new cluster.
        """
        begin, end = self._created_cluster_count, self._created_cluster_count + new_cluster_count
        new_sums = np.zeros((new_cluster_count, vectors.shape[1]), np.float32)
        self._numbers = np.concatenate((self._numbers, np.arange(begin, end)))
        self._sums = np.vstack([self._sums, new_sums])
        np.add.at(self._sums, cluster_indices, vectors)
        self._last_times_s = np.array(last_times_s, dtype=np.float64)
        self._created_cluster_count = end
        self._assigned_document_count += len(vectors)
        cluster_numbers = self._numbers[cluster_indices]
        if len(self._numbers) > OPEN_CLUSTERS_MAX:
            latest_indices = np.argsort(-self._last_times_s, kind="stable")[:OPEN_CLUSTERS_MAX]
            open_indices = np.sort(latest_indices)
            self._numbers, self._sums = self._numbers[open_indices], self._sums[open_indices]
            self._last_times_s = self._last_times_s[open_indices]
        return cluster_numbers


def _reassign(vectors: ProjectedVectors, cluster_numbers: Ints, threshold: float) -> Ints:
    """Move each document to the cluster with the nearest centroid, if it is similar enough.

    Return the cluster number of each document; other documents keep theirs.
    `threshold`: minimum cosine similarity.
    """
    centroids = compute_centroids(vectors, cluster_numbers, int(cluster_numbers.max()) + 1)
    new_numbers = cluster_numbers.copy()
    for start in range(0, len(vectors), _DOCUMENT_BATCH):
        batch = slice(start, min(start + _DOCUMENT_BATCH, len(vectors)))
        similarities = vectors.select(batch) @ centroids.T
        nearest_numbers = similarities.argmax(axis=1)
        is_similar = similarities[np.arange(len(nearest_numbers)), nearest_numbers] >= threshold
        new_numbers[batch][is_similar] = nearest_numbers[is_similar]
    return new_numbers
