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
from numpy.typing import NDArray

from fonds.grouping.text.counting import Ints
from fonds.grouping.text.duplicates import Hashes

POSTINGS_MAX = 20_000
FURTHER_TERMS, FURTHER_POSTINGS = 8, 500
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
    """The documents each term stands in. `hashes`: of terms, ascending; the documents of term i are
    `documents[begins[i]:ends[i]]`, int32. `is_whole`: terms that are not here stand in none of them."""

    hashes: Hashes = field(repr=False)
    begins: Ints = field(repr=False)
    ends: Ints = field(repr=False)
    documents: NDArray[np.int32] = field(repr=False)
    is_whole: bool

    def candidates(self, sets: TermSets) -> tuple[Ints, Ints]:
        """Pairs of a place in `sets` and a document here that may be its near-duplicate, place by place."""
        lengths = np.diff(sets.starts)
        rows = np.repeat(np.arange(len(sets)), lengths)
        known, begins, counts = self._found(sets.hashes)
        if not self.is_whole:
            rows, begins, counts = rows[known], begins[known], counts[known]
        order = np.lexsort((counts, rows))
        rows, begins, counts = rows[order], begins[order], counts[order]
        first = np.searchsorted(rows, np.arange(len(sets)))
        rank = np.arange(len(rows)) - first[rows]
        summed = np.cumsum(counts)
        summed -= (summed - counts)[first[rows]] if len(rows) else 0
        lacked = lengths // _LACKED
        needed = (rank <= lacked[rows]) & (summed <= POSTINGS_MAX)
        further = (rank <= lacked[rows] + FURTHER_TERMS) & (summed <= FURTHER_POSTINGS)
        asked = needed | further
        shared = np.maximum(np.bincount(rows[asked], minlength=len(sets)) - lacked, 1)
        return self._sharing(rows[asked], begins[asked], counts[asked], shared)

    def _found(self, hashes: Hashes) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """Of each term whether it is here, where its documents begin, and how many there are."""
        if not len(self.hashes):
            none = np.zeros(len(hashes), np.int64)
            return np.zeros(len(hashes), bool), none, none
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        known = self.hashes[places] == hashes
        counts = np.where(known, self.ends[places] - self.begins[places], 0)
        return known, self.begins[places], counts

    def _sharing(self, rows: Ints, begins: Ints, counts: Ints, shared: Ints) -> tuple[Ints, Ints]:
        """The documents of these postings that share as many terms as `shared` says of each row, those that
        share the most."""
        width = int(self.documents.max(initial=0)) + 1
        ends = np.cumsum(counts)
        places = np.arange(int(counts.sum())) + np.repeat(begins - (ends - counts), counts)
        pairs = np.repeat(rows, counts) * width + self.documents[places]
        pairs, often = np.unique(pairs, return_counts=True)
        kept = often >= shared[pairs // width]
        pairs, often = pairs[kept], often[kept]
        found, documents = pairs // width, pairs % width
        order = np.lexsort((documents, -often, found))
        found, documents = found[order], documents[order]
        rank = np.arange(len(found)) - np.searchsorted(found, found)
        near = rank < CANDIDATES_MAX
        return found[near], documents[near]


def inverted(sets: TermSets) -> Inverted:
    """Documents turned into the postings of their terms."""
    documents = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.starts))
    order = np.lexsort((documents, sets.hashes))
    hashes, begins = np.unique(sets.hashes[order], return_index=True)
    ends = np.append(begins[1:], len(order))[: len(begins)]
    return Inverted(hashes, begins, ends, documents[order], is_whole=True)


def joined(some: Sequence[TermSets]) -> TermSets:
    """Documents of several sets behind each other."""
    lengths = [np.diff(one.starts) for one in some]
    starts = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()
    return TermSets(np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in some)]), starts)
