"""Topics: few large clusters. Every document is in a cluster.

Steps: micro-clusters (many small clusters of a sample), Ward linkage that merges them to a tree,
one run of k-means, and refinement by terms. Micro-clusters are computed once. Each granularity is a
cut of the same tree, so finer topics cost little. With a previous clustering, the refinement starts
from its topics.

Limits: 400 micro-clusters, fitted on 20,000 documents; 30 rounds of k-means over 100,000 documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.evidence import refine_partition
from fonds.grouping.algorithms.partition import (
    NO_CLUSTER,
    Partition,
    PreparedDocuments,
    compute_centroids,
    find_nearest_centroids,
    renumber_clusters,
)
from fonds.grouping.algorithms.term_counts import Floats, Ints, sample_evenly

# Weighted Ward linkage of centroids, and the choice of the number of clusters
#
# Source: J. H. Ward, "Hierarchical grouping to optimize an objective function", 1963. A merge costs
# w1 w2 / (w1 + w2) times the squared distance. Limits: cubic in the number of centroids, at most
# 400.


Doubles = NDArray[np.float64]
CENTROIDS_MAX = 400


def compute_merges(
    centroids: Doubles, weights: Doubles
) -> tuple[list[tuple[int, int]], list[float]]:
    """Merge centroids step by step, always the pair with the lowest cost (Ward linkage).

    Return the merged pairs of centroid numbers, and the cost of each merge. The second centroid of
    a pair joins the first, which then represents both.
    `centroids`: centroids x dimensions.
    `weights`: number of documents of each centroid.
    """
    points, masses = centroids.astype(np.float64), weights.astype(np.float64)
    costs = _compute_costs(points, masses, points, masses)
    np.fill_diagonal(costs, np.inf)
    pairs, merge_costs = [], []
    for _ in range(len(points) - 1):
        first, second = sorted(divmod(int(costs.argmin()), len(points)))
        merge_costs.append(float(costs[first, second]))
        mass = masses[first] + masses[second]
        points[first] = (points[first] * masses[first] + points[second] * masses[second]) / mass
        masses[first] = mass
        is_merged = ~np.isfinite(costs[first])
        costs[second], costs[:, second] = np.inf, np.inf
        row = _compute_costs(points[first : first + 1], masses[first : first + 1], points, masses)[
            0
        ]
        row[is_merged] = np.inf
        row[[first, second]] = np.inf
        costs[first], costs[:, first] = row, row
        pairs.append((first, second))
    return pairs, merge_costs


def cut_tree(pairs: Sequence[tuple[int, int]], clusters: int) -> Ints:
    """Return the cluster number of each centroid if merging stops at `clusters` clusters.

    Clusters are numbered from 0 without gaps.
    `pairs`: merged pairs of centroid numbers, in order, by `compute_merges`.
    """
    clusters_by_centroid = np.arange(len(pairs) + 1)
    for first, second in pairs[: max(len(pairs) + 1 - clusters, 0)]:
        clusters_by_centroid[clusters_by_centroid == second] = first
    return np.unique(clusters_by_centroid, return_inverse=True)[1].astype(np.int64)


def choose_cluster_count(costs: Sequence[float], clusters_max: int) -> int:
    """Return the number of clusters, at most `clusters_max`, where the cost of a merge rises most.

    At this number, the cost of the next merge is the highest multiple of the cost of the merge
    before it. A single centroid gives 1.
    `costs`: costs of the merges, in order.
    """
    merge_costs = np.maximum(np.array(costs[::-1][:clusters_max], dtype=np.float64), 1e-12)
    if len(merge_costs) < 2:
        return len(merge_costs) + 1
    return int(np.argmax(merge_costs[:-1] / merge_costs[1:])) + 2


def _compute_squares(first_points: Doubles, points: Doubles) -> Doubles:
    squares: Doubles = (
        (first_points**2).sum(axis=1)[:, None]
        + (points**2).sum(axis=1)
        - 2 * first_points @ points.T
    )
    return squares


def _compute_costs(
    first_points: Doubles, first_masses: Doubles, points: Doubles, masses: Doubles
) -> Doubles:
    costs: Doubles = _compute_squares(first_points, points) * (
        first_masses[:, None] * masses / (first_masses[:, None] + masses)
    )
    return costs


SAMPLE_DOCUMENTS = 20_000
MEANS_DOCUMENTS = 100_000
ROUNDS_MAX = 30
_DOCUMENTS_PER_MICRO_CLUSTER = 5
EVIDENCE_CLUSTERS_MAX = 500
"""Number of clusters from which evidence (features x clusters) is not computed.

