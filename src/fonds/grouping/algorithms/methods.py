"""Algorithm families that group documents: common interface, density, factors and stories.

A family takes prepared documents and returns a cluster number for each. Functions that several
families share are here too. `topics.py` has the family `topics`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import NMF

from fonds.grouping.algorithms.clustering import Options
from fonds.grouping.algorithms.space import ProjectedVectors
from fonds.grouping.algorithms.term_counts import Floats, Ints, Matrix, sample_evenly

NO_CLUSTER = -1
"""Cluster number of a document in no cluster."""


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """Distinct documents to partition, each with at least one feature (term that counts).

    Their order depends only on their content.

    `vectors`: vectors of the documents, computed on demand for some documents at a time.
    `weighted_rows`: tf-idf of the documents, documents x features.
    `times_s`: date of each document in seconds of any clock, float64; None if unknown.
    `previous`: cluster of each document in the previous clustering, NO_CLUSTER for new documents;
        None without a previous clustering.
    """

    vectors: ProjectedVectors = field(repr=False)
    weighted_rows: Matrix = field(repr=False)
    times_s: NDArray[np.float64] | None = None
    previous: Ints | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """Clusters of the prepared documents at one or more granularities (levels).

    `levels`: for each level, the requested one first, an int64 array with the cluster of each
        document. Clusters are numbered from 0 without gaps; NO_CLUSTER for none.
    `evidence`: features x clusters of the first level, float32: how strongly each term indicates
        each cluster. None if the nearest centroid decides.
    """

    levels: tuple[Ints, ...]
    evidence: Floats | None = None


class Family(Protocol):
    """Protocol of an algorithm that partitions documents into clusters.

    The algorithm is deterministic: the same documents and options always give the same clusters.
    """

    def __call__(self, prepared_documents: PreparedDocuments, options: Options) -> Partition:
        """Return the clusters of the prepared documents. There must be at least one document."""


def renumber_clusters(members: Ints) -> Ints:
    """Return cluster numbers that begin at 0 and are ordered by cluster size, largest first.

    Clusters of equal size are ordered by their first document. NO_CLUSTER stays.
    `members`: current cluster number of each document.
    """
    old_numbers, first, inverse, sizes = np.unique(
        members, return_index=True, return_inverse=True, return_counts=True
    )
    is_none = old_numbers == NO_CLUSTER
    order = np.lexsort((first, -sizes, is_none))
    number = np.empty(len(old_numbers), dtype=np.int64)
    number[order] = np.arange(len(old_numbers))
    number[is_none] = NO_CLUSTER
    return number[inverse]


def compute_centroids(vectors: ProjectedVectors, members: Ints, clusters: int) -> Floats:
    """Return the normalized mean vector of each cluster: clusters x dimensions, float32, length 1.

    `members`: cluster number of each document, -1 for none.
    `clusters`: number of clusters.
    """
    sums = np.zeros((clusters, vectors.width), dtype=np.float64)
    for part, part_vectors in vectors.iter_parts():
        part_members = members[part]
        inside = np.flatnonzero(part_members >= 0)
        inside = inside[np.argsort(part_members[inside], kind="stable")]
        begins = np.flatnonzero(np.diff(part_members[inside], prepend=-1))
        if len(begins):
            sums[part_members[inside][begins]] += np.add.reduceat(
                part_vectors[inside], begins, axis=0, dtype=np.float64
            )
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(lengths, 1e-12), dtype=np.float32)


def compute_cosines(vectors: ProjectedVectors, members: Ints, centres: Floats) -> Floats:
    """Return the cosine similarity of each document to its cluster's centroid, float32.

    It is 0 for documents in no cluster.
    `members`: cluster number of each document, -1 for none.
    `centres`: centroids, clusters x dimensions.
    """
    scores = np.zeros(len(members), np.float32)
    for part, part_vectors in vectors.iter_parts():
        inside = np.flatnonzero(members[part] >= 0)
        own_centroids = centres[members[part][inside]]
        scores[part][inside] = np.einsum("ij,ij->i", part_vectors[inside], own_centroids)
    return scores


def find_nearest_centroids(vectors: ProjectedVectors, centres: Floats) -> Ints:
    """Return for each document the number of the cluster with the nearest centroid.

    `centres`: centroids, clusters x dimensions.
    """
    nearest = np.zeros(len(vectors), dtype=np.int64)
    for part, part_vectors in vectors.iter_parts():
        nearest[part] = (part_vectors @ centres.T).argmax(axis=1)
    return nearest


# Density: groups of any number in dense regions; documents between them are in no cluster
#
# Source: R. Campello, D. Moulavi and J. Sander, "Density-based clustering based on hierarchical
# density estimates", 2013 (HDBSCAN). Limits: fitted on 20,000 documents. Each other document goes
# to the nearest group if its cosine similarity to the group's centroid is high enough.


SAMPLE_DOCUMENTS = 20_000
_CLUSTER_DOCUMENTS_MIN = 5
_REACH_PERCENTILE = 5


def partition_by_density(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition documents into dense groups (HDBSCAN); documents between groups are in no cluster.

    A group has at least `options.size_min` documents, or five if that is more.
    """
    vectors = prepared_documents.vectors
    places = sample_evenly(len(vectors), SAMPLE_DOCUMENTS)
    members = np.full(len(vectors), NO_CLUSTER, dtype=np.int64)
    if len(places) > _CLUSTER_DOCUMENTS_MIN:
        model = HDBSCAN(
            max(options.size_min, _CLUSTER_DOCUMENTS_MIN),
            min_samples=_CLUSTER_DOCUMENTS_MIN,
            copy=True,
        )
        members[places] = model.fit_predict(vectors.select(places))
    if members.max(initial=NO_CLUSTER) >= 0 and len(places) < len(vectors):
        centroids = compute_centroids(vectors, members, int(members.max()) + 1)
        scores = compute_cosines(vectors, members, centroids)
        reach = np.percentile(scores[members >= 0], _REACH_PERCENTILE)
        unsampled_rows = np.setdiff1d(np.arange(len(vectors)), places)
        nearest = find_nearest_centroids(vectors, centroids)
        is_in_reach = compute_cosines(vectors, nearest, centroids) >= reach
        members[unsampled_rows] = np.where(
            is_in_reach[unsampled_rows], nearest[unsampled_rows], NO_CLUSTER
        )
    return Partition((renumber_clusters(members),))


