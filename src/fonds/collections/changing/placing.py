"""Where documents belong in a clustering that is there: on each of its levels, or apart, with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from fonds.collections.building.models import Served
from fonds.collections.changing.encoding import Dense, dense_of
from fonds.collections.changing.placement import (
    EMPTY,
    EXCLUDED,
    FIELD,
    LANGUAGE,
    OUTLIER,
    SHORT,
    VECTOR,
    Placement,
)
from fonds.collections.configurations import Configuration, wheres
from fonds.collections.documents import Document, EncodedCells
from fonds.collections.names import apart_conf
from fonds.collections.tables import Cells, score_text
from fonds.formats.grouping.vectors import to_vector_idf, to_vector_tfidf
from fonds.grouping.assigning import Assigned, assign, vector
from fonds.grouping.families.partition import NONE
from fonds.grouping.text.tokens import terms

_READ_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Placed:
    """Documents placed: `placements` of each; its vectors as they are stored, None for those that were not
    asked about; how many of their terms were looked at, and how many the dictionary does not know; the cells
    of what was encoded for it."""

    placements: list[list[Placement]]
    vectors: list[tuple[bytes, bytes] | None]
    terms: int
    unknown: int
    encoded: EncodedCells


def set_apart(configuration: Configuration, document: Document) -> str | None:
    """Why a document is not grouped, whatever it says; None when it is."""
    if len(document.text.strip()) < configuration.characters_min:
        return SHORT
    if configuration.languages and document.language not in ("", *configuration.languages):
        return LANGUAGE
    if any(str(getattr(document, name)) != value for name, value in wheres(configuration)):
        return FIELD
    if configuration.dense is not None and len(document.vector) != configuration.dense:
        return VECTOR
    return None


Barred = Mapping[str, Collection[str]]
"""Labels of first-level clusters that may not take a document, by its id."""


def place(
    served: Served,
    documents: Sequence[Document],
    kept: Mapping[str, Cells],
    barred: Barred = MappingProxyType({}),
) -> Placed:
    """Place documents by the model as it is; `kept`: cells of encoded vectors, by id."""
    reasons = [set_apart(served.configuration, one) for one in documents]
    asked = [at for at, reason in enumerate(reasons) if reason is None]
    placements = [[_apart(served.conf, reason)] if reason else [] for reason in reasons]
    vectors: list[tuple[bytes, bytes] | None] = [None] * len(documents)
    some = [documents[at] for at in asked]
    known = unknown = 0
    dense = Dense(None)
    if some:
        dense = dense_of(served.configuration, served.model.space.dense, some, kept)
        found = assign(
            served.model,
            [one.text for one in some],
            [one.language or None for one in some],
            dense.numbers,
            _numbered(served, some, barred),
        )
        for row, at in enumerate(asked):
            otherwise = EXCLUDED if barred.get(some[row].id) else OUTLIER
            placements[at] = _placements(served, found, row, otherwise)
            vectors[at] = coded_vectors(found.frequencies, found.weighted, row, served.timestamp)
        known, unknown = counted_terms(served, some)
    return Placed(placements, vectors, known, unknown, dense.made)


def _numbered(
    served: Served, documents: Sequence[Document], barred: Barred
) -> dict[int, list[int]]:
    """The numbers of the clusters that may not take documents, by their places; those barred from none are
    left out."""
    if not barred:
        return {}
    numbers = {places[0][1]: at for at, places in enumerate(served.places)}
    return {
        place: [numbers[label] for label in labels if label in numbers]
        for place, one in enumerate(documents)
        if (labels := barred.get(one.id))
    }


def vectors_of(served: Served, documents: Sequence[Document]) -> list[tuple[bytes, bytes] | None]:
    """The vectors of `place` alone: they are of terms, so that no dense vector is needed for them."""
    asked = [at for at, one in enumerate(documents) if set_apart(served.configuration, one) is None]
    some = [documents[at] for at in asked]
    made: list[tuple[bytes, bytes] | None] = [None] * len(documents)
    zeros = np.zeros((len(some), served.model.space.dense), np.float32)
    languages = [one.language or None for one in some]
    found = assign(
        served.model, [one.text for one in some], languages, zeros if zeros.shape[1] else None
    )
    for row, at in enumerate(asked):
        made[at] = coded_vectors(found.frequencies, found.weighted, row, served.timestamp)
    return made


def counted_terms(served: Served, documents: Sequence[Document]) -> tuple[int, int]:
    """How many distinct terms the beginnings of documents have, and how many the dictionary lacks."""
    numbers = served.known_terms
    total = unknown = 0
    for one in documents:
        language = one.language or served.model.language
        found = {term for term in terms(one.text[:_READ_CHARACTERS], language) if term}
        total += len(found)
        unknown += len(found - numbers)
    return total, unknown


def coded_vectors(
    frequencies: object, weighted: object, row: int, version: int
) -> tuple[bytes, bytes]:
    """`vector_idf` and `vector_tfidf` of one row of both matrices."""
    return (
        to_vector_idf(vector(frequencies, row, version)),
        to_vector_tfidf(vector(weighted, row, version)),
    )


def _placements(served: Served, found: Assigned, row: int, otherwise: str) -> list[Placement]:
    """Where a document is; `otherwise`: why it is in none though it has terms."""
    cluster = int(found.members[row])
    if cluster == NONE:
        has_terms = found.frequencies.indptr[row + 1] > found.frequencies.indptr[row]
        return [_apart(served.conf, otherwise if has_terms else EMPTY, float(found.scores[row]))]
    score = score_text(float(found.scores[row]))
    inside = list(served.places[cluster])
    for (conf, labels), members in zip(served.finer, found.finer, strict=True):
        if members[row] != NONE:
            inside.append((conf, labels[int(members[row])]))
    return [Placement(conf, label, score) for conf, label in inside]


def _apart(conf: str, reason: str, score: float = 0.0) -> Placement:
    return Placement(apart_conf(conf), reason, score_text(score))
