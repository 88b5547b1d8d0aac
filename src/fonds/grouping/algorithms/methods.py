"""What every family of algorithms takes and gives: vectors in, clusters by number out."""

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

NONE = -1
"""The cluster of a document that is in none."""


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """Distinct documents with at least one feature, in rank order.

    `vectors`: documents x directions, asked for by parts; `weighted`: their tf-idf; `times_s`: seconds of
    any clock, float64, or None; `previous`: the cluster of each in the clustering before, NONE for new ones,
    or None.
    """

    vectors: ProjectedVectors = field(repr=False)
    weighted: Matrix = field(repr=False)
    times_s: NDArray[np.float64] | None = None
    previous: Ints | None = None


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

    def __call__(self, prepared: PreparedDocuments, options: Options) -> Partition:
        """The clusters of at least one document."""


def renumber_clusters(members: Ints) -> Ints:
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


def compute_centroids(vectors: ProjectedVectors, members: Ints, clusters: int) -> Floats:
    """The mean direction of each cluster: clusters x directions, float32 of length 1."""
    sums = np.zeros((clusters, vectors.width), dtype=np.float64)
    for some, placed in vectors.iter_parts():
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


def compute_cosines(vectors: ProjectedVectors, members: Ints, centres: Floats) -> Floats:
    """How near each document is to the middle of its cluster, float32; 0 in none."""
    scores = np.zeros(len(members), np.float32)
    for some, placed in vectors.iter_parts():
        inside = np.flatnonzero(members[some] >= 0)
        own = centres[members[some][inside]]
        scores[some][inside] = np.einsum("ij,ij->i", placed[inside], own)
    return scores


def find_nearest_centroids(vectors: ProjectedVectors, centres: Floats) -> Ints:
    """The middle each document is nearest to."""
    found = np.zeros(len(vectors), dtype=np.int64)
    for some, placed in vectors.iter_parts():
        found[some] = (placed @ centres.T).argmax(axis=1)
    return found


# Density: groups where documents lie close, of whatever number; what lies between them is in none.
#
# Source: R. Campello, D. Moulavi and J. Sander, "Density-based clustering based on hierarchical density
# estimates", 2013 (HDBSCAN). Bound: found among 20,000 documents, the others go to the nearest group in
# reach.


SAMPLE_DOCUMENTS = 20_000
_SMALLEST = 5
_REACH_PERCENTILE = 5


def partition_by_density(prepared: PreparedDocuments, options: Options) -> Partition:
    """The dense groups of at least `size_min` and five documents."""
    vectors = prepared.vectors
    places = sample_evenly(len(vectors), SAMPLE_DOCUMENTS)
    members = np.full(len(vectors), NONE, dtype=np.int64)
    if len(places) > _SMALLEST:
        found = HDBSCAN(max(options.size_min, _SMALLEST), min_samples=_SMALLEST, copy=True)
        members[places] = found.fit_predict(vectors.select(places))
    if members.max(initial=NONE) >= 0 and len(places) < len(vectors):
        centres = compute_centroids(vectors, members, int(members.max()) + 1)
        scores = compute_cosines(vectors, members, centres)
        reach = np.percentile(scores[members >= 0], _REACH_PERCENTILE)
        others = np.setdiff1d(np.arange(len(vectors)), places)
        near = find_nearest_centroids(vectors, centres)
        reached = compute_cosines(vectors, near, centres) >= reach
        members[others] = np.where(reached[others], near[others], NONE)
    return Partition((renumber_clusters(members),))


# Which cluster each term speaks for: complement naive Bayes with weights brought to one length.
#
# Source: J. Rennie, L. Shih, J. Teevan and D. Karger, "Tackling the poor assumptions of naive Bayes text
# classifiers", 2003, section 4.4 (WCNB).
#
# Clusters found in few directions are made exact by all their terms: what each term says is learned from the
# clusters, documents go where their terms say, and that again, until few move or a cluster would be
# left empty. Bound: five rounds.


ROUNDS_MAX = 5
SMOOTHING = 0.1
_SETTLED = 0.999
_DOCUMENT_BATCH = 50_000


def refine_partition(weighted: Matrix, members: Ints, clusters: int) -> tuple[Ints, Floats]:
    """The clusters of all documents after what their terms say, and the evidence that says it."""
    evidence = compute_evidence(weighted, members, clusters)
    for _ in range(ROUNDS_MAX):
        moved = assign_by_evidence(weighted, evidence)
        if len(np.unique(moved)) < clusters:
            break
        same = float(np.mean(moved == members))
        members = moved
        evidence = compute_evidence(weighted, members, clusters)
        if same >= _SETTLED:
            break
    return members, evidence


def compute_evidence(weighted: Matrix, members: Ints, clusters: int) -> Floats:
    """Features x clusters, float32: higher where a term speaks for a cluster."""
    inside = members >= 0
    belongs = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.float32), (members[inside], np.flatnonzero(inside))),
        shape=(clusters, weighted.shape[0]),
    )
    held = (belongs @ weighted).toarray()
    elsewhere = held.sum(axis=0) - held + SMOOTHING
    rare = -np.log(elsewhere / elsewhere.sum(axis=1, keepdims=True))
    evidence: Floats = (rare / np.abs(rare).sum(axis=1, keepdims=True)).T.astype(np.float32)
    return np.ascontiguousarray(evidence)


def assign_by_evidence(weighted: Matrix, evidence: Floats) -> Ints:
    """The cluster the terms of each document speak for most."""
    parts = [
        np.asarray(weighted[at : at + _DOCUMENT_BATCH] @ evidence).argmax(axis=1)
        for at in range(0, weighted.shape[0], _DOCUMENT_BATCH)
    ]
    return np.concatenate(parts or [np.zeros(0, np.int64)]).astype(np.int64)


