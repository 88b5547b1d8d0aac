"""Placement of documents in an existing clustering.

Each document gets a cluster on each level, or is unclustered with a reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from fonds.grouping.algorithms.assignment import Assignments, assign, build_vector
from fonds.grouping.algorithms.partition import NO_CLUSTER
from fonds.grouping.algorithms.terms import split_terms
from fonds.grouping.clustering import (
    EMPTY,
    EXCLUDED,
    FIELD,
    LANGUAGE,
    OUTLIER,
    SHORT,
    VECTOR,
    Placement,
)
from fonds.grouping.clustering_model import ClusteringModel
from fonds.grouping.configuration import Configuration, iter_filters
from fonds.grouping.dense_vectors import DenseVectors, build_dense_vectors
from fonds.grouping.document import Document, EncodedCells
from fonds.grouping.names import build_unclustered_conf
from fonds.grouping.stored.vectors import encode_idf_vector, encode_tfidf_vector
from fonds.grouping.tables import Cells, format_score

_READ_CHARS = 2000


@dataclass(frozen=True, slots=True)
class PlacementBatch:
    """Placements of a batch of documents, and values computed along with them.

    `placements`: for each document, its cluster on each level, or the reason for none.
    `vectors`: cells `vector_idf` and `vector_tfidf` of each document; None if it is not grouped.
    `term_count`: number of distinct terms examined, summed over the documents.
    `unknown_term_count`: number of those terms that the dictionary lacks.
    `encoded_cells`: cells of the dense vectors that were computed now, by document id.
    """

    placements: list[list[Placement]]
    vectors: list[tuple[bytes, bytes] | None]
    term_count: int
    unknown_term_count: int
    encoded_cells: EncodedCells


def find_ungrouped_reason(configuration: Configuration, document: Document) -> str | None:
    """Return the reason why a configuration does not group a document; None if it does.

    The reason is `short` (text too short), `language` (the document states a language that is not
    grouped), `field` (a field fails a condition), or `vector` (no dense vector of the required
    length).
    """
    if len(document.text.strip()) < configuration.characters_min:
        return SHORT
    if configuration.languages and document.language not in ("", *configuration.languages):
        return LANGUAGE
    if any(str(getattr(document, name)) != value for name, value in iter_filters(configuration)):
        return FIELD
    if configuration.dense is not None and len(document.vector) != configuration.dense:
        return VECTOR
    return None


ExcludedLabels = Mapping[str, Collection[str]]
"""Labels of first-level clusters that must not receive a document, by document id."""


def place_documents(
    model: ClusteringModel,
    documents: Sequence[Document],
    stored_cells: Mapping[str, Cells],
    excluded_labels: ExcludedLabels = MappingProxyType({}),
) -> PlacementBatch:
    """Assign documents to the clusters of an existing model, which stays unchanged.

    `stored_cells`: stored cells of dense vectors, by document id.
    `excluded_labels`: labels of first-level clusters that must not receive a document, by document
        id.
    """
    reasons = [find_ungrouped_reason(model.configuration, document) for document in documents]
    positions = [position for position, reason in enumerate(reasons) if reason is None]
    placements = [[_build_unclustered(model.conf, reason)] if reason else [] for reason in reasons]
    vectors: list[tuple[bytes, bytes] | None] = [None] * len(documents)
    grouped_documents = [documents[position] for position in positions]
    n_terms = n_unknown = 0
    dense = DenseVectors(None)
    if grouped_documents:
        dense = build_dense_vectors(
            model.configuration, model.model.space.dense, grouped_documents, stored_cells
        )
        assignments = assign(
            model.model,
            [document.text for document in grouped_documents],
            [document.language or None for document in grouped_documents],
            dense.numbers,
            _number_excluded(model, grouped_documents, excluded_labels),
        )
        for row, position in enumerate(positions):
            default_reason = EXCLUDED if excluded_labels.get(grouped_documents[row].id) else OUTLIER
            placements[position] = _build_placements(model, assignments, row, default_reason)
            vectors[position] = encode_vectors(
                assignments.frequencies, assignments.weighted_rows, row, model.timestamp
            )
        n_terms, n_unknown = count_known_terms(model, grouped_documents)
    return PlacementBatch(placements, vectors, n_terms, n_unknown, dense.new_cells)


def _number_excluded(
    model: ClusteringModel, documents: Sequence[Document], excluded_labels: ExcludedLabels
) -> dict[int, list[int]]:
    """Convert the labels of excluded clusters to the cluster numbers of a model.

    Return the numbers of the clusters that must not receive a document, by the index of the
    document in `documents`. Labels that the model lacks are left out.
    `excluded_labels`: labels of these clusters, by document id.
    """
    if not excluded_labels:
        return {}
    numbers = {places[0][1]: number for number, places in enumerate(model.places)}
    return {
        position: [numbers[label] for label in labels if label in numbers]
        for position, document in enumerate(documents)
        if (labels := excluded_labels.get(document.id))
    }


def build_vectors(
    model: ClusteringModel, documents: Sequence[Document]
) -> list[tuple[bytes, bytes] | None]:
    """Return the cells `vector_idf` and `vector_tfidf` of each document; None if it is not grouped.

    These vectors consist of terms, so no dense vectors are computed.
    """
    positions = [
        position
        for position, document in enumerate(documents)
        if find_ungrouped_reason(model.configuration, document) is None
    ]
    grouped_documents = [documents[position] for position in positions]
    vectors: list[tuple[bytes, bytes] | None] = [None] * len(documents)
    zeros = np.zeros((len(grouped_documents), model.model.space.dense), np.float32)
    languages = [document.language or None for document in grouped_documents]
    assignments = assign(
        model.model,
        [document.text for document in grouped_documents],
        languages,
        zeros if zeros.shape[1] else None,
    )
    for row, position in enumerate(positions):
        vectors[position] = encode_vectors(
            assignments.frequencies, assignments.weighted_rows, row, model.timestamp
        )
    return vectors


def count_known_terms(model: ClusteringModel, documents: Sequence[Document]) -> tuple[int, int]:
    """Count the distinct terms in the first 2,000 characters of each document.

    Return the number of terms, summed over the documents, and how many of them the model's
    dictionary lacks.
    """
    known_terms = model.term_set
    total = n_unknown = 0
    for document in documents:
        language = document.language or model.model.language
        terms = {term for term in split_terms(document.text[:_READ_CHARS], language) if term}
        total += len(terms)
        n_unknown += len(terms - known_terms)
    return total, n_unknown


def encode_vectors(
    frequencies: object, weighted_rows: object, row: int, version: int
) -> tuple[bytes, bytes]:
    """Encode one document's row of two sparse matrices as the cells `vector_idf` and
    `vector_tfidf`.

    `frequencies`, `weighted_rows`: term frequencies and tf-idf weights, documents x terms.
    `version`: version of the dictionary.
    """
    return (
        encode_idf_vector(build_vector(frequencies, row, version)),
        encode_tfidf_vector(build_vector(weighted_rows, row, version)),
    )


def _build_placements(
    model: ClusteringModel, assignments: Assignments, row: int, default: str
) -> list[Placement]:
    """Return the placements of one document: its cluster on each level, or the reason for none.

    `assignments`: assignments of several documents.
    `row`: index of the document in `assignments`.
    `default`: reason recorded if the document has terms but no cluster; without terms, it is
        `empty`.
    """
    cluster = int(assignments.members[row])
    if cluster == NO_CLUSTER:
        has_terms = assignments.frequencies.indptr[row + 1] > assignments.frequencies.indptr[row]
        return [
            _build_unclustered(
                model.conf, default if has_terms else EMPTY, float(assignments.scores[row])
            )
        ]
    score = format_score(float(assignments.scores[row]))
    level_labels = list(model.places[cluster])
    for (conf, labels), members in zip(model.finer, assignments.finer, strict=True):
        if members[row] != NO_CLUSTER:
            level_labels.append((conf, labels[int(members[row])]))
    return [Placement(conf, label, score) for conf, label in level_labels]


def _build_unclustered(conf: str, reason: str, score: float = 0.0) -> Placement:
    return Placement(build_unclustered_conf(conf), reason, format_score(score))