# Evidence: complement naive Bayes with normalized weights
#
# Source: J. Rennie, L. Shih, J. Teevan and D. Karger, "Tackling the poor assumptions of naive Bayes
# text classifiers", 2003, section 4.4 (WCNB).
#
# Clusters found in few latent dimensions are refined with all their terms: learn from the clusters
# which terms indicate them, reassign the documents by their terms, and repeat until few documents
# move or a cluster would become empty. Limits: five rounds.


ROUNDS_MAX = 5
SMOOTHING = 0.1
_UNCHANGED_SHARE_MIN = 0.999
_DOCUMENT_BATCH = 50_000


def refine_partition(weighted_rows: Matrix, members: Ints, clusters: int) -> tuple[Ints, Floats]:
    """Reassign documents to the clusters that their terms indicate, until few documents move.

    Return the cluster number of each document, and how strongly each term indicates each cluster
    (features x clusters).
    `weighted_rows`: tf-idf, documents x features.
    `members`: current cluster number of each document.
    `clusters`: number of clusters.
    """
    evidence = compute_evidence(weighted_rows, members, clusters)
    for _ in range(ROUNDS_MAX):
        new_members = assign_by_evidence(weighted_rows, evidence)
        if len(np.unique(new_members)) < clusters:
            break
        unchanged_share = float(np.mean(new_members == members))
        members = new_members
        evidence = compute_evidence(weighted_rows, members, clusters)
        if unchanged_share >= _UNCHANGED_SHARE_MIN:
            break
    return members, evidence


