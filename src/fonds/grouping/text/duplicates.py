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

from fonds.grouping.text.counting import Ints, Matrix, contents

RESEMBLANCE_MIN = 0.8
BANDS = 5
ROWS_A_BAND = 3
EMPTY = -1
_PAIRS_AT_ONCE = 50_000


def ranked(counted: Matrix) -> Ints:
    """Documents in an order that depends on what they hold and on nothing else; equal ones stand
    together."""
    return np.argsort(contents(counted), kind="stable").astype(np.int64)


def originals(counted: Matrix, order: Ints) -> Ints:
    """For each document the first in `order` it is a near-duplicate of, maybe itself; EMPTY without
    terms."""
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    lengths = np.diff(counted.indptr)
    first = np.arange(len(order), dtype=np.int64)
    filled = order[lengths[order] > 0]
    present = sp.csr_matrix(
        (np.ones(counted.nnz, np.float32), counted.indices, counted.indptr), shape=counted.shape
    )
    if len(filled):
        # Equal ones first: among many that are somewhat alike a copy might not meet its original.
        _join(present, filled, contents(counted), first, ranks)
        for band in range(BANDS):
            _join(present, filled, _band(counted, band), first, ranks)
    for _ in range(64):
        further = first[first]
        if np.array_equal(further, first):
            break
        first = further
    first[lengths == 0] = EMPTY
    return first


def _band(counted: Matrix, band: int) -> NDArray[np.uint64]:
    """One number for each document out of three least hashes of its terms."""
    rng = np.random.default_rng(1000 + band)
    starts = counted.indptr[:-1]
    filled = np.flatnonzero(np.diff(counted.indptr))
    joined = np.zeros(counted.shape[0], dtype=np.uint64)
    for _ in range(ROWS_A_BAND):
        hashes = rng.integers(0, 2**32, size=counted.shape[1], dtype=np.uint32)
        least = np.minimum.reduceat(hashes[counted.indices], starts[filled]).astype(np.uint64)
        joined[filled] = joined[filled] * np.uint64(0x9E3779B97F4A7C15) + least
    return joined


def _join(
    present: Matrix, filled: Ints, bands: NDArray[np.uint64], first: Ints, ranks: Ints
) -> None:
    """Enter for each document the first in rank of its band, where the two are near-duplicates."""
    filled = filled[first[filled] == filled]
    bands = bands[filled]
    _, places, inverse = np.unique(bands, return_index=True, return_inverse=True)
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
