"""Factors: non-negative parts of the weighted terms. A document belongs to its largest factor.

Source: D. Lee and H. S. Seung, "Learning the parts of objects by non-negative matrix
factorization", 1999.

Limits: fitted on 20,000 documents in at most 200 rounds.
"""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import NMF

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.partition import (
    NO_CLUSTER,
    Partition,
    PreparedDocuments,
    compute_centroids,
    find_nearest_centroids,
    renumber_clusters,
)
from fonds.grouping.algorithms.term_counts import sample_evenly

DEFAULT_CLUSTER_COUNT = 10
SAMPLE_DOCUMENTS = 20_000
FACTOR_ROUNDS_MAX = 200
_DOCUMENT_BATCH = 20_000


def partition_by_factors(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition documents by non-negative matrix factorization: each goes to its largest factor.

    The number of factors is `options.clusters`, or ten. It is at most the number of sampled
    documents, and at most the number of features.

    Every document is in a cluster. A document in which no factor is positive goes to the cluster
    with the nearest centroid. If this is so for all documents, they are one cluster.
    """
    vectors, weighted_rows = prepared_documents.vectors, prepared_documents.weighted_rows
    sample = weighted_rows[sample_evenly(weighted_rows.shape[0], SAMPLE_DOCUMENTS)]
    cluster_count = min(options.clusters or DEFAULT_CLUSTER_COUNT, *sample.shape)
    model = NMF(
        cluster_count,
        init="nndsvda",
        random_state=options.seed,
        max_iter=FACTOR_ROUNDS_MAX,
        tol=1e-3,
    ).fit(sample)
    cluster_numbers = np.zeros(weighted_rows.shape[0], dtype=np.int64)
    largest_factors = np.zeros(weighted_rows.shape[0])
    for start in range(0, weighted_rows.shape[0], _DOCUMENT_BATCH):
        batch = slice(start, start + _DOCUMENT_BATCH)
        factors = np.asarray(model.transform(weighted_rows[batch]))
        cluster_numbers[batch], largest_factors[batch] = factors.argmax(axis=1), factors.max(axis=1)
    has_no_factor = largest_factors <= 0
    if has_no_factor.any() and not has_no_factor.all():
        centroids = compute_centroids(
            vectors, np.where(has_no_factor, NO_CLUSTER, cluster_numbers), cluster_count
        )
        nearest_numbers = find_nearest_centroids(vectors, centroids)
        cluster_numbers[has_no_factor] = nearest_numbers[has_no_factor]
    return Partition((renumber_clusters(cluster_numbers),))
