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

from fonds.grouping.algorithms.clustering import Clustering
from fonds.grouping.changes.placement_rules import build_vectors, encode_vectors
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import StoredClustering, is_served, settled_column
from fonds.grouping.document import (
    COLUMNS,
    SEQUENCE,
    TEXTLESS_COLUMNS,
    build_member_column,
    parse_document,
)
from fonds.grouping.inverted_index import write_index
from fonds.grouping.rebuild.cleanup import drop_old
from fonds.grouping.rebuild.reader import Corpus
from fonds.grouping.redo_log import (
    IndexState,
    build_index_cells,
    find_oldest_needed,
    remove_changes,
)
from fonds.grouping.stored.vectors import decode_tfidf_vector
from fonds.grouping.tables import (
    ASSIGNMENTS,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    build_assignment_row,
    decode_int,
    decode_text,
    encode_utf8,
)
from fonds.model.vectors import Postings, Vector

BATCH_SIZE = 500

VectorLoader = Callable[[Sequence[str]], dict[str, tuple[bytes, bytes]]]
"""The vectors of those of some documents that were grouped, by id."""

ProgressCallback = Callable[[str, int, int], None]


def build_grouped_vectors(read: Corpus, clustering: Clustering, timestamp: int) -> VectorLoader:
    """Those of what a clustering was built of, as it was built."""

    def of(ids: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
        there = {id_: at for id_ in ids if (at := read.find_place(id_)) is not None}
        places = np.array(list(there.values()), dtype=np.int64)
        rows, weighted = clustering.frequencies[places], clustering.build_weights(places)
        return {
            id_: encode_vectors(rows, weighted, row, timestamp) for row, id_ in enumerate(there)
        }

    return of


def settle_documents(
    changes: CollectionWriter,
    clustering: StoredClustering,
    vectors: VectorLoader = lambda ids: {},
    last_change: int = -1,
    report: ProgressCallback = lambda stage, done, total: None,
) -> bool:
    """Bring all documents' rows up to a clustering that is served; whether it was served to the end.

    `vectors` holds for documents whose last change was `last_change` or before; those of others are
    worked out."""
    tables, name = changes.tables, clustering.name
    collection = tables.get_row(COLLECTIONS, name.row, ["main:size", SEQUENCE])
    total, begun = decode_int(collection, "main:size"), decode_int(collection, SEQUENCE)
    turned = _PostingsBuilder()
    for page in tables.iter_pages(DOCUMENTS, name.row, TEXTLESS_COLUMNS, page_rows=BATCH_SIZE):
        coded = _encode_vectors(changes, clustering, page, vectors, last_change)
        if coded is None or not _write(changes, clustering, page, coded):
            return False
        for row, cells in page:
            if (pair := coded.get(row)) is not None:
                turned.add(decode_text(cells, "main:id"), decode_tfidf_vector(pair[1]))
        report("settle", len(turned.ids), total)
    if not _write_index(changes, clustering, turned, begun):
        return False
    tables.put(
        COLLECTIONS,
        [(name.row, {settled_column(clustering.conf): encode_utf8(clustering.timestamp)})],
    )
    drop_old(changes, clustering)
    return True


def _encode_vectors(
    changes: CollectionWriter,
    clustering: StoredClustering,
    page: Sequence[tuple[bytes, Cells]],
    vectors: VectorLoader,
    last_change: int,
) -> dict[bytes, tuple[bytes, bytes]] | None:
    """The vectors of documents by row, those apart from the start left out; None where the model is gone."""
    found = {}
    missing = []
    kept = [
        decode_text(cells, "main:id")
        for _, cells in page
        if decode_int(cells, SEQUENCE) <= last_change
    ]
    of_kept = vectors(kept)
    for row, cells in page:
        pair = of_kept.get(decode_text(cells, "main:id"))
        if pair is None:
            missing.append(row)
        else:
            found[row] = pair
    if not missing:
        return found
    served = changes.models.get(changes.tables, clustering)
    if served is None:
        return None
    rows = changes.tables.get_rows(DOCUMENTS, missing, COLUMNS)
    made = build_vectors(served, [parse_document(cells).document for cells in rows.values()])
    for row, pair in zip(rows, made, strict=True):
        if pair is not None:
            found[row] = pair
    return found


def _write(
    changes: CollectionWriter,
    clustering: StoredClustering,
    page: Sequence[tuple[bytes, Cells]],
    coded: dict[bytes, tuple[bytes, bytes]],
) -> bool:
    """Write where documents are, and their vectors if they are what they were; whether it is still served."""
    tables = changes.tables
    with changes.lease(clustering.name) as held:
        if not is_served(clustering, held.cells):
            return False
        there = tables.get_rows(DOCUMENTS, [row for row, _ in page], ["main:id", SEQUENCE])
        keys = {
            row: build_assignment_row(
                clustering.name,
                clustering.conf,
                clustering.timestamp,
                decode_text(cells, "main:id"),
            )
            for row, cells in there.items()
        }
        labels = tables.get_rows(ASSIGNMENTS, list(keys.values()), ["main:label"])
        puts = []
        for row, before in page:
            if row not in there:
                continue
            cells = {
                build_member_column(clustering.conf): encode_utf8(
                    decode_text(labels.get(keys[row]), "main:label")
                )
            }
            if there[row].get(SEQUENCE) == before.get(SEQUENCE):
                idf, tfidf = coded.get(row, (b"", b""))
                cells |= {"processing:vector_idf": idf, "processing:vector_tfidf": tfidf}
            puts.append((row, cells))
        changes.leases.check(held.lease)
        tables.put(DOCUMENTS, puts)
    return True


@dataclass(slots=True)
class _PostingsBuilder:
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

    def build_matrix(self) -> Any:
        """A column a feature: a scipy.sparse.csc_matrix."""
        features, ends = np.array(self.features, np.int32), np.array(self.ends)
        width = int(features.max(initial=-1)) + 1
        by_document = (np.array(self.weights, np.float32), features, ends)
        return sp.csr_matrix(by_document, shape=(len(self.ids), width)).tocsc()


def _write_index(
    changes: CollectionWriter,
    clustering: StoredClustering,
    vectors: _PostingsBuilder,
    first_sequence: int,
) -> bool:
    """Write the dictionary, the inverted index and the ids its numbers stand for, of all that was changed by
    the change `first_sequence` or before; whether the clustering is there to the end."""
    served = changes.models.get(changes.tables, clustering)
    if served is None:
        return False
    turned = vectors.build_matrix()
    counts = np.diff(turned.indptr).astype(np.int64)
    postings = Postings(clustering.timestamp, 0, counts, turned.indices, turned.data)
    told = IndexState(clustering.timestamp, first_sequence, served.model.language)
    with changes.lease(clustering.name, long=True) as held:
        write_index(changes.tables, clustering, postings, vectors.ids, told)
        remove_changes(
            changes.tables,
            clustering.name,
            find_oldest_needed({**held.cells, **build_index_cells(told)}, first_sequence),
        )
    return True
