"""Topics: few and broad. Micro-clusters, Ward over them, one k-means from the cut, then what the terms say.

The micro-clusters are found once on a sample; every granularity is a cut of the same tree, so that finer
topics come nearly free. Warm, the topics of the clustering before are what the terms begin with.

Bound: 400 micro-clusters, fitted on 20,000 documents; 30 rounds of k-means over 100,000.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from fonds.grouping.families.evidence import refine
from fonds.grouping.families.partition import (
    NONE,
    Partition,
    Prepared,
    centroids,
    nearest,
    without_gaps,
)
from fonds.grouping.families.ward import CENTROIDS_MAX, choose, cut, merges
from fonds.grouping.options import Options
from fonds.grouping.space.weighting import Floats, evenly
from fonds.grouping.text.counting import Ints

SAMPLE_DOCUMENTS = 20_000
MEANS_DOCUMENTS = 100_000
ROUNDS_MAX = 30
_DOCUMENTS_A_MICRO = 5
EVIDENCE_CLUSTERS_MAX = 500
"""With so many clusters and more, what terms say would take more room than it is worth."""


def topics(prepared: Prepared, options: Options) -> Partition:
    """The topics of all documents; each is in one."""
    sample = prepared.vectors.of(evenly(len(prepared.vectors), SAMPLE_DOCUMENTS))
    levels: list[Ints] = []
    evidence: Floats | None = None
    warm = _warm(prepared, options)
    if warm is not None:
        members, evidence = _refined(prepared, warm)
        levels.append(members)
    asked = list(options.granularities)
    if warm is None or asked:
        micro, weights = _micro(sample, options)
        pairs, costs = merges(micro, weights)
        if warm is None:
            best = options.clusters or choose(costs, options.clusters_max)
            asked.insert(0, best)
        for clusters in asked:
            begin = _means(micro, weights, cut(pairs, min(clusters, len(micro))))
            members, said = _finished(prepared, begin)
            levels.append(members)
            evidence = said if evidence is None else evidence
    return Partition(tuple(levels), evidence)


def _warm(prepared: Prepared, options: Options) -> Ints | None:
    """The topics before, new documents at the nearest; None without any, or where another number is asked."""
    if prepared.before is None or not len(prepared.before) or int(prepared.before.max()) < 1:
        return None
    members = without_gaps(prepared.before)
    clusters = int(members.max()) + 1
    if options.clusters not in (None, clusters):
        return None
    near = nearest(prepared.vectors, centroids(prepared.vectors, members, clusters))
    return np.where(members == NONE, near, members)


def _micro(sample: Floats, options: Options) -> tuple[np.ndarray, np.ndarray]:
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


def _means(micro: np.ndarray, weights: np.ndarray, members: Ints) -> Floats:
    clusters = int(members.max()) + 1
    share = np.zeros((clusters, len(members)))
    share[members, np.arange(len(members))] = weights
    means: Floats = (share @ micro / share.sum(axis=1, keepdims=True)).astype(np.float32)
    return means


def _finished(prepared: Prepared, begin: Floats) -> tuple[Ints, Floats | None]:
    """Topics of all documents, from centroids to begin with."""
    vectors = prepared.vectors
    clusters = min(len(begin), len(vectors))
    some = vectors.of(evenly(len(vectors), MEANS_DOCUMENTS))
    found = KMeans(clusters, init=begin[:clusters], n_init=1, max_iter=ROUNDS_MAX, copy_x=False)
    if len(vectors) <= MEANS_DOCUMENTS:
        return _refined(prepared, found.fit_predict(some).astype(np.int64))
    found.fit(some)
    members = np.zeros(len(vectors), dtype=np.int64)
    for part, placed in vectors.parts():
        members[part] = found.predict(placed)
    return _refined(prepared, members)


def _refined(prepared: Prepared, members: Ints) -> tuple[Ints, Floats | None]:
    """Topics after what their terms say, and what these said."""
    clusters = int(members.max()) + 1
    if not 1 < clusters < EVIDENCE_CLUSTERS_MAX:
        return without_gaps(members), None
    members, evidence = refine(prepared.weighted, members, clusters)
    numbered = without_gaps(members)
    _, first = np.unique(numbered[numbered != NONE], return_index=True)
    return numbered, np.ascontiguousarray(evidence[:, members[first]])
