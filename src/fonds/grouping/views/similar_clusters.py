"""Find similar clusters on one level of a clustering.

Pairs of similar clusters are candidates for a merge. The nearest clusters to one cluster can be
found too. Two clusters form a pair if their centroids have a cosine of at least 0.7 and they share
at least two terms. Decision 73 has the measurements for both thresholds.

Bounds: the 500 largest clusters are compared; the 1,000 nearest pairs are kept, the others only
counted.
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
    """Two similar clusters of a level.

    - `first`, `second`: ids of the two clusters.
    - `cosine`: cosine similarity of their centroids.
    - `shared_terms`: characteristic terms that both clusters have.
    """

    first: str
    second: str
    cosine: float
    shared_terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """Pairs of similar clusters of a level.

    - `nearest`: the pairs with the highest cosine similarity, at most 1,000, highest first.
    - `total`: number of all pairs of similar clusters, including those not in `nearest`.
    """

    nearest: tuple[SimilarPair, ...]
    total: int


@dataclass(slots=True)
class SimilarPairsCache:
    """Cache of the pairs of similar clusters, for the 16 clustering levels read last.
    Thread-safe.
    """

    _pairs: OrderedDict[Key, SimilarPairs] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, tables: Tables, level: LevelView) -> SimilarPairs:
        """Return the pairs of similar clusters of a level, from the cache or newly computed.

        A level without stored centroids has no pairs.
        """
        key = (level.name, level.conf, level.timestamp, level.level)
        with self._lock:
            if key in self._pairs:
                self._pairs.move_to_end(key)
                return self._pairs[key]
        pairs = find_similar_pairs(tables, level)
        with self._lock:
            self._pairs[key] = pairs
            while len(self._pairs) > CACHED_MAX:
                self._pairs.popitem(last=False)
        return pairs


def find_similar_pairs(tables: Tables, level: LevelView) -> SimilarPairs:
    """Find the pairs of similar clusters of a level. Reads the level's centroids from the model."""
    pairs = sorted(
        _iter_pairs(tables, level), key=lambda pair: (-pair.cosine, pair.first, pair.second)
    )
    return SimilarPairs(tuple(pairs[:PAIRS_MAX]), len(pairs))


def _iter_pairs(tables: Tables, level: LevelView) -> Iterator[SimilarPair]:
    # numpy and the model are slow to import, and most readers of clusters need neither.
    import numpy as np

    from fonds.grouping.clustering_model import read_centroids

    model = read_centroids(tables, level.name, level.conf, level.timestamp, level.level)
    if model is None:
        return
    row_by_label = {label: row for row, label in enumerate(model.labels)}
    clusters = [
        cluster for cluster in level.clusters[:CLUSTERS_MAX] if cluster.label in row_by_label
    ]
    vectors = model.centroids[[row_by_label[cluster.label] for cluster in clusters], :]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    centroids = vectors / np.where(lengths > 0, lengths, 1)
    terms = [[term for term, _ in cluster.terms] for cluster in clusters]
    term_sets = [set(cluster) for cluster in terms]
    for start in range(0, len(clusters), _BLOCK_ROWS):
        cosines = centroids[start : start + _BLOCK_ROWS] @ centroids.T
        # Use only entries above the diagonal, so that each pair is found once.
        rows, columns = np.nonzero(np.triu(cosines, start + 1) >= COSINE_MIN)
        for row, second in zip(rows.tolist(), columns.tolist(), strict=True):
            first = start + row
            shared_terms = tuple(term for term in terms[first] if term in term_sets[second])
            if len(shared_terms) >= SHARED_TERMS_MIN:
                cosine = float(cosines[row, second])
                yield SimilarPair(clusters[first].id, clusters[second].id, cosine, shared_terms)


# Find the clusters nearest to one cluster, by the centroids of the model.


@dataclass(frozen=True, slots=True)
class NearCluster:
    """First-level cluster that is near a given one.

    `label`: label of the cluster.
    `cosine`: cosine of its centroid and the centroid of the given cluster.
    `name`: name that a person gave the cluster, '' if none.
    """

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
    """Return the first-level clusters nearest to the cluster with this label, nearest first.

    At most `count_max` clusters. Empty if the cluster does not exist. Works for any stored
    clustering. Reads only the centroids of the clustering's model.
    """
    # Imported here, because most readers of clusters need no numeric libraries.
    import numpy as np

    from fonds.grouping.clustering_model import read_centroids

    model = read_centroids(tables, name, conf, timestamp)
    if model is None or label not in model.labels:
        return ()
    lengths = np.linalg.norm(model.centroids, axis=1, keepdims=True)
    unit_centroids = model.centroids / np.where(lengths > 0, lengths, 1)
    own_number = model.labels.index(label)
    cosines = unit_centroids @ unit_centroids[own_number]
    order = [
        number for number in np.argsort(-cosines, kind="stable").tolist() if number != own_number
    ]
    nearest_labels = [model.labels[number] for number in order[:count_max]]
    names = load_label_names(tables, name, conf, timestamp, nearest_labels)
    return tuple(
        NearCluster(label, float(cosines[number]), names.get(label, ""))
        for label, number in zip(nearest_labels, order, strict=False)
    )
