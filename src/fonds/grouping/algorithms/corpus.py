"""A collection as it was read for a grouping: its dictionary, its distinct documents, and how all belong to
them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.algorithms.duplicates import (
    BANDS,
    EMPTY,
    Hashes,
    TermSets,
    compute_bands,
    find_originals,
    hash_documents,
    rank_documents,
)
from fonds.grouping.algorithms.term_counts import (
    Ints,
    Matrix,
    Places,
    TermRows,
    build_feature_numbers,
    count_documents,
    count_terms,
    number_terms,
    remap_columns,
    select_features,
    select_rows,
)
from fonds.grouping.algorithms.terms import Vocabulary
from fonds.model.vectors import Dictionary

# Texts read in slices: of each slice the terms, their counts and what near-duplicates are known by; then the
# texts may go.
#
# What is kept of a document follows from the document alone, so that slices may be read by several processes,
# and come to the same. Bound: linear in the texts of a slice.


DOCUMENT_BATCH = 1000
_HASH_BYTES = 8


@dataclass(frozen=True, slots=True)
class TermSlice:
    """Some documents as they were read.

    `numbers`, `starts`: their terms in order, as in `Rows`, by the vocabulary of who read them;
    `frequencies`: documents x terms; `contents`: a number for what each holds, 0 for none;
    `bands`: documents x 5, what near-duplicates are likely to share. `languages`: how each was
    read."""

    languages: tuple[str, ...]
    numbers: Places = field(repr=False)
    starts: Ints = field(repr=False)
    frequencies: Matrix = field(repr=False)
    contents: NDArray[np.uint64] = field(repr=False)
    bands: NDArray[np.uint64] = field(repr=False)


class TermReader:
    """Reads slices one after the other by one vocabulary, which grows. Not safe for several threads."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._hashes = array("Q")

    def read(self, texts: Sequence[str], languages: Sequence[str]) -> TermSlice:
        """What is kept of texts, each read in its language."""
        numbers, starts = number_terms(self.vocabulary, texts, languages)
        rows = count_terms(numbers, starts, len(self.vocabulary.numbers))
        of_terms = self.get_hashes(rows.indices)
        return TermSlice(
            tuple(languages),
            numbers,
            starts,
            rows,
            hash_documents(rows, of_terms),
            compute_bands(rows, of_terms),
        )

    def build_sets(self, texts: Sequence[str], languages: Sequence[str]) -> TermSets:
        """The distinct terms of texts, each read in its language."""
        numbers, starts = number_terms(self.vocabulary, texts, languages)
        rows = count_terms(numbers, starts, len(self.vocabulary.numbers))
        return TermSets(self.get_hashes(rows.indices), rows.indptr.astype(np.int64))

    def get_hashes(self, terms: Places) -> NDArray[np.uint64]:
        """The numbers of terms that are the same wherever they are read, by those of the vocabulary."""
        self._hash_new_terms()
        known = np.array(self._hashes, np.uint64)
        return known[terms]

    def _hash_new_terms(self) -> None:
        """A number for each new term, the same wherever it is read."""
        for term in islice(self.vocabulary.numbers, len(self._hashes), None):
            self._hashes.append(hash_term(term))


