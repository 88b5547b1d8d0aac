"""Settling of a published clustering: bring the rows of all documents up to date with it.

Each document's row gets its cluster and vectors. The collection's row gets the dictionary and the
inverted index of these vectors. All of this derives from stored data, so another process can repeat
it after a crash.
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
from fonds.grouping.columns import Column
from fonds.grouping.document import (
    COLUMNS,
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
    find_last_removable,
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
"""Function that returns the encoded idf and tf-idf vectors of documents, by document id.

Its argument is a list of document ids. Documents whose vectors it does not know are left out.
"""

ProgressCallback = Callable[[str, int, int], None]


def build_grouped_vectors(read: Corpus, clustering: Clustering, timestamp: int) -> VectorLoader:
    """Return a function that loads the vectors of documents, as used to build a clustering.

    The function takes document ids and returns encoded idf and tf-idf vectors, by id. Documents
    that were not grouped are left out.
    `timestamp`: timestamp of the clustering, which is the version of the vectors.
    """

    def load_vectors(ids: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
        place_by_id = {id_: place for id_ in ids if (place := read.find_place(id_)) is not None}
        places = np.array(list(place_by_id.values()), dtype=np.int64)
        rows, weighted_rows = clustering.frequencies[places], clustering.build_weights(places)
        return {
            id_: encode_vectors(rows, weighted_rows, row, timestamp)
            for row, id_ in enumerate(place_by_id)
        }

    return load_vectors


def settle_documents(
    writer: CollectionWriter,
    clustering: StoredClustering,
    vectors: VectorLoader = lambda ids: {},
    last_change: int = -1,
    report: ProgressCallback = lambda stage, done, total: None,
) -> bool:
    """Write the clusters and vectors of a served clustering into the rows of all documents.

    Then write the collection's inverted index and remove clusterings beyond the number to keep.
    Return False if the clustering stopped being served, or its model was removed, before the end.
    `vectors`: function that returns known vectors by document id.
    `last_change`: number of the last collection change that these vectors include. Vectors of
        documents changed later are computed.
    `report`: function that is called with the stage, the number of documents done, and the total.
    """
    tables, name = writer.tables, clustering.name
    collection = tables.get_row(COLLECTIONS, name.row, [Column.SIZE, Column.SEQUENCE])
    total, last_sequence = (
        decode_int(collection, Column.SIZE),
        decode_int(collection, Column.SEQUENCE),
    )
    postings = _PostingsBuilder()
    for page in tables.iter_pages(DOCUMENTS, name.row, TEXTLESS_COLUMNS, page_rows=BATCH_SIZE):
        encoded_vectors = _encode_vectors(writer, clustering, page, vectors, last_change)
        if encoded_vectors is None or not _write(writer, clustering, page, encoded_vectors):
            return False
        for row, cells in page:
            if (pair := encoded_vectors.get(row)) is not None:
                postings.add(decode_text(cells, Column.ID), decode_tfidf_vector(pair[1]))
        report("settle", len(postings.ids), total)
    if not _write_index(writer, clustering, postings, last_sequence):
        return False
    tables.put(
        COLLECTIONS,
        [(name.row, {settled_column(clustering.conf): encode_utf8(clustering.timestamp)})],
    )
    drop_old(writer, clustering)
    return True


def _encode_vectors(
    writer: CollectionWriter,
    clustering: StoredClustering,
    page: Sequence[tuple[bytes, Cells]],
    vectors: VectorLoader,
    last_change: int,
) -> dict[bytes, tuple[bytes, bytes]] | None:
    """Return the encoded idf and tf-idf vectors of a page of documents, by row key.

    Documents that the configuration does not group are left out. Return None if the clustering's
    model no longer exists.
    `vectors`: function that takes document ids and returns the vectors that are already known, by
        id. Missing vectors are computed.
    `last_change`: number of the last collection change that these vectors include. Vectors of
        documents changed later are computed.
    """
    vectors_by_row = {}
    missing = []
    unchanged_ids = [
        decode_text(cells, Column.ID)
        for _, cells in page
        if decode_int(cells, Column.SEQUENCE) <= last_change
    ]
    known_vectors = vectors(unchanged_ids)
    for row, cells in page:
        pair = known_vectors.get(decode_text(cells, Column.ID))
        if pair is None:
            missing.append(row)
        else:
            vectors_by_row[row] = pair
    if not missing:
        return vectors_by_row
    model = writer.models.get(writer.tables, clustering)
    if model is None:
        return None
    rows = writer.tables.get_rows(DOCUMENTS, missing, COLUMNS)
    computed_vectors = build_vectors(
        model, [parse_document(cells).document for cells in rows.values()]
    )
    for row, pair in zip(rows, computed_vectors, strict=True):
        if pair is not None:
            vectors_by_row[row] = pair
    return vectors_by_row


def _write(
    writer: CollectionWriter,
    clustering: StoredClustering,
    page: Sequence[tuple[bytes, Cells]],
    encoded_vectors: dict[bytes, tuple[bytes, bytes]],
) -> bool:
    """Write the cluster labels and vectors of a page of documents into their rows.

    Vectors are written only for documents that did not change since the page was read. The writes
    are made under the collection's lease. Return False if the clustering is no longer served.
    `page`: row keys and cells of the documents.
    `encoded_vectors`: encoded idf and tf-idf vectors, by row key.
    """
    tables = writer.tables
    with writer.lease(clustering.name) as collection:
        if not is_served(clustering, collection.cells):
            return False
        current_rows = tables.get_rows(
            DOCUMENTS, [row for row, _ in page], [Column.ID, Column.SEQUENCE]
        )
        keys = {
            row: build_assignment_row(
                clustering.name,
                clustering.conf,
                clustering.timestamp,
                decode_text(cells, Column.ID),
            )
            for row, cells in current_rows.items()
        }
        labels = tables.get_rows(ASSIGNMENTS, list(keys.values()), [Column.LABEL])
        puts = []
        for row, cells_before in page:
            if row not in current_rows:
                continue
            cells = {
                build_member_column(clustering.conf): encode_utf8(
                    decode_text(labels.get(keys[row]), Column.LABEL)
                )
            }
            if current_rows[row].get(Column.SEQUENCE) == cells_before.get(Column.SEQUENCE):
                idf, tfidf = encoded_vectors.get(row, (b"", b""))
                cells |= {Column.VECTOR_IDF: idf, Column.VECTOR_TFIDF: tfidf}
            puts.append((row, cells))
        writer.leases.check(collection.lease)
        tables.put(DOCUMENTS, puts)
    return True


@dataclass(slots=True)
class _PostingsBuilder:
    """Collector that turns the vectors of documents into the postings of an inverted index.

    It needs eight bytes of memory per feature occurrence.

    `ids`: ids of the documents.
    `features`, `weights`: feature numbers and weights of all documents, one after another.
    `ends`: end of each document in these arrays, after a leading 0.
    """

    ids: list[str] = field(default_factory=list)
    features: array[int] = field(default_factory=lambda: array("i"))
    weights: array[float] = field(default_factory=lambda: array("f"))
    ends: array[int] = field(default_factory=lambda: array("q", [0]))

    def add(self, id_: str, vector: Vector) -> None:
        """Add the vector of one document."""
        self.ids.append(id_)
        self.features.frombytes(vector.features.astype(np.int32).tobytes())
        self.weights.frombytes(vector.values.astype(np.float32).tobytes())
        self.ends.append(len(self.features))

    def build_matrix(self) -> Any:
        """Return the weights as a scipy.sparse.csc_matrix: documents x features.

        One column lists the documents of one feature.
        """
        features, ends = np.array(self.features, np.int32), np.array(self.ends)
        width = int(features.max(initial=-1)) + 1
        arrays = (np.array(self.weights, np.float32), features, ends)
        return sp.csr_matrix(arrays, shape=(len(self.ids), width)).tocsc()


def _write_index(
    writer: CollectionWriter,
    clustering: StoredClustering,
    vectors: _PostingsBuilder,
    last_sequence: int,
) -> bool:
    """Write the dictionary, the inverted index and the document ids to the collection's row.

    Then delete logged changes that are no longer needed. Return whether the clustering's model
    still exists; without it, nothing is written.
    `last_sequence`: number of the last collection change that the index certainly includes.
    """
    model = writer.models.get(writer.tables, clustering)
    if model is None:
        return False
    matrix = vectors.build_matrix()
    counts = np.diff(matrix.indptr).astype(np.int64)
    postings = Postings(clustering.timestamp, 0, counts, matrix.indices, matrix.data)
    index_state = IndexState(clustering.timestamp, last_sequence, model.model.language)
    with writer.lease(clustering.name, long=True) as collection:
        write_index(writer.tables, clustering, postings, vectors.ids, index_state)
        remove_changes(
            writer.tables,
            clustering.name,
            find_last_removable(
                {**collection.cells, **build_index_cells(index_state)}, last_sequence
            ),
        )
    return True