def compute_evidence(weighted_rows: Matrix, members: Ints, clusters: int) -> Floats:
    """Return how strongly each term indicates each cluster: features x clusters, float32.

    Higher values are stronger. They are the weights of a complement naive Bayes classifier.
    `weighted_rows`: tf-idf, documents x features.
    `members`: cluster number of each document, -1 for none.
    """
    inside = members >= 0
    belongs = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.float32), (members[inside], np.flatnonzero(inside))),
        shape=(clusters, weighted_rows.shape[0]),
    )
    sums = (belongs @ weighted_rows).toarray()
    outside_sums = sums.sum(axis=0) - sums + SMOOTHING
    log_weights = -np.log(outside_sums / outside_sums.sum(axis=1, keepdims=True))
    evidence: Floats = (log_weights / np.abs(log_weights).sum(axis=1, keepdims=True)).T.astype(
        np.float32
    )
    return np.ascontiguousarray(evidence)


def assign_by_evidence(weighted_rows: Matrix, evidence: Floats) -> Ints:
    """Return for each document the number of the cluster that its terms indicate most strongly.

    `weighted_rows`: tf-idf, documents x features.
    `evidence`: features x clusters, how strongly each term indicates each cluster.
    """
    parts = [
        np.asarray(weighted_rows[start : start + _DOCUMENT_BATCH] @ evidence).argmax(axis=1)
        for start in range(0, weighted_rows.shape[0], _DOCUMENT_BATCH)
    ]
    return np.concatenate(parts or [np.zeros(0, np.int64)]).astype(np.int64)


# Factors: non-negative parts of the weighted terms; a document belongs to its largest factor
#
# Source: D. Lee and H. S. Seung, "Learning the parts of objects by non-negative matrix
# factorization", 1999. Limits: fitted on 20,000 documents, 200 rounds.


DEFAULT_CLUSTERS = 10
FACTOR_ROUNDS_MAX = 200


