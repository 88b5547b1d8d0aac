"""Topics: few and broad. Micro-clusters, Ward over them, one k-means from the cut, then what the terms say.

The micro-clusters are found once on a sample; every granularity is a cut of the same tree, so that finer
topics come nearly free. Warm, the topics of the clustering before are what the terms begin with.

Bound: 400 micro-clusters, fitted on 20,000 documents; 30 rounds of k-means over 100,000.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.methods import (
    NONE,
    Partition,
    PreparedDocuments,
    compute_centroids,
    find_nearest_centroids,
    refine_partition,
    renumber_clusters,
)
from fonds.grouping.algorithms.term_counts import Floats, Ints, sample_evenly

# Weighted Ward linkage of centroids, and how many clusters to cut it into.
#
# Source: J. H. Ward, "Hierarchical grouping to optimize an objective function", 1963; merging costs w1 w2 /
# (w1 + w2) times the squared distance. Bound: the cube of the centroids' number in the least steps; 400.


Doubles = NDArray[np.float64]
CENTROIDS_MAX = 400


def compute_merges(
    centroids: Doubles, weights: Doubles
) -> tuple[list[tuple[int, int]], list[float]]:
    """Pairs of centroids, the cheapest first: the second is joined to the first, which stands for both.

    Beside them what each merge costs.
    """
    places, held = centroids.astype(np.float64), weights.astype(np.float64)
    costs = _compute_costs(places, held, places, held)
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
        row = _compute_costs(places[one : one + 1], held[one : one + 1], places, held)[0]
        row[gone] = np.inf
        row[[one, other]] = np.inf
        costs[one], costs[:, one] = row, row
        pairs.append((one, other))
    return pairs, spent


def cut_tree(pairs: Sequence[tuple[int, int]], clusters: int) -> Ints:
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


def _compute_squares(first_points: Doubles, points: Doubles) -> Doubles:
    squares: Doubles = (
        (first_points**2).sum(axis=1)[:, None]
        + (points**2).sum(axis=1)
        - 2 * first_points @ points.T
    )
    return squares


def _compute_costs(
    first_points: Doubles, current_costs: Doubles, points: Doubles, their: Doubles
) -> Doubles:
    costs: Doubles = _compute_squares(first_points, points) * (
        current_costs[:, None] * their / (current_costs[:, None] + their)
    )
    return costs


SAMPLE_DOCUMENTS = 20_000
MEANS_DOCUMENTS = 100_000
ROUNDS_MAX = 30
_DOCUMENTS_A_MICRO = 5
EVIDENCE_CLUSTERS_MAX = 500
"""With so many clusters and more, what terms say would take more room than it is worth."""


def partition_into_topics(prepared: PreparedDocuments, options: Options) -> Partition:
    """The topics of all documents; each is in one."""
    sample = prepared.vectors.select(sample_evenly(len(prepared.vectors), SAMPLE_DOCUMENTS))
    levels: list[Ints] = []
    evidence: Floats | None = None
    warm = _start_from_previous(prepared, options)
    if warm is not None:
        members, evidence = _refine_topics(prepared, warm)
        levels.append(members)
    asked = list(options.granularities)
    if warm is None or asked:
        micro, weights = _cluster_sample(sample, options)
        pairs, costs = compute_merges(micro, weights)
        if warm is None:
            best = options.clusters or choose(costs, options.clusters_max)
            asked.insert(0, best)
        for clusters in asked:
            begin = _compute_means(micro, weights, cut_tree(pairs, min(clusters, len(micro))))
            members, said = _finish_topics(prepared, begin)
            levels.append(members)
            evidence = said if evidence is None else evidence
    return Partition(tuple(levels), evidence)


def _start_from_previous(prepared: PreparedDocuments, options: Options) -> Ints | None:
    """The topics before, new documents at the nearest; None without any, or where another number is asked."""
    if prepared.previous is None or not len(prepared.previous) or int(prepared.previous.max()) < 1:
        return None
    members = renumber_clusters(prepared.previous)
    clusters = int(members.max()) + 1
    if options.clusters not in (None, clusters):
        return None
    near = find_nearest_centroids(
        prepared.vectors, compute_centroids(prepared.vectors, members, clusters)
    )
    return np.where(members == NONE, near, members)


def _cluster_sample(sample: Floats, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Centroids of micro-clusters and how many documents each holds, float64."""
    least = max((options.clusters or 0) * 3, *(3 * count for count in options.granularities), 2)
    count = min(max(min(CENTROIDS_MAX, len(sample) // _DOCUMENTS_A_MICRO), least), len(sample))
    count = min(count, max(CENTROIDS_MAX, options.clusters or 0, *options.granularities, 0))
    found = MiniBatchKMeans(
        count, random_state=options.seed, n_init=1, batch_size=4096, max_iter=20
    ).fit(sample)
    weights = np.bincount(found.labels_, minlength=count).astype(np.float64)
    sums = np.zeros((count, sample.shape[1]))
    np.add.at(sums, found.labels_, sample)
    held = weights > 0
    return sums[held] / weights[held, None], weights[held]


def _compute_means(micro: np.ndarray, weights: np.ndarray, members: Ints) -> Floats:
    clusters = int(members.max()) + 1
    share = np.zeros((clusters, len(members)))
    share[members, np.arange(len(members))] = weights
    means: Floats = (share @ micro / share.sum(axis=1, keepdims=True)).astype(np.float32)
    return means


def _finish_topics(prepared: PreparedDocuments, begin: Floats) -> tuple[Ints, Floats | None]:
    """Topics of all documents, from centroids to begin with."""
    vectors = prepared.vectors
    clusters = min(len(begin), len(vectors))
    some = vectors.select(sample_evenly(len(vectors), MEANS_DOCUMENTS))
    found = KMeans(clusters, init=begin[:clusters], n_init=1, max_iter=ROUNDS_MAX, copy_x=False)
    if len(vectors) <= MEANS_DOCUMENTS:
        return _refine_topics(prepared, found.fit_predict(some).astype(np.int64))
    found.fit(some)
    members = np.zeros(len(vectors), dtype=np.int64)
    for part, placed in vectors.iter_parts():
        members[part] = found.predict(placed)
    return _refine_topics(prepared, members)


def _refine_topics(prepared: PreparedDocuments, members: Ints) -> tuple[Ints, Floats | None]:
    """Topics after what their terms say, and what these said."""
    clusters = int(members.max()) + 1
    if not 1 < clusters < EVIDENCE_CLUSTERS_MAX:
        return renumber_clusters(members), None
    members, evidence = refine_partition(prepared.weighted, members, clusters)
    numbered = renumber_clusters(members)
    _, first = np.unique(numbered[numbered != NONE], return_index=True)
    return numbered, np.ascontiguousarray(evidence[:, members[first]])
