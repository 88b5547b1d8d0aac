"""Near-duplicates: documents that share at least four fifths of their terms, found without comparing all
pairs.

Source: MinHash with banding, A. Broder, "On the resemblance and containment of documents", 1997.

Each document has 15 least hashes of its terms in five bands of three; documents alike in a band are
compared with the first of them in rank. At a resemblance of .8 a pair meets in some band with a probability
of .97, at .9 of .9986, at .3 of .13. Bound: six comparisons a document, whatever the collection.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.text.counting import Ints, Matrix

Hashes = NDArray[np.uint64]

RESEMBLANCE_MIN = 0.8
BANDS = 5
ROWS_A_BAND = 3
EMPTY = -1
_PAIRS_AT_ONCE = 50_000
_MIXED = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def contents(counted: Matrix, of_terms: Hashes) -> Hashes:
    """A number for what each document holds, the same for the same term frequencies; 0 for none.

    `of_terms`: a number for the term of each stored value of `counted`, the same wherever it is read.
    """
    often = 2 * counted.data.astype(np.uint64) + np.uint64(1)
    mixed = of_terms * often
    mixed ^= mixed >> np.uint64(29)
    return _by_row(counted, np.add, mixed)


def bands(counted: Matrix, of_terms: Hashes) -> Hashes:
    """Documents x 5: one number for three least hashes of each document's terms; 0 for none."""
    drawn = np.random.default_rng(1000).integers(
        1, 2**63 - 1, size=(BANDS, ROWS_A_BAND, 2), dtype=np.uint64
    )
    joined = np.zeros((counted.shape[0], BANDS), dtype=np.uint64)
    for band in range(BANDS):
        for factor, shift in drawn[band]:
            hashes = (of_terms * (factor | np.uint64(1)) + shift) >> _HALF
            joined[:, band] = joined[:, band] * _MIXED + _by_row(counted, np.minimum, hashes)
    return joined


def ranked(of_documents: Hashes) -> Ints:
    """Documents in an order that depends on what they hold, told by `contents`, and on nothing else; equal
    ones stand together."""
    return np.argsort(of_documents, kind="stable").astype(np.int64)


def originals(counted: Matrix, order: Ints, of_documents: Hashes, in_bands: Hashes) -> Ints:
    """For each document the first in `order` it is a near-duplicate of, maybe itself; EMPTY without
    terms."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    lengths = np.diff(counted.indptr)
    first = np.arange(len(order), dtype=np.int64)
    filled = order[lengths[order] > 0]
    present = sp.csr_matrix(
        (np.ones(counted.nnz, np.int8), counted.indices, counted.indptr), shape=counted.shape
    )
    if len(filled):
        # Equal ones first: among many that are somewhat alike a copy might not meet its original.
        _join(present, filled, of_documents, first, ranks)
        for band in range(BANDS):
            _join(present, filled, in_bands[:, band], first, ranks)
    for _ in range(64):
        further = first[first]
        if np.array_equal(further, first):
            break
        first = further
    first[lengths == 0] = EMPTY
    return first


def _by_row(counted: Matrix, reduced: np.ufunc, values: Hashes) -> Hashes:
    """The values of each row brought together; 0 for a row of none."""
    found = np.zeros(counted.shape[0], dtype=np.uint64)
    filled = np.flatnonzero(np.diff(counted.indptr))
    if len(filled):
        found[filled] = reduced.reduceat(values, counted.indptr[:-1][filled])
    return found


def _join(present: Matrix, filled: Ints, keys: Hashes, first: Ints, ranks: Ints) -> None:
    """Enter for each document the first in rank of its key, where the two are near-duplicates."""
    filled = filled[first[filled] == filled]
    keys = keys[filled]
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    leaders = filled[places][inverse]
    documents, leaders = filled[leaders != filled], leaders[leaders != filled]
    for at in range(0, len(documents), _PAIRS_AT_ONCE):
        some, theirs = documents[at : at + _PAIRS_AT_ONCE], leaders[at : at + _PAIRS_AT_ONCE]
        alike = _resemblance(present, some, theirs) >= RESEMBLANCE_MIN
        earlier = ranks[theirs] < ranks[some]
        first[some[alike & earlier]] = theirs[alike & earlier]


def _resemblance(present: Matrix, some: Ints, theirs: Ints) -> NDArray[np.float64]:
    """Shared terms of each pair, as a share of the terms of both."""
    shared = np.asarray(present[some].multiply(present[theirs]).sum(axis=1)).ravel()
    lengths = np.diff(present.indptr)
    either = lengths[some] + lengths[theirs] - shared
    resemblance: NDArray[np.float64] = shared / np.maximum(either, 1)
    return resemblance
