"""Density: clusters in dense regions, in any number. Documents between them are in no cluster.

Source: R. Campello, D. Moulavi and J. Sander, "Density-based clustering based on hierarchical
density estimates", 2013 (HDBSCAN).

Limits: fitted on 20,000 documents. Each other document joins the cluster with the nearest centroid
if its cosine similarity to the centroid is high enough.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import HDBSCAN

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.partition import (
    NO_CLUSTER,
    Partition,
    PreparedDocuments,
    compute_centroids,
    compute_cosines,
    find_nearest_centroids,
    renumber_clusters,
)
from fonds.grouping.algorithms.term_counts import sample_evenly

SAMPLE_DOCUMENTS = 20_000
_CLUSTER_DOCUMENTS_MIN = 5
_COSINE_MIN_PERCENTILE = 5


def partition_by_density(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition documents into dense clusters (HDBSCAN). The others are in no cluster.

    A cluster has at least `options.size_min` documents, or five if that is more. Up to five
    documents form no cluster.

    Clusters are found in an evenly spaced sample. A document outside the sample joins the cluster
    with the nearest centroid if its cosine similarity to the centroid reaches a minimum: the 5th
    percentile of the cosine similarities of the sampled documents to their centroids.
    """
    vectors = prepared_documents.vectors
    sampled_rows = sample_evenly(len(vectors), SAMPLE_DOCUMENTS)
    cluster_numbers = np.full(len(vectors), NO_CLUSTER, dtype=np.int64)
    if len(sampled_rows) > _CLUSTER_DOCUMENTS_MIN:
        model = HDBSCAN(
            max(options.size_min, _CLUSTER_DOCUMENTS_MIN),
            min_samples=_CLUSTER_DOCUMENTS_MIN,
            copy=True,
        )
        cluster_numbers[sampled_rows] = model.fit_predict(vectors.select(sampled_rows))
    cluster_count = int(cluster_numbers.max(initial=NO_CLUSTER)) + 1
    if cluster_count and len(sampled_rows) < len(vectors):
        centroids = compute_centroids(vectors, cluster_numbers, cluster_count)
        scores = compute_cosines(vectors, cluster_numbers, centroids)
        score_min = np.percentile(scores[cluster_numbers != NO_CLUSTER], _COSINE_MIN_PERCENTILE)
        other_rows = np.setdiff1d(np.arange(len(vectors)), sampled_rows)
        nearest_numbers = find_nearest_centroids(vectors, centroids)
        is_similar = compute_cosines(vectors, nearest_numbers, centroids) >= score_min
        cluster_numbers[other_rows] = np.where(
            is_similar[other_rows], nearest_numbers[other_rows], NO_CLUSTER
        )
    return Partition((renumber_clusters(cluster_numbers),))
