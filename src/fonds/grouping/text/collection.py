"""A collection as it is read for a grouping: its dictionary, its distinct documents, and how all belong to
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fonds.grouping.text.counting import (
    Ints,
    Matrix,
    Rows,
    document_counts,
    features,
    frequencies,
    read_rows,
    renumbered,
    resolved,
    taken,
)
from fonds.grouping.text.duplicates import EMPTY, originals, ranked
from fonds.model.vectors import Dictionary


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything counted of a collection's texts.

    `languages`: how each text was read. `originals`: for each document the one it is a near-duplicate of,
    maybe itself; EMPTY where it has no feature. `distinct`: the originals in rank order, an order that
    depends on what they hold alone. `rows`: their features in order. `frequencies`: of all documents,
    documents x features.
    """

    languages: list[str]
    originals: Ints = field(repr=False)
    distinct: Ints = field(repr=False)
    rows: Rows = field(repr=False)
    frequencies: Matrix = field(repr=False)
    dictionary: Dictionary

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


def read_collection(
    texts: Sequence[str], languages: Sequence[str | None] | None, version: int
) -> Collection:
    """Read, count, and set near-duplicates aside; `version` is the dictionary's."""
    spoken = resolved(texts, languages)
    rows = read_rows(texts, spoken)
    counted = frequencies(rows)
    order = ranked(counted)
    first = originals(counted, order)
    distinct = order[first[order] == order]
    kept = features(counted[distinct])
    of_features = counted[:, kept]
    bare = np.diff(of_features.indptr) == 0
    first[(first == EMPTY) | bare[np.maximum(first, 0)]] = EMPTY
    distinct = distinct[~bare[distinct]]
    counts = document_counts(of_features[distinct])
    terms = tuple(rows.terms[place] for place in kept)
    return Collection(
        spoken,
        first,
        distinct,
        renumbered(taken(rows, distinct), kept),
        of_features,
        Dictionary(version, len(distinct), terms, counts),
    )
