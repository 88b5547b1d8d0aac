"""What follows when a clustering became visible: every document's row says where it is now, with its
vectors, and the collection's row has the dictionary and the inverted index they are of.

All of it follows from what is stored, so that it is done again by whoever comes after one that died.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from fonds.collections.building.inverted_index import put_index
from fonds.collections.building.reading_in import ReadIn
from fonds.collections.building.sweeping import drop_old
from fonds.collections.changing.placing import coded_vectors, vectors_of
from fonds.collections.changing.redo import Indexed, forget, indexed_cells, needed_after
from fonds.collections.changing.writing import Changes
from fonds.collections.clusterings import Known, is_served, settled
from fonds.collections.documents import COLUMNS, SEQUENCE, WITHOUT_TEXT, document_of, member_of
from fonds.collections.tables import (
    ASSIGNMENTS,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    assignment_row,
    number,
    text,
    utf8,
)
from fonds.formats.grouping.vectors import from_vector_tfidf
from fonds.grouping.clustering import Clustering
from fonds.model.vectors import Postings, Vector

AT_ONCE = 500

Vectors = Callable[[Sequence[str]], dict[str, tuple[bytes, bytes]]]
"""The vectors of those of some documents that were grouped, by id."""

Tell = Callable[[str, int, int], None]


def grouped_vectors(read: ReadIn, built: Clustering, timestamp: int) -> Vectors:
    """Those of what a clustering was built of, as it was built."""

    def of(ids: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
        there = {id_: at for id_ in ids if (at := read.place(id_)) is not None}
        places = np.array(list(there.values()), dtype=np.int64)
        rows, weighted = built.frequencies[places], built.weighted(places)
        return {id_: coded_vectors(rows, weighted, row, timestamp) for row, id_ in enumerate(there)}

    return of


def settle(
    changes: Changes,
    one: Known,
    vectors: Vectors = lambda ids: {},
    until: int = -1,
    tell: Tell = lambda stage, done, total: None,
) -> bool:
    """Bring all documents' rows up to a clustering that is served; whether it was served to the end.

    `vectors` holds for documents whose last change was `until` or before; those of others are worked out.
    """
    tables, name = changes.tables, one.name
    collection = tables.row(COLLECTIONS, name.row, ["main:size", SEQUENCE])
    total, begun = number(collection, "main:size"), number(collection, SEQUENCE)
    turned = _Turned()
    for page in tables.pages(DOCUMENTS, name.row, WITHOUT_TEXT, page_rows=AT_ONCE):
        coded = _coded(changes, one, page, vectors, until)
        if coded is None or not _write(changes, one, page, coded):
            return False
        for row, cells in page:
            if (pair := coded.get(row)) is not None:
                turned.add(text(cells, "main:id"), from_vector_tfidf(pair[1]))
        tell("settle", len(turned.ids), total)
    if not _put_index(changes, one, turned, begun):
        return False
    tables.put(COLLECTIONS, [(name.row, {settled(one.conf): utf8(one.timestamp)})])
    drop_old(changes, one)
    return True


def _coded(
    changes: Changes,
    one: Known,
    page: Sequence[tuple[bytes, Cells]],
    vectors: Vectors,
    until: int,
) -> dict[bytes, tuple[bytes, bytes]] | None:
    """The vectors of documents by row, those apart from the start left out; None where the model is gone."""
    found = {}
    missing = []
    kept = [text(cells, "main:id") for _, cells in page if number(cells, SEQUENCE) <= until]
    of_kept = vectors(kept)
    for row, cells in page:
        pair = of_kept.get(text(cells, "main:id"))
        if pair is None:
            missing.append(row)
        else:
            found[row] = pair
    if not missing:
        return found
    served = changes.models.of(changes.tables, one)
    if served is None:
        return None
    rows = changes.tables.rows(DOCUMENTS, missing, COLUMNS)
    made = vectors_of(served, [document_of(cells).document for cells in rows.values()])
    for row, pair in zip(rows, made, strict=True):
        if pair is not None:
            found[row] = pair
    return found


def _write(
    changes: Changes,
    one: Known,
    page: Sequence[tuple[bytes, Cells]],
    coded: dict[bytes, tuple[bytes, bytes]],
) -> bool:
    """Write where documents are, and their vectors if they are what they were; whether it is still served."""
    tables = changes.tables
    with changes.held(one.name) as held:
        if not is_served(one, held.cells):
            return False
        there = tables.rows(DOCUMENTS, [row for row, _ in page], ["main:id", SEQUENCE])
        keys = {
            row: assignment_row(one.name, one.conf, one.timestamp, text(cells, "main:id"))
            for row, cells in there.items()
        }
        labels = tables.rows(ASSIGNMENTS, list(keys.values()), ["main:label"])
        puts = []
        for row, before in page:
            if row not in there:
                continue
            cells = {member_of(one.conf): utf8(text(labels.get(keys[row]), "main:label"))}
            if there[row].get(SEQUENCE) == before.get(SEQUENCE):
                idf, tfidf = coded.get(row, (b"", b""))
                cells |= {"processing:vector_idf": idf, "processing:vector_tfidf": tfidf}
            puts.append((row, cells))
        changes.claims.check(held.claim)
        tables.put(DOCUMENTS, puts)
    return True


@dataclass(slots=True)
class _Turned:
    """Vectors document by document, to be turned into postings: eight bytes a feature."""

    ids: list[str] = field(default_factory=list)
    features: array[int] = field(default_factory=lambda: array("i"))
    weights: array[float] = field(default_factory=lambda: array("f"))
    ends: array[int] = field(default_factory=lambda: array("q", [0]))

    def add(self, id_: str, vector: Vector) -> None:
        """One more document."""
        self.ids.append(id_)
        self.features.frombytes(vector.features.astype(np.int32).tobytes())
        self.weights.frombytes(vector.values.astype(np.float32).tobytes())
        self.ends.append(len(self.features))

    def by_feature(self) -> Any:
        """A column a feature: a scipy.sparse.csc_matrix."""
        features, ends = np.array(self.features, np.int32), np.array(self.ends)
        width = int(features.max(initial=-1)) + 1
        by_document = (np.array(self.weights, np.float32), features, ends)
        return sp.csr_matrix(by_document, shape=(len(self.ids), width)).tocsc()


def _put_index(changes: Changes, one: Known, vectors: _Turned, begun: int) -> bool:
    """Write the dictionary, the inverted index and the ids its numbers stand for, of all that was changed by
    the change `begun` or before; whether the clustering is there to the end."""
    served = changes.models.of(changes.tables, one)
    if served is None:
        return False
    turned = vectors.by_feature()
    counts = np.diff(turned.indptr).astype(np.int64)
    postings = Postings(one.timestamp, 0, counts, turned.indices, turned.data)
    told = Indexed(one.timestamp, begun, served.model.language)
    with changes.held(one.name, long=True) as held:
        put_index(changes.tables, one, postings, vectors.ids, told)
        forget(changes.tables, one.name, needed_after({**held.cells, **indexed_cells(told)}, begun))
    return True
