"""Pairs of similar clusters in one level of a clustering, as candidates for a merger.

Two clusters are similar when their centroids have a high cosine and they share terms. Decision 73 has the
measurements behind both thresholds.
Bounds: the 500 largest clusters are compared; the 1,000 nearest pairs are kept, the others only counted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fonds.grouping.names import CollectionName
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusters import LevelView
from fonds.grouping.views.curation import load_label_names

COSINE_MIN = 0.7
SHARED_TERMS_MIN = 2
CLUSTERS_MAX = 500
PAIRS_MAX = 1_000
CACHED_MAX = 16
_BLOCK_ROWS = 250

Key = tuple[CollectionName, str, int, int]


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two cluster ids, the cosine of the centroids, and the terms that both clusters have."""

    first: str
    second: str
    cosine: float
    shared_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """The nearest pairs, nearest first, and the number of all pairs."""

    nearest: tuple[SimilarPair, ...]
    total: int


@dataclass(slots=True)
class SimilarPairsCache:
    """Similar pairs of the 16 levels read last. Thread-safe."""

    _pairs: OrderedDict[Key, SimilarPairs] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, tables: Tables, level: LevelView) -> SimilarPairs:
        """Return the similar pairs of a level. A level without centroids has none."""
        key = (level.name, level.conf, level.timestamp, level.level)
        with self._lock:
            if key in self._pairs:
                self._pairs.move_to_end(key)
                return self._pairs[key]
        pairs = similar_pairs(tables, level)
        with self._lock:
            self._pairs[key] = pairs
            while len(self._pairs) > CACHED_MAX:
                self._pairs.popitem(last=False)
        return pairs


def similar_pairs(tables: Tables, level: LevelView) -> SimilarPairs:
    """Find the similar pairs of a level. Reads its centroids from the model."""
    pairs = sorted(
        _iter_pairs(tables, level), key=lambda pair: (-pair.cosine, pair.first, pair.second)
    )
    return SimilarPairs(tuple(pairs[:PAIRS_MAX]), len(pairs))


def _iter_pairs(tables: Tables, level: LevelView) -> Iterator[SimilarPair]:
    # numpy and the model are slow to import, and most readers of clusters need neither.
    import numpy as np

    from fonds.grouping.clustering_model import read_middles

    model = read_middles(tables, level.name, level.conf, level.timestamp, level.level)
    if model is None:
        return
    row_by_label = {label: row for row, label in enumerate(model.labels)}
    clusters = [one for one in level.clusters[:CLUSTERS_MAX] if one.label in row_by_label]
    vectors = model.centroids[[row_by_label[one.label] for one in clusters], :]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    centroids = vectors / np.where(lengths > 0, lengths, 1)
    terms = [[term for term, _ in one.terms] for one in clusters]
    term_sets = [set(one) for one in terms]
    for start in range(0, len(clusters), _BLOCK_ROWS):
        cosines = centroids[start : start + _BLOCK_ROWS] @ centroids.T
        # Only entries above the diagonal, so that each pair comes once.
        rows, columns = np.nonzero(np.triu(cosines, start + 1) >= COSINE_MIN)
        for row, second in zip(rows.tolist(), columns.tolist(), strict=True):
            first = start + row
            shared = tuple(term for term in terms[first] if term in term_sets[second])
            if len(shared) >= SHARED_TERMS_MIN:
                cosine = float(cosines[row, second])
                yield SimilarPair(clusters[first].id, clusters[second].id, cosine, shared)


# Which clusters of a clustering lie nearest to one, by the middles its model holds.


@dataclass(frozen=True, slots=True)
class NearCluster:
    """Another cluster of the first level: its label, the cosine of the two middles, and what a person called
    it, '' where nobody did."""

    label: str
    cosine: float
    name: str = ""


def find_nearest_clusters(
    tables: Tables,
    name: CollectionName,
    conf: str,
    timestamp: int,
    label: str,
    *,
    count_max: int = 5,
) -> tuple[NearCluster, ...]:
    """The clusters nearest to the one of this label, in the first level of any clustering there is, the
    nearest first; none where there is no such cluster. Reads of its model the middles alone."""
    # Who only reads clusters does without the arithmetic.
    import numpy as np

    from fonds.grouping.clustering_model import read_middles

    found = read_middles(tables, name, conf, timestamp)
    if found is None or label not in found.labels:
        return ()
    lengths = np.linalg.norm(found.centroids, axis=1, keepdims=True)
    middles = found.centroids / np.where(lengths > 0, lengths, 1)
    own = found.labels.index(label)
    cosines = middles @ middles[own]
    order = [at for at in np.argsort(-cosines, kind="stable").tolist() if at != own]
    some = [found.labels[at] for at in order[:count_max]]
    names = load_label_names(tables, name, conf, timestamp, some)
    return tuple(
        NearCluster(label, float(cosines[at]), names.get(label, ""))
        for label, at in zip(some, order, strict=False)
    )
