"""Terms that stand side by side: which two- and three-word phrases of a collection's strong terms there
are.

Bound: 5,000,000 term places are looked at, of documents evenly taken; a phrase stands in two documents or
more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fonds.grouping.space.weighting import evenly
from fonds.grouping.text.collection import Collection
from fonds.grouping.text.counting import Ints, Matrix, Rows

PLACES_MAX = 5_000_000
DOCUMENTS_MIN = 2


@dataclass(frozen=True, slots=True)
class Phrases:
    """`parts`: the features of each phrase in order; `present`: documents looked at x phrases, float32 of
    ones; `documents`: which documents were looked at."""

    parts: tuple[tuple[int, ...], ...]
    present: Matrix
    documents: Ints


def phrases(collection: Collection, strong: Ints) -> Phrases:
    """The phrases that consist of strong terms alone; `strong` holds their features."""
    count = len(collection.distinct)
    share = max(1, -(-int(collection.lengths().sum()) // PLACES_MAX))
    documents = evenly(count, count // share)
    some = collection.rows(documents)
    numbers = _as_strong(some, strong)
    of_place = np.repeat(np.arange(len(some)), np.diff(some.starts))
    pairs, pair_numbers = _together(numbers[:-1], numbers[1:], of_place)
    triples, triple_numbers = _together(pair_numbers[:-1], pair_numbers[1:], of_place)
    triples = [(pairs[first][0], *pairs[second]) for first, second in triples]
    parts = [tuple(int(strong[part]) for part in phrase) for phrase in (*pairs, *triples)]
    shifted = np.where(triple_numbers >= 0, triple_numbers + len(pairs), -1)
    found = np.concatenate((pair_numbers, shifted))
    where = np.concatenate((of_place[: len(pair_numbers)], of_place[: len(shifted)]))
    present = sp.csr_matrix(
        (
            np.ones(int((found >= 0).sum()), np.float32),
            (where[found >= 0], found[found >= 0]),
        ),
        shape=(len(some), max(len(parts), 1)),
    )
    present.data[:] = 1
    return Phrases(tuple(parts), present, documents)


def _as_strong(rows: Rows, strong: Ints) -> NDArray[np.int64]:
    """Each place's number among the strong terms, -1 for others."""
    places = np.full(len(rows.terms) + 1, -1, dtype=np.int64)
    places[strong] = np.arange(len(strong))
    return places[rows.numbers]


def _together(
    first: NDArray[np.int64], second: NDArray[np.int64], of_place: Ints
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Neighbours of one document that stand together in two or more, and the number of the pair at each
    place."""
    count = len(first)
    if count <= 0:
        return [], np.zeros(0, dtype=np.int64)
    beside = (first >= 0) & (second >= 0) & (of_place[:count] == of_place[1 : count + 1])
    base = int(max(first.max(), second.max())) + 1
    keys = first[beside] * base + second[beside]
    # Of one document each pair counts once.
    documents = of_place[:count][beside]
    order = np.lexsort((documents, keys))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(keys[order]) != 0) | (np.diff(documents[order]) != 0)
    known, counts = np.unique(keys[order][fresh], return_counts=True)
    known = known[counts >= DOCUMENTS_MIN]
    numbers = np.full(count, -1, dtype=np.int64)
    if len(known):
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        numbers[beside] = np.where(known[at] == keys, at, -1)
    return [(int(key // base), int(key % base)) for key in known], numbers
