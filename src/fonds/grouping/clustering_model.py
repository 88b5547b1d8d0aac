"""The model of a clustering as it is stored beside it, and read again to place documents that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from fonds.grouping.algorithms.clustering import Clustering, FinerLevel, Level, PlacementModel
from fonds.grouping.algorithms.space import VectorSpace
from fonds.grouping.algorithms.term_counts import compute_idf
from fonds.grouping.configuration import Configuration, build_configuration
from fonds.grouping.names import CollectionName, build_level_conf
from fonds.grouping.stored.chunks import CHUNKS_MAX, build_chunk_column
from fonds.grouping.stored.dictionary import decode_dictionary, encode_dictionary
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.stored.matrices import decode_matrix, encode_matrix
from fonds.grouping.tables import CLUSTERINGS, Cells, Tables, decode_text, encode_json
from fonds.model.encoding import prepare_type

DIRECTIONS = "processing:directions"
CENTROIDS = "processing:centroids"
REACH = "processing:reach"
EVIDENCE = "processing:evidence"
DICTIONARY = "processing:dictionary"
NUMBERS = "processing:model"
_CHUNK_BATCH = 8
_HEAD = slice(4, 8)


@dataclass(frozen=True, slots=True)
class ClusteringModel:
    """A clustering that takes later documents.

    `places`: for each cluster of the first level the (level's name, label) it stands for on every level
    above it, the first level's own first. `finer`: of each level below, as in the model, its name and the
    labels of its clusters. `term_set`: those of the dictionary.
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
    """What of a model is no matrix."""

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
    """Write the model of a clustering into its row; `labels` of the clusters of each level."""
    model = result.model
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    values = {
        DICTIONARY: encode_dictionary(model.dictionary),
        DIRECTIONS: encode_matrix(model.space.directions, timestamp),
        CENTROIDS: encode_matrix(model.centroids, timestamp),
        REACH: encode_matrix(model.reach.reshape(-1, 1), timestamp),
    }
    if model.evidence is not None:
        values[EVIDENCE] = encode_matrix(model.evidence, timestamp)
    for below in model.finer:
        values[_centroids_column(below.level)] = encode_matrix(below.centroids, timestamp)
    for first, chunks in values.items():
        write_chunks(tables, CLUSTERINGS, row, first, chunks)
    numbers = _ModelNumbers(
        model.space.term_dimensions,
        model.space.dense,
        model.language,
        build_paths(conf, result.levels, labels),
        tuple(
            (one.level, tuple(labels[one.level]), tuple(one.above.tolist())) for one in model.finer
        ),
    )
    tables.put(CLUSTERINGS, [(row, {NUMBERS: encode_json(numbers)})])


def read_model(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> ClusteringModel | None:
    """The clustering with its model; None where it is gone. Raises DamagedInputError."""
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.get_row(CLUSTERINGS, row, [NUMBERS, "main:configuration"])
    if cells is None or NUMBERS not in cells:
        return None
    numbers = msgspec.json.decode(cells[NUMBERS], type=prepare_type(_ModelNumbers))

    def chunks(first: str) -> list[bytes]:
        return get_chunks(tables, CLUSTERINGS, row, first)

    dictionary = decode_dictionary(chunks(DICTIONARY))
    directions, _ = decode_matrix(chunks(DIRECTIONS))
    evidence = chunks(EVIDENCE)
    model = PlacementModel(
        dictionary,
        compute_idf(dictionary.documents, dictionary.document_counts),
        VectorSpace(directions, numbers.of_terms, numbers.dense),
        decode_matrix(chunks(CENTROIDS))[0],
        decode_matrix(chunks(REACH))[0].reshape(-1),
        decode_matrix(evidence)[0] if evidence else None,
        numbers.language,
        tuple(
            FinerLevel(
                level, decode_matrix(chunks(_centroids_column(level)))[0], np.array(above, np.int64)
            )
            for level, _, above in numbers.finer
        ),
    )
    finer = tuple((build_level_conf(conf, level), labels) for level, labels, _ in numbers.finer)
    terms = frozenset(dictionary.terms)
    return ClusteringModel(
        conf, timestamp, model, numbers.places, finer, parse_configuration(cells), terms
    )


def _centroids_column(level: int) -> str:
    """The column with the middles of a level's clusters."""
    return f"{CENTROIDS}_{level}" if level else CENTROIDS


@dataclass(frozen=True, slots=True)
class ClusterCentroids:
    """The clusters of a level by label, and the middle of each: `centroids` is clusters x directions."""

    labels: tuple[str, ...]
    centroids: NDArray[np.float32]


def read_middles(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, level: int = 0
) -> ClusterCentroids | None:
    """Of a model the middles of a level alone; None where it is gone, or has none of that level. Raises
    DamagedInputError."""
    row = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.get_row(CLUSTERINGS, row, [NUMBERS])
    if cells is None:
        return None
    numbers = msgspec.json.decode(cells[NUMBERS], type=prepare_type(_ModelNumbers))
    finer = {number: labels for number, labels, _ in numbers.finer}
    labels = finer.get(level) if level else tuple(one[0][1] for one in numbers.places)
    if labels is None:
        return None
    middles, _ = decode_matrix(get_chunks(tables, CLUSTERINGS, row, _centroids_column(level)))
    return ClusterCentroids(labels, middles)


def parse_configuration(cells: Cells) -> Configuration:
    """What a clustering was built by, as its row tells."""
    told = decode_text(cells, "main:configuration", "{}")
    return build_configuration(msgspec.json.decode(told))


def build_paths(
    conf: str, levels: Sequence[Level], labels: Sequence[Sequence[str]]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """For each cluster of the first level itself and those above it, level by level."""
    by_count = {len(level.clusters): at for at, level in reversed(list(enumerate(levels)))}
    found = []
    for first in range(len(levels[0].clusters)):
        level, cluster, above = 0, first, [(build_level_conf(conf, 0), labels[0][first])]
        for _ in range(len(levels)):
            parent = levels[level].clusters[cluster].parent
            coarser = [count for count in by_count if count < len(levels[level].clusters)]
            if parent is None or not coarser:
                break
            level, cluster = by_count[max(coarser)], parent
            above.append((build_level_conf(conf, level), labels[level][cluster]))
        found.append(tuple(above))
    return tuple(found)


def write_chunks(
    tables: Tables, table: str, row: bytes, first: str, chunks: Sequence[bytes]
) -> None:
    """Write a value in chunks, those behind its last one removed."""
    for at, chunk in enumerate(chunks):
        tables.put(table, [(row, {build_chunk_column(first, at): chunk})])
    behind = [
        build_chunk_column(first, at) for at in range(len(chunks), len(chunks) + _CHUNK_BATCH)
    ]
    tables.delete(table, [row], behind)


def get_chunks(tables: Tables, table: str, row: bytes, first: str) -> list[bytes]:
    """The chunks of a value in order; empty where there is none. Which belong together they say
    themselves."""
    cells = tables.get_row(table, row, [first])
    if cells is None or first not in cells:
        return []
    found = [cells[first]]
    count = min(int.from_bytes(found[0][_HEAD], "big"), CHUNKS_MAX)
    for at in range(1, count, _CHUNK_BATCH):
        names = [build_chunk_column(first, one) for one in range(at, min(at + _CHUNK_BATCH, count))]
        some = tables.get_row(table, row, names) or {}
        found += [some[one] for one in names if one in some]
    return found
