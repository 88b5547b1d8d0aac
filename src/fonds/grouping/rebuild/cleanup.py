"""Removal of clusterings whose rebuild was interrupted, and of old ones beyond those to keep."""

from __future__ import annotations

from collections.abc import Iterable

from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import (
    StoredClustering,
    building_column,
    list_all_stored_clusterings,
    served_column,
)
from fonds.grouping.columns import Column
from fonds.grouping.configuration import GRANULARITIES_MAX, get
from fonds.grouping.names import CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.redo_log import find_last_removable, remove_changes
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    MEMBERS,
    READINGS,
    decode_int,
)


def drop_interrupted(writer: CollectionWriter, name: CollectionName, conf: str) -> int:
    """Remove what interrupted rebuilds of a configuration left; return the number of clusterings.

    Also complete removals that were interrupted, and delete logged changes that no rebuild needs.
    The caller must hold the rebuild lease of the collection and configuration.
    """
    with writer.lease(name) as collection:
        served_timestamp = decode_int(collection.cells, served_column(conf), -1)
        interrupted_clusterings = [
            clustering
            for clustering in list_all_stored_clusterings(writer.tables, name)
            if clustering.conf == conf
            and (clustering.timestamp > served_timestamp or Column.DROPPED in clustering.cells)
        ]
        if collection.cells.get(building_column(conf)):
            writer.tables.put(COLLECTIONS, [(name.row, {building_column(conf): b""})])
        remaining_cells = {
            column: v for column, v in collection.cells.items() if column != building_column(conf)
        }
        sequence = decode_int(collection.cells, Column.SEQUENCE)
        remove_changes(writer.tables, name, find_last_removable(remaining_cells, sequence))
        _mark_dropped(writer, interrupted_clusterings)
    _remove(writer, interrupted_clusterings)
    return len(interrupted_clusterings)


def drop_old(writer: CollectionWriter, clustering: StoredClustering) -> int:
    """Remove the oldest clusterings of a configuration, beyond the number that it keeps.

    The given clustering and older ones of its configuration are counted; newer ones are ignored. If
    the configuration was deleted, one clustering is kept. Return the number of removed clusterings.
    """
    try:
        kept_count = get(writer.tables, clustering.name.namespace, clustering.conf).kept
    except ValueError:
        kept_count = 1
    with writer.lease(clustering.name):
        clusterings = [
            stored_clustering
            for stored_clustering in list_all_stored_clusterings(writer.tables, clustering.name)
            if stored_clustering.conf == clustering.conf
        ]
        older = sorted(
            (
                stored_clustering
                for stored_clustering in clusterings
                if stored_clustering.timestamp <= clustering.timestamp
            ),
            key=lambda stored_clustering: -stored_clustering.timestamp,
        )
        surplus = older[kept_count:]
        _mark_dropped(writer, surplus)
    _remove(writer, surplus)
    return len(surplus)


def drop(writer: CollectionWriter, clustering: StoredClustering) -> bool:
    """Remove a clustering that readers no longer see by default, and return whether it was removed.

    A clustering that is served, or not served yet, is not removed.
    """
    with writer.lease(clustering.name) as collection:
        if clustering.timestamp >= decode_int(collection.cells, served_column(clustering.conf), -1):
            return False
        _mark_dropped(writer, [clustering])
    _remove(writer, [clustering])
    return True


def _mark_dropped(writer: CollectionWriter, clusterings: Iterable[StoredClustering]) -> None:
    """Mark clusterings as dropped in their rows; readers and rebuilds ignore them from then on."""
    writer.tables.put(
        CLUSTERINGS, [(clustering.row, {Column.DROPPED: b"1"}) for clustering in clusterings]
    )


def _remove(writer: CollectionWriter, clusterings: Iterable[StoredClustering]) -> None:
    for clustering in clusterings:
        name, timestamp = clustering.name, clustering.timestamp
        confs = [build_level_conf(clustering.conf, level) for level in range(GRANULARITIES_MAX + 1)]
        for conf in (*confs, build_unclustered_conf(clustering.conf)):
            prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
            for table in (CLUSTERS, MEMBERS, ASSIGNMENTS, READINGS):
                writer.tables.delete_prefix(table, prefix)
        writer.tables.delete(CLUSTERINGS, [clustering.row])
