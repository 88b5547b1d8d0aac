"""Assignment of documents added after a rebuild to the clusters of the existing clustering.

Source: the incremental path of Grouperfish's HBase layout, v0.2 (`configuration:$conf:processed`).

The model of the clustering does not change until the next rebuild. So the result for a document
does not depend on when the document is added. A document is an outlier if its cosine similarity to
its cluster is below that of 95 % of the cluster's documents. A growing share of outliers indicates
that a rebuild is due. Limits: time is linear in the length of the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fonds.grouping.algorithms.clustering import FinerLevel, PlacementModel, UnclusteredReason
from fonds.grouping.algorithms.evidence import assign_by_evidence
from fonds.grouping.algorithms.partition import NO_CLUSTER
from fonds.grouping.algorithms.space import project
from fonds.grouping.algorithms.term_counts import (
    Floats,
    Ints,
    Matrix,
    build_frequencies,
    compute_tfidf,
    read_rows,
)
from fonds.model.vectors import Vector


@dataclass(frozen=True, slots=True)
class Assignments:
    """Result of assigning documents to clusters, in the order of the documents.

    `members`: first-level cluster number of each document, int64; -1 for none.
    `scores`: cosine similarity of each document to the centroid of its cluster, float32. For an
        outlier, that of its best cluster, or 0 if it is excluded from that cluster. 0 for a
        document without known terms.
    `unclustered`: number of documents in no cluster, by reason.
    `frequencies`, `weighted_rows`: term frequencies and tf-idf, documents x features; each row is
        stored as a vector of the document.
    `finer`: for each finer level, the cluster of each document, within its first-level cluster.
    """

    members: Ints = field(repr=False)
    scores: Floats = field(repr=False)
    unclustered: dict[UnclusteredReason, int]
    frequencies: Matrix = field(repr=False)
    weighted_rows: Matrix = field(repr=False)
    finer: tuple[Ints, ...] = field(repr=False)


def assign(
    model: PlacementModel,
    texts: Sequence[str],
    languages: Sequence[str | None] | None = None,
    dense: Floats | None = None,
    excluded_clusters: Mapping[int, Collection[int]] | None = None,
) -> Assignments:
    """Assign documents to the clusters of a model and return the assignments.

    `languages`: language of each text; None if unknown.
    `dense`: dense vectors, documents x dimensions; None if the model uses none.
    `excluded_clusters`: cluster numbers that a document must not get, by the document's position.
        If its best cluster is excluded, or it has none, the document gets the nearest other cluster
        that accepts its similarity.

    Raises ValueError if dense vectors are missing, or given for a model that uses none.
    """
    given_languages = languages or [None] * len(texts)
    read_languages = [
        model.language if item is None else item.partition("-")[0].lower()[:2]
        for item in given_languages
    ]
    frequencies = build_frequencies(read_rows(texts, read_languages, model.dictionary.terms))
    weighted_rows = compute_tfidf(frequencies, model.weights)
    vectors = project(model.space, weighted_rows, dense)
    has_features = np.diff(frequencies.indptr) > 0
    members = np.full(len(texts), NO_CLUSTER, dtype=np.int64)
    scores = np.zeros(len(texts), np.float32)
    if len(model.centroids) and len(texts):
        similarities = vectors @ model.centroids.T
        best = (
            similarities.argmax(axis=1)
            if model.evidence is None
            else assign_by_evidence(weighted_rows, model.evidence)
        )
        scores = np.where(has_features, similarities[np.arange(len(best)), best], 0).astype(
            np.float32
        )
        members = np.where(has_features & (scores >= model.score_minimums[best]), best, NO_CLUSTER)
        for place, clusters in (excluded_clusters or {}).items():
            if has_features[place] and members[place] in (NO_CLUSTER, *clusters):
                members[place] = _find_nearest_allowed(
                    similarities[place], model.score_minimums, clusters
                )
                scores[place] = (
                    max(float(similarities[place, members[place]]), 0) if members[place] >= 0 else 0
                )
    outliers = int((has_features & (members == NO_CLUSTER)).sum())
    counts = {
        UnclusteredReason.EMPTY: int((~has_features).sum()),
        UnclusteredReason.OUTLIER: outliers,
    }
    finer = tuple(_assign_finer(vectors, members, item) for item in model.finer)
    return Assignments(members.astype(np.int64), scores, counts, frequencies, weighted_rows, finer)


def _find_nearest_allowed(
    similarities: Floats, score_minimums: Floats, excluded_clusters: Collection[int]
) -> int:
    """Return the number of the nearest cluster that may receive a document; NO_CLUSTER if none.

    `similarities`: cosine similarity of the document to each cluster.
    `score_minimums`: minimum cosine similarity of each cluster.
    `excluded_clusters`: clusters that must not receive the document.
    """
    is_allowed = similarities >= score_minimums
    is_allowed[list(excluded_clusters)] = False
    return (
        int(np.where(is_allowed, similarities, -np.inf).argmax())
        if is_allowed.any()
        else NO_CLUSTER
    )


def _assign_finer(vectors: Floats, members: Ints, finer: FinerLevel) -> Ints:
    """Return the cluster number of each document on a finer level.

    It is the nearest of the finer clusters within the document's first-level cluster, or
    NO_CLUSTER.
    `members`: first-level cluster of each document.
    """
    similarities = np.where(
        members[:, None] == finer.coarser_clusters[None, :], vectors @ finer.centroids.T, -np.inf
    )
    if not similarities.shape[1]:
        return np.full(len(members), NO_CLUSTER, dtype=np.int64)
    best = similarities.argmax(axis=1)
    return np.where(np.isfinite(similarities[np.arange(len(best)), best]), best, NO_CLUSTER).astype(
        np.int64
    )


def build_vector(rows: Matrix, document: int, version: int) -> Vector:
    """Return one document's row of a term frequency or tf-idf matrix as a vector to store.

    `document`: row number.
    `version`: version of the dictionary that the columns belong to.
    """
    part = slice(rows.indptr[document], rows.indptr[document + 1])
    values = rows.data[part].astype(np.float32)
    return Vector(version, rows.indices[part].astype(np.int64), values)
