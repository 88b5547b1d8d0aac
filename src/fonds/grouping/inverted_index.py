"""Inverted index of a collection, stored in the collection's row, to find near-duplicates.

A rebuild writes the dictionary, the index and the document ids under the collection's lease. The
cell with the index state is written last. A reader that sees this cell therefore knows that the
three belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
from fonds.grouping.redo_log import IndexState, build_index_cells
from fonds.grouping.stored.chunks import join_chunks, split
from fonds.grouping.stored.dictionary import decode_dictionary
from fonds.grouping.stored.inverted_index import decode_postings, encode_postings
from fonds.grouping.tables import CLUSTERINGS, COLLECTIONS, Tables
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
    write_chunks(
        tables, COLLECTIONS, row, Column.INDEX_IDS, split(msgspec.msgpack.encode(list(ids)))
    )
    tables.put(COLLECTIONS, [(row, build_index_cells(index_state))])


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
    document_ids = msgspec.msgpack.decode(ids, type=list[str])
    hashes = np.array([hash_term(term) for term in dictionary.terms], np.uint64)
    order = np.argsort(hashes)
    all_documents = np.concatenate([np.zeros(0, np.int32), *documents])
    if int(all_documents.max(initial=-1)) >= len(document_ids):
        return None
    postings_by_document = build_postings(all_documents, starts, len(document_ids))
    return IndexedDocuments(
        document_ids, InvertedTerms(hashes[order], order, postings_by_document, is_complete=False)
    )
