"""A collection as it was read for a grouping: its dictionary, its distinct documents, and how all belong to
them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from fonds.grouping.text.counting import (
    Ints,
    Matrix,
    Places,
    Rows,
    document_counts,
    features,
    narrowed,
    places_of,
    taken,
)
from fonds.grouping.text.duplicates import BANDS, EMPTY, Hashes, originals, ranked
from fonds.grouping.text.reading import Slice
from fonds.grouping.text.tokens import Vocabulary
from fonds.model.vectors import Dictionary

_DOCUMENTS_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything counted of a collection's texts.

    `languages`: how each text was read. `originals`: for each document the one it is a near-duplicate of,
    maybe itself; EMPTY where it has no feature. `distinct`: the originals in rank order, an order that
    depends on what they hold alone. `frequencies`: of all documents, documents x features. `read`: the rows
    of all documents as they were read, and `places` the feature of each term of theirs.
    """

    languages: list[str]
    originals: Ints = field(repr=False)
    distinct: Ints = field(repr=False)
    frequencies: Matrix = field(repr=False)
    read: Rows = field(repr=False)
    places: Places = field(repr=False)
    dictionary: Dictionary

    def rows(self, of_distinct: Ints) -> Rows:
        """The features of some distinct documents in order; a term that is none breaks the row."""
        some = taken(self.read, self.distinct[of_distinct])
        return Rows(self.places[some.numbers], some.starts, self.dictionary.terms)

    def lengths(self) -> Ints:
        """How many places of terms each distinct document has."""
        ones = np.ones(self.frequencies.shape[1], np.float32)
        return np.asarray(self.frequencies @ ones).astype(np.int64)[self.distinct]

    def spread(self, of_distinct: Ints) -> Ints:
        """A value of each distinct document for all documents; EMPTY ones get EMPTY."""
        places = np.zeros(len(self.originals), dtype=np.int64)
        places[self.distinct] = np.arange(len(self.distinct))
        filled = self.originals != EMPTY
        spread = np.full(len(self.originals), EMPTY, dtype=np.int64)
        spread[filled] = of_distinct[places[self.originals[filled]]]
        return spread

    def gathered(self, of_all: Ints) -> Ints:
        """For each distinct document the highest value of those it stands for."""
        filled = self.originals != EMPTY
        highest = np.full(len(self.originals), np.iinfo(np.int64).min)
        np.maximum.at(highest, self.originals[filled], of_all[filled])
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

    def add(self, one: Slice) -> None:
        """Keep what was read of some documents, behind those before."""
        self._languages += one.languages
        begin = len(self._numbers)
        self._numbers.frombytes(one.numbers.tobytes())
        self._ends.frombytes((one.starts[1:] + begin).astype(np.int64).tobytes())
        held = one.frequencies
        self._counts.append((held.indices.astype(np.int32), held.data, np.diff(held.indptr)))
        self._hashes.append((one.contents, one.bands))

    def collection(self, version: int) -> Collection:
        """Near-duplicates set aside, the features chosen, everything counted by them; `version` is the
        dictionary's. What was added is used up."""
        names = list(self._vocabulary.numbers)
        order = sorted(range(len(names)), key=names.__getitem__)
        counted = self._joined(len(names))
        contents = np.concatenate([np.zeros(0, np.uint64), *(one for one, _ in self._hashes)])
        bands = np.concatenate([np.zeros((0, BANDS), np.uint64), *(one for _, one in self._hashes)])
        self._hashes = []
        by_rank = ranked(contents)
        first = originals(counted, by_rank, contents, bands)
        distinct = by_rank[first[by_rank] == by_rank]
        in_order = np.array(order, dtype=np.int64)
        kept = in_order[features(_document_counts(counted, distinct)[in_order], len(distinct))]
        places = places_of(kept, len(names))
        of_features = narrowed(counted, places, len(kept))
        bare = np.diff(of_features.indptr) == 0
        first[(first == EMPTY) | bare[np.maximum(first, 0)]] = EMPTY
        distinct = distinct[~bare[distinct]]
        counts = _document_counts(of_features, distinct)
        return Collection(
            self._languages,
            first,
            distinct,
            of_features,
            self._rows(names),
            places,
            Dictionary(version, len(distinct), tuple(names[one] for one in kept), counts),
        )

    def _joined(self, width: int) -> Matrix:
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

    def _rows(self, names: Sequence[str]) -> Rows:
        numbers = np.frombuffer(self._numbers, np.int32) if self._numbers else np.zeros(0, np.int32)
        return Rows(numbers, np.frombuffer(self._ends, np.int64), names)


def _document_counts(counted: Matrix, documents: Ints) -> Ints:
    """In how many of these documents each term stands, some of them at a time."""
    counts = np.zeros(counted.shape[1], dtype=np.int64)
    ordered = np.sort(documents)
    for at in range(0, len(ordered), _DOCUMENTS_AT_ONCE):
        counts += document_counts(counted[ordered[at : at + _DOCUMENTS_AT_ONCE]])
    return counts
