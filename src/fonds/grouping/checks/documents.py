"""Checks of documents' rows: clusters against served clusterings, vectors against texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from fonds.grouping.changes.placement_rules import build_vectors
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.checks.unconfirmed_rows import build_document_damage
from fonds.grouping.checksums import COVERED, has_valid_checksum
from fonds.grouping.clustering import (
    StoredClustering,
    is_served,
    list_stored_clusterings,
    settled_column,
)
from fonds.grouping.clustering_model import ClusteringModel, get_chunks
from fonds.grouping.columns import Column
from fonds.grouping.dense_vectors import is_valid_cell
from fonds.grouping.document import COLUMNS, ENCODED, Document, build_member_column, parse_document
from fonds.grouping.inverted_index import is_index_state_intact
from fonds.grouping.names import CollectionName, build_unclustered_conf
from fonds.grouping.stored.chunks import join_chunks
from fonds.grouping.stored.dictionary import decode_dictionary
from fonds.grouping.stored.inverted_index import decode_postings
from fonds.grouping.stored.keys import parse_document_row
from fonds.grouping.stored.vectors import decode_idf_vector, decode_tfidf_vector
from fonds.grouping.tables import (
    ASSIGNMENTS,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    Tables,
    build_assignment_row,
    decode_int,
    decode_text,
)
from fonds.model.errors import DamagedInputError

# Encoder vectors, checked against the texts in the same rows


BATCH_SIZE = 200
WRONG_VECTOR_MESSAGE = "have an encoder vector that is damaged or from another text"


def find_wrong_columns(cells: Cells) -> list[str]:
    """Return the columns of a document's row with an encoder's vector that is wrong.

    A vector is wrong if it is damaged or was computed from another text.
    """
    text = decode_text(cells, Column.TEXT)
    return [
        column for column in ENCODED if cells.get(column) and not is_valid_cell(cells[column], text)
    ]


def remove_wrong(writer: CollectionWriter, name: CollectionName) -> int:
    """Remove encoder vectors of a collection that are damaged or were computed from another text.

    Return the number of documents that had such vectors.
    """
    count, tables = 0, writer.tables
    for page in tables.iter_pages(
        DOCUMENTS, name.row, [Column.ID, Column.TEXT, *ENCODED], page_rows=BATCH_SIZE
    ):
        suspects = [row for row, cells in page if find_wrong_columns(cells)]
        if suspects:
            count += _remove_wrong_in_rows(writer, name, suspects)
    return count


def _remove_wrong_in_rows(
    writer: CollectionWriter, name: CollectionName, rows: Sequence[bytes]
) -> int:
    """Check the encoder vectors in some documents' rows again, and remove the wrong ones.

    This is done under the collection's lease. Return the number of documents that had wrong
    vectors.
    """
    tables = writer.tables
    with writer.lease(name) as collection:
        current_rows = tables.get_rows(DOCUMENTS, rows, [Column.TEXT, *ENCODED])
        wrong_columns = {
            row: columns
            for row, cells in current_rows.items()
            if (columns := find_wrong_columns(cells))
        }
        writer.leases.check(collection.lease)
        for row, columns in wrong_columns.items():
            tables.delete(DOCUMENTS, [row], columns)
    return len(wrong_columns)


_WEIGHT_OFF_MAX = 0.002

VectorPair = tuple[bytes, bytes]


def check_documents(
    writer: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    """Check all documents of a collection, and yield each type of damage once, with a count.

    The clusters, term vectors and encoder vectors in documents' rows are checked. So are the stored
    number of documents, the dictionary and the inverted index.
    `cells`: cells of the collection's row.
    """
    tables = writer.tables
    served_models = _load_models(writer, name, cells)
    counts: Counter[tuple[Remedy, str, str, int]] = Counter()
    total = 0
    columns = [
        *COLUMNS,
        Column.VECTOR_IDF,
        Column.VECTOR_TFIDF,
        *(build_member_column(item.conf) for item, _ in served_models),
        *sorted(COVERED[DOCUMENTS] - {*COLUMNS}),
        Column.CHECKSUM,
    ]
    changed_ids: list[str] = []
    for page in tables.iter_pages(DOCUMENTS, name.row, columns, page_rows=BATCH_SIZE):
        document_cells = [row_cells for _, row_cells in page if Column.ID in row_cells]
        total += len(document_cells)
        changed_ids += [
            parse_document_row(row)[2]
            for row, row_cells in page
            if not has_valid_checksum(DOCUMENTS, row, row_cells)
        ]
        for item, _ in served_models:
            counts.update(_check_placements(tables, item, document_cells))
        counts.update(_check_vectors(served_models, document_cells))
        counts.update(
            (Remedy.FORGET, WRONG_VECTOR_MESSAGE, "", 0)
            for item in document_cells
            if find_wrong_columns(item)
        )
    for (remedy, message, conf, timestamp), count in counts.items():
        yield Damage(remedy, f"{count:,} documents {message}", conf, timestamp)
    if changed_ids:
        yield build_document_damage(changed_ids)
    if total != (size := decode_int(cells, Column.SIZE)):
        yield Damage(Remedy.COUNT, f"its size is {size:,}, but it has {total:,} documents")
    yield from _check_shared(tables, name, cells, [item for item, _ in served_models])


def _load_models(
    writer: CollectionWriter, name: CollectionName, cells: Cells
) -> list[tuple[StoredClustering, ClusteringModel]]:
    """Return the clusterings that are served and settled, with their models.

    Clusterings whose model is missing or damaged are left out. A clustering is settled once
    documents' rows are up to date with it.
    `cells`: cells of the collection's row.
    """
    models = []
    for clustering in list_stored_clusterings(writer.tables, name):
        if (
            is_served(clustering, cells)
            and decode_int(cells, settled_column(clustering.conf), -1) == clustering.timestamp
        ):
            try:
                model = writer.models.get(writer.tables, clustering)
            except DamagedInputError:
                continue
            if model is not None:
                models.append((clustering, model))
    return models


def _check_placements(
    tables: Tables, clustering: StoredClustering, page: Sequence[Cells]
) -> Iterator[tuple[Remedy, str, str, int]]:
    """Yield the damage of documents' placements in one clustering, one item per document.

    A document is damaged if the clustering neither has it in a cluster nor as unclustered, or if
    its row names another cluster. Each item has the remedy, a message for people, and the
    configuration and timestamp of the damaged clustering.
    `page`: cells of the documents' rows.
    """
    ids = [decode_text(cells, Column.ID) for cells in page]
    assignment_rows = {
        id_: build_assignment_row(clustering.name, clustering.conf, clustering.timestamp, id_)
        for id_ in ids
    }
    unclustered_conf = build_unclustered_conf(clustering.conf)
    unclustered_rows = {
        id_: build_assignment_row(clustering.name, unclustered_conf, clustering.timestamp, id_)
        for id_ in ids
    }
    assignments = tables.get_rows(
        ASSIGNMENTS, [*assignment_rows.values(), *unclustered_rows.values()], [Column.LABEL]
    )
    clustering_key = (clustering.conf, clustering.timestamp)
    for id_, cells in zip(ids, page, strict=True):
        if assignment_rows[id_] not in assignments and unclustered_rows[id_] not in assignments:
            yield (
                Remedy.BUILD,
                f"are in no cluster of {clustering.conf} and not marked as unclustered",
                *clustering_key,
            )
        elif decode_text(cells, build_member_column(clustering.conf)) != decode_text(
            assignments.get(assignment_rows[id_]), Column.LABEL
        ):
            yield (
                Remedy.SETTLE,
                f"have another cluster of {clustering.conf} in their row",
                *clustering_key,
            )


def _check_vectors(
    models: Sequence[tuple[StoredClustering, ClusteringModel]], page: Sequence[Cells]
) -> Iterator[tuple[Remedy, str, str, int]]:
    """Yield the damage of documents' term vectors, one item per document.

    Vectors are damaged if they are missing or do not match the text under any served clustering.
    If a posted vector cannot be read, the other documents of the page are not checked. Each item
    has the remedy, a message for people, and the configuration and timestamp of the newest served
    clustering.
    `models`: served clusterings with their models.
    `page`: cells of the documents' rows.
    """
    if not models:
        return
    newest = max((item for item, _ in models), key=lambda item: item.timestamp)
    clustering_key = (newest.conf, newest.timestamp)
    documents: list[Document] = []
    for cells in page:
        try:
            documents.append(parse_document(cells).document)
        except DamagedInputError:
            yield Remedy.SETTLE, "have a posted vector that cannot be read", *clustering_key
            return
    expected_vectors = {item.timestamp: build_vectors(model, documents) for item, model in models}
    for position, cells in enumerate(page):
        pair = (cells.get(Column.VECTOR_IDF, b""), cells.get(Column.VECTOR_TFIDF, b""))
        expected_pair = [vectors[position] for vectors in expected_vectors.values()]
        if pair == (b"", b""):
            if None not in expected_pair:
                yield Remedy.SETTLE, "have no term counts", *clustering_key
        elif not any(item is not None and _is_same(pair, item) for item in expected_pair):
            yield Remedy.SETTLE, "have vectors that do not match their text", *clustering_key


def _is_same(pair: VectorPair, vector_pair: VectorPair) -> bool:
    """Return whether two encoded pairs of idf and tf-idf vectors are equal.

    Weights may differ by rounding. A damaged vector in `pair` gives False.
    """
    if pair == vector_pair:
        return True
    try:
        idf, tfidf = decode_idf_vector(pair[0]), decode_tfidf_vector(pair[1])
    except DamagedInputError:
        return False
    expected_idf, expected_tfidf = (
        decode_idf_vector(vector_pair[0]),
        decode_tfidf_vector(vector_pair[1]),
    )
    return (
        idf.version == expected_idf.version == tfidf.version
        and np.array_equal(idf.features, expected_idf.features)
        and np.array_equal(idf.values, expected_idf.values)
        and np.array_equal(tfidf.features, expected_tfidf.features)
        and bool(np.allclose(tfidf.values, expected_tfidf.values, atol=_WEIGHT_OFF_MAX))
    )


def _check_shared(
    tables: Tables, name: CollectionName, cells: Cells, clusterings: Sequence[StoredClustering]
) -> Iterator[Damage]:
    """Yield the damage of a collection's dictionary and inverted index.

    Both must be readable and belong to one of the served clusterings. The state of the index must
    agree with its document ids.
    `cells`: cells of the collection's row.
    `clusterings`: the served clusterings.
    """
    if not clusterings:
        return
    times = {clustering.timestamp for clustering in clusterings}
    newest = max(clusterings, key=lambda item: item.timestamp)
    clustering_key = (newest.conf, newest.timestamp)
    try:
        versions = {
            decode_dictionary(get_chunks(tables, COLLECTIONS, name.row, Column.DICTIONARY)).version
        }
        index = decode_postings(get_chunks(tables, COLLECTIONS, name.row, Column.INDEX))
        versions |= {posting_run.version for posting_run in index}
        packed_ids = join_chunks(get_chunks(tables, COLLECTIONS, name.row, Column.INDEX_IDS))
        is_intact = is_index_state_intact(name.row, cells, packed_ids)
    except DamagedInputError as error:
        yield Damage(
            Remedy.SETTLE, f"cannot read the dictionary or index: {error}", *clustering_key
        )
        return
    if not versions <= times:
        message = f"the dictionary or index is of {sorted(versions - times)}, which is not served"
        yield Damage(Remedy.SETTLE, message, *clustering_key)
    elif not is_intact:
        message = "the state of the index does not agree with its document ids"
        yield Damage(Remedy.SETTLE, message, *clustering_key)
