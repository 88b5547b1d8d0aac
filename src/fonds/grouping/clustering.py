"""Stored clusterings of a collection: their rows, the one readers see, and document placements.

A clustering is identified by its collection, its configuration and the timestamp of its rebuild.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fonds.grouping.columns import Column
from fonds.grouping.names import CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import (
    build_clustering_prefix,
    parse_clustering_row,
)
from fonds.grouping.tables import CLUSTERINGS, Cells, Tables, decode_int

if TYPE_CHECKING:
    from fonds.grouping.clustering_model import ClusteringModel


COLUMNS = (
    Column.CONF,
    Column.STAGE,
    Column.LEVELS,
    Column.DOCUMENTS,
    Column.OUTLIERS,
    Column.LATER,
    Column.LATER_OUTLIERS,
    Column.LATER_TERMS,
    Column.LATER_UNKNOWN,
    Column.TERMS,
    Column.UNKNOWN,
    Column.CHECKSUM,
    Column.DROPPED,
)


@dataclass(frozen=True, slots=True)
class StoredClustering:
    """Clustering of a collection as stored in its row of the table `clusterings`.

    `name`: the collection.
    `conf`: name of the configuration that the clustering was built with.
    `timestamp`: time of the rebuild, in seconds; higher for each later clustering.
    `levels`: number of granularities; 0 until the rebuild writes it.
    `cells`: the cells that were read from the row, by column.
    """

    name: CollectionName
    conf: str
    timestamp: int
    levels: int
    cells: Cells

    @property
    def row(self) -> bytes:
        """Row key of the clustering in the table `clusterings`."""
        return build_clustering_prefix(
            self.name.namespace, self.name.key, self.conf, self.timestamp
        )

    def iter_level_confs(self) -> Iterator[str]:
        """Iterate over the configuration parts of the row keys of this clustering's clusters.

        Each level (granularity) has one part, such as `NAME@1`. The last, `NAME@unclustered`, is
        for documents in no cluster.
        """
        for level in range(self.levels):
            yield build_level_conf(self.conf, level)
        yield build_unclustered_conf(self.conf)


REBUILT, BUILDING = "rebuilt", "building"


def build_column(conf: str, field: str) -> str:
    """Return the column name `main:configuration:CONF:FIELD` of a collection's row.

    The column holds one value, for example a timestamp, for a configuration of the collection.
    `conf`: name of the configuration. `field`: name of the value, such as `rebuilt`.
    """
    return f"{Column.CONFIGURATION_PREFIX}{conf}:{field}"


def group_by_configuration(collection: Cells, field: str) -> dict[str, int]:
    """Return the integers that a collection's row has for one field, by name of the configuration.

    `collection`: cells of the collection's row.
    `field`: last part of the column name `main:configuration:CONF:FIELD`.

    Configurations without a value are left out.
    """
    suffix = f":{field}"
    return {
        name[len(Column.CONFIGURATION_PREFIX) : -len(suffix)]: decode_int(collection, name)
        for name, value in collection.items()
        if name.startswith(Column.CONFIGURATION_PREFIX) and name.endswith(suffix) and value
    }


def served_column(conf: str) -> str:
    """Return the name of the column with the timestamp of the clustering that `conf` serves.

    The column belongs to a collection's row, and `conf` is a configuration. The served clustering
    is the one that readers see by default. Writing this one cell makes a new clustering visible.
    """
    return build_column(conf, REBUILT)


def processed_column(conf: str) -> str:
    """Return the name of the column with the time of the last assignment by `conf`.

    The column belongs to a collection's row, and `conf` is a configuration. The time is the last
    one at which a document was assigned to a cluster by this configuration.
    """
    return build_column(conf, "processed")


def building_column(conf: str) -> str:
    """Return the name of the column with the timestamp of the clustering being built by `conf`.

    The column belongs to a collection's row, and `conf` is a configuration. Its cell is empty if no
    rebuild is in progress.
    """
    return build_column(conf, BUILDING)


def settled_column(conf: str) -> str:
    """Return the name of the column with the timestamp of the settled clustering by `conf`.

    The column belongs to a collection's row, and `conf` is a configuration. A clustering is settled
    once its placements are written in all documents' rows.
    """
    return build_column(conf, "settled")


def list_stored_clusterings(tables: Tables, name: CollectionName) -> list[StoredClustering]:
    """Return all clusterings of a collection: served, kept or being built.

    Clusterings that are being removed are left out. The result is sorted by configuration, then
    oldest first.
    """
    return [
        clustering
        for clustering in list_all_stored_clusterings(tables, name)
        if Column.DROPPED not in clustering.cells
    ]


def list_all_stored_clusterings(tables: Tables, name: CollectionName) -> list[StoredClustering]:
    """Return all clusterings of a collection, including those being removed.

    The result is sorted by configuration, then oldest first.
    """
    clusterings = []
    for row, cells in tables.iter_rows(CLUSTERINGS, name.row, COLUMNS):
        _, _, conf, timestamp = parse_clustering_row(row)
        clusterings.append(
            StoredClustering(name, conf, timestamp, decode_int(cells, Column.LEVELS), cells)
        )
    return clusterings


def filter_ready(clusterings: list[StoredClustering], collection: Cells) -> list[StoredClustering]:
    """Return the clusterings that are served now or may have been served before.

    Clusterings that are newer than the served one of their configuration are left out.
    `collection`: cells of the collection's row.
    """
    return [
        clustering
        for clustering in clusterings
        if clustering.timestamp <= decode_int(collection, served_column(clustering.conf))
    ]


def is_served(clustering: StoredClustering, collection: Cells) -> bool:
    """Return whether this clustering is the one that readers see by default for its configuration.

    `collection`: cells of the collection's row.
    """
    return clustering.timestamp == decode_int(collection, served_column(clustering.conf), -1)


def find_served(
    tables: Tables, name: CollectionName, conf: str, collection: Cells
) -> StoredClustering | None:
    """Return the clustering by a configuration that the collection serves; None if there is none.

    `collection`: cells of the collection's row.
    """
    for clustering in list_stored_clusterings(tables, name):
        if clustering.conf == conf and is_served(clustering, collection):
            return clustering
    return None


def list_served_configurations(collection: Cells) -> dict[str, int]:
    """Return the timestamp of the served clustering of each configuration, by configuration name.

    `collection`: cells of the collection's row. Configurations without a served clustering are left
    out.
    """
    return group_by_configuration(collection, REBUILT)


class ModelCache:
    """Cache of the models that assign documents added later to clusters. Thread-safe.

    It keeps at most `count_max` models, one per collection and configuration, and drops the least
    recently used ones.
    """

    def __init__(self, count_max: int = 16) -> None:
        self._count_max = count_max
        self._models: dict[tuple[CollectionName, str], ClusteringModel] = {}
        self._lock = threading.Lock()

    def get(self, tables: Tables, clustering: StoredClustering) -> ClusteringModel | None:
        """Return the model of a clustering, from the cache or the clustering's row.

        Return None if the model no longer exists.
        Raises DamagedInputError if the stored model is damaged.
        """
        # Imported here because it loads numpy.
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


# Placement of a document: its cluster, or the reason why it is in no cluster


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
"""Reasons why a document is in no cluster, each with its description.

Each reason is also the label of the row of the table `clusters` that counts these documents.
"""


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of a document in a cluster on one level of a clustering, or as unclustered.

    `conf`: text that names the configuration and the level, such as `NAME@1`, or
        `NAME@unclustered` for an unclustered document; part of row keys.
    `label`: label of the cluster; for an unclustered document, the reason why it is in none.
    `score`: cosine similarity to the cluster's centroid, as a decimal number in bytes.
    `original`: id of the document that this one is a near-duplicate of; '' if none.
    """

    conf: str
    label: str
    score: bytes
    original: str = ""
