"""Which documents may be near-duplicates of others, found by the terms they share, the rarest first.

Source: prefix filtering, S. Chaudhuri, V. Ganti and R. Kaushik, "A primitive operator for similarity joins
in data cleaning", 2006.

Of n terms a near-duplicate lacks at most a fifth. So it has one of any n / 5 + 1 of them: looking at the
postings of that many terms leaves none out, and those of the rarest are the shortest. Up to eight further
terms with short postings make sure that most of what merely shares a word is not compared.

Bound: 20,000 postings and 16 candidates a document; whom these leave out is not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.text.counting import Ints, Matrix
from fonds.grouping.text.duplicates import Hashes

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

    def of(self, document: int) -> Hashes:
        """The terms of one document."""
        return self.hashes[self.starts[document] : self.starts[document + 1]]


def resemblance(some: Hashes, others: Hashes) -> float:
    """Shared terms of two documents, as a share of the terms of both."""
    shared = len(np.intersect1d(some, others, assume_unique=True))
    return shared / max(len(some) + len(others) - shared, 1)


@dataclass(frozen=True, slots=True)
class Inverted:
    """The documents each term stands in.

    `postings`: terms x documents, ones in int16: no document shares as many terms as postings are looked
    at. `hashes`: of terms, ascending, and `features` the row of each. `is_whole`: terms that are not here
    stand in none of the documents.
    """

    hashes: Hashes = field(repr=False)
    features: Ints = field(repr=False)
    postings: Matrix = field(repr=False)
    is_whole: bool

    def candidates(self, sets: TermSets) -> tuple[Ints, Ints]:
        """Pairs of a place in `sets` and a document here that may be its near-duplicate, place by place."""
        lengths = np.diff(sets.starts)
        rows = np.repeat(np.arange(len(sets)), lengths)
        known, features, counts = self._found(sets.hashes)
        if not self.is_whole:
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
        return self._sharing(rows[has_postings], features[has_postings], shared)

    def _found(self, hashes: Hashes) -> tuple[NDArray[np.bool_], Ints, Ints]:
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

    def _sharing(self, rows: Ints, features: Ints, shared: Ints) -> tuple[Ints, Ints]:
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


def postings(documents: NDArray[np.int32], starts: Ints, count: int) -> Matrix:
    """Of each term the documents it stands in: those of term i are `documents[starts[i]:starts[i + 1]]`, out
    of `count`."""
    ones = np.ones(len(documents), np.int16)
    return sp.csr_matrix((ones, documents, starts), shape=(len(starts) - 1, count))


def inverted(sets: TermSets) -> Inverted:
    """Documents turned into the postings of their terms."""
    documents = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.starts))
    order = np.lexsort((documents, sets.hashes))
    hashes, begins = np.unique(sets.hashes[order], return_index=True)
    starts = np.append(begins, len(order)).astype(np.int64)
    features = np.arange(len(hashes), dtype=np.int64)
    turned = postings(documents[order], starts, len(sets))
    return Inverted(hashes, features, turned, is_whole=True)


def joined(some: Sequence[TermSets]) -> TermSets:
    """Documents of several sets behind each other."""
    lengths = [np.diff(one.starts) for one in some]
    starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return TermSets(np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in some)]), starts)
