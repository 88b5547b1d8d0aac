"""Documents' rows against the clusterings that are served: where each is, and vectors against its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from fonds.grouping.changes.placement_rules import build_vectors
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.clustering import (
    StoredClustering,
    is_served,
    list_stored_clusterings,
    settled_column,
)
from fonds.grouping.clustering_model import DICTIONARY, ClusteringModel, get_chunks
from fonds.grouping.dense_vectors import is_valid_cell
from fonds.grouping.document import COLUMNS, ENCODED, Document, build_member_column, parse_document
from fonds.grouping.inverted_index import INDEX
from fonds.grouping.names import CollectionName, build_unclustered_conf
from fonds.grouping.stored.dictionary import decode_dictionary
from fonds.grouping.stored.inverted_index import decode_postings
from fonds.grouping.stored.vectors import decode_idf_vector, decode_tfidf_vector
from fonds.grouping.tables import (
    ASSIGNMENTS,
    COLLECTION_SIZE,
    COLLECTIONS,
    DOCUMENTS,
    Cells,
    Tables,
    build_assignment_row,
    decode_int,
    decode_text,
)
from fonds.model.errors import DamagedInputError

# Vectors that encoders made, against the texts in whose rows they are kept.


BATCH_SIZE = 200
WRONG_VECTOR_MESSAGE = "keep a vector an encoder made of another text, or a damaged one"


def find_wrong_columns(cells: Cells) -> list[str]:
    """The columns of a document's row whose vector is not of its text, or is damaged."""
    said = decode_text(cells, "main:text")
    return [
        column for column in ENCODED if cells.get(column) and not is_valid_cell(cells[column], said)
    ]


def remove_wrong(changes: CollectionWriter, name: CollectionName) -> int:
    """Remove those of a collection; in how many documents there were any."""
    count, tables = 0, changes.tables
    for page in tables.iter_pages(
        DOCUMENTS, name.row, ["main:id", "main:text", *ENCODED], page_rows=BATCH_SIZE
    ):
        suspects = [row for row, cells in page if find_wrong_columns(cells)]
        if suspects:
            count += _remove_wrong_in_rows(changes, name, suspects)
    return count


def _remove_wrong_in_rows(
    changes: CollectionWriter, name: CollectionName, rows: Sequence[bytes]
) -> int:
    """Looked at once more while nobody else may change them."""
    tables = changes.tables
    with changes.lease(name) as held:
        there = tables.get_rows(DOCUMENTS, rows, ["main:text", *ENCODED])
        found = {
            row: columns for row, cells in there.items() if (columns := find_wrong_columns(cells))
        }
        changes.leases.check(held.lease)
        for row, columns in found.items():
            tables.delete(DOCUMENTS, [row], columns)
    return len(found)


IDF, TFIDF = "processing:vector_idf", "processing:vector_tfidf"
_WEIGHT_OFF_MAX = 0.002

VectorPair = tuple[bytes, bytes]


