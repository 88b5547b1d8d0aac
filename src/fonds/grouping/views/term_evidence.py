"""Compute how strongly each term of a document indicates the cluster of the document.

The weights are those of the clustering's model, which also assigns documents to clusters.
"""

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
    """Explain by its terms why a document is in its cluster.

    The result has three parts. The first is at most `terms_max` tuples, strongest first: the term,
    its tf-idf weight, and how much more it indicates the cluster than the next one. The second is
    the label of the next cluster; None if there is no other cluster. The third is the minimum score
    for the document's cluster. Without clusters, or for a document without features (terms that
    count), the result is no tuples, None and None.
    `label`: label of the document's cluster. None for an unclustered document: then the nearest
        cluster is explained and its label is returned.
    `stored_cells`: cells with encoded dense vectors of the document.
    If the model has no evidence, a term counts by the cosine of its vector to the centroids.
    """
    model = clustering_model.model
    dense = build_dense_vectors(
        clustering_model.configuration, model.space.dense, [document], stored_cells
    )
    assignments = assign(model, [document.text], [document.language or None], dense.numbers)
    labels = [places[0][1] for places in clustering_model.places]
    features, weights = assignments.weighted_rows.indices, assignments.weighted_rows.data
    if not labels or not len(features):
        return [], None, None
    contributions = _score_clusters(clustering_model, assignments.weighted_rows)
    totals = contributions.sum(axis=0)
    own_number = labels.index(label) if label in labels else int(totals.argmax())
    other_numbers = [
        position
        for position in np.argsort(-totals, kind="stable").tolist()
        if position != own_number
    ]
    next_number = other_numbers[0] if other_numbers else None
    nearest_number = next_number if label in labels else own_number
    differences = contributions[:, own_number] - (
        contributions[:, next_number] if next_number is not None else 0
    )
    order = np.argsort(-differences, kind="stable")[:terms_max]
    terms = [
        (
            model.dictionary.terms[features[position]],
            float(weights[position]),
            float(differences[position]),
        )
        for position in order.tolist()
    ]
    return (
        terms,
        None if nearest_number is None else labels[nearest_number],
        float(model.score_minimums[own_number]),
    )


def _score_clusters(
    clustering_model: ClusteringModel, weighted_rows: object
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return how much each term of one document contributes to each cluster, as terms x clusters.

    `weighted_rows`: sparse matrix with one row, the tf-idf weights of the document.
    """
    model = clustering_model.model
    features, weights = weighted_rows.indices, weighted_rows.data  # type: ignore[attr-defined]
    if model.evidence is not None:
        return np.asarray(weights[:, None] * model.evidence[features], dtype=np.float32)
    directions = model.space.directions[features]
    centroids = model.centroids[:, model.space.dense :]
    return np.asarray(weights[:, None] * (directions @ centroids.T), dtype=np.float32)
