"""Near-duplicates: documents that share at least four fifths of their terms, found without comparing all
pairs.

Source: MinHash with banding, A. Broder, "On the resemblance and containment of documents", 1997.

Each document has 15 least hashes of its terms in five bands of three; documents alike in a band are
compared with the first of them in rank. At a resemblance of .8 a pair meets in some band with a probability
of .97, at .9 of .9986, at .3 of .13. Bound: six comparisons a document, whatever the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.algorithms.term_counts import Ints, Matrix

Hashes = NDArray[np.uint64]

RESEMBLANCE_MIN = 0.8
BANDS = 5
ROWS_A_BAND = 3
EMPTY = -1
_PAIR_BATCH = 50_000
_MIXED = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def hash_documents(counts: Matrix, term_hashes: Hashes) -> Hashes:
    """A number for what each document holds, the same for the same term frequencies; 0 for none.

    `term_hashes`: a number for the term of each stored value of `counts`, the same wherever it is read.
    """
    often = 2 * counts.data.astype(np.uint64) + np.uint64(1)
    mixed = term_hashes * often
    mixed ^= mixed >> np.uint64(29)
    return _reduce_rows(counts, np.add, mixed)


def compute_bands(counts: Matrix, term_hashes: Hashes) -> Hashes:
    """Documents x 5: one number for three least hashes of each document's terms; 0 for none."""
    drawn = np.random.default_rng(1000).integers(
        1, 2**63 - 1, size=(BANDS, ROWS_A_BAND, 2), dtype=np.uint64
    )
    joined = np.zeros((counts.shape[0], BANDS), dtype=np.uint64)
    for band in range(BANDS):
        for factor, shift in drawn[band]:
            hashes = (term_hashes * (factor | np.uint64(1)) + shift) >> _HALF
            joined[:, band] = joined[:, band] * _MIXED + _reduce_rows(counts, np.minimum, hashes)
    return joined


def rank_documents(document_hashes: Hashes) -> Ints:
    """Documents in an order that depends on what they hold, told by `hash_documents`, and on nothing
    else; equal ones stand together."""
    return np.argsort(document_hashes, kind="stable").astype(np.int64)