# Factors: non-negative parts of the weighted terms; a document is in the one it has most of.
#
# Source: D. Lee and H. S. Seung, "Learning the parts of objects by non-negative matrix factorization", 1999.
# Bound: fitted on 20,000 documents, 200 rounds.


DEFAULT_CLUSTERS = 10
FACTOR_ROUNDS_MAX = 200


def partition_by_factors(prepared: PreparedDocuments, options: Options) -> Partition:
    """As many factors as are asked for, ten without; each document is in one."""
    weighted = prepared.weighted
    sample = weighted[sample_evenly(weighted.shape[0], SAMPLE_DOCUMENTS)]
    clusters = min(options.clusters or DEFAULT_CLUSTERS, *sample.shape)
    model = NMF(
        clusters, init="nndsvda", random_state=options.seed, max_iter=FACTOR_ROUNDS_MAX, tol=1e-3
    ).fit(sample)
    members = np.zeros(weighted.shape[0], dtype=np.int64)
    most = np.zeros(weighted.shape[0])
    for at in range(0, weighted.shape[0], SAMPLE_DOCUMENTS):
        some = slice(at, at + SAMPLE_DOCUMENTS)
        held = np.asarray(model.transform(weighted[some]))
        members[some], most[some] = held.argmax(axis=1), held.max(axis=1)
    nothing = most <= 0
    if nothing.any() and not nothing.all():
        places = compute_centroids(prepared.vectors, np.where(nothing, -1, members), clusters)
        members[nothing] = find_nearest_centroids(prepared.vectors, places)[nothing]
    return Partition((renumber_clusters(members),))


# Stories: many and tight. A document joins the nearest story in reach, or leads a new one.
#
# Documents come by time, those of one time by rank. With a half-life, a story that has slept must be
# nearer. A second pass puts every document to the story it is nearest to by then, and stories too small
# are none.
#
# Bound: 20,000 stories are open at once, the one that slept longest is closed first; two passes.


OPEN_MAX = 20_000
_BATCH_SIZE = 512


def partition_into_stories(prepared: PreparedDocuments, options: Options) -> Partition:
    """The stories; a document that is alone is in none."""
    times = prepared.times_s
    order = np.arange(len(prepared.vectors)) if times is None else np.argsort(times, kind="stable")
    led = _OpenStories(prepared.vectors.width)
    members = np.full(len(order), NONE, dtype=np.int64)
    for at in range(0, len(order), _BATCH_SIZE):
        some = order[at : at + _BATCH_SIZE]
        members[some] = led.join(
            prepared.vectors.select(some), None if times is None else times[some], options
        )
    if options.half_life_s is None:
        members = _reassign(prepared.vectors, members, options.threshold)
    sizes = np.bincount(members[members >= 0], minlength=1)
    small = (members >= 0) & (sizes[np.maximum(members, 0)] < options.size_min)
    members[small] = NONE
    return Partition((renumber_clusters(members),))


class _OpenStories:
    """The stories that may still grow: sums of their vectors, and when each was last met."""

    def __init__(self, directions: int) -> None:
        self._sums = np.zeros((0, directions), np.float32)
        self._numbers = np.zeros(0, np.int64)
        self._last_added_s = np.zeros(0, np.float64)
        self._count = 0
        self._clock = 0.0

    def join(self, vectors: Floats, times: NDArray[np.float64] | None, options: Options) -> Ints:
        """The story of each document, which are taken in order."""
        known = len(self._sums)
        near = vectors @ _normalize_rows(self._sums).T
        beside = vectors @ vectors.T
        led: list[int] = []
        chosen = np.zeros(len(vectors), dtype=np.int64)
        met: list[float] = self._last_added_s.tolist()
        for place in range(len(vectors)):
            now = self._clock + place if times is None else float(times[place])
            scores = np.concatenate((near[place], beside[place, led]))
            if options.half_life_s is not None and len(scores):
                slept = np.maximum(now - np.array(met), 0)
                scores = scores * np.exp2(-slept / options.half_life_s)
            best = int(scores.argmax()) if len(scores) else -1
            if best < 0 or scores[best] < options.threshold:
                best = known + len(led)
                led.append(place)
                met.append(now)
            met[best] = max(met[best], now)
            chosen[place] = best
        return self._add_story(vectors, chosen, len(led), met)

    def _add_story(
        self, vectors: Floats, assigned: Ints, story_count: int, last_met: list[float]
    ) -> Ints:
        new = np.arange(self._count, self._count + story_count)
        self._numbers = np.concatenate((self._numbers, new))
        self._sums = np.vstack([self._sums, np.zeros((story_count, vectors.shape[1]), np.float32)])
        np.add.at(self._sums, assigned, vectors)
        self._last_added_s = np.array(last_met)
        self._count += story_count
        self._clock += len(vectors)
        numbers = self._numbers[assigned]
        if len(self._numbers) > OPEN_MAX:
            kept = np.sort(np.argsort(-self._last_added_s, kind="stable")[:OPEN_MAX])
            self._numbers, self._sums = self._numbers[kept], self._sums[kept]
            self._last_added_s = self._last_added_s[kept]
        return numbers


def _reassign(vectors: ProjectedVectors, members: Ints, threshold: float) -> Ints:
    """Every document at the story whose centroid is nearest, where one is in reach."""
    places = compute_centroids(vectors, members, int(members.max()) + 1)
    settled = members.copy()
    for at in range(0, len(vectors), _BATCH_SIZE):
        some = slice(at, min(at + _BATCH_SIZE, len(vectors)))
        near = vectors.select(some) @ places.T
        best = near.argmax(axis=1)
        reached = near[np.arange(len(best)), best] >= threshold
        settled[some][reached] = best[reached]
    return settled


def _normalize_rows(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit
