"""Read-only views of one document: contents, placement in each clustering, and terms that explain
a placement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fonds.grouping.clustering import (
    ModelCache,
    StoredClustering,
    filter_ready,
    find_served,
    is_served,
    list_stored_clusterings,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
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
    """Placement of a document on one level of a clustering: in a cluster, or unclustered.

    `conf`, `timestamp`, `level`: configuration, time and level of the clustering.
    `label`, `cluster_id`: label and id of the cluster; None if unclustered.
    `score`: cosine similarity of the document to the cluster's centroid.
    `unclustered_reason`: why the document is unclustered; None if it is in a cluster.
    `original`: id of the document of which it is a near-duplicate; None if there is none.
    `name`: name that a person gave the cluster, '' if none.
    """

    conf: str
    timestamp: int
    level: int
    label: str | None
    cluster_id: str | None
    score: float
    unclustered_reason: str | None
    original: str | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class PlacementExplanation:
    """Explanation of the placement of a document in a clustering.

    `place`: the placement on the first level.
    `terms`: terms of the document; those that indicate its cluster most come first.
    `next_label`: label of the second nearest cluster; the nearest one if the document is
        unclustered.
    `score_min`: minimum score for the document's cluster; None if no cluster can be compared.
    """

    place: DocumentPlacement
    terms: tuple[TermEvidence, ...]
    next_label: str | None
    score_min: float | None


def find_document(tables: Tables, name: CollectionName, document_id: str) -> Document | None:
    """Return the document of a collection with this id; None if it does not exist."""
    cells = tables.get_row(DOCUMENTS, name.build_document_row(document_id), [MAIN_FAMILY])
    return None if cells is None or Column.ID not in cells else parse_document(cells).document


def list_placements(
    tables: Tables, name: CollectionName, document_id: str, *, includes_previous: bool = False
) -> list[DocumentPlacement]:
    """Return the placements of a document in the served clusterings, level by level.

    `includes_previous`: also return placements in clusterings that were served before.
    """
    collection = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    placements: list[DocumentPlacement] = []
    for clustering in filter_ready(list_stored_clusterings(tables, name), collection):
        if includes_previous or is_served(clustering, collection):
            placements += _iter_placements(tables, clustering, document_id)
    return placements


def iter_holders(
    tables: Tables, names: Iterable[CollectionName], document_id: str
) -> Iterator[CollectionName]:
    """Iterate over those of the given collections that contain a document with this id."""
    for name in names:
        if tables.get_row(DOCUMENTS, name.build_document_row(document_id), [Column.ID]) is not None:
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
    """Explain why a document is in its cluster of the served clustering, or unclustered.

    Return None if there is no served clustering or the document has no placement in it. Reads the
    model, which takes a second for a large model that is not cached. `terms_max`: number of terms
    to return, at most 100.
    """
    from fonds.grouping.views.term_evidence import (
        explain_terms,
    )  # Loads numpy, scipy, scikit-learn.

    collection = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    clustering = find_served(tables, name, conf, collection)
    row = name.build_document_row(document_id)
    rows = tables.get_rows(DOCUMENTS, [row], COLUMNS)
    if clustering is None or Column.ID not in rows.get(row, {}):
        return None
    document = parse_document(rows[row]).document
    placement = next(
        (
            candidate
            for candidate in _iter_placements(tables, clustering, document_id)
            if candidate.level == 0
        ),
        None,
    )
    model = models.get(tables, clustering)
    if placement is None or model is None:
        return None
    terms, next_label, reach = explain_terms(
        model, document, collect_encoded_cells(rows), placement.label, min(terms_max, TERMS_MAX)
    )
    evidence = tuple(TermEvidence(*term) for term in terms)
    return PlacementExplanation(placement, evidence, next_label, reach)


def _iter_placements(
    tables: Tables, clustering: StoredClustering, document_id: str
) -> Iterator[DocumentPlacement]:
    for level in range(clustering.levels):
        placement = _find_placement(
            tables, clustering, build_level_conf(clustering.conf, level), level, document_id
        )
        if placement is not None:
            yield placement
    placement = _find_placement(
        tables, clustering, build_unclustered_conf(clustering.conf), 0, document_id
    )
    if placement is not None:
        yield placement


def _find_placement(
    tables: Tables, clustering: StoredClustering, conf: str, level: int, id_: str
) -> DocumentPlacement | None:
    name, timestamp = clustering.name, clustering.timestamp
    cells = tables.get_row(ASSIGNMENTS, build_assignment_row(name, conf, timestamp, id_))
    if cells is None or Column.LABEL not in cells:
        return None
    label, score = decode_text(cells, Column.LABEL), decode_float(cells, Column.SCORE)
    if conf == build_unclustered_conf(clustering.conf):
        return DocumentPlacement(clustering.conf, timestamp, level, None, None, score, label, None)
    row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    cluster = tables.get_row(CLUSTERS, row, [Column.ID])
    original, id_ = decode_text(cells, Column.ORIGINAL) or None, decode_text(cluster, Column.ID)
    given_name = "" if level else load_theme_names(tables, name, clustering.conf).get(id_, "")
    return DocumentPlacement(
        clustering.conf, timestamp, level, label, id_, score, None, original, given_name
    )


TERMS_MAX = 100


@dataclass(frozen=True, slots=True)
class TermEvidence:
    """Term of a document as evidence for the document's cluster.

    `weight`: tf-idf weight of the term in the document.
    `margin`: how much more the term indicates the document's cluster than the next one; negative if
        it indicates the next one.
    """

    term: str
    weight: float
    margin: float
