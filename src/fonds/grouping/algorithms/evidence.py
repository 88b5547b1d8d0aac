"""Evidence: how strongly each term indicates each cluster, by complement naive Bayes.

Source: J. Rennie, L. Shih, J. Teevan and D. Karger, "Tackling the poor assumptions of naive Bayes
text classifiers", 2003, section 4.4 (WCNB, with normalized weights).

Clusters found in few latent dimensions are refined with all their terms: learn from the clusters
which terms indicate them, reassign the documents by their terms, and repeat.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fonds.grouping.algorithms.partition import NO_CLUSTER
from fonds.grouping.algorithms.term_counts import Floats, Ints, Matrix

ROUNDS_MAX = 5
SMOOTHING = 0.1
_UNCHANGED_SHARE_MIN = 0.999
_DOCUMENT_BATCH = 50_000


def refine_partition(
    weighted_rows: Matrix, cluster_numbers: Ints, cluster_count: int
) -> tuple[Ints, Floats]:
    """Reassign documents to the clusters that their terms indicate, for at most five rounds.

    Stop after a round in which at most one document in 1,000 moves. A round that would empty a
    cluster is not applied, and is the last.

    Return the cluster number of each document, and how strongly each term indicates each cluster
    (features x clusters).
    `weighted_rows`: tf-idf, documents x features.
    `cluster_numbers`: current cluster number of each document, NO_CLUSTER for none.
    """
    evidence = compute_evidence(weighted_rows, cluster_numbers, cluster_count)
    for _ in range(ROUNDS_MAX):
        new_numbers = assign_by_evidence(weighted_rows, evidence)
        if len(np.unique(new_numbers)) < cluster_count:
            break
        unchanged_share = float(np.mean(new_numbers == cluster_numbers))
        cluster_numbers = new_numbers
        evidence = compute_evidence(weighted_rows, cluster_numbers, cluster_count)
        if unchanged_share >= _UNCHANGED_SHARE_MIN:
            break
    return cluster_numbers, evidence


def compute_evidence(weighted_rows: Matrix, cluster_numbers: Ints, cluster_count: int) -> Floats:
    """Return how strongly each term indicates each cluster: features x clusters, float32.

    Higher values are stronger. They are the weights of a complement naive Bayes classifier.
    `weighted_rows`: tf-idf, documents x features.
    `cluster_numbers`: cluster number of each document, NO_CLUSTER for none.
    """
    clustered_rows = np.flatnonzero(cluster_numbers != NO_CLUSTER)
    membership = sp.csr_matrix(
        (
            np.ones(len(clustered_rows), np.float32),
            (cluster_numbers[clustered_rows], clustered_rows),
        ),
        shape=(cluster_count, weighted_rows.shape[0]),
    )
    sums = (membership @ weighted_rows).toarray()
    complement_sums = sums.sum(axis=0) - sums + SMOOTHING
    log_weights = -np.log(complement_sums / complement_sums.sum(axis=1, keepdims=True))
    evidence: Floats = (log_weights / np.abs(log_weights).sum(axis=1, keepdims=True)).T.astype(
        np.float32
    )
    return np.ascontiguousarray(evidence)


def assign_by_evidence(weighted_rows: Matrix, evidence: Floats) -> Ints:
    """Return for each document the number of the cluster that its terms indicate most strongly.

    `weighted_rows`: tf-idf, documents x features.
    `evidence`: features x clusters, how strongly each term indicates each cluster.
    """
    number_batches = [
        np.asarray(weighted_rows[start : start + _DOCUMENT_BATCH] @ evidence).argmax(axis=1)
        for start in range(0, weighted_rows.shape[0], _DOCUMENT_BATCH)
    ]
    return np.concatenate(number_batches or [np.zeros(0, np.int64)]).astype(np.int64)
