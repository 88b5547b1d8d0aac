"""Read-only views of collections and their clusterings, and of the progress of rebuilds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fonds.grouping.clustering import (
    building_column,
    list_served_configurations,
    list_stored_clusterings,
    processed_column,
    served_column,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.configuration import Configuration, parse_configuration
from fonds.grouping.names import DEFAULT, CollectionName, name_rebuild_lease
from fonds.grouping.stored.keys import build_namespace_prefix
from fonds.grouping.tables import (
    CLUSTERINGS,
    COLLECTIONS,
    Cells,
    Tables,
    decode_int,
    decode_text,
    is_collection_row,
    iter_collection_rows,
)
from fonds.leases.leases import Leases


@dataclass(frozen=True, slots=True)
class ServedClustering:
    """Served clustering of one configuration; times in seconds since 1970.

    `rebuilt`: time of the clustering.
    `processed`: when a document was last assigned to a cluster.
    """

    conf: str
    rebuilt: int
    processed: int


@dataclass(frozen=True, slots=True)
class CollectionView:
    """Collection of documents to be grouped."""

    namespace: Annotated[str, Meta(description="namespace of the collection")]
    key: Annotated[str, Meta(description="key of the collection")]
    size: Annotated[int, Meta(description="number of documents")]
    modified: Annotated[
        int | None,
        Meta(description="when a document was last added, in Unix seconds; null before the first"),
    ]
    query: Annotated[str, Meta(description="search that fills the collection; empty for none")]
    template: Annotated[
        str,
        Meta(description="key with a field in braces that it was created from; empty for none"),
    ]
    served: Annotated[
        tuple[ServedClustering, ...], Meta(description="current clustering by each configuration")
    ]

    @property
    def name(self) -> CollectionName:
        """Name of the collection: its namespace and key."""
        return CollectionName(self.namespace, self.key)


@dataclass(frozen=True, slots=True)
class ClusteringView:
    """Clustering that is served now or was served before. Times are in seconds since 1970.

    `conf`: name of the configuration.
    `timestamp`: time that identifies the clustering.
    `levels`: number of levels of granularity.
    `documents`: number of documents from which the clustering was built.
    `clusters`: number of first-level clusters.
    `begun`, `ended`: when the rebuild began and ended.
    `later`: number of documents added since the rebuild.
    `later_outliers`: number of these documents that are not similar enough to any cluster.
    `configuration`: the configuration with which the clustering was built.
    """

    conf: str
    timestamp: int
    is_served: bool
    levels: int
    documents: int
    clusters: int
    begun: int
    ended: int
    later: int
    later_outliers: int
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """Progress of a rebuild of a clustering. Times are in seconds since 1970.

    `conf`, `timestamp`: configuration and time of the clustering that is being built.
    `stage`: name of the current stage.
    `done`, `total`: documents processed in the stage, and all documents; a `total` of 0 is unknown.
    `begun`, `moved`: when the rebuild began and when it last made progress.
    `who`: the process that runs the rebuild; None if that process died.
    """

    conf: str
    timestamp: int
    stage: str
    done: int
    total: int
    begun: int
    moved: int
    who: str | None


def iter_collections(
    tables: Tables, namespace: str | None = None, after: CollectionName | None = None
) -> Iterator[CollectionView]:
    """Iterate over the collections in the order of their row keys.

    Collections are read page by page as the iteration proceeds.
    `namespace`: namespace to list; None for all.
    `after`: name of the collection after which to start; None for the first one.
    """
    prefix = b"" if namespace is None else build_namespace_prefix(namespace)
    after_row = None if after is None else after.row
    for name, cells in iter_collection_rows(tables, prefix, after=after_row):
        yield _parse_collection(name, cells)


def find_collection(tables: Tables, name: CollectionName) -> CollectionView | None:
    """Return the view of the collection with this name; None if it does not exist."""
    cells = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY])
    return (
        _parse_collection(name, cells) if cells is not None and is_collection_row(cells) else None
    )


def find_served_timestamp(tables: Tables, name: CollectionName, conf: str = DEFAULT) -> int | None:
    """Return the timestamp of the served clustering of a configuration, in seconds since 1970.

    None if no clustering was built yet.
    """
    cells = tables.get_row(COLLECTIONS, name.row, [served_column(conf)])
    return None if not cells else decode_int(cells, served_column(conf))


def list_clusterings(
    tables: Tables, name: CollectionName, conf: str | None = None
) -> list[ClusteringView]:
    """Return the served and previously served clusterings of a collection.

    `conf`: name of the configuration; None for all.
    The result is sorted by configuration, then newest first.
    """
    cells = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    clusterings = []
    for clustering in list_stored_clusterings(tables, name):
        served_timestamp = decode_int(cells, served_column(clustering.conf), -1)
        if conf in (None, clustering.conf) and clustering.timestamp <= served_timestamp:
            row = tables.get_row(CLUSTERINGS, clustering.row, [MAIN_FAMILY]) or {}
            clusterings.append(_parse_clustering(row, clustering.timestamp == served_timestamp))
    return sorted(clusterings, key=lambda clustering: (clustering.conf, -clustering.timestamp))


def list_progress(tables: Tables, leases: Leases, name: CollectionName) -> list[RebuildProgress]:
    """Return the progress of the rebuilds of a collection that have begun and not ended."""
    cells = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    rebuilds = []
    for clustering in list_stored_clusterings(tables, name):
        if decode_int(cells, building_column(clustering.conf), -1) != clustering.timestamp:
            continue
        row = tables.get_row(CLUSTERINGS, clustering.row, [MAIN_FAMILY])
        rebuilds.append(
            RebuildProgress(
                clustering.conf,
                clustering.timestamp,
                decode_text(row, Column.STAGE, "begun"),
                decode_int(row, Column.DONE),
                decode_int(row, Column.TOTAL),
                decode_int(row, Column.BEGUN),
                decode_int(row, Column.MOVED),
                leases.get_holder(name_rebuild_lease(name, clustering.conf)),
            )
        )
    return rebuilds


def _parse_collection(name: CollectionName, cells: Cells) -> CollectionView:
    confs = list_served_configurations(cells)
    return CollectionView(
        name.namespace,
        name.key,
        decode_int(cells, Column.SIZE),
        decode_int(cells, Column.MODIFIED, -1) if Column.MODIFIED in cells else None,
        decode_text(cells, Column.QUERY),
        decode_text(cells, Column.TEMPLATE),
        tuple(
            ServedClustering(conf, rebuilt, decode_int(cells, processed_column(conf)))
            for conf, rebuilt in confs.items()
        ),
    )


def _parse_clustering(row: Cells, is_served: bool) -> ClusteringView:
    return ClusteringView(
        decode_text(row, Column.CONF),
        decode_int(row, Column.TIMESTAMP),
        is_served,
        decode_int(row, Column.LEVELS),
        decode_int(row, Column.DOCUMENTS),
        decode_int(row, Column.CLUSTERS),
        decode_int(row, Column.BEGUN),
        decode_int(row, Column.ENDED),
        decode_int(row, Column.LATER),
        decode_int(row, Column.LATER_OUTLIERS),
        parse_configuration(row),
    )
