"""One document: what is kept of it, where it is in each clustering, and which of its terms put it there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fonds.collections.clusterings import Known, Models, is_served, known, ready
from fonds.collections.documents import COLUMNS, Document, document_of, encoded_cells
from fonds.collections.names import DEFAULT, Name, apart_conf, level_conf
from fonds.collections.reading.curated import names_of
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    assignment_row,
    real,
    text,
)
from fonds.formats.grouping.keys import cluster_row

TERMS_MAX = 100


@dataclass(frozen=True, slots=True)
class Place:
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
class Speaking:
    """A term of a document, how much of the document it makes up (tf-idf), and how much more it speaks for
    the document's cluster than for the next; below 0 where it speaks for the other."""

    term: str
    weight: float
    speaks: float


@dataclass(frozen=True, slots=True)
class Why:
    """Why a document is where it is: its terms, those that speak for its cluster most first; the cluster it
    would be in else; its score, and the least it needs."""

    place: Place
    terms: tuple[Speaking, ...]
    next_label: str | None
    reach: float | None


def document(tables: Tables, name: Name, document_id: str) -> Document | None:
    """The document; None where there is none."""
    cells = tables.row(DOCUMENTS, name.document(document_id), ["main:"])
    return None if cells is None or "main:id" not in cells else document_of(cells).document


def places(tables: Tables, name: Name, document_id: str, *, kept: bool = False) -> list[Place]:
    """Where a document is in what is served of each configuration, level by level; with `kept` also in the
    clusterings before."""
    collection = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    found: list[Place] = []
    for one in ready(known(tables, name), collection):
        if kept or is_served(one, collection):
            found += _places(tables, one, document_id)
    return found


def holding(tables: Tables, names: Iterable[Name], document_id: str) -> Iterator[Name]:
    """Those of these collections that have a document of this id."""
    for name in names:
        if tables.row(DOCUMENTS, name.document(document_id), ["main:id"]) is not None:
            yield name


def why(
    tables: Tables,
    models: Models,
    name: Name,
    document_id: str,
    conf: str = DEFAULT,
    *,
    terms_max: int = 10,
) -> Why | None:
    """Why a document is where it is in what is served; None where it is in nothing of this configuration.

    Reads the model, a second for a large one that is not kept yet.
    """
    from fonds.collections.reading.speaking import explained

    collection = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    one = next(
        (each for each in known(tables, name) if each.conf == conf and is_served(each, collection)),
        None,
    )
    row = name.document(document_id)
    rows = tables.rows(DOCUMENTS, [row], COLUMNS)
    if one is None or "main:id" not in rows.get(row, {}):
        return None
    there = document_of(rows[row]).document
    place = next((each for each in _places(tables, one, document_id) if each.level == 0), None)
    served = models.of(tables, one)
    if place is None or served is None:
        return None
    terms, next_label, reach = explained(
        served, there, encoded_cells(rows), place.label, min(terms_max, TERMS_MAX)
    )
    spoken = tuple(Speaking(*term) for term in terms)
    return Why(place, spoken, next_label, reach)


def _places(tables: Tables, one: Known, document_id: str) -> Iterator[Place]:
    for level in range(one.levels):
        place = _place(tables, one, level_conf(one.conf, level), level, document_id)
        if place is not None:
            yield place
    place = _place(tables, one, apart_conf(one.conf), 0, document_id)
    if place is not None:
        yield place


def _place(tables: Tables, one: Known, conf: str, level: int, id_: str) -> Place | None:
    name, timestamp = one.name, one.timestamp
    cells = tables.row(ASSIGNMENTS, assignment_row(name, conf, timestamp, id_))
    if cells is None or "main:label" not in cells:
        return None
    label, score = text(cells, "main:label"), real(cells, "main:score")
    if conf == apart_conf(one.conf):
        return Place(one.conf, timestamp, level, None, None, score, label, None)
    row = cluster_row(name.namespace, name.key, conf, timestamp, label)
    cluster = tables.row(CLUSTERS, row, ["main:id"])
    original, id_ = text(cells, "main:original") or None, text(cluster, "main:id")
    called = "" if level else names_of(tables, name, one.conf).get(id_, "")
    return Place(one.conf, timestamp, level, label, id_, score, None, original, called)