def find_originals(counts: Matrix, order: Ints, document_hashes: Hashes, in_bands: Hashes) -> Ints:
    """For each document the first in `order` it is a near-duplicate of, maybe itself; EMPTY without
    terms."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    lengths = np.diff(counts.indptr)
    first = np.arange(len(order), dtype=np.int64)
    filled = order[lengths[order] > 0]
    present = sp.csr_matrix(
        (np.ones(counts.nnz, np.int8), counts.indices, counts.indptr), shape=counts.shape
    )
    if len(filled):
        # Equal ones first: among many that are somewhat alike a copy might not meet its original.
        _join(present, filled, document_hashes, first, ranks)
        for band in range(BANDS):
            _join(present, filled, in_bands[:, band], first, ranks)
    for _ in range(64):
        further = first[first]
        if np.array_equal(further, first):
            break
        first = further
    first[lengths == 0] = EMPTY
    return first


def _reduce_rows(counts: Matrix, reduced: np.ufunc, values: Hashes) -> Hashes:
    """The values of each row brought together; 0 for a row of none."""
    found = np.zeros(counts.shape[0], dtype=np.uint64)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        found[filled] = reduced.reduceat(values, counts.indptr[:-1][filled])
    return found


def _join(present: Matrix, filled: Ints, keys: Hashes, first: Ints, ranks: Ints) -> None:
    """Enter for each document the first in rank of its key, where the two are near-duplicates."""
    filled = filled[first[filled] == filled]
    keys = keys[filled]
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    leaders = filled[places][inverse]
    documents, leaders = filled[leaders != filled], leaders[leaders != filled]
    for at in range(0, len(documents), _PAIR_BATCH):
        some, theirs = documents[at : at + _PAIR_BATCH], leaders[at : at + _PAIR_BATCH]
        alike = _compute_resemblance(present, some, theirs) >= RESEMBLANCE_MIN
        earlier = ranks[theirs] < ranks[some]
        first[some[alike & earlier]] = theirs[alike & earlier]


def _compute_resemblance(present: Matrix, pair_rows: Ints, other_rows: Ints) -> NDArray[np.float64]:
    """Shared terms of each pair, as a share of the terms of both."""
    shared = np.asarray(present[pair_rows].multiply(present[other_rows]).sum(axis=1)).ravel()
    lengths = np.diff(present.indptr)
    either = lengths[pair_rows] + lengths[other_rows] - shared
    resemblance: NDArray[np.float64] = shared / np.maximum(either, 1)
    return resemblance


# Which documents may be near-duplicates of others, found by the terms they share, the rarest first.
#
# Source: prefix filtering, S. Chaudhuri, V. Ganti and R. Kaushik, "A primitive operator for similarity joins
# in data cleaning", 2006.
#
# Of n terms a near-duplicate lacks at most a fifth. So it has one of any n / 5 + 1 of them: looking at the
# postings of that many terms leaves none out, and those of the rarest are the shortest. Up to eight further
# terms with short postings make sure that most of what merely shares a word is not compared.
#
# Bound: 20,000 postings and 16 candidates a document; whom these leave out is not found.


POSTINGS_MAX = 20_000
FURTHER_TERMS, FURTHER_POSTINGS = 8, 3_000
CANDIDATES_MAX = 16
_LACKED = 5


@dataclass(frozen=True, slots=True)
class TermSets:
    """The distinct terms of documents, a number for each: those of document i are
    `hashes[starts[i]:starts[i + 1]]`."""

    hashes: Hashes = field(repr=False)
    starts: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def get_terms(self, document: int) -> Hashes:
        """The terms of one document."""
        return self.hashes[self.starts[document] : self.starts[document + 1]]


def compute_resemblance(hashes: Hashes, other_hashes: Hashes) -> float:
    """Shared terms of two documents, as a share of the terms of both."""
    shared = len(np.intersect1d(hashes, other_hashes, assume_unique=True))
    return shared / max(len(hashes) + len(other_hashes) - shared, 1)


@dataclass(frozen=True, slots=True)
class InvertedTerms:
    """The documents each term stands in.

    `postings`: terms x documents, ones in int16: no document shares as many terms as postings are
    looked at. `hashes`: of terms, ascending, and `features` the row of each. `is_complete`: terms that
    are not here stand in none of the documents."""

    hashes: Hashes = field(repr=False)
    features: Ints = field(repr=False)
    postings: Matrix = field(repr=False)
    is_complete: bool

    def find_candidates(self, sets: TermSets) -> tuple[Ints, Ints]:
        """Pairs of a place in `sets` and a document here that may be its near-duplicate, place by place."""
        lengths = np.diff(sets.starts)
        rows = np.repeat(np.arange(len(sets)), lengths)
        known, features, counts = self._look_up(sets.hashes)
        if not self.is_complete:
            rows, features, counts = rows[known], features[known], counts[known]
        order = np.lexsort((counts, rows))
        rows, features, counts = rows[order], features[order], counts[order]
        first = np.searchsorted(rows, np.arange(len(sets)))
        rank = np.arange(len(rows)) - first[rows]
        summed = np.cumsum(counts)
        summed -= (summed - counts)[first[rows]] if len(rows) else 0
        lacked = lengths // _LACKED
        needed = (rank <= lacked[rows]) & (summed <= POSTINGS_MAX)
        further = (rank <= lacked[rows] + FURTHER_TERMS) & (summed <= FURTHER_POSTINGS)
        asked = needed | further
        shared = np.maximum(np.bincount(rows[asked], minlength=len(sets)) - lacked, 1)
        has_postings = asked & (counts > 0)
        return self._find_sharing(rows[has_postings], features[has_postings], shared)

    def _look_up(self, hashes: Hashes) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """Of each term whether it is here, its row, and how many documents have it."""
        if not len(self.hashes):
            none = np.zeros(len(hashes), np.int64)
            return np.zeros(len(hashes), bool), none, none
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        known = self.hashes[places] == hashes
        features = self.features[places]
        starts = self.postings.indptr
        counts = np.where(known, starts[features + 1] - starts[features], 0).astype(np.int64)
        return known, features, counts

    def _find_sharing(self, rows: Ints, features: Ints, shared: Ints) -> tuple[Ints, Ints]:
        """The documents that have as many of these terms as `shared` says of each row, those that have the
        most."""
        starts = np.searchsorted(rows, np.arange(len(shared) + 1))
        ones = np.ones(len(features), np.int16)
        asked = sp.csr_matrix((ones, features, starts), shape=(len(shared), self.postings.shape[0]))
        often = asked @ self.postings
        found = np.repeat(np.arange(len(shared)), np.diff(often.indptr))
        kept = often.data >= shared[found]
        found, documents, counts = found[kept], often.indices[kept], often.data[kept]
        order = np.lexsort((documents, -counts, found))
        found, documents = found[order], documents[order]
        rank = np.arange(len(found)) - np.searchsorted(found, found)
        near = rank < CANDIDATES_MAX
        return found[near], documents[near].astype(np.int64)


def build_postings(documents: NDArray[np.int32], starts: Ints, count: int) -> Matrix:
    """Of each term the documents it stands in: those of term i are `documents[starts[i]:starts[i + 1]]`, out
    of `count`."""
    ones = np.ones(len(documents), np.int16)
    return sp.csr_matrix((ones, documents, starts), shape=(len(starts) - 1, count))


def invert_term_sets(sets: TermSets) -> InvertedTerms:
    """Documents turned into the postings of their terms."""
    documents = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.starts))
    order = np.lexsort((documents, sets.hashes))
    hashes, begins = np.unique(sets.hashes[order], return_index=True)
    starts = np.append(begins, len(order)).astype(np.int64)
    features = np.arange(len(hashes), dtype=np.int64)
    turned = build_postings(documents[order], starts, len(sets))
    return InvertedTerms(hashes, features, turned, is_complete=True)


def join_term_sets(term_sets: Sequence[TermSets]) -> TermSets:
    """Documents of several sets behind each other."""
    lengths = [np.diff(one.starts) for one in term_sets]
    starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return TermSets(
        np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in term_sets)]), starts
    )