The evidence would need too much memory for its benefit.
"""


def partition_into_topics(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition documents into topics: few large clusters. Every document is in a cluster.

    The first level has the requested or chosen number of topics. Further levels have the numbers in
    `options.granularities`.
    """
    sample = prepared_documents.vectors.select(
        sample_evenly(len(prepared_documents.vectors), SAMPLE_DOCUMENTS)
    )
    levels: list[Ints] = []
    evidence: Floats | None = None
    initial_members = _start_from_previous(prepared_documents, options)
    if initial_members is not None:
        members, evidence = _refine_topics(prepared_documents, initial_members)
        levels.append(members)
    granularities = list(options.granularities)
    if initial_members is None or granularities:
        micro, weights = _cluster_sample(sample, options)
        pairs, costs = compute_merges(micro, weights)
        if initial_members is None:
            best = options.clusters or choose_cluster_count(costs, options.clusters_max)
            granularities.insert(0, best)
        for clusters in granularities:
            centroids = _compute_means(micro, weights, cut_tree(pairs, min(clusters, len(micro))))
            members, level_evidence = _finish_topics(prepared_documents, centroids)
            levels.append(members)
            evidence = level_evidence if evidence is None else evidence
    return Partition(tuple(levels), evidence)


def _start_from_previous(prepared_documents: PreparedDocuments, options: Options) -> Ints | None:
    """Return the previous topic of each document; new documents get the nearest topic.

    Return None if there are fewer than two previous topics, or another number of topics is
    requested.
    """
    if (
        prepared_documents.previous_numbers is None
        or not len(prepared_documents.previous_numbers)
        or int(prepared_documents.previous_numbers.max()) < 1
    ):
        return None
    members = renumber_clusters(prepared_documents.previous_numbers)
    clusters = int(members.max()) + 1
    if options.clusters not in (None, clusters):
        return None
    near = find_nearest_centroids(
        prepared_documents.vectors, compute_centroids(prepared_documents.vectors, members, clusters)
    )
    return np.where(members == NO_CLUSTER, near, members)


def _cluster_sample(sample: Floats, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids of micro-clusters of some vectors, and the number of vectors in each.

    Both are float64 arrays. Micro-clusters are many small clusters, found by mini-batch k-means.
    """
    count_min = max((options.clusters or 0) * 3, *(3 * count for count in options.granularities), 2)
    count = min(
        max(min(CENTROIDS_MAX, len(sample) // _DOCUMENTS_PER_MICRO_CLUSTER), count_min), len(sample)
    )
    count = min(count, max(CENTROIDS_MAX, options.clusters or 0, *options.granularities, 0))
    model = MiniBatchKMeans(
        count, random_state=options.seed, n_init=1, batch_size=4096, max_iter=20
    ).fit(sample)
    weights = np.bincount(model.labels_, minlength=count).astype(np.float64)
    sums = np.zeros((count, sample.shape[1]))
    np.add.at(sums, model.labels_, sample)
    is_used = weights > 0
    return sums[is_used] / weights[is_used, None], weights[is_used]


def _compute_means(micro: np.ndarray, weights: np.ndarray, members: Ints) -> Floats:
    clusters = int(members.max()) + 1
    share = np.zeros((clusters, len(members)))
    share[members, np.arange(len(members))] = weights
    means: Floats = (share @ micro / share.sum(axis=1, keepdims=True)).astype(np.float32)
    return means


def _finish_topics(
    prepared_documents: PreparedDocuments, begin: Floats
) -> tuple[Ints, Floats | None]:
    """Assign documents to topics by k-means from given centroids, then refine the topics by terms.

    Return the topic number of each document, and how strongly each term indicates each topic
    (features x topics). The second item is None for a single topic, and for 500 topics or more,
    since it would need too much memory.
    `begin`: centroids to start from, topics x dimensions.
    """
    vectors = prepared_documents.vectors
    clusters = min(len(begin), len(vectors))
    sample = vectors.select(sample_evenly(len(vectors), MEANS_DOCUMENTS))
    model = KMeans(clusters, init=begin[:clusters], n_init=1, max_iter=ROUNDS_MAX, copy_x=False)
    if len(vectors) <= MEANS_DOCUMENTS:
        return _refine_topics(prepared_documents, model.fit_predict(sample).astype(np.int64))
    model.fit(sample)
    members = np.zeros(len(vectors), dtype=np.int64)
    for part, part_vectors in vectors.iter_parts():
        members[part] = model.predict(part_vectors)
    return _refine_topics(prepared_documents, members)


def _refine_topics(
    prepared_documents: PreparedDocuments, members: Ints
) -> tuple[Ints, Floats | None]:
    """Refine the topics of documents by the documents' terms. Topics are numbered by size.

    Return the topic number of each document, and how strongly each term indicates each topic
    (features x topics). The second item is None for a single topic, and for 500 topics or more,
    since it would need too much memory.
    `members`: current topic of each document.
    """
    clusters = int(members.max()) + 1
    if not 1 < clusters < EVIDENCE_CLUSTERS_MAX:
        return renumber_clusters(members), None
    members, evidence = refine_partition(prepared_documents.weighted_rows, members, clusters)
    numbered_members = renumber_clusters(members)
    _, first = np.unique(numbered_members[numbered_members != NO_CLUSTER], return_index=True)
    return numbered_members, np.ascontiguousarray(evidence[:, members[first]])