def hash_term(term: str) -> int:
    """The number of a term, the same wherever it is read."""
    digest = blake2b(term.encode("utf-8", "replace"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little")


_DOCUMENT_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class TextCollection:
    """Everything counted of a collection's texts.

    `languages`: how each text was read. `originals`: for each document the one it is a
    near-duplicate of, maybe itself; EMPTY where it has no feature. `distinct`: the originals in rank
    order, an order that depends on what they hold alone. `frequencies`: of all documents, documents x
    features. `read`: the rows of all documents as they were read, and `places` the feature of each term
    of theirs."""

    languages: list[str]
    originals: Ints = field(repr=False)
    distinct: Ints = field(repr=False)
    frequencies: Matrix = field(repr=False)
    read: TermRows = field(repr=False)
    places: Places = field(repr=False)
    dictionary: Dictionary

    def build_rows(self, distinct_numbers: Ints) -> TermRows:
        """The features of some distinct documents in order; a term that is none breaks the row."""
        some = select_rows(self.read, self.distinct[distinct_numbers])
        return TermRows(self.places[some.numbers], some.starts, self.dictionary.terms)

    def count_lengths(self) -> Ints:
        """How many places of terms each distinct document has."""
        ones = np.ones(self.frequencies.shape[1], np.float32)
        return np.asarray(self.frequencies @ ones).astype(np.int64)[self.distinct]

    def spread_values(self, values: Ints) -> Ints:
        """A value of each distinct document for all documents; EMPTY ones get EMPTY."""
        places = np.zeros(len(self.originals), dtype=np.int64)
        places[self.distinct] = np.arange(len(self.distinct))
        filled = self.originals != EMPTY
        spread = np.full(len(self.originals), EMPTY, dtype=np.int64)
        spread[filled] = values[places[self.originals[filled]]]
        return spread

    def gather_values(self, values: Ints) -> Ints:
        """For each distinct document the highest value of those it stands for."""
        filled = self.originals != EMPTY
        highest = np.full(len(self.originals), np.iinfo(np.int64).min)
        np.maximum.at(highest, self.originals[filled], values[filled])
        return highest[self.distinct]


class TermCounts:
    """The slices of a collection one after the other, in one numbering; no texts.

    Bound: 4 bytes for each term of a text, 8 for each distinct one, 150 for each document.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        """`vocabulary`: that of who reads the slices."""
        self._vocabulary = vocabulary
        self._languages: list[str] = []
        self._numbers = array("i")
        self._ends = array("q", [0])
        self._counts: list[tuple[Places, np.ndarray, Ints]] = []
        self._hashes: list[tuple[Hashes, Hashes]] = []

    def __len__(self) -> int:
        return len(self._languages)

    def add(self, term_slice: TermSlice) -> None:
        """Keep what was read of some documents, behind those before."""
        self._languages += term_slice.languages
        begin = len(self._numbers)
        self._numbers.frombytes(term_slice.numbers.tobytes())
        self._ends.frombytes((term_slice.starts[1:] + begin).astype(np.int64).tobytes())
        held = term_slice.frequencies
        self._counts.append((held.indices.astype(np.int32), held.data, np.diff(held.indptr)))
        self._hashes.append((term_slice.contents, term_slice.bands))

    def build_collection(self, version: int) -> TextCollection:
        """Near-duplicates set aside, the features chosen, everything counted by them; `version` is the
        dictionary's. What was added is used up."""
        names = list(self._vocabulary.numbers)
        order = sorted(range(len(names)), key=names.__getitem__)
        counted = self._join_matrices(len(names))
        contents = np.concatenate([np.zeros(0, np.uint64), *(one for one, _ in self._hashes)])
        bands = np.concatenate([np.zeros((0, BANDS), np.uint64), *(one for _, one in self._hashes)])
        self._hashes = []
        by_rank = rank_documents(contents)
        first = find_originals(counted, by_rank, contents, bands)
        distinct = by_rank[first[by_rank] == by_rank]
        in_order = np.array(order, dtype=np.int64)
        kept = in_order[
            select_features(_count_documents(counted, distinct)[in_order], len(distinct))
        ]
        places = build_feature_numbers(kept, len(names))
        of_features = remap_columns(counted, places, len(kept))
        bare = np.diff(of_features.indptr) == 0
        first[(first == EMPTY) | bare[np.maximum(first, 0)]] = EMPTY
        distinct = distinct[~bare[distinct]]
        counts = _count_documents(of_features, distinct)
        return TextCollection(
            self._languages,
            first,
            distinct,
            of_features,
            self._build_rows(names),
            places,
            Dictionary(version, len(distinct), tuple(names[one] for one in kept), counts),
        )

    def _join_matrices(self, width: int) -> Matrix:
        """The frequencies of all documents, by the vocabulary's numbers."""
        lengths = np.concatenate([np.zeros(1, np.int64), *(one for _, _, one in self._counts)])
        starts = np.cumsum(lengths).astype(np.int32 if int(lengths.sum()) < 2**31 else np.int64)
        indices = np.empty(int(starts[-1]), np.int32)
        data = np.empty(int(starts[-1]), np.float32)
        at = 0
        self._counts.reverse()
        while self._counts:
            some, often, _ = self._counts.pop()
            indices[at : at + len(some)], data[at : at + len(some)] = some, often
            at += len(some)
        return sp.csr_matrix((data, indices, starts), shape=(len(starts) - 1, width))

    def _build_rows(self, names: Sequence[str]) -> TermRows:
        numbers = np.frombuffer(self._numbers, np.int32) if self._numbers else np.zeros(0, np.int32)
        return TermRows(numbers, np.frombuffer(self._ends, np.int64), names)


def _count_documents(term_counts: Matrix, documents: Ints) -> Ints:
    """In how many of these documents each term stands, some of them at a time."""
    counts = np.zeros(term_counts.shape[1], dtype=np.int64)
    ordered = np.sort(documents)
    for at in range(0, len(ordered), _DOCUMENT_BATCH):
        counts += count_documents(term_counts[ordered[at : at + _DOCUMENT_BATCH]])
    return counts
