"""Near-duplicates in a collection: documents with a resemblance of at least 0.8 by terms.

The resemblance is the number of terms in both documents divided by the number in either.
`text/similarity.py` defines it, and `text/minhash.py` defines the hash functions.

Near-duplicates are found without comparing all pairs. Source: MinHash with banding, A. Broder, "On
the resemblance and containment of documents", 1997.

Each document has 15 minimum hashes of its terms, in five bands of three. Each document is compared
with the first document, by rank, that has an equal band. The probability that a pair shares a band
is .97 at a resemblance of .8, .9986 at .9, and .13 at .3. Limits: six comparisons per document, for
any size of collection.
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
    """Return a 64-bit hash of each document's terms and their counts; 0 for an empty document.

    Documents with equal term frequencies have equal hashes.
    `counts`: term frequencies, documents x terms.
    `term_hashes`: for each stored value of `counts`, the stable hash of its term.
    """
    odd_factors = 2 * counts.data.astype(np.uint64) + np.uint64(1)
    mixed_hashes = term_hashes * odd_factors
    mixed_hashes ^= mixed_hashes >> np.uint64(29)
    return _reduce_rows(counts, np.add, mixed_hashes)


def compute_bands(counts: Matrix, term_hashes: Hashes) -> Hashes:
    """Return five MinHash bands of each document: documents x 5; 0 for an empty document.

    A band is one number computed from three minimum hashes of the document's terms. Similar
    documents are likely to share a band.
    `counts`: term frequencies, documents x terms.
    `term_hashes`: for each stored value of `counts`, the stable hash of its term.
    """
    band_keys = np.zeros((counts.shape[0], BANDS), dtype=np.uint64)
    for number in range(BANDS * ROWS_PER_BAND):
        hashes = (term_hashes * FACTORS[number] + ADDENDS[number]) >> _HALF_BITS
        band = number // ROWS_PER_BAND
        band_keys[:, band] = band_keys[:, band] * _HASH_FACTOR + _reduce_rows(
            counts, np.minimum, hashes
        )
    return band_keys


def rank_documents(document_hashes: Hashes) -> Ints:
    """Return the positions of documents in the order of their content hashes.

    So the order depends only on the documents' content. Equal documents are adjacent.
    `document_hashes`: content hash of each document, by `hash_documents`.
    """
    return np.argsort(document_hashes, kind="stable").astype(np.int64)


def find_originals(counts: Matrix, order: Ints, document_hashes: Hashes, in_bands: Hashes) -> Ints:
    """Return for each document the earliest one in rank that it nearly duplicates, possibly itself.

    EMPTY for a document without terms.
    `counts`: term frequencies, documents x terms.
    `order`: documents in the order of rank, which `rank_documents` returns.
    `document_hashes`: content hash of each document.
    `in_bands`: documents x 5 MinHash bands; near-duplicates are likely to share a band.
    """
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    lengths = np.diff(counts.indptr)
    first = np.arange(len(order), dtype=np.int64)
    filled_rows = order[lengths[order] > 0]
    present = sp.csr_matrix(
        (np.ones(counts.nnz, np.int8), counts.indices, counts.indptr), shape=counts.shape
    )
    if len(filled_rows):
        # Link equal documents first: among many similar ones, a copy might not meet its original.
        _join(present, filled_rows, document_hashes, first, ranks)
        for band in range(BANDS):
            _join(present, filled_rows, in_bands[:, band], first, ranks)
    for _ in range(64):
        next_first = first[first]
        if np.array_equal(next_first, first):
            break
        first = next_first
    first[lengths == 0] = EMPTY
    return first


def _reduce_rows(counts: Matrix, reduction: np.ufunc, values: Hashes) -> Hashes:
    """Reduce the values of each matrix row to one number with a numpy ufunc; 0 for an empty row.

    `counts`: sparse matrix whose rows are reduced.
    `values`: one value for each stored value of `counts`.
    """
    reduced_values = np.zeros(counts.shape[0], dtype=np.uint64)
    filled_rows = np.flatnonzero(np.diff(counts.indptr))
    if len(filled_rows):
        reduced_values[filled_rows] = reduction.reduceat(values, counts.indptr[:-1][filled_rows])
    return reduced_values


def _join(present: Matrix, filled_rows: Ints, keys: Hashes, first: Ints, ranks: Ints) -> None:
    """Link documents with equal keys to the first of them by rank, if they are near-duplicates.

    Changes `first` in place. Documents that are already linked to another are skipped.
    `present`: documents x terms; one where a document contains the term.
    `filled_rows`: documents with terms, in the order of rank.
    `keys`: content hash, or one MinHash band, of each document.
    `first`: for each document, the one it is linked to; itself if it is not linked to another.
    `ranks`: rank of each document.
    """
    filled_rows = filled_rows[first[filled_rows] == filled_rows]
    keys = keys[filled_rows]
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    leaders = filled_rows[places][inverse]
    documents, leaders = filled_rows[leaders != filled_rows], leaders[leaders != filled_rows]
    for start in range(0, len(documents), _PAIR_BATCH):
        batch, batch_leaders = (
            documents[start : start + _PAIR_BATCH],
            leaders[start : start + _PAIR_BATCH],
        )
        is_duplicate = _compare_rows(present, batch, batch_leaders) >= TERMS_RESEMBLANCE_MIN
        earlier = ranks[batch_leaders] < ranks[batch]
        first[batch[is_duplicate & earlier]] = batch_leaders[is_duplicate & earlier]


def _compare_rows(present: Matrix, pair_rows: Ints, other_rows: Ints) -> NDArray[np.float64]:
    """Return the resemblance of each pair of documents, from 0 to 1.

    It is the number of terms in both divided by the number in either.
    `present`: documents x terms; one where a document contains the term.
    `pair_rows`, `other_rows`: first and second document of each pair.
    """
    shared_counts = np.asarray(present[pair_rows].multiply(present[other_rows]).sum(axis=1)).ravel()
    lengths = np.diff(present.indptr)
    union_counts = lengths[pair_rows] + lengths[other_rows] - shared_counts
    resemblance: NDArray[np.float64] = shared_counts / np.maximum(union_counts, 1)
    return resemblance


# Candidates for near-duplicates, found by shared terms, rarest first
#
# Source: prefix filtering, S. Chaudhuri, V. Ganti and R. Kaushik, "A primitive operator for
# similarity joins in data cleaning", 2006.
#
# A near-duplicate of a document with n terms lacks at most a fifth of them. So it has at least one
# of any n / 5 + 1 of these terms. Looking up the postings of that many terms misses nothing, and
# the rarest terms have the shortest postings. Up to eight more terms with short postings rule out
# most documents that merely share a word.
#
# Limits: 20,000 postings and 16 candidates per document; near-duplicates beyond that are not found.


POSTINGS_MAX = 20_000
FURTHER_TERMS, FURTHER_POSTINGS = 8, 3_000
CANDIDATES_MAX = 16
_TERMS_PER_MISSING_TERM = 5


@dataclass(frozen=True, slots=True)
class TermSets:
    """Distinct terms of several documents, as 64-bit hashes.

    The terms of document i are `hashes[starts[i]:starts[i + 1]]`.
    """

    hashes: Hashes = field(repr=False)
    starts: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def get_terms(self, document: int) -> Hashes:
        """Return the term hashes of one document, given by number."""
        return self.hashes[self.starts[document] : self.starts[document + 1]]


def compare_terms(hashes: Hashes, other_hashes: Hashes) -> float:
    """Return the resemblance of two documents: terms in both divided by terms in either.

    `hashes`, `other_hashes`: distinct term hashes of the two documents.
    """
    shared_count = len(np.intersect1d(hashes, other_hashes, assume_unique=True))
    return compute_resemblance(shared_count, len(hashes), len(other_hashes))


@dataclass(frozen=True, slots=True)
class InvertedTerms:
    """Inverted index: the documents that contain each term, with terms as hashes.

    `hashes`: term hashes, ascending.
    `features`: row number in `postings` for each hash.
    `postings`: terms x documents, ones in int16, which suffices for the number of terms looked up
        per document.
    `is_complete`: whether every term of the documents is indexed. If not, a term that is missing
        here may still occur in them.
    """

    hashes: Hashes = field(repr=False)
    features: Ints = field(repr=False)
    postings: Matrix = field(repr=False)
    is_complete: bool

    def find_candidates(self, sets: TermSets) -> tuple[Ints, Ints]:
        """Return the indexed documents that may be near-duplicates of the given ones.

        `sets`: term sets of the given documents.
        Return two arrays with one item per candidate pair: the position of the given document in
        `sets`, and the column of the indexed document in `postings`. Pairs are ordered by position.
        At most 16 candidates are returned per given document.
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
        """Look up term hashes in the index.

        Return three arrays with one item per hash: whether the term is indexed, its row in
        `postings`, and the number of indexed documents that contain it. For a term that is not
        indexed, the row is meaningless and the number is 0.
        """
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
        """Return the indexed documents that share enough terms with each queried document.

        Return two arrays with one item per pair: the number of the queried document, and the column
        of the indexed document in `postings`. Pairs are ordered by queried document. For each, the
        indexed documents that share most terms come first, at most 16.
        `rows`, `features`: for each term to look up, the number of the queried document that
            contains it, ascending, and the row of the term in `postings`.
        `shared_min`: minimum number of shared terms for each queried document.
        """
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
    """Return a terms x documents matrix with a one for each document that contains a term.

    The documents of term i are `documents[starts[i]:starts[i + 1]]`.
    `count`: number of documents.
    """
    ones = np.ones(len(documents), np.int16)
    return sp.csr_matrix((ones, documents, starts), shape=(len(starts) - 1, count))


def invert_term_sets(sets: TermSets) -> InvertedTerms:
    """Build an inverted index, from terms to documents, of the terms of several documents."""
    documents = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.starts))
    order = np.lexsort((documents, sets.hashes))
    hashes, begins = np.unique(sets.hashes[order], return_index=True)
    starts = np.append(begins, len(order)).astype(np.int64)
    features = np.arange(len(hashes), dtype=np.int64)
    postings = build_postings(documents[order], starts, len(sets))
    return InvertedTerms(hashes, features, postings, is_complete=True)


def join_term_sets(term_sets: Sequence[TermSets]) -> TermSets:
    """Concatenate the documents of several term sets into one, in the given order."""
    lengths = [np.diff(term_set.starts) for term_set in term_sets]
    starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return TermSets(
        np.concatenate([np.zeros(0, np.uint64), *(term_set.hashes for term_set in term_sets)]),
        starts,
    )