def partition_by_factors(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition documents by non-negative matrix factorization: each goes to its largest factor.

    The number of factors is `options.clusters`, or ten. Every document is in a cluster.
    """
    weighted_rows = prepared_documents.weighted_rows
    sample = weighted_rows[sample_evenly(weighted_rows.shape[0], SAMPLE_DOCUMENTS)]
    clusters = min(options.clusters or DEFAULT_CLUSTERS, *sample.shape)
    model = NMF(
        clusters, init="nndsvda", random_state=options.seed, max_iter=FACTOR_ROUNDS_MAX, tol=1e-3
    ).fit(sample)
    members = np.zeros(weighted_rows.shape[0], dtype=np.int64)
    largest = np.zeros(weighted_rows.shape[0])
    for start in range(0, weighted_rows.shape[0], SAMPLE_DOCUMENTS):
        batch = slice(start, start + SAMPLE_DOCUMENTS)
        factors = np.asarray(model.transform(weighted_rows[batch]))
        members[batch], largest[batch] = factors.argmax(axis=1), factors.max(axis=1)
    has_no_factor = largest <= 0
    if has_no_factor.any() and not has_no_factor.all():
        centroids = compute_centroids(
            prepared_documents.vectors, np.where(has_no_factor, -1, members), clusters
        )
        members[has_no_factor] = find_nearest_centroids(prepared_documents.vectors, centroids)[
            has_no_factor
        ]
    return Partition((renumber_clusters(members),))


# Stories: many small clusters. A document joins the nearest story if it is similar enough, or else
# starts a new story
#
# Documents are processed by time, then by rank. With a half-life, a story without recent documents
# needs a higher cosine. Without one, a second pass moves every document to the nearest final story.
# Stories below the minimum size are dropped.
#
# Limits: two passes, and 20,000 open stories; the longest inactive ones are closed first.


OPEN_STORIES_MAX = 20_000
_BATCH_SIZE = 512


def partition_into_stories(prepared_documents: PreparedDocuments, options: Options) -> Partition:
    """Partition documents into stories: many small clusters of similar documents.

    Documents in stories smaller than `options.size_min` are in no cluster.
    """
    times = prepared_documents.times_s
    order = (
        np.arange(len(prepared_documents.vectors))
        if times is None
        else np.argsort(times, kind="stable")
    )
    open_stories = _OpenStories(prepared_documents.vectors.width)
    members = np.full(len(order), NO_CLUSTER, dtype=np.int64)
    for start in range(0, len(order), _BATCH_SIZE):
        batch = order[start : start + _BATCH_SIZE]
        members[batch] = open_stories.join(
            prepared_documents.vectors.select(batch),
            None if times is None else times[batch],
            options,
        )
    if options.half_life_s is None:
        members = _reassign(prepared_documents.vectors, members, options.threshold)
    sizes = np.bincount(members[members >= 0], minlength=1)
    is_small = (members >= 0) & (sizes[np.maximum(members, 0)] < options.size_min)
    members[is_small] = NO_CLUSTER
    return Partition((renumber_clusters(members),))


class _OpenStories:
    """Open stories: clusters that further documents may still join.

    For each story, the object keeps the sum of the vectors of the story's documents, and the time
    of its last document.
    """

    def __init__(self, directions: int) -> None:
        self._sums = np.zeros((0, directions), np.float32)
        self._numbers = np.zeros(0, np.int64)
        self._last_added_s = np.zeros(0, np.float64)
        self._count = 0
        self._clock = 0.0

    def join(self, vectors: Floats, times: NDArray[np.float64] | None, options: Options) -> Ints:
        """Assign documents, in order, to open stories or new ones.

        Return the story number of each document.
        `vectors`: vectors of the documents, of length 1.
        `times`: date of each document in seconds; None to use the position instead.
        """
        open_count = len(self._sums)
        similarities = vectors @ _normalize_rows(self._sums).T
        batch_similarities = vectors @ vectors.T
        new_leaders: list[int] = []
        story_numbers = np.zeros(len(vectors), dtype=np.int64)
        last_added_s: list[float] = self._last_added_s.tolist()
        for place in range(len(vectors)):
            now = self._clock + place if times is None else float(times[place])
            scores = np.concatenate((similarities[place], batch_similarities[place, new_leaders]))
            if options.half_life_s is not None and len(scores):
                idle_s = np.maximum(now - np.array(last_added_s), 0)
                scores = scores * np.exp2(-idle_s / options.half_life_s)
            best = int(scores.argmax()) if len(scores) else -1
            if best < 0 or scores[best] < options.threshold:
                best = open_count + len(new_leaders)
                new_leaders.append(place)
                last_added_s.append(now)
            last_added_s[best] = max(last_added_s[best], now)
            story_numbers[place] = best
        return self._add_story(vectors, story_numbers, len(new_leaders), last_added_s)

    def _add_story(
        self, vectors: Floats, story_numbers: Ints, story_count: int, last_met: list[float]
    ) -> Ints:
        new_numbers = np.arange(self._count, self._count + story_count)
        self._numbers = np.concatenate((self._numbers, new_numbers))
        self._sums = np.vstack([self._sums, np.zeros((story_count, vectors.shape[1]), np.float32)])
        np.add.at(self._sums, story_numbers, vectors)
        self._last_added_s = np.array(last_met)
        self._count += story_count
        self._clock += len(vectors)
        numbers = self._numbers[story_numbers]
        if len(self._numbers) > OPEN_STORIES_MAX:
            open_stories = np.sort(
                np.argsort(-self._last_added_s, kind="stable")[:OPEN_STORIES_MAX]
            )
            self._numbers, self._sums = self._numbers[open_stories], self._sums[open_stories]
            self._last_added_s = self._last_added_s[open_stories]
        return numbers


def _reassign(vectors: ProjectedVectors, members: Ints, threshold: float) -> Ints:
    """Move each document to the story with the nearest centroid, if it is similar enough.

    Return the story number of each document; other documents keep theirs.
    `threshold`: minimum cosine similarity.
    """
    centroids = compute_centroids(vectors, members, int(members.max()) + 1)
    result = members.copy()
    for start in range(0, len(vectors), _BATCH_SIZE):
        batch = slice(start, min(start + _BATCH_SIZE, len(vectors)))
        similarities = vectors.select(batch) @ centroids.T
        best = similarities.argmax(axis=1)
        is_in_reach = similarities[np.arange(len(best)), best] >= threshold
        result[batch][is_in_reach] = best[is_in_reach]
    return result


def _normalize_rows(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit
