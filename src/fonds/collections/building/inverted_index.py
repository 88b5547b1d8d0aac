"""The inverted index of a collection as it is stored, and read again to find near-duplicates by it.

Dictionary, index and ids are written while nobody else changes the collection, and the cell that says what
they are of is written last: who reads it knows that the three belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from fonds.collections.building.models import DICTIONARY, get_chunks, put_chunks
from fonds.collections.changing.redo import INDEXED, Indexed, indexed_cells
from fonds.collections.clusterings import Known
from fonds.collections.names import Name
from fonds.collections.tables import CLUSTERINGS, COLLECTIONS, Tables
from fonds.formats.grouping.chunks import joined, split
from fonds.formats.grouping.dictionary import from_dictionary
from fonds.formats.grouping.inverted import from_index, to_index
from fonds.grouping.text.candidates import Inverted, postings
from fonds.grouping.text.reading import hash_of
from fonds.model.vectors import Postings

INDEX = "processing:index"
INDEX_IDS = "processing:index_ids"


@dataclass(frozen=True, slots=True)
class Grouped:
    """The documents the stored index holds: `ids` by their numbers in `terms`."""

    ids: Sequence[str] = field(repr=False)
    terms: Inverted = field(repr=False)


def put_index(
    tables: Tables, one: Known, index: Postings, ids: Sequence[str], indexed: Indexed
) -> None:
    """Write dictionary, index and the ids its numbers stand for; for whoever has the collection's claim."""
    row = one.name.row
    tables.put(COLLECTIONS, [(row, {INDEXED: b""})])
    dictionary = get_chunks(tables, CLUSTERINGS, one.row, DICTIONARY)
    put_chunks(tables, COLLECTIONS, row, DICTIONARY, dictionary)
    put_chunks(tables, COLLECTIONS, row, INDEX, to_index(index))
    put_chunks(tables, COLLECTIONS, row, INDEX_IDS, split(msgspec.msgpack.encode(list(ids))))
    tables.put(COLLECTIONS, [(row, indexed_cells(indexed))])


def read_index(tables: Tables, name: Name, timestamp: int) -> Grouped | None:
    """The index of a clustering; None where another is there by now. Six bytes a posting are kept. Raises
    DamagedInputError."""
    dictionary = from_dictionary(get_chunks(tables, COLLECTIONS, name.row, DICTIONARY))
    runs = from_index(get_chunks(tables, COLLECTIONS, name.row, INDEX))
    if {dictionary.version, *(run.version for run in runs)} != {timestamp}:
        return None
    ids = joined(get_chunks(tables, COLLECTIONS, name.row, INDEX_IDS))
    counts = np.zeros(len(dictionary.terms), np.int64)
    for run in runs:
        counts[run.first_feature : run.first_feature + len(run.counts)] += run.counts
    documents = [run.documents.astype(np.int32) for run in runs]
    starts = np.concatenate(([0], np.cumsum(counts)))
    known = msgspec.msgpack.decode(ids, type=list[str])
    hashes = np.array([hash_of(term) for term in dictionary.terms], np.uint64)
    order = np.argsort(hashes)
    every = np.concatenate([np.zeros(0, np.int32), *documents])
    if int(every.max(initial=-1)) >= len(known):
        return None
    turned = postings(every, starts, len(known))
    return Grouped(known, Inverted(hashes[order], order, turned, is_whole=False))
