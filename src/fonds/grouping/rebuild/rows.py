"""The rows of a new clustering: its clusters, and every document's place. Nobody sees them as yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import Cluster, Clustering, Level, UnclusteredReason
from fonds.grouping.algorithms.duplicates import EMPTY
from fonds.grouping.algorithms.methods import NONE
from fonds.grouping.changes.cells import build_cluster_key, join_cells
from fonds.grouping.clustering import REASONS, Placement, StoredClustering
from fonds.grouping.names import build_level_conf, build_unclustered_conf
from fonds.grouping.rebuild.reader import Corpus
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import (
    CLUSTERS,
    SIZE,
    Tables,
    decode_float,
    decode_text,
    encode_json,
    encode_utf8,
    format_score,
)

# Where clusters lie on a map: near each other where their middles are, at the same place as before.
#
# Source: classical multidimensional scaling (W. S. Torgerson, 1952) and orthogonal Procrustes (P. H.
# Schönemann, 1966). Bound: 2,000 clusters of 600 directions.


Positions = NDArray[np.float64]


def compute_positions(
    centroids: NDArray[np.float32],
    ids: Sequence[str],
    previous_positions: Mapping[str, tuple[float, float]],
) -> Positions:
    """Clusters x 2, both within -1 and 1, turned and mirrored so that clusters that were on the map before,
    known by their ids, stay where they were as nearly as can be."""
    count = len(centroids)
    if count == 0:
        return np.zeros((0, 2))
    middle = centroids.astype(np.float64) - centroids.mean(axis=0, dtype=np.float64)
    left, strength, _ = np.linalg.svd(middle, full_matrices=False)
    flat = np.zeros((count, 2))
    rank = min(2, len(strength))
    flat[:, :rank] = left[:, :rank] * strength[:rank]
    kept = [at for at, id_ in enumerate(ids) if id_ in previous_positions]
    if len(kept) > 1:
        flat = _rotate_to_match(flat, kept, np.array([previous_positions[ids[at]] for at in kept]))
    furthest = float(np.abs(flat).max())
    return flat / furthest if furthest > 0 else flat


def _rotate_to_match(flat: Positions, kept_numbers: Sequence[int], target: Positions) -> Positions:
    some = flat[kept_numbers]
    left, _, right = np.linalg.svd((some - some.mean(axis=0)).T @ (target - target.mean(axis=0)))
    turned: Positions = flat @ (left @ right)
    return turned


DOCUMENT_BATCH = 1000
_REASONS = {UnclusteredReason.EMPTY: "empty", UnclusteredReason.OUTLIER: "outlier"}


def build_labels(level: Level) -> list[str]:
    """The label of each cluster, its id where it has none; none twice."""
    taken: set[str] = set()
    labels = []
    for cluster in level.clusters:
        label = plain = cluster.label.strip() or cluster.id
        further = 2
        while label in taken:
            label, further = f"{plain} ({further})", further + 1
        taken.add(label)
        labels.append(label)
    return labels


PlacedDocument = tuple[str, Placement]
"""A document by its id, and where it is on one level, or apart."""


def write_rows(
    tables: Tables,
    clustering: StoredClustering,
    read: Corpus,
    result: Clustering,
    labels: Sequence[Sequence[str]],
    previous: StoredClustering | None,
) -> Iterator[PlacedDocument]:
    """Write the clusters of all levels, and those apart; where documents are, to be put by
    `write_placements`."""
    where = _load_previous_positions(tables, previous)
    for number, level in enumerate(result.levels):
        _write_clusters(tables, clustering, number, result, level, labels, where)
    apart = _find_unclustered(read, result)
    _write_unclustered(tables, clustering, apart)
    return _iter_placements(clustering, read, result, labels, apart)


def write_placements(
    tables: Tables,
    clustering: StoredClustering,
    placements: Iterator[PlacedDocument],
    progress: Callable[[int], None],
) -> None:
    """Write where documents are; `progress` is told how many places were written."""
    written = 0
    for batch in iter_batches(placements):
        write_batch(tables, clustering, batch)
        written += len(batch)
        progress(written)


def _write_clusters(
    tables: Tables,
    clustering: StoredClustering,
    number: int,
    result: Clustering,
    level: Level,
    labels: Sequence[Sequence[str]],
    map_positions: Mapping[str, tuple[float, float]],
) -> None:
    conf = build_level_conf(clustering.conf, number)
    ids = [cluster.id for cluster in level.clusters]
    first = number == 0 and len(result.model.centroids) == len(ids)
    flat = compute_positions(result.model.centroids, ids, map_positions) if first else None
    over = _find_coarser_level(result.levels, level)
    rows = []
    for at, cluster in enumerate(level.clusters):
        cells = _build_cluster_cells(clustering, number, cluster, labels[number][at])
        if over is not None and cluster.parent is not None:
            cells["main:parent"] = encode_utf8(labels[over][cluster.parent])
            cells["main:parent_level"] = encode_utf8(over)
        if flat is not None:
            cells["main:x"], cells["main:y"] = (f"{value:.4f}".encode() for value in flat[at])
        rows.append(
            (
                build_cluster_key(clustering.name, conf, clustering.timestamp, labels[number][at]),
                cells,
            )
        )
    tables.put(CLUSTERS, rows)


def _build_cluster_cells(
    clustering: StoredClustering, level: int, cluster: Cluster, label: str
) -> dict[str, bytes]:
    return {
        **_build_head_cells(clustering, label, cluster.size),
        "main:level": encode_utf8(level),
        "main:id": encode_utf8(cluster.id),
        "main:distinct": encode_utf8(cluster.distinct),
        "main:terms": encode_json([[term, round(score, 2)] for term, score in cluster.terms]),
    }


def _build_head_cells(clustering: StoredClustering, label: str, size: int) -> dict[str, bytes]:
    return {
        "main:namespace": encode_utf8(clustering.name.namespace),
        "main:collection_key": encode_utf8(clustering.name.key),
        "main:conf": encode_utf8(clustering.conf),
        "main:timestamp": encode_utf8(clustering.timestamp),
        "main:label": encode_utf8(label),
        SIZE: encode_utf8(size),
    }


def _write_unclustered(
    tables: Tables, clustering: StoredClustering, unclustered: Mapping[str, str]
) -> None:
    counted = list(unclustered.values())
    rows = [
        (
            build_cluster_key(
                clustering.name,
                build_unclustered_conf(clustering.conf),
                clustering.timestamp,
                reason,
            ),
            _build_head_cells(clustering, reason, counted.count(reason)),
        )
        for reason in REASONS
    ]
    tables.put(CLUSTERS, rows)


def _find_unclustered(read: Corpus, result: Clustering) -> dict[str, str]:
    """Why each document is apart that is, by id."""
    found = dict(read.unclustered)
    for at, member in enumerate(result.levels[0].members.tolist()):
        if member == NONE:
            is_empty = result.originals[at] == EMPTY
            found[read.ids[at]] = _REASONS[
                UnclusteredReason.EMPTY if is_empty else UnclusteredReason.OUTLIER
            ]
    return found


def _iter_placements(
    clustering: StoredClustering,
    read: Corpus,
    result: Clustering,
    labels: Sequence[Sequence[str]],
    unclustered: Mapping[str, str],
) -> Iterator[PlacedDocument]:
    originals = result.originals.tolist()
    for number, level in enumerate(result.levels):
        conf = build_level_conf(clustering.conf, number)
        scores = level.scores.tolist()
        for at, member in enumerate(level.members.tolist()):
            if member != NONE:
                original = "" if originals[at] == at else read.ids[originals[at]]
                score = format_score(scores[at])
                yield read.ids[at], Placement(conf, labels[number][member], score, original)
    for id_, reason in unclustered.items():
        yield id_, Placement(build_unclustered_conf(clustering.conf), reason, format_score(0.0))


def write_batch(
    tables: Tables, clustering: StoredClustering, batch: Sequence[PlacedDocument]
) -> None:
    """Write where some documents are."""
    puts: dict[str, dict[bytes, dict[str, bytes]]] = {}
    for id_, placement in batch:
        for table, row, cells in join_cells(clustering, id_, placement):
            puts.setdefault(table, {}).setdefault(row, {}).update(cells)
    for table, rows in puts.items():
        tables.put(table, list(rows.items()))


def _load_previous_positions(
    tables: Tables, previous: StoredClustering | None
) -> dict[str, tuple[float, float]]:
    if previous is None:
        return {}
    prefix = build_clustering_prefix(
        previous.name.namespace, previous.name.key, previous.conf, previous.timestamp
    )
    return {
        decode_text(cells, "main:id"): (
            decode_float(cells, "main:x"),
            decode_float(cells, "main:y"),
        )
        for _, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id", "main:x", "main:y"])
        if "main:x" in cells
    }


def _find_coarser_level(levels: Sequence[Level], level: Level) -> int | None:
    """The number of the next coarser level."""
    counts = {len(one.clusters): at for at, one in reversed(list(enumerate(levels)))}
    above = max((count for count in counts if count < len(level.clusters)), default=None)
    return None if above is None else counts[above]


def iter_batches(placements: Iterator[PlacedDocument]) -> Iterator[list[PlacedDocument]]:
    """So many places as are written at once."""
    while batch := list(islice(placements, DOCUMENT_BATCH)):
        yield batch
