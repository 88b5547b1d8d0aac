"""Which terms of a document speak for its cluster, by the model that placed it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fonds.grouping.algorithms.assignment import assign
from fonds.grouping.clustering_model import ClusteringModel
from fonds.grouping.dense_vectors import build_dense_vectors
from fonds.grouping.document import Document
from fonds.grouping.tables import (
    Cells,
)


def explain_terms(
    clustering_model: ClusteringModel,
    document: Document,
    stored_cells: Mapping[str, Cells],
    label: str | None,
    terms_max: int,
) -> tuple[list[tuple[str, float, float]], str | None, float | None]:
    """(term, its tf-idf, how much more it speaks for the cluster than for the next one), the strongest first;
    the label of the next cluster; the cosine the cluster asks for.

    A document in no cluster is explained by the one it is nearest to, which is the next one then. Where
    the model has no evidence of terms, a term speaks by its direction's cosine to the middles.
    `stored_cells`: what is kept encoded of the document."""
    model = clustering_model.model
    dense = build_dense_vectors(
        clustering_model.configuration, model.space.dense, [document], stored_cells
    )
    found = assign(model, [document.text], [document.language or None], dense.numbers)
    labels = [places[0][1] for places in clustering_model.places]
    features, weights = found.weighted.indices, found.weighted.data
    if not labels or not len(features):
        return [], None, None
    by_cluster = _score_clusters(clustering_model, found.weighted)
    totals = by_cluster.sum(axis=0)
    own = labels.index(label) if label in labels else int(totals.argmax())
    others = [at for at in np.argsort(-totals, kind="stable").tolist() if at != own]
    other = others[0] if others else None
    nearest = other if label in labels else own
    speaks = by_cluster[:, own] - (by_cluster[:, other] if other is not None else 0)
    order = np.argsort(-speaks, kind="stable")[:terms_max]
    terms = [
        (model.dictionary.terms[features[at]], float(weights[at]), float(speaks[at]))
        for at in order.tolist()
    ]
    return terms, None if nearest is None else labels[nearest], float(model.reach[own])


def _score_clusters(
    clustering_model: ClusteringModel, weighted: object
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """What each term of the one row adds to each cluster: terms x clusters."""
    model = clustering_model.model
    features, weights = weighted.indices, weighted.data  # type: ignore[attr-defined]
    if model.evidence is not None:
        return np.asarray(weights[:, None] * model.evidence[features], dtype=np.float32)
    directions = model.space.directions[features]
    centroids = model.centroids[:, model.space.dense :]
    return np.asarray(weights[:, None] * (directions @ centroids.T), dtype=np.float32)
