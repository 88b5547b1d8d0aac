"""Stored clusterings of a collection: their rows, which one is served, and placements.

Each clustering is numbered by the time of its rebuild.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fonds.grouping.names import CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import (
    build_clustering_prefix,
    parse_clustering_row,
)
from fonds.grouping.tables import CLUSTERINGS, Cells, Tables, decode_int

if TYPE_CHECKING:
    from fonds.grouping.clustering_model import ClusteringModel


DROPPED = "main:dropped"
"""Column that is set before the rows of a clustering are deleted.

From then on, all other code ignores the clustering.
"""

COLUMNS = (
    "main:conf",
    "main:stage",
    "main:levels",
    "main:documents",
    "main:outliers",
    "main:later",
    "main:later_outliers",
    "main:later_terms",
    "main:later_unknown",
    "main:terms",
    "main:unknown",
    DROPPED,
)


@dataclass(frozen=True, slots=True)
class StoredClustering:
    """Clustering as stored in its row. `levels` is 0 while it is being built."""

    name: CollectionName
    conf: str
    timestamp: int
    levels: int
    cells: Cells

    @property
    def row(self) -> bytes:
        """Row key in `clusterings`."""
        return build_clustering_prefix(
            self.name.namespace, self.name.key, self.conf, self.timestamp
        )

    def iter_level_confs(self) -> Iterator[str]:
        """Iterate over the configuration part of the row keys.

        There is one for each level, then one for unclustered documents.
        """
        for level in range(self.levels):
            yield build_level_conf(self.conf, level)
        yield build_unclustered_conf(self.conf)


REBUILT, BUILDING = "rebuilt", "building"
_BEGIN = "main:configuration:"


def build_column(conf: str, field: str) -> str:
    """Return a collection's column for a field of a configuration."""
    return f"{_BEGIN}{conf}:{field}"


def group_by_configuration(collection: Cells, field: str) -> dict[str, int]:
    """Return the value of a field for each configuration that has it in a collection's row."""
    suffix = f":{field}"
    return {
        name[len(_BEGIN) : -len(suffix)]: decode_int(collection, name)
        for name, value in collection.items()
        if name.startswith(_BEGIN) and name.endswith(suffix) and value
    }


def served_column(conf: str) -> str:
    """Return the column with the timestamp of the clustering that readers see by default.

    Writing this one cell makes a new clustering visible.
    """
    return build_column(conf, REBUILT)


def processed_column(conf: str) -> str:
    """Return the column with the time a document was last assigned by a configuration."""
    return build_column(conf, "processed")


def building_column(conf: str) -> str:
    """Return the column with the clustering of a configuration that is being built."""
    return build_column(conf, BUILDING)


def settled_column(conf: str) -> str:
    """Return the column with the clustering whose placements are in all documents' rows."""
    return build_column(conf, "settled")


def list_stored_clusterings(tables: Tables, name: CollectionName) -> list[StoredClustering]:
    """Return all clusterings of a collection: served, kept or being built.

    The oldest is first per configuration.
    """
    return [
        clustering
        for clustering in list_all_stored_clusterings(tables, name)
        if DROPPED not in clustering.cells
    ]


def list_all_stored_clusterings(tables: Tables, name: CollectionName) -> list[StoredClustering]:
    """Return all clusterings of a collection, including those being removed."""
    clusterings = []
    for row, cells in tables.iter_rows(CLUSTERINGS, name.row, COLUMNS):
        _, _, conf, timestamp = parse_clustering_row(row)
        clusterings.append(
            StoredClustering(name, conf, timestamp, decode_int(cells, "main:levels"), cells)
        )
    return clusterings


def filter_ready(clusterings: list[StoredClustering], collection: Cells) -> list[StoredClustering]:
    """Return the clusterings that are served, or were served before the current one."""
    return [
        clustering
        for clustering in clusterings
        if clustering.timestamp <= decode_int(collection, served_column(clustering.conf))
    ]


def is_served(clustering: StoredClustering, collection: Cells) -> bool:
    """Return whether readers see this clustering by default."""
    return clustering.timestamp == decode_int(collection, served_column(clustering.conf), -1)


def list_served_configurations(collection: Cells) -> dict[str, int]:
    """Return the configurations with a served clustering in a collection, with its timestamp."""
    return group_by_configuration(collection, REBUILT)


class ModelCache:
    """Cache of at most `count_max` models of served clusterings, per collection and configuration."""

    def __init__(self, count_max: int = 16) -> None:
        self._count_max = count_max
        self._models: dict[tuple[CollectionName, str], ClusteringModel] = {}
        self._lock = threading.Lock()

    def get(self, tables: Tables, clustering: StoredClustering) -> ClusteringModel | None:
        """Return the model of a clustering; None if it no longer exists."""
        # Loads numpy.
        from fonds.grouping.clustering_model import read_model

        key = (clustering.name, clustering.conf)
        with self._lock:
            model = self._models.pop(key, None)
            if model is None or model.timestamp != clustering.timestamp:
                model = read_model(tables, clustering.name, clustering.conf, clustering.timestamp)
            if model is not None:
                self._models[key] = model
            while len(self._models) > self._count_max:
                self._models.pop(next(iter(self._models)))
        return model


# Placement of a document in a cluster, or in none with a reason


SHORT = "short"
LANGUAGE = "language"
VECTOR = "vector"
FIELD = "field"
EMPTY = "empty"
OUTLIER = "outlier"
EXCLUDED = "excluded"
REASONS = {
    SHORT: "shorter than the configured minimum",
    LANGUAGE: "in a language that the configuration excludes",
    FIELD: "excluded by the filters of the configuration",
    VECTOR: "without a vector of the configured length",
    EMPTY: "without any term that other documents have",
    OUTLIER: "not similar enough to any cluster",
    EXCLUDED: "excluded from a cluster by a person, and not similar enough to another",
}
"""Reasons why a document is in no cluster; they label the rows that count them."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of a document in a cluster of a level, or as unclustered.

    `score`: as in its cell.
    `original`: the document it is a near-duplicate of, '' if none.
    """

    conf: str
    label: str
    score: bytes
    original: str = ""
