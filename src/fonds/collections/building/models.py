"""The model of a clustering as it is stored beside it, and read again to place documents that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from fonds.collections.configurations import Configuration, configuration
from fonds.collections.names import Name, level_conf
from fonds.collections.tables import CLUSTERINGS, Cells, Tables, text, to_json
from fonds.formats.grouping.chunks import CHUNKS_MAX, column
from fonds.formats.grouping.dictionary import from_dictionary, to_dictionary
from fonds.formats.grouping.keys import clustering_prefix
from fonds.formats.grouping.matrices import from_matrix, to_matrix
from fonds.grouping.clustering import Clustering, Finer, Level, Model
from fonds.grouping.space.projecting import Space
from fonds.grouping.space.weighting import idf
from fonds.model.prepared import prepared

DIRECTIONS = "processing:directions"
CENTROIDS = "processing:centroids"
REACH = "processing:reach"
EVIDENCE = "processing:evidence"
DICTIONARY = "processing:dictionary"
NUMBERS = "processing:model"
_AT_ONCE = 8
_HEAD = slice(4, 8)


@dataclass(frozen=True, slots=True)
class Served:
    """A clustering that takes later documents.

    `places`: for each cluster of the first level the (level's name, label) it stands for on every level
    above it, the first level's own first. `finer`: of each level below, as in the model, its name and the
    labels of its clusters. `known_terms`: those of the dictionary.
    """

    conf: str
    timestamp: int
    model: Model
    places: tuple[tuple[tuple[str, str], ...], ...]
    finer: tuple[tuple[str, tuple[str, ...]], ...]
    configuration: Configuration
    known_terms: frozenset[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What of a model is no matrix."""

    of_terms: int
    dense: int
    language: str
    places: tuple[tuple[tuple[str, str], ...], ...]
    finer: tuple[tuple[int, tuple[str, ...], tuple[int, ...]], ...] = ()


def put_model(
    tables: Tables,
    name: Name,
    conf: str,
    timestamp: int,
    made: Clustering,
    labels: Sequence[Sequence[str]],
) -> None:
    """Write the model of a clustering into its row; `labels` of the clusters of each level."""
    model = made.model
    row = clustering_prefix(name.namespace, name.key, conf, timestamp)
    values = {
        DICTIONARY: to_dictionary(model.dictionary),
        DIRECTIONS: to_matrix(model.space.directions, timestamp),
        CENTROIDS: to_matrix(model.centroids, timestamp),
        REACH: to_matrix(model.reach.reshape(-1, 1), timestamp),
    }
    if model.evidence is not None:
        values[EVIDENCE] = to_matrix(model.evidence, timestamp)
    for below in model.finer:
        values[_centroids(below.level)] = to_matrix(below.centroids, timestamp)
    for first, chunks in values.items():
        put_chunks(tables, CLUSTERINGS, row, first, chunks)
    numbers = _Numbers(
        model.space.of_terms,
        model.space.dense,
        model.language,
        places(conf, made.levels, labels),
        tuple(
            (one.level, tuple(labels[one.level]), tuple(one.above.tolist())) for one in model.finer
        ),
    )
    tables.put(CLUSTERINGS, [(row, {NUMBERS: to_json(numbers)})])


def read_model(tables: Tables, name: Name, conf: str, timestamp: int) -> Served | None:
    """The clustering with its model; None where it is gone. Raises DamagedInputError."""
    row = clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.row(CLUSTERINGS, row, [NUMBERS, "main:configuration"])
    if cells is None or NUMBERS not in cells:
        return None
    numbers = msgspec.json.decode(cells[NUMBERS], type=prepared(_Numbers))

    def chunks(first: str) -> list[bytes]:
        return get_chunks(tables, CLUSTERINGS, row, first)

    dictionary = from_dictionary(chunks(DICTIONARY))
    directions, _ = from_matrix(chunks(DIRECTIONS))
    evidence = chunks(EVIDENCE)
    model = Model(
        dictionary,
        idf(dictionary.documents, dictionary.document_counts),
        Space(directions, numbers.of_terms, numbers.dense),
        from_matrix(chunks(CENTROIDS))[0],
        from_matrix(chunks(REACH))[0].reshape(-1),
        from_matrix(evidence)[0] if evidence else None,
        numbers.language,
        tuple(
            Finer(level, from_matrix(chunks(_centroids(level)))[0], np.array(above, np.int64))
            for level, _, above in numbers.finer
        ),
    )
    finer = tuple((level_conf(conf, level), labels) for level, labels, _ in numbers.finer)
    terms = frozenset(dictionary.terms)
    return Served(conf, timestamp, model, numbers.places, finer, configuration_of(cells), terms)


def _centroids(level: int) -> str:
    """The column with the middles of a level's clusters."""
    return f"{CENTROIDS}_{level}" if level else CENTROIDS


@dataclass(frozen=True, slots=True)
class Middles:
    """The clusters of a level by label, and the middle of each: `middles` is clusters x directions."""

    labels: tuple[str, ...]
    middles: NDArray[np.float32]


def read_middles(
    tables: Tables, name: Name, conf: str, timestamp: int, level: int = 0
) -> Middles | None:
    """Of a model the middles of a level alone; None where it is gone, or has none of that level. Raises
    DamagedInputError."""
    row = clustering_prefix(name.namespace, name.key, conf, timestamp)
    cells = tables.row(CLUSTERINGS, row, [NUMBERS])
    if cells is None:
        return None
    numbers = msgspec.json.decode(cells[NUMBERS], type=prepared(_Numbers))
    finer = {number: labels for number, labels, _ in numbers.finer}
    labels = finer.get(level) if level else tuple(one[0][1] for one in numbers.places)
    if labels is None:
        return None
    middles, _ = from_matrix(get_chunks(tables, CLUSTERINGS, row, _centroids(level)))
    return Middles(labels, middles)


def configuration_of(cells: Cells) -> Configuration:
    """What a clustering was built by, as its row tells."""
    told = text(cells, "main:configuration", "{}")
    return configuration(msgspec.json.decode(told))


def places(
    conf: str, levels: Sequence[Level], labels: Sequence[Sequence[str]]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """For each cluster of the first level itself and those above it, level by level."""
    by_count = {len(level.clusters): at for at, level in reversed(list(enumerate(levels)))}
    found = []
    for first in range(len(levels[0].clusters)):
        level, cluster, above = 0, first, [(level_conf(conf, 0), labels[0][first])]
        for _ in range(len(levels)):
            parent = levels[level].clusters[cluster].parent
            coarser = [count for count in by_count if count < len(levels[level].clusters)]
            if parent is None or not coarser:
                break
            level, cluster = by_count[max(coarser)], parent
            above.append((level_conf(conf, level), labels[level][cluster]))
        found.append(tuple(above))
    return tuple(found)


def put_chunks(tables: Tables, table: str, row: bytes, first: str, chunks: Sequence[bytes]) -> None:
    """Write a value in chunks, those behind its last one removed."""
    for at, chunk in enumerate(chunks):
        tables.put(table, [(row, {column(first, at): chunk})])
    behind = [column(first, at) for at in range(len(chunks), len(chunks) + _AT_ONCE)]
    tables.delete(table, [row], behind)


def get_chunks(tables: Tables, table: str, row: bytes, first: str) -> list[bytes]:
    """The chunks of a value in order; empty where there is none. Which belong together they say
    themselves."""
    cells = tables.row(table, row, [first])
    if cells is None or first not in cells:
        return []
    found = [cells[first]]
    count = min(int.from_bytes(found[0][_HEAD], "big"), CHUNKS_MAX)
    for at in range(1, count, _AT_ONCE):
        names = [column(first, one) for one in range(at, min(at + _AT_ONCE, count))]
        some = tables.row(table, row, names) or {}
        found += [some[one] for one in names if one in some]
    return found
