"""Pairs of clusters that may be one: their middles lie near, and they share terms; found once a clustering.

The bounds were measured on labelled sets: decision 73.
Bound: the 500 largest clusters of a level, and of their pairs the 1,000 nearest; the others are counted.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fonds.collections.names import Name
from fonds.collections.reading.clusters import Clusters
from fonds.collections.tables import Tables

COSINE_MIN = 0.7
SHARED_MIN = 2
LOOKED_MAX = 500
PAIRS_MAX = 1_000
KEPT_MAX = 16
_AT_ONCE = 250

Key = tuple[Name, str, int, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clusters of a level by their ids, the cosine of their middles, and the terms both are told by."""

    first: str
    second: str
    cosine: float
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The `nearest` pairs of a level, 1,000 at most, of `total`."""

    nearest: tuple[Pair, ...]
    total: int


@dataclass(slots=True)
class Alike:
    """The pairs of the last few clusterings that were asked for. Safe for several threads."""

    _kept: OrderedDict[Key, Pairs] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def of(self, tables: Tables, level: Clusters) -> Pairs:
        """The pairs of a level, the nearest first; none where no middles of it are kept."""
        key = (level.name, level.conf, level.timestamp, level.level)
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = _counted(_pairs(tables, level))
        with self._guard:
            self._kept[key] = found
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return found


def _counted(pairs: Iterator[Pair]) -> Pairs:
    total = itertools.count()
    met = (one for one, _ in zip(pairs, total, strict=False))
    nearest = heapq.nsmallest(PAIRS_MAX, met, key=lambda one: (-one.cosine, one.first, one.second))
    return Pairs(tuple(nearest), next(total))


def _pairs(tables: Tables, level: Clusters) -> Iterator[Pair]:
    # Who only reads clusters does without the arithmetic.
    import numpy as np

    from fonds.collections.building.models import read_middles

    found = read_middles(tables, level.name, level.conf, level.timestamp, level.level)
    if found is None:
        return
    places = {label: at for at, label in enumerate(found.labels)}
    some = [one for one in level.clusters[:LOOKED_MAX] if one.label in places]
    own = found.middles[[places[one.label] for one in some]] if some else found.middles[:0]
    lengths = np.linalg.norm(own, axis=1, keepdims=True)
    middles = own / np.where(lengths > 0, lengths, 1)
    terms = [[term for term, _ in one.terms] for one in some]
    known = [set(one) for one in terms]
    for begin in range(0, len(some), _AT_ONCE):
        cosines = middles[begin : begin + _AT_ONCE] @ middles.T
        rows, columns = np.nonzero(np.triu(cosines, begin + 1) >= COSINE_MIN)
        for row, other in zip(rows.tolist(), columns.tolist(), strict=True):
            at = begin + row
            shared = tuple(term for term in terms[at] if term in known[other])
            if len(shared) >= SHARED_MIN:
                yield Pair(some[at].id, some[other].id, float(cosines[row, other]), shared)
