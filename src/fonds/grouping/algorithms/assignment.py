"""Documents that come after a clustering was built: each to the cluster its terms and its place say, or to
none.

Source: the incremental path of Grouperfish's HBase layout, v0.2 (`configuration:$conf:processed`).

The model stays as it is until the next rebuild, so that a document is placed the same whenever it comes. A
document whose cosine to its cluster is below what 95 % of the cluster's documents have is an outlier; a
growing share of outliers says that it is time to rebuild. Bound: linear in the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fonds.grouping.algorithms.clustering import FinerLevel, PlacementModel, UnclusteredReason
from fonds.grouping.algorithms.methods import NONE, assign_by_evidence
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
    """The cluster of each document, int64, -1 for none; its cosine to the cluster, float32, that to the
    nearest for an outlier and 0 for an empty one; how many are apart; a row each for its stored
    vectors; and its cluster on each of the model's finer levels, below the one of the first."""

    members: Ints = field(repr=False)
    scores: Floats = field(repr=False)
    unclustered: dict[UnclusteredReason, int]
    frequencies: Matrix = field(repr=False)
    weighted: Matrix = field(repr=False)
    finer: tuple[Ints, ...] = field(repr=False)


def assign(
    model: PlacementModel,
    texts: Sequence[str],
    languages: Sequence[str | None] | None = None,
    dense: Floats | None = None,
    excluded: Mapping[int, Collection[int]] | None = None,
) -> Assignments:
    """Where documents belong in a clustering; `excluded`: the clusters that may not take a document, by its
    place. One its terms put into such a cluster, or into none, goes to the nearest other that takes it.
    Raises ValueError where dense vectors are missing or too many."""
    said = languages or [None] * len(texts)
    spoken = [model.language if one is None else one.partition("-")[0].lower()[:2] for one in said]
    counted = build_frequencies(read_rows(texts, spoken, model.dictionary.terms))
    weighted = compute_tfidf(counted, model.weights)
    vectors = project(model.space, weighted, dense)
    has_features = np.diff(counted.indptr) > 0
    members = np.full(len(texts), NONE, dtype=np.int64)
    scores = np.zeros(len(texts), np.float32)
    if len(model.centroids) and len(texts):
        near = vectors @ model.centroids.T
        best = (
            near.argmax(axis=1)
            if model.evidence is None
            else assign_by_evidence(weighted, model.evidence)
        )
        scores = np.where(has_features, near[np.arange(len(best)), best], 0).astype(np.float32)
        members = np.where(has_features & (scores >= model.reach[best]), best, NONE)
        for place, clusters in (excluded or {}).items():
            if has_features[place] and members[place] in (NONE, *clusters):
                members[place] = _find_nearest_allowed(near[place], model.reach, clusters)
                scores[place] = (
                    max(float(near[place, members[place]]), 0) if members[place] >= 0 else 0
                )
    outliers = int((has_features & (members == NONE)).sum())
    counts = {
        UnclusteredReason.EMPTY: int((~has_features).sum()),
        UnclusteredReason.OUTLIER: outliers,
    }
    finer = tuple(_assign_finer(vectors, members, one) for one in model.finer)
    return Assignments(members.astype(np.int64), scores, counts, counted, weighted, finer)


def _find_nearest_allowed(near: Floats, reach: Floats, excluded: Collection[int]) -> int:
    """The nearest cluster that takes a document and may; NONE where there is none."""
    open_to = near >= reach
    open_to[list(excluded)] = False
    return int(np.where(open_to, near, -np.inf).argmax()) if open_to.any() else NONE


def _assign_finer(vectors: Floats, members: Ints, finer: FinerLevel) -> Ints:
    """The nearest of the clusters that lie in each document's own; NONE where none does."""
    near = np.where(members[:, None] == finer.above[None, :], vectors @ finer.centroids.T, -np.inf)
    if not near.shape[1]:
        return np.full(len(members), NONE, dtype=np.int64)
    best = near.argmax(axis=1)
    return np.where(np.isfinite(near[np.arange(len(best)), best]), best, NONE).astype(np.int64)


def build_vector(rows: Matrix, document: int, version: int) -> Vector:
    """One row of `build_frequencies` or `weighted` as it is stored."""
    part = slice(rows.indptr[document], rows.indptr[document + 1])
    values = rows.data[part].astype(np.float32)
    return Vector(version, rows.indices[part].astype(np.int64), values)
