"""Inverted index of a collection, stored in the collection's row, to find near-duplicates.

A rebuild writes the dictionary, the index and the document ids under the collection's lease. The
cell with the index state is written last. A reader that sees this cell therefore knows that the
three belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from fonds.grouping.algorithms.corpus import hash_term
from fonds.grouping.algorithms.duplicates import (
    InvertedTerms,
    build_postings,
)
from fonds.grouping.clustering import StoredClustering
from fonds.grouping.clustering_model import get_chunks, write_chunks
from fonds.grouping.columns import Column
from fonds.grouping.names import CollectionName
from fonds.grouping.redo_log import IndexState, build_index_cells, parse_index_state
from fonds.grouping.stored.chunks import join_chunks, split
from fonds.grouping.stored.dictionary import decode_dictionary
from fonds.grouping.stored.inverted_index import decode_postings, encode_postings
from fonds.grouping.stored.packing import build_damaged_error
from fonds.grouping.tables import CLUSTERINGS, COLLECTIONS, Cells, Tables, decode_cell
from fonds.model.checksums import format_checksum, hash_cells
from fonds.model.errors import DamagedRowError
from fonds.model.vectors import Postings


@dataclass(frozen=True, slots=True)
class IndexedDocuments:
    """Inverted index of a collection, as read from its row.

    `ids`: document ids, by the document number that `terms` uses.
    `terms`: index from terms to document numbers.
    """

    ids: Sequence[str] = field(repr=False)
    terms: InvertedTerms = field(repr=False)


def write_index(
    tables: Tables,
    clustering: StoredClustering,
    index: Postings,
    ids: Sequence[str],
    index_state: IndexState,
) -> None:
    """Write the dictionary, the inverted index and its document ids to a collection's row.

    The dictionary is copied from the clustering's row. The caller must hold the collection's lease.
    `index`: documents of each term, as numbers.
    `ids`: document id for each number in `index`.
    `index_state`: state of the index, which is written last.
    """
    row = clustering.name.row
    tables.put(COLLECTIONS, [(row, {Column.INDEXED: b""})])
    dictionary = get_chunks(tables, CLUSTERINGS, clustering.row, Column.DICTIONARY)
    write_chunks(tables, COLLECTIONS, row, Column.DICTIONARY, dictionary)
    write_chunks(tables, COLLECTIONS, row, Column.INDEX, encode_postings(index))
    packed_ids = msgspec.msgpack.encode(list(ids))
    write_chunks(tables, COLLECTIONS, row, Column.INDEX_IDS, split(packed_ids))
    checksum = _compute_checksum(row, index_state, packed_ids)
    tables.put(COLLECTIONS, [(row, build_index_cells(replace(index_state, checksum=checksum)))])


def is_index_state_intact(row: bytes, cells: Cells, packed_ids: bytes) -> bool:
    """Return whether the state of a collection's inverted index agrees with its checksum.

    `row`, `cells`: row key and cells of the collection.
    `packed_ids`: ids of the indexed documents as msgpack.
    """
    try:
        state = parse_index_state(cells)
    except DamagedRowError:
        return False
    return state is None or state.checksum == _compute_checksum(row, state, packed_ids)


def _compute_checksum(row: bytes, index_state: IndexState, packed_ids: bytes) -> str:
    """Return the checksum of an index state and of the ids of the indexed documents.

    `row`: row key of the collection.
    """
    state_cells = build_index_cells(replace(index_state, checksum=""))
    cells = {**state_cells, Column.INDEX_IDS: packed_ids}
    return format_checksum(hash_cells(row, cells)).decode()


def read_index(tables: Tables, name: CollectionName, timestamp: int) -> IndexedDocuments | None:
    """Read a collection's inverted index; None if it does not belong to the clustering `timestamp`.

    The index uses six bytes of memory per posting (one term in one document).
    Raises DamagedInputError if the stored index is damaged.
    """
    dictionary = decode_dictionary(get_chunks(tables, COLLECTIONS, name.row, Column.DICTIONARY))
    runs = decode_postings(get_chunks(tables, COLLECTIONS, name.row, Column.INDEX))
    if {dictionary.version, *(posting_run.version for posting_run in runs)} != {timestamp}:
        return None
    ids = join_chunks(get_chunks(tables, COLLECTIONS, name.row, Column.INDEX_IDS))
    counts = np.zeros(len(dictionary.terms), np.int64)
    for posting_run in runs:
        counts[posting_run.first_feature : posting_run.first_feature + len(posting_run.counts)] += (
            posting_run.counts
        )
    documents = [posting_run.documents.astype(np.int32) for posting_run in runs]
    starts = np.concatenate(([0], np.cumsum(counts)))
    try:
        document_ids = decode_cell(ids, Column.INDEX_IDS, list[str], is_packed=True)
    except DamagedRowError as error:
        raise build_damaged_error(str(error)) from None
    hashes = np.array([hash_term(term) for term in dictionary.terms], np.uint64)
    order = np.argsort(hashes)
    all_documents = np.concatenate([np.zeros(0, np.int32), *documents])
    if int(all_documents.max(initial=-1)) >= len(document_ids):
        return None
    postings_by_document = build_postings(all_documents, starts, len(document_ids))
    return IndexedDocuments(
        document_ids, InvertedTerms(hashes[order], order, postings_by_document, is_complete=False)
    )
