"""Where documents belong in a clustering that is there: on each of its levels, or apart, with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from fonds.grouping.algorithms.assignment import Assignments, assign, build_vector
from fonds.grouping.algorithms.methods import NONE
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

_READ_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class PlacementBatch:
    """Documents placed: `placements` of each; its vectors as they are stored, None for those that were not
    asked about; how many of their terms were looked at, and how many the dictionary does not know; the cells
    of what was encoded for it."""

    placements: list[list[Placement]]
    vectors: list[tuple[bytes, bytes] | None]
    terms: int
    unknown: int
    encoded: EncodedCells


def find_ungrouped_reason(configuration: Configuration, document: Document) -> str | None:
    """Why a document is not grouped, whatever it says; None when it is."""
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
"""Labels of first-level clusters that may not take a document, by its id."""


def place_documents(
    model: ClusteringModel,
    documents: Sequence[Document],
    stored_cells: Mapping[str, Cells],
    excluded: ExcludedLabels = MappingProxyType({}),
) -> PlacementBatch:
    """Place documents by the model as it is; `stored_cells`: cells of encoded vectors, by id."""
    reasons = [find_ungrouped_reason(model.configuration, one) for one in documents]
    asked = [at for at, reason in enumerate(reasons) if reason is None]
    placements = [[_build_unclustered(model.conf, reason)] if reason else [] for reason in reasons]
    vectors: list[tuple[bytes, bytes] | None] = [None] * len(documents)
    some = [documents[at] for at in asked]
    known = unknown = 0
    dense = DenseVectors(None)
    if some:
        dense = build_dense_vectors(
            model.configuration, model.model.space.dense, some, stored_cells
        )
        found = assign(
            model.model,
            [one.text for one in some],
            [one.language or None for one in some],
            dense.numbers,
            _number_excluded(model, some, excluded),
        )
        for row, at in enumerate(asked):
            otherwise = EXCLUDED if excluded.get(some[row].id) else OUTLIER
            placements[at] = _build_placements(model, found, row, otherwise)
            vectors[at] = encode_vectors(found.frequencies, found.weighted, row, model.timestamp)
        known, unknown = count_known_terms(model, some)
    return PlacementBatch(placements, vectors, known, unknown, dense.new_cells)


def _number_excluded(
    model: ClusteringModel, documents: Sequence[Document], excluded: ExcludedLabels
) -> dict[int, list[int]]:
    """The numbers of the clusters that may not take documents, by their places; those barred from none are
    left out."""
    if not excluded:
        return {}
    numbers = {places[0][1]: at for at, places in enumerate(model.places)}
    return {
        place: [numbers[label] for label in labels if label in numbers]
        for place, one in enumerate(documents)
        if (labels := excluded.get(one.id))
    }


def build_vectors(
    model: ClusteringModel, documents: Sequence[Document]
) -> list[tuple[bytes, bytes] | None]:
    """The vectors of `place_documents` alone: they are of terms, so that no dense vector is needed for
    them."""
    asked = [
        at
        for at, one in enumerate(documents)
        if find_ungrouped_reason(model.configuration, one) is None
    ]
    some = [documents[at] for at in asked]
    made: list[tuple[bytes, bytes] | None] = [None] * len(documents)
    zeros = np.zeros((len(some), model.model.space.dense), np.float32)
    languages = [one.language or None for one in some]
    found = assign(
        model.model, [one.text for one in some], languages, zeros if zeros.shape[1] else None
    )
    for row, at in enumerate(asked):
        made[at] = encode_vectors(found.frequencies, found.weighted, row, model.timestamp)
    return made


def count_known_terms(model: ClusteringModel, documents: Sequence[Document]) -> tuple[int, int]:
    """How many distinct terms the beginnings of documents have, and how many the dictionary lacks."""
    numbers = model.term_set
    total = unknown = 0
    for one in documents:
        language = one.language or model.model.language
        found = {term for term in split_terms(one.text[:_READ_CHARACTERS], language) if term}
        total += len(found)
        unknown += len(found - numbers)
    return total, unknown


def encode_vectors(
    frequencies: object, weighted: object, row: int, version: int
) -> tuple[bytes, bytes]:
    """`vector_idf` and `vector_tfidf` of one row of both matrices."""
    return (
        encode_idf_vector(build_vector(frequencies, row, version)),
        encode_tfidf_vector(build_vector(weighted, row, version)),
    )


def _build_placements(
    model: ClusteringModel, assignments: Assignments, row: int, default: str
) -> list[Placement]:
    """Where a document is; `default`: why it is in none though it has terms."""
    cluster = int(assignments.members[row])
    if cluster == NONE:
        has_terms = assignments.frequencies.indptr[row + 1] > assignments.frequencies.indptr[row]
        return [
            _build_unclustered(
                model.conf, default if has_terms else EMPTY, float(assignments.scores[row])
            )
        ]
    score = format_score(float(assignments.scores[row]))
    inside = list(model.places[cluster])
    for (conf, labels), members in zip(model.finer, assignments.finer, strict=True):
        if members[row] != NONE:
            inside.append((conf, labels[int(members[row])]))
    return [Placement(conf, label, score) for conf, label in inside]


def _build_unclustered(conf: str, reason: str, score: float = 0.0) -> Placement:
    return Placement(build_unclustered_conf(conf), reason, format_score(score))
