"""One document: what is kept of it, where it is in each clustering, and which of its terms put it there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fonds.grouping.clustering import (
    ModelCache,
    StoredClustering,
    filter_ready,
    is_served,
    list_stored_clusterings,
)
from fonds.grouping.document import COLUMNS, Document, collect_encoded_cells, parse_document
from fonds.grouping.names import DEFAULT, CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import build_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    build_assignment_row,
    decode_float,
    decode_text,
)
from fonds.grouping.views.curation import load_theme_names


@dataclass(frozen=True, slots=True)
class DocumentPlacement:
    """Where a document is: in the cluster `label` (by its id, `cluster_id`) of a level, with its cosine to
    the middle; or in none, for `apart`, a reason. `original`: the document it is a near-duplicate of.
    `name`: what a person called the cluster, '' where nobody did."""

    conf: str
    timestamp: int
    level: int
    label: str | None
    cluster_id: str | None
    score: float
    apart: str | None
    original: str | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class PlacementExplanation:
    """Why a document is where it is: its terms, those that speak for its cluster most first; the cluster it
    would be in else; its score, and the least it needs."""

    place: DocumentPlacement
    terms: tuple[TermEvidence, ...]
    next_label: str | None
    reach: float | None


def find_document(tables: Tables, name: CollectionName, document_id: str) -> Document | None:
    """The document; None where there is none."""
    cells = tables.get_row(DOCUMENTS, name.build_document_row(document_id), ["main:"])
    return None if cells is None or "main:id" not in cells else parse_document(cells).document


def list_placements(
    tables: Tables, name: CollectionName, document_id: str, *, includes_previous: bool = False
) -> list[DocumentPlacement]:
    """Where a document is in what is served of each configuration, level by level; with
    `includes_previous` also in the clusterings before."""
    collection = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    found: list[DocumentPlacement] = []
    for one in filter_ready(list_stored_clusterings(tables, name), collection):
        if includes_previous or is_served(one, collection):
            found += _iter_placements(tables, one, document_id)
    return found


def iter_holders(
    tables: Tables, names: Iterable[CollectionName], document_id: str
) -> Iterator[CollectionName]:
    """Those of these collections that have a document of this id."""
    for name in names:
        if tables.get_row(DOCUMENTS, name.build_document_row(document_id), ["main:id"]) is not None:
            yield name


def explain_placement(
    tables: Tables,
    models: ModelCache,
    name: CollectionName,
    document_id: str,
    conf: str = DEFAULT,
    *,
    terms_max: int = 10,
) -> PlacementExplanation | None:
    """Why a document is where it is in what is served; None where it is in nothing of this configuration.

    Reads the model, a second for a large one that is not kept yet.
    """
    from fonds.grouping.views.term_evidence import explain_terms  # loads numpy, scipy, scikit-learn

    collection = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    one = next(
        (
            each
            for each in list_stored_clusterings(tables, name)
            if each.conf == conf and is_served(each, collection)
        ),
        None,
    )
    row = name.build_document_row(document_id)
    rows = tables.get_rows(DOCUMENTS, [row], COLUMNS)
    if one is None or "main:id" not in rows.get(row, {}):
        return None
    there = parse_document(rows[row]).document
    place = next(
        (each for each in _iter_placements(tables, one, document_id) if each.level == 0), None
    )
    served = models.get(tables, one)
    if place is None or served is None:
        return None
    terms, next_label, reach = explain_terms(
        served, there, collect_encoded_cells(rows), place.label, min(terms_max, TERMS_MAX)
    )
    spoken = tuple(TermEvidence(*term) for term in terms)
    return PlacementExplanation(place, spoken, next_label, reach)


def _iter_placements(
    tables: Tables, clustering: StoredClustering, document_id: str
) -> Iterator[DocumentPlacement]:
    for level in range(clustering.levels):
        place = _find_placement(
            tables, clustering, build_level_conf(clustering.conf, level), level, document_id
        )
        if place is not None:
            yield place
    place = _find_placement(
        tables, clustering, build_unclustered_conf(clustering.conf), 0, document_id
    )
    if place is not None:
        yield place


def _find_placement(
    tables: Tables, clustering: StoredClustering, conf: str, level: int, id_: str
) -> DocumentPlacement | None:
    name, timestamp = clustering.name, clustering.timestamp
    cells = tables.get_row(ASSIGNMENTS, build_assignment_row(name, conf, timestamp, id_))
    if cells is None or "main:label" not in cells:
        return None
    label, score = decode_text(cells, "main:label"), decode_float(cells, "main:score")
    if conf == build_unclustered_conf(clustering.conf):
        return DocumentPlacement(clustering.conf, timestamp, level, None, None, score, label, None)
    row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    cluster = tables.get_row(CLUSTERS, row, ["main:id"])
    original, id_ = decode_text(cells, "main:original") or None, decode_text(cluster, "main:id")
    called = "" if level else load_theme_names(tables, name, clustering.conf).get(id_, "")
    return DocumentPlacement(
        clustering.conf, timestamp, level, label, id_, score, None, original, called
    )


TERMS_MAX = 100


@dataclass(frozen=True, slots=True)
class TermEvidence:
    """A term of a document, how much of the document it makes up (tf-idf), and how much more it speaks for
    the document's cluster than for the next; below 0 where it speaks for the other."""

    term: str
    weight: float
    speaks: float
