"""Near-duplicates in a collection: documents with a resemblance of at least 0.8 by terms.

`text/similarity.py` defines the resemblance, and `text/minhash.py` the hash functions.

Near-duplicates are found without comparing all pairs. Source: MinHash with banding, A. Broder, "On the
resemblance and containment of documents", 1997.

Each document has 15 minimum hashes of its terms, in five bands of three. Documents with an equal
band are compared with the first of them by rank. The probability that a pair shares a band is .97
at a resemblance of .8, .9986 at .9, and .13 at .3. Limits: six comparisons per document, for any
size of collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.algorithms.term_counts import Ints, Matrix
from fonds.text.minhash import ADDENDS, FACTORS
from fonds.text.similarity import TERMS_RESEMBLANCE_MIN, compute_resemblance

Hashes = NDArray[np.uint64]

BANDS = 5
ROWS_PER_BAND = 3
EMPTY = -1
_PAIR_BATCH = 50_000
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF_BITS = np.uint64(32)


def hash_documents(counts: Matrix, term_hashes: Hashes) -> Hashes:
    """Return a hash of each document's content, equal for equal term frequencies.

    0 for an empty document.

    `term_hashes`: stable hash of the term of each stored value of `counts`.
    """
    odd_factors = 2 * counts.data.astype(np.uint64) + np.uint64(1)
    mixed = term_hashes * odd_factors
    mixed ^= mixed >> np.uint64(29)
    return _reduce_rows(counts, np.add, mixed)


def compute_bands(counts: Matrix, term_hashes: Hashes) -> Hashes:
    """Return documents x 5: one number for the three minimum hashes of each band.

    0 for an empty document.
    """
    joined = np.zeros((counts.shape[0], BANDS), dtype=np.uint64)
    for number in range(BANDS * ROWS_PER_BAND):
        hashes = (term_hashes * FACTORS[number] + ADDENDS[number]) >> _HALF_BITS
        band = number // ROWS_PER_BAND
        joined[:, band] = joined[:, band] * _HASH_FACTOR + _reduce_rows(counts, np.minimum, hashes)
    return joined


def rank_documents(document_hashes: Hashes) -> Ints:
    """Order documents by `hash_documents`, so the order depends only on their content.

    Equal documents are adjacent.
    """
    return np.argsort(document_hashes, kind="stable").astype(np.int64)


def find_originals(counts: Matrix, order: Ints, document_hashes: Hashes, in_bands: Hashes) -> Ints:
    """Return for each document the first in `order` that it nearly duplicates, possibly itself.

    EMPTY for a document without terms.
    """
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    lengths = np.diff(counts.indptr)
    first = np.arange(len(order), dtype=np.int64)
    filled = order[lengths[order] > 0]
    present = sp.csr_matrix(
        (np.ones(counts.nnz, np.int8), counts.indices, counts.indptr), shape=counts.shape
    )
    if len(filled):
        # Link equal documents first: among many similar ones, a copy might not meet its original.
        _join(present, filled, document_hashes, first, ranks)
        for band in range(BANDS):
            _join(present, filled, in_bands[:, band], first, ranks)
    for _ in range(64):
        next_first = first[first]
        if np.array_equal(next_first, first):
            break
        first = next_first
    first[lengths == 0] = EMPTY
    return first


def _reduce_rows(counts: Matrix, reduced: np.ufunc, values: Hashes) -> Hashes:
    """Reduce the values of each row with a ufunc; 0 for an empty row."""
    reduced_values = np.zeros(counts.shape[0], dtype=np.uint64)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        reduced_values[filled] = reduced.reduceat(values, counts.indptr[:-1][filled])
    return reduced_values


def _join(present: Matrix, filled: Ints, keys: Hashes, first: Ints, ranks: Ints) -> None:
    """Set for each document the first by rank with its key, if the two are near-duplicates."""
    filled = filled[first[filled] == filled]
    keys = keys[filled]
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    leaders = filled[places][inverse]
    documents, leaders = filled[leaders != filled], leaders[leaders != filled]
    for start in range(0, len(documents), _PAIR_BATCH):
        batch, batch_leaders = (
            documents[start : start + _PAIR_BATCH],
            leaders[start : start + _PAIR_BATCH],
        )
        is_duplicate = _compare_rows(present, batch, batch_leaders) >= TERMS_RESEMBLANCE_MIN
        earlier = ranks[batch_leaders] < ranks[batch]
        first[batch[is_duplicate & earlier]] = batch_leaders[is_duplicate & earlier]


def _compare_rows(present: Matrix, pair_rows: Ints, other_rows: Ints) -> NDArray[np.float64]:
    """Return the resemblance of each pair of rows, as `compute_resemblance` defines it."""
    shared = np.asarray(present[pair_rows].multiply(present[other_rows]).sum(axis=1)).ravel()
    lengths = np.diff(present.indptr)
    either = lengths[pair_rows] + lengths[other_rows] - shared
    resemblance: NDArray[np.float64] = shared / np.maximum(either, 1)
    return resemblance


# Candidates for near-duplicates, found by shared terms, rarest first
#
# Source: prefix filtering, S. Chaudhuri, V. Ganti and R. Kaushik, "A primitive operator for
# similarity joins in data cleaning", 2006.
#
# A near-duplicate lacks at most a fifth of n terms. So it has at least one of any n / 5 + 1 of
# them. Looking up the postings of that many terms misses nothing, and the rarest terms have the
# shortest postings. Up to eight more terms with short postings rule out most documents that merely
# share a word.
#
# Limits: 20,000 postings and 16 candidates per document; near-duplicates beyond that are not found.


POSTINGS_MAX = 20_000
FURTHER_TERMS, FURTHER_POSTINGS = 8, 3_000
CANDIDATES_MAX = 16
_TERMS_PER_MISSING_TERM = 5


@dataclass(frozen=True, slots=True)
class TermSets:
    """Distinct terms of documents as hashes.

    The terms of document i are `hashes[starts[i]:starts[i + 1]]`.
    """

    hashes: Hashes = field(repr=False)
    starts: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def get_terms(self, document: int) -> Hashes:
        """Return the terms of one document."""
        return self.hashes[self.starts[document] : self.starts[document + 1]]


def compare_terms(hashes: Hashes, other_hashes: Hashes) -> float:
    """Return the resemblance of two documents by their terms."""
    shared = len(np.intersect1d(hashes, other_hashes, assume_unique=True))
    return compute_resemblance(shared, len(hashes), len(other_hashes))


@dataclass(frozen=True, slots=True)
class InvertedTerms:
    """Index from terms to documents.

    `postings`: terms x documents, ones in int16, which suffices for the number of terms looked up
        per document.
    `hashes`: term hashes, ascending.
    `features`: row of `postings` for each hash.
    `is_complete`: other terms occur in none of the documents.
    """

    hashes: Hashes = field(repr=False)
    features: Ints = field(repr=False)
    postings: Matrix = field(repr=False)
    is_complete: bool

    def find_candidates(self, sets: TermSets) -> tuple[Ints, Ints]:
        """Return pairs of a position in `sets` and a document here that may be its near-duplicate.

        The pairs are ordered by position.
        """
        lengths = np.diff(sets.starts)
        rows = np.repeat(np.arange(len(sets)), lengths)
        is_indexed, features, counts = self._look_up(sets.hashes)
        if not self.is_complete:
            rows, features, counts = rows[is_indexed], features[is_indexed], counts[is_indexed]
        order = np.lexsort((counts, rows))
        rows, features, counts = rows[order], features[order], counts[order]
        first = np.searchsorted(rows, np.arange(len(sets)))
        rank = np.arange(len(rows)) - first[rows]
        total_counts = np.cumsum(counts)
        total_counts -= (total_counts - counts)[first[rows]] if len(rows) else 0
        missing_max = lengths // _TERMS_PER_MISSING_TERM
        is_needed = (rank <= missing_max[rows]) & (total_counts <= POSTINGS_MAX)
        is_extra = (rank <= missing_max[rows] + FURTHER_TERMS) & (total_counts <= FURTHER_POSTINGS)
        is_used = is_needed | is_extra
        shared_min = np.maximum(np.bincount(rows[is_used], minlength=len(sets)) - missing_max, 1)
        has_postings = is_used & (counts > 0)
        return self._find_sharing(rows[has_postings], features[has_postings], shared_min)

    def _look_up(self, hashes: Hashes) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """Return for each term whether it is indexed, its row, and its document frequency."""
        if not len(self.hashes):
            zeros = np.zeros(len(hashes), np.int64)
            return np.zeros(len(hashes), bool), zeros, zeros
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        is_indexed = self.hashes[places] == hashes
        features = self.features[places]
        starts = self.postings.indptr
        counts = np.where(is_indexed, starts[features + 1] - starts[features], 0).astype(np.int64)
        return is_indexed, features, counts

    def _find_sharing(self, rows: Ints, features: Ints, shared_min: Ints) -> tuple[Ints, Ints]:
        """Return the documents that have at least `shared_min` of the terms of each row, most first."""
        starts = np.searchsorted(rows, np.arange(len(shared_min) + 1))
        ones = np.ones(len(features), np.int16)
        queries = sp.csr_matrix(
            (ones, features, starts), shape=(len(shared_min), self.postings.shape[0])
        )
        shared_counts = queries @ self.postings
        rows_found = np.repeat(np.arange(len(shared_min)), np.diff(shared_counts.indptr))
        has_enough = shared_counts.data >= shared_min[rows_found]
        rows_found, documents, counts = (
            rows_found[has_enough],
            shared_counts.indices[has_enough],
            shared_counts.data[has_enough],
        )
        order = np.lexsort((documents, -counts, rows_found))
        rows_found, documents = rows_found[order], documents[order]
        rank = np.arange(len(rows_found)) - np.searchsorted(rows_found, rows_found)
        is_kept = rank < CANDIDATES_MAX
        return rows_found[is_kept], documents[is_kept].astype(np.int64)


def build_postings(documents: NDArray[np.int32], starts: Ints, count: int) -> Matrix:
    """Build a terms x documents matrix.

    The documents of term i are `documents[starts[i]:starts[i + 1]]`. `count` is the number of
    documents.
    """
    ones = np.ones(len(documents), np.int16)
    return sp.csr_matrix((ones, documents, starts), shape=(len(starts) - 1, count))


def invert_term_sets(sets: TermSets) -> InvertedTerms:
    """Build the index from terms to documents."""
    documents = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.starts))
    order = np.lexsort((documents, sets.hashes))
    hashes, begins = np.unique(sets.hashes[order], return_index=True)
    starts = np.append(begins, len(order)).astype(np.int64)
    features = np.arange(len(hashes), dtype=np.int64)
    postings = build_postings(documents[order], starts, len(sets))
    return InvertedTerms(hashes, features, postings, is_complete=True)


def join_term_sets(term_sets: Sequence[TermSets]) -> TermSets:
    """Concatenate the documents of several sets."""
    lengths = [np.diff(term_set.starts) for term_set in term_sets]
    starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return TermSets(
        np.concatenate([np.zeros(0, np.uint64), *(term_set.hashes for term_set in term_sets)]),
        starts,
    )
