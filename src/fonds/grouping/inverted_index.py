"""Stored inverted index of a collection, read to find near-duplicates.

Dictionary, index and ids are written under the collection's lease. The cell that identifies them is
written last, so a reader that sees it knows that the three belong together.
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
from fonds.grouping.clustering_model import DICTIONARY, get_chunks, write_chunks
from fonds.grouping.names import CollectionName
from fonds.grouping.redo_log import INDEXED, IndexState, build_index_cells
from fonds.grouping.stored.chunks import join_chunks, split
from fonds.grouping.stored.dictionary import decode_dictionary
from fonds.grouping.stored.inverted_index import decode_postings, encode_postings
from fonds.grouping.tables import CLUSTERINGS, COLLECTIONS, Tables
from fonds.model.vectors import Postings

INDEX = "processing:index"
INDEX_IDS = "processing:index_ids"


@dataclass(frozen=True, slots=True)
class IndexedDocuments:
    """Documents in the stored index. `ids` has their ids by number in `terms`."""

    ids: Sequence[str] = field(repr=False)
    terms: InvertedTerms = field(repr=False)


def write_index(
    tables: Tables,
    clustering: StoredClustering,
    index: Postings,
    ids: Sequence[str],
    indexed: IndexState,
) -> None:
    """Write dictionary, index and the ids its numbers stand for; for the holder of the collection's lease."""
    row = clustering.name.row
    tables.put(COLLECTIONS, [(row, {INDEXED: b""})])
    dictionary = get_chunks(tables, CLUSTERINGS, clustering.row, DICTIONARY)
    write_chunks(tables, COLLECTIONS, row, DICTIONARY, dictionary)
    write_chunks(tables, COLLECTIONS, row, INDEX, encode_postings(index))
    write_chunks(tables, COLLECTIONS, row, INDEX_IDS, split(msgspec.msgpack.encode(list(ids))))
    tables.put(COLLECTIONS, [(row, build_index_cells(indexed))])


def read_index(tables: Tables, name: CollectionName, timestamp: int) -> IndexedDocuments | None:
    """Read the index of a clustering; None if it was replaced.

    Uses six bytes of memory per posting.

    Raises DamagedInputError.
    """
    dictionary = decode_dictionary(get_chunks(tables, COLLECTIONS, name.row, DICTIONARY))
    runs = decode_postings(get_chunks(tables, COLLECTIONS, name.row, INDEX))
    if {dictionary.version, *(run.version for run in runs)} != {timestamp}:
        return None
    ids = join_chunks(get_chunks(tables, COLLECTIONS, name.row, INDEX_IDS))
    counts = np.zeros(len(dictionary.terms), np.int64)
    for run in runs:
        counts[run.first_feature : run.first_feature + len(run.counts)] += run.counts
    documents = [run.documents.astype(np.int32) for run in runs]
    starts = np.concatenate(([0], np.cumsum(counts)))
    document_ids = msgspec.msgpack.decode(ids, type=list[str])
    hashes = np.array([hash_term(term) for term in dictionary.terms], np.uint64)
    order = np.argsort(hashes)
    all_documents = np.concatenate([np.zeros(0, np.int32), *documents])
    if int(all_documents.max(initial=-1)) >= len(document_ids):
        return None
    turned = build_postings(all_documents, starts, len(document_ids))
    return IndexedDocuments(
        document_ids, InvertedTerms(hashes[order], order, turned, is_complete=False)
    )
