"""Rows of a new clustering: its clusters, and the placement of each document.

Readers see neither until the clustering is published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import Cluster, Clustering, Level, UnclusteredReason
from fonds.grouping.algorithms.duplicates import EMPTY
from fonds.grouping.algorithms.partition import NO_CLUSTER
from fonds.grouping.changes.cells import build_cluster_key, join_cells
from fonds.grouping.checksums import build_checksum_cell
from fonds.grouping.clustering import REASONS, Placement, StoredClustering
from fonds.grouping.columns import Column
from fonds.grouping.names import build_level_conf, build_unclustered_conf
from fonds.grouping.rebuild.reader import Corpus
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import (
    CLUSTERS,
    Tables,
    decode_float,
    decode_text,
    encode_json,
    encode_utf8,
    format_score,
)

# Positions of clusters on a map: clusters with close centroids are close on the map, and previous
# clusters stay near their previous position
#
# Source: classical multidimensional scaling (W. S. Torgerson, 1952) and orthogonal Procrustes (P.
# H. Schönemann, 1966). Limits: 2,000 clusters of 600 dimensions.


Positions = NDArray[np.float64]


def compute_positions(
    centroids: NDArray[np.float32],
    ids: Sequence[str],
    previous_positions: Mapping[str, tuple[float, float]],
) -> Positions:
    """Return the position of each cluster on a map: clusters x 2, coordinates between -1 and 1.

    Clusters with close centroids are close on the map. The map is rotated and mirrored so that
    clusters stay as close as possible to their previous positions.
    `centroids`: clusters x dimensions.
    `ids`: id of each cluster.
    `previous_positions`: positions in the previous clustering, by cluster id.
    """
    count = len(centroids)
    if count == 0:
        return np.zeros((0, 2))
    centered_centroids = centroids.astype(np.float64) - centroids.mean(axis=0, dtype=np.float64)
    left_vectors, strengths, _ = np.linalg.svd(centered_centroids, full_matrices=False)
    positions = np.zeros((count, 2))
    rank = min(2, len(strengths))
    positions[:, :rank] = left_vectors[:, :rank] * strengths[:rank]
    known_numbers = [number for number, id_ in enumerate(ids) if id_ in previous_positions]
    if len(known_numbers) > 1:
        positions = _rotate_to_match(
            positions,
            known_numbers,
            np.array([previous_positions[ids[number]] for number in known_numbers]),
        )
    largest = float(np.abs(positions).max())
    return positions / largest if largest > 0 else positions


def _rotate_to_match(flat: Positions, kept_numbers: Sequence[int], target: Positions) -> Positions:
    known_positions = flat[kept_numbers]
    left_vectors, _, right_vectors = np.linalg.svd(
        (known_positions - known_positions.mean(axis=0)).T @ (target - target.mean(axis=0))
    )
    rotated_positions: Positions = flat @ (left_vectors @ right_vectors)
    return rotated_positions


DOCUMENT_BATCH = 1000
_REASONS = {UnclusteredReason.EMPTY: "empty", UnclusteredReason.OUTLIER: "outlier"}


def build_labels(level: Level) -> list[str]:
    """Return a unique label for each cluster of a level.

    A cluster without a label gets its id. A repeated label gets a number appended.
    """
    used_labels: set[str] = set()
    labels = []
    for cluster in level.clusters:
        label = base_label = cluster.label.strip() or cluster.id
        suffix = 2
        while label in used_labels:
            label, suffix = f"{base_label} ({suffix})", suffix + 1
        used_labels.add(label)
        labels.append(label)
    return labels


PlacedDocument = tuple[str, Placement]
"""Id of a document, and its placement on one level of a clustering or as unclustered."""


def write_rows(
    tables: Tables,
    clustering: StoredClustering,
    read: Corpus,
    result: Clustering,
    labels: Sequence[Sequence[str]],
    previous: StoredClustering | None,
) -> Iterator[PlacedDocument]:
    """Write rows for the clusters of all levels, and for each reason why documents are unclustered.

    Return an iterator over the placements of documents, which `write_placements` must write.
    `read`: the documents that were read.
    `result`: the new clustering.
    `labels`: for each level, the labels of its clusters.
    `previous`: previously served clustering, whose map positions are continued; None if there is
        none.
    """
    positions = _load_previous_positions(tables, previous)
    for number, level in enumerate(result.levels):
        _write_clusters(tables, clustering, number, result, level, labels, positions)
    unclustered_reasons = _find_unclustered(read, result)
    _write_unclustered(tables, clustering, unclustered_reasons)
    return _iter_placements(clustering, read, result, labels, unclustered_reasons)


def write_placements(
    tables: Tables,
    clustering: StoredClustering,
    placements: Iterator[PlacedDocument],
    progress: Callable[[int], None],
) -> None:
    """Write the placements of documents in a new clustering, in batches.

    `progress`: function that is called after each batch with the number of placements written.
    """
    n_written = 0
    for batch in iter_batches(placements):
        write_batch(tables, clustering, batch)
        n_written += len(batch)
        progress(n_written)


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
    positions = compute_positions(result.model.centroids, ids, map_positions) if first else None
    coarser_level = _find_coarser_level(result.levels, level)
    rows = []
    for position, cluster in enumerate(level.clusters):
        cells = _build_cluster_cells(clustering, number, cluster, labels[number][position])
        if coarser_level is not None and cluster.parent is not None:
            cells[Column.PARENT] = encode_utf8(labels[coarser_level][cluster.parent])
            cells[Column.PARENT_LEVEL] = encode_utf8(coarser_level)
        if positions is not None:
            cells[Column.X], cells[Column.Y] = (
                f"{value:.4f}".encode() for value in positions[position]
            )
        row = build_cluster_key(
            clustering.name, conf, clustering.timestamp, labels[number][position]
        )
        rows.append((row, cells | build_checksum_cell(CLUSTERS, row, cells)))
    tables.put(CLUSTERS, rows)


def _build_cluster_cells(
    clustering: StoredClustering, level: int, cluster: Cluster, label: str
) -> dict[str, bytes]:
    return {
        **_build_head_cells(clustering, label, cluster.size),
        Column.LEVEL: encode_utf8(level),
        Column.ID: encode_utf8(cluster.id),
        Column.DISTINCT: encode_utf8(cluster.distinct),
        Column.TERMS: encode_json([[term, round(score, 2)] for term, score in cluster.terms]),
    }


def _build_head_cells(clustering: StoredClustering, label: str, size: int) -> dict[str, bytes]:
    return {
        Column.NAMESPACE: encode_utf8(clustering.name.namespace),
        Column.COLLECTION_KEY: encode_utf8(clustering.name.key),
        Column.CONF: encode_utf8(clustering.conf),
        Column.TIMESTAMP: encode_utf8(clustering.timestamp),
        Column.LABEL: encode_utf8(label),
        Column.SIZE: encode_utf8(size),
    }


def _write_unclustered(
    tables: Tables, clustering: StoredClustering, unclustered_reasons: Mapping[str, str]
) -> None:
    reasons = list(unclustered_reasons.values())
    conf, rows = build_unclustered_conf(clustering.conf), []
    for reason in REASONS:
        row = build_cluster_key(clustering.name, conf, clustering.timestamp, reason)
        cells = _build_head_cells(clustering, reason, reasons.count(reason))
        rows.append((row, cells | build_checksum_cell(CLUSTERS, row, cells)))
    tables.put(CLUSTERS, rows)


def _find_unclustered(read: Corpus, result: Clustering) -> dict[str, str]:
    """Return the reason why a document is in no first-level cluster, by document id.

    Documents in a cluster are left out.
    """
    reasons = dict(read.unclustered)
    for position, member in enumerate(result.levels[0].members.tolist()):
        if member == NO_CLUSTER:
            is_empty = result.originals[position] == EMPTY
            reasons[read.ids[position]] = _REASONS[
                UnclusteredReason.EMPTY if is_empty else UnclusteredReason.OUTLIER
            ]
    return reasons


def _iter_placements(
    clustering: StoredClustering,
    read: Corpus,
    result: Clustering,
    labels: Sequence[Sequence[str]],
    unclustered_reasons: Mapping[str, str],
) -> Iterator[PlacedDocument]:
    originals = result.originals.tolist()
    for number, level in enumerate(result.levels):
        conf = build_level_conf(clustering.conf, number)
        scores = level.scores.tolist()
        for position, member in enumerate(level.members.tolist()):
            if member != NO_CLUSTER:
                original = "" if originals[position] == position else read.ids[originals[position]]
                score = format_score(scores[position])
                yield read.ids[position], Placement(conf, labels[number][member], score, original)
    for id_, reason in unclustered_reasons.items():
        yield id_, Placement(build_unclustered_conf(clustering.conf), reason, format_score(0.0))


def write_batch(
    tables: Tables, clustering: StoredClustering, batch: Sequence[PlacedDocument]
) -> None:
    """Write the placements of some documents to the tables of members, assignments and clusters."""
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
        decode_text(cells, Column.ID): (
            decode_float(cells, Column.X),
            decode_float(cells, Column.Y),
        )
        for _, cells in tables.iter_rows(CLUSTERS, prefix, [Column.ID, Column.X, Column.Y])
        if Column.X in cells
    }


def _find_coarser_level(levels: Sequence[Level], level: Level) -> int | None:
    """Return the number of the next coarser level of a clustering; None for the coarsest.

    It is the level with the most clusters among those with fewer clusters than `level`.
    """
    counts = {
        len(candidate.clusters): number for number, candidate in reversed(list(enumerate(levels)))
    }
    parent_count = max((count for count in counts if count < len(level.clusters)), default=None)
    return None if parent_count is None else counts[parent_count]


def iter_batches(placements: Iterator[PlacedDocument]) -> Iterator[list[PlacedDocument]]:
    """Split placements of documents into lists of at most 1,000, which are written at once."""
    while batch := list(islice(placements, DOCUMENT_BATCH)):
        yield batch
