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

from fonds.grouping.clustering import Apart, Finer, Model
from fonds.grouping.families.evidence import decide
from fonds.grouping.families.partition import NONE
from fonds.grouping.space.projecting import project
from fonds.grouping.space.weighting import Floats, tfidf
from fonds.grouping.text.counting import Ints, Matrix, frequencies, read_rows
from fonds.model.vectors import Vector


@dataclass(frozen=True, slots=True)
class Assigned:
    """The cluster of each document, int64, -1 for none; its cosine to the cluster, float32, that to the
    nearest for an outlier and 0 for an empty one; how many are apart; a row each for its stored
    vectors; and its cluster on each of the model's finer levels, below the one of the first."""

    members: Ints = field(repr=False)
    scores: Floats = field(repr=False)
    apart: dict[Apart, int]
    frequencies: Matrix = field(repr=False)
    weighted: Matrix = field(repr=False)
    finer: tuple[Ints, ...] = field(repr=False)


def assign(
    model: Model,
    texts: Sequence[str],
    languages: Sequence[str | None] | None = None,
    dense: Floats | None = None,
    barred: Mapping[int, Collection[int]] | None = None,
) -> Assigned:
    """Where documents belong in a clustering; `barred`: the clusters that may not take a document, by its
    place. One its terms put into such a cluster, or into none, goes to the nearest other that takes it.
    Raises ValueError where dense vectors are missing or too many."""
    said = languages or [None] * len(texts)
    spoken = [model.language if one is None else one.partition("-")[0].lower()[:2] for one in said]
    counted = frequencies(read_rows(texts, spoken, model.dictionary.terms))
    weighted = tfidf(counted, model.weights)
    vectors = project(model.space, weighted, dense)
    has_features = np.diff(counted.indptr) > 0
    members = np.full(len(texts), NONE, dtype=np.int64)
    scores = np.zeros(len(texts), np.float32)
    if len(model.centroids) and len(texts):
        near = vectors @ model.centroids.T
        best = near.argmax(axis=1) if model.evidence is None else decide(weighted, model.evidence)
        scores = np.where(has_features, near[np.arange(len(best)), best], 0).astype(np.float32)
        members = np.where(has_features & (scores >= model.reach[best]), best, NONE)
        for place, clusters in (barred or {}).items():
            if has_features[place] and members[place] in (NONE, *clusters):
                members[place] = _nearest(near[place], model.reach, clusters)
                scores[place] = (
                    max(float(near[place, members[place]]), 0) if members[place] >= 0 else 0
                )
    outliers = int((has_features & (members == NONE)).sum())
    counts = {Apart.EMPTY: int((~has_features).sum()), Apart.OUTLIER: outliers}
    finer = tuple(_below(vectors, members, one) for one in model.finer)
    return Assigned(members.astype(np.int64), scores, counts, counted, weighted, finer)


def _nearest(near: Floats, reach: Floats, barred: Collection[int]) -> int:
    """The nearest cluster that takes a document and may; NONE where there is none."""
    open_to = near >= reach
    open_to[list(barred)] = False
    return int(np.where(open_to, near, -np.inf).argmax()) if open_to.any() else NONE


def _below(vectors: Floats, members: Ints, finer: Finer) -> Ints:
    """The nearest of the clusters that lie in each document's own; NONE where none does."""
    near = np.where(members[:, None] == finer.above[None, :], vectors @ finer.centroids.T, -np.inf)
    if not near.shape[1]:
        return np.full(len(members), NONE, dtype=np.int64)
    best = near.argmax(axis=1)
    return np.where(np.isfinite(near[np.arange(len(best)), best]), best, NONE).astype(np.int64)


def vector(rows: Matrix, document: int, version: int) -> Vector:
    """One row of `frequencies` or `weighted` as it is stored."""
    part = slice(rows.indptr[document], rows.indptr[document + 1])
    values = rows.data[part].astype(np.float32)
    return Vector(version, rows.indices[part].astype(np.int64), values)
