"""Model stored with a clustering and read again to assign documents added later to its clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import Clustering, FinerLevel, Level, PlacementModel
from fonds.grouping.algorithms.space import VectorSpace
from fonds.grouping.algorithms.term_counts import compute_idf
from fonds.grouping.columns import Column
from fonds.grouping.configuration import Configuration, parse_configuration
from fonds.grouping.names import CollectionName, build_level_conf
from fonds.grouping.stored.chunks import CHUNKS_MAX, build_chunk_column
from fonds.grouping.stored.dictionary import decode_dictionary, encode_dictionary
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.stored.matrices import decode_matrix, encode_matrix
from fonds.grouping.stored.packing import build_damaged_error
from fonds.grouping.tables import CLUSTERINGS, Cells, Tables, decode_cell, encode_json
from fonds.model.errors import DamagedRowError

_CHUNK_BATCH = 8
_HEAD = slice(4, 8)


@dataclass(frozen=True, slots=True)
class ClusteringModel:
    """Model of a stored clustering that can assign documents added later to its clusters.

    `conf`, `timestamp`: configuration and rebuild time of the clustering.
    `model`: dictionary, weights, vector space and centroids.
    `places`: for each first-level cluster, the (level name, label) pairs of the cluster itself and
        of its coarser clusters, the first level first.
    `finer`: for each level finer than the first, in the order of `model.finer`, its name and the
        labels of its clusters.
    `configuration`: the configuration that the clustering was built with.
    `term_set`: the terms of the dictionary.
    """

    conf: str
    timestamp: int
    model: PlacementModel
    places: tuple[tuple[tuple[str, str], ...], ...]
    finer: tuple[tuple[str, tuple[str, ...]], ...]
    configuration: Configuration
    term_set: frozenset[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _ModelNumbers:
    """Fields of a stored clustering model that are not matrices; stored as JSON in one cell.

    `of_terms`: number of dimensions of the vector space that come from the vectors of terms.
    `dense`: length of the dense vectors; 0 if the model uses none.
    `language`: two-letter language of texts that state none.
    `places`: for each first-level cluster, the (level name, label) pairs of itself and of its
        coarser clusters, the first level first.
    `finer`: for each level finer than the first, its number, the labels of its clusters, and the
        number of the first-level cluster that each belongs to.
    """

    of_terms: int
    dense: int
    language: str
    places: tuple[tuple[tuple[str, str], ...], ...]
    finer: tuple[tuple[int, tuple[str, ...], tuple[int, ...]], ...] = ()


def write_model(
    tables: Tables,
    name: CollectionName,
    conf: str,
    timestamp: int,
    result: Clustering,
    labels: Sequence[Sequence[str]],
) -> None:
    """Write the model of a clustering to the clustering's row.

    `labels`: for each level, the labels of its clusters.
    """
    model = result.model
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    values = {
        Column.DICTIONARY: encode_dictionary(model.dictionary),
        Column.DIRECTIONS: encode_matrix(model.space.directions, timestamp),
        Column.CENTROIDS: encode_matrix(model.centroids, timestamp),
        Column.REACH: encode_matrix(model.score_minimums.reshape(-1, 1), timestamp),
    }
    if model.evidence is not None:
        values[Column.EVIDENCE] = encode_matrix(model.evidence, timestamp)
    for finer_level in model.finer:
        values[_centroids_column(finer_level.level)] = encode_matrix(
            finer_level.centroids, timestamp
        )
    for first, chunks in values.items():
        write_chunks(tables, CLUSTERINGS, row, first, chunks)
    numbers = _ModelNumbers(
        model.space.term_dimensions,
        model.space.dense,
        model.language,
        build_paths(conf, result.levels, labels),
        tuple(
            (
                finer_item.level,
                tuple(labels[finer_item.level]),
                tuple(finer_item.coarser_clusters.tolist()),
            )
            for finer_item in model.finer
        ),
    )
    tables.put(CLUSTERINGS, [(row, {Column.MODEL: encode_json(numbers)})])


def read_model(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> ClusteringModel | None:
    """Read the model that assigns documents added later to the clusters of a clustering.

    Return None if the clustering has no model or no longer exists.
    Raises DamagedInputError if the stored model is damaged.
    """
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.get_row(CLUSTERINGS, row, [Column.MODEL, Column.CONFIGURATION])
    if cells is None or Column.MODEL not in cells:
        return None
    numbers = _parse_numbers(cells)

    def load_chunks(first: str) -> list[bytes]:
        return get_chunks(tables, CLUSTERINGS, row, first)

    dictionary = decode_dictionary(load_chunks(Column.DICTIONARY))
    directions, _ = decode_matrix(load_chunks(Column.DIRECTIONS))
    evidence = load_chunks(Column.EVIDENCE)
    model = PlacementModel(
        dictionary,
        compute_idf(dictionary.documents, dictionary.document_counts),
        VectorSpace(directions, numbers.of_terms, numbers.dense),
        decode_matrix(load_chunks(Column.CENTROIDS))[0],
        decode_matrix(load_chunks(Column.REACH))[0].reshape(-1),
        decode_matrix(evidence)[0] if evidence else None,
        numbers.language,
        tuple(
            FinerLevel(
                level,
                decode_matrix(load_chunks(_centroids_column(level)))[0],
                np.array(parents, np.int64),
            )
            for level, _, parents in numbers.finer
        ),
    )
    finer = tuple((build_level_conf(conf, level), labels) for level, labels, _ in numbers.finer)
    terms = frozenset(dictionary.terms)
    return ClusteringModel(
        conf, timestamp, model, numbers.places, finer, parse_configuration(cells), terms
    )


def _centroids_column(level: int) -> str:
    """Return the name of the column with the cluster centroids of a level (granularity).

    The first level is 0.
    """
    return f"{Column.CENTROIDS}_{level}" if level else Column.CENTROIDS


@dataclass(frozen=True, slots=True)
class ClusterCentroids:
    """Labels and centroids of the clusters on one level of a clustering.

    `centroids`: clusters x dimensions of the vector space, in the order of `labels`.
    """

    labels: tuple[str, ...]
    centroids: NDArray[np.float32]


def read_centroids(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, level: int = 0
) -> ClusterCentroids | None:
    """Read the labels and centroids of one level from a stored model, without its other matrices.

    Return None if the model no longer exists or has no centroids for this level.
    Raises DamagedInputError if the stored centroids are damaged.
    """
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.get_row(CLUSTERINGS, row, [Column.MODEL])
    if cells is None:
        return None
    numbers = _parse_numbers(cells)
    finer = {number: labels for number, labels, _ in numbers.finer}
    labels = (
        finer.get(level) if level else tuple(cluster_path[0][1] for cluster_path in numbers.places)
    )
    if labels is None:
        return None
    centroids, _ = decode_matrix(get_chunks(tables, CLUSTERINGS, row, _centroids_column(level)))
    return ClusterCentroids(labels, centroids)


def build_paths(
    conf: str, levels: Sequence[Level], labels: Sequence[Sequence[str]]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return for each first-level cluster the path from the cluster to its coarsest ancestor.

    A path is a tuple of (level name, label) pairs. It begins with the cluster itself.
    `labels`: for each level, the labels of its clusters.
    """
    by_count = {
        len(level.clusters): position for position, level in reversed(list(enumerate(levels)))
    }
    paths = []
    for first in range(len(levels[0].clusters)):
        level, cluster, path = 0, first, [(build_level_conf(conf, 0), labels[0][first])]
        for _ in range(len(levels)):
            parent = levels[level].clusters[cluster].parent
            coarser = [count for count in by_count if count < len(levels[level].clusters)]
            if parent is None or not coarser:
                break
            level, cluster = by_count[max(coarser)], parent
            path.append((build_level_conf(conf, level), labels[level][cluster]))
        paths.append(tuple(path))
    return tuple(paths)