def check_documents(
    changes: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    """What is wrong with the documents of a collection, whose row holds `cells`: one damage a kind, with how
    many documents have it."""
    tables = changes.tables
    served = _load_models(changes, name, cells)
    counts: Counter[tuple[Remedy, str, str, int]] = Counter()
    total = 0
    columns = [*COLUMNS, IDF, TFIDF, *(build_member_column(one.conf) for one, _ in served)]
    for page in tables.iter_pages(DOCUMENTS, name.row, columns, page_rows=BATCH_SIZE):
        there = [found for _, found in page if "main:id" in found]
        total += len(there)
        for one, _ in served:
            counts.update(_check_placements(tables, one, there))
        counts.update(_check_vectors(served, there))
        counts.update(
            (Remedy.FORGET, WRONG_VECTOR_MESSAGE, "", 0) for one in there if find_wrong_columns(one)
        )
    for (remedy, told, conf, timestamp), count in counts.items():
        yield Damage(remedy, f"{count:,} documents {told}", conf, timestamp)
    if total != (size := decode_int(cells, COLLECTION_SIZE)):
        yield Damage(Remedy.COUNT, f"its size is {size:,}, and {total:,} documents are there")
    yield from _check_shared(tables, name, [one for one, _ in served])


def _load_models(
    changes: CollectionWriter, name: CollectionName, cells: Cells
) -> list[tuple[StoredClustering, ClusteringModel]]:
    """The clusterings that are served and settled, whose model can be read."""
    found = []
    for one in list_stored_clusterings(changes.tables, name):
        if (
            is_served(one, cells)
            and decode_int(cells, settled_column(one.conf), -1) == one.timestamp
        ):
            try:
                model = changes.models.get(changes.tables, one)
            except DamagedInputError:
                continue
            if model is not None:
                found.append((one, model))
    return found


def _check_placements(
    tables: Tables, clustering: StoredClustering, page: Sequence[Cells]
) -> Iterator[tuple[Remedy, str, str, int]]:
    """Documents that are nowhere in a clustering, or whose row says another cluster."""
    ids = [decode_text(cells, "main:id") for cells in page]
    first = {
        id_: build_assignment_row(clustering.name, clustering.conf, clustering.timestamp, id_)
        for id_ in ids
    }
    apart_in = build_unclustered_conf(clustering.conf)
    apart = {
        id_: build_assignment_row(clustering.name, apart_in, clustering.timestamp, id_)
        for id_ in ids
    }
    found = tables.get_rows(ASSIGNMENTS, [*first.values(), *apart.values()], ["main:label"])
    about = (clustering.conf, clustering.timestamp)
    for id_, cells in zip(ids, page, strict=True):
        if first[id_] not in found and apart[id_] not in found:
            yield Remedy.BUILD, f"are in no cluster of {clustering.conf}, and not apart", *about
        elif decode_text(cells, build_member_column(clustering.conf)) != decode_text(
            found.get(first[id_]), "main:label"
        ):
            yield (
                Remedy.SETTLE,
                f"say another cluster of {clustering.conf} than they are in",
                *about,
            )


def _check_vectors(
    models: Sequence[tuple[StoredClustering, ClusteringModel]], page: Sequence[Cells]
) -> Iterator[tuple[Remedy, str, str, int]]:
    """Documents whose vectors are not those of their text, or are missing."""
    if not models:
        return
    last = max((one for one, _ in models), key=lambda one: one.timestamp)
    about = (last.conf, last.timestamp)
    documents: list[Document] = []
    for cells in page:
        try:
            documents.append(parse_document(cells).document)
        except DamagedInputError:
            yield Remedy.SETTLE, "have a posted vector that cannot be read", *about
            return
    made = {one.timestamp: build_vectors(model, documents) for one, model in models}
    for at, cells in enumerate(page):
        pair = (cells.get(IDF, b""), cells.get(TFIDF, b""))
        expected = [vectors[at] for vectors in made.values()]
        if pair == (b"", b""):
            if None not in expected:
                yield Remedy.SETTLE, "are without counts of their terms", *about
        elif not any(one is not None and _is_same(pair, one) for one in expected):
            yield Remedy.SETTLE, "have vectors that are not those of their text", *about


def _is_same(pair: VectorPair, vector_pair: VectorPair) -> bool:
    """Whether stored vectors are what a text comes to; weights may differ in their last digit."""
    try:
        idf, tfidf = decode_idf_vector(pair[0]), decode_tfidf_vector(pair[1])
    except DamagedInputError:
        return False
    wanted, weights = decode_idf_vector(vector_pair[0]), decode_tfidf_vector(vector_pair[1])
    return (
        idf.version == wanted.version == tfidf.version
        and np.array_equal(idf.features, wanted.features)
        and np.array_equal(idf.values, wanted.values)
        and np.array_equal(tfidf.features, weights.features)
        and bool(np.allclose(tfidf.values, weights.values, atol=_WEIGHT_OFF_MAX))
    )


def _check_shared(
    tables: Tables, name: CollectionName, clusterings: Sequence[StoredClustering]
) -> Iterator[Damage]:
    """Dictionary and inverted index of the collection's row: there, whole, and of what is served."""
    if not clusterings:
        return
    times = {one.timestamp for one in clusterings}
    last = max(clusterings, key=lambda one: one.timestamp)
    about = (last.conf, last.timestamp)
    try:
        versions = {
            decode_dictionary(get_chunks(tables, COLLECTIONS, name.row, DICTIONARY)).version
        }
        index = decode_postings(get_chunks(tables, COLLECTIONS, name.row, INDEX))
        versions |= {run.version for run in index}
    except DamagedInputError as error:
        yield Damage(Remedy.SETTLE, f"dictionary or index cannot be read: {error}", *about)
        return
    if not versions <= times:
        told = f"dictionary or index are of {sorted(versions - times)}, which is not served"
        yield Damage(Remedy.SETTLE, told, *about)
