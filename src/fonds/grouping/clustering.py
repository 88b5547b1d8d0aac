"""Which clusterings a collection has: their rows, which one is served, and the times that number them."""

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
"""Set before the rows of a clustering are removed: nobody looks at it from then on."""

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
    """A clustering by its row. `levels` is 0 while it is being built."""

    name: CollectionName
    conf: str
    timestamp: int
    levels: int
    cells: Cells

    @property
    def row(self) -> bytes:
        """The row in `clusterings`."""
        return build_clustering_prefix(
            self.name.namespace, self.name.key, self.conf, self.timestamp
        )

    def iter_level_confs(self) -> Iterator[str]:
        """What stands for the configuration in the rows of each level, and of those apart."""
        for level in range(self.levels):
            yield build_level_conf(self.conf, level)
        yield build_unclustered_conf(self.conf)


REBUILT, BUILDING = "rebuilt", "building"
_BEGIN = "main:configuration:"


def build_column(conf: str, field: str) -> str:
    """The column of a collection that says something of a configuration."""
    return f"{_BEGIN}{conf}:{field}"


def group_by_configuration(collection: Cells, field: str) -> dict[str, int]:
    """The configurations of which a collection's row says something, with the number it says."""
    end = f":{field}"
    return {
        name[len(_BEGIN) : -len(end)]: decode_int(collection, name)
        for name, value in collection.items()
        if name.startswith(_BEGIN) and name.endswith(end) and value
    }


def served_column(conf: str) -> str:
    """The column of a collection that says which clustering of a configuration is served: the one cell by
    which the next becomes visible."""
    return build_column(conf, REBUILT)


def processed_column(conf: str) -> str:
    """The column that says when a document was last assigned by a configuration."""
    return build_column(conf, "processed")


def building_column(conf: str) -> str:
    """The column that says which clustering of a configuration is being built."""
    return build_column(conf, BUILDING)


def settled_column(conf: str) -> str:
    """The column that says of which clustering all documents' rows tell."""
    return build_column(conf, "settled")


def list_stored_clusterings(tables: Tables, name: CollectionName) -> list[StoredClustering]:
    """All clusterings of a collection, served, kept or being built, oldest first in each configuration."""
    return [one for one in list_all_stored_clusterings(tables, name) if DROPPED not in one.cells]


def list_all_stored_clusterings(tables: Tables, name: CollectionName) -> list[StoredClustering]:
    """The same with those that are being removed."""
    found = []
    for row, cells in tables.iter_rows(CLUSTERINGS, name.row, COLUMNS):
        _, _, conf, timestamp = parse_clustering_row(row)
        found.append(
            StoredClustering(name, conf, timestamp, decode_int(cells, "main:levels"), cells)
        )
    return found


def filter_ready(clusterings: list[StoredClustering], collection: Cells) -> list[StoredClustering]:
    """Those that are served, or were before the one that is."""
    return [
        one
        for one in clusterings
        if one.timestamp <= decode_int(collection, served_column(one.conf))
    ]


def is_served(clustering: StoredClustering, collection: Cells) -> bool:
    """Whether readers see this one unless they ask for another."""
    return clustering.timestamp == decode_int(collection, served_column(clustering.conf), -1)


def list_served_configurations(collection: Cells) -> dict[str, int]:
    """The configurations a collection has a served clustering of, with its time."""
    return group_by_configuration(collection, REBUILT)


class ModelCache:
    """The models of served clusterings, read once each; as many as there are collections in use here."""

    def __init__(self, count_max: int = 16) -> None:
        self._count_max = count_max
        self._models: dict[tuple[CollectionName, str], ClusteringModel] = {}
        self._lock = threading.Lock()

    def get(self, tables: Tables, clustering: StoredClustering) -> ClusteringModel | None:
        """The model of a clustering; None where it has none any more."""
        # Loads numpy.
        from fonds.grouping.clustering_model import read_model

        key = (clustering.name, clustering.conf)
        with self._lock:
            kept = self._models.pop(key, None)
            if kept is None or kept.timestamp != clustering.timestamp:
                kept = read_model(tables, clustering.name, clustering.conf, clustering.timestamp)
            if kept is not None:
                self._models[key] = kept
            while len(self._models) > self._count_max:
                self._models.pop(next(iter(self._models)))
        return kept


# A document in a cluster, or in none for a stated reason.


SHORT = "short"
LANGUAGE = "language"
VECTOR = "vector"
FIELD = "field"
EMPTY = "empty"
OUTLIER = "outlier"
EXCLUDED = "excluded"
REASONS = {
    SHORT: "shorter than the configuration asks for",
    LANGUAGE: "in a language the configuration leaves out",
    FIELD: "with other fields than the configuration asks for",
    VECTOR: "without a vector of the length the configuration asks for",
    EMPTY: "without any term the others have",
    OUTLIER: "out of reach of every cluster",
    EXCLUDED: "taken out of a cluster by a person, and within reach of no other",
}
"""Why a document is in no cluster: labels of the rows it is counted in."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A document in a cluster of a level, or apart; `score` as its cells say it, `original` the document it
    is a near-duplicate of, '' for one that is of none."""

    conf: str
    label: str
    score: bytes
    original: str = ""