def write_chunks(
    tables: Tables, table: str, row: bytes, first: str, chunks: Sequence[bytes]
) -> None:
    """Write a value to a row as numbered chunks, one cell each.

    Also delete the next eight chunk cells, which a longer earlier value may have left.
    `first`: column of the first chunk.
    """
    for number, chunk in enumerate(chunks):
        tables.put(table, [(row, {build_chunk_column(first, number): chunk})])
    leftover_columns = [
        build_chunk_column(first, number)
        for number in range(len(chunks), len(chunks) + _CHUNK_BATCH)
    ]
    tables.delete(table, [row], leftover_columns)


def _parse_numbers(cells: Cells) -> _ModelNumbers:
    try:
        numbers: _ModelNumbers = decode_cell(cells[Column.MODEL], Column.MODEL, _ModelNumbers)
    except DamagedRowError as error:
        raise build_damaged_error(str(error)) from None
    return numbers


def get_chunks(tables: Tables, table: str, row: bytes, first: str) -> list[bytes]:
    """Return the chunks of a value that a row stores in several cells, in order.

    Return an empty list if the value does not exist. The first chunk states the number of chunks.
    Missing chunks are skipped; `join_chunks` detects them.
    `first`: column of the first chunk.
    """
    cells = tables.get_row(table, row, [first])
    if cells is None or first not in cells:
        return []
    chunks = [cells[first]]
    count = min(int.from_bytes(chunks[0][_HEAD], "big"), CHUNKS_MAX)
    for start in range(1, count, _CHUNK_BATCH):
        columns = [
            build_chunk_column(first, column)
            for column in range(start, min(start + _CHUNK_BATCH, count))
        ]
        row_cells = tables.get_row(table, row, columns) or {}
        chunks += [row_cells[column] for column in columns if column in row_cells]
    return chunks
