"""Maintenance of a collection: remove what dead rebuilds left, settle, and rebuild when due.

To settle a clustering is to bring the rows of all documents up to date with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import (
    BUILDING,
    group_by_configuration,
    list_served_configurations,
    list_stored_clusterings,
    served_column,
    settled_column,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName, name_rebuild_lease
from fonds.grouping.rebuild.assignments import settle_documents
from fonds.grouping.rebuild.cleanup import drop_interrupted
from fonds.grouping.rebuild.rebuild import ProgressCallback, rebuild
from fonds.grouping.rebuild.triggers import find_rebuild_reason
from fonds.grouping.redo_log import find_last_removable, remove_changes
from fonds.grouping.tables import COLLECTIONS, decode_int
from fonds.leases.lease import LeaseConflictError
from fonds.model.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """Result of the maintenance of one configuration of a collection.

    `name`, `conf`: the collection and the configuration.
    `removed_clustering_count`: number of clusterings removed that interrupted rebuilds had left.
    `is_settled`: whether documents' rows were brought up to date with the served clustering, which
        an interrupted process had not done.
    `rebuild_reason`: reason of a rebuild that was made; '' if none was.
    `configuration_error`: what a person must change before a rebuild is possible; '' if nothing.
    """

    name: CollectionName
    conf: str
    removed_clustering_count: int
    is_settled: bool
    rebuild_reason: str
    configuration_error: str = ""


def maintain(
    writer: CollectionWriter,
    name: CollectionName,
    *,
    threads: int | None = None,
    progress: ProgressCallback = lambda stage, done, total: None,
) -> list[MaintenanceResult]:
    """Maintain a collection: for each of its configurations, clean up, and rebuild if due.

    Return one result per configuration. Configurations that another process is building are
    skipped.
    `threads`: number of threads for the computation; None for one per core.
    `progress`: function that is called with the stage, the number of documents done, and the total.
    """
    with writer.lease(name) as collection:
        cells = collection.cells
        remove_changes(
            writer.tables, name, find_last_removable(cells, decode_int(cells, Column.SEQUENCE))
        )
    confs = {**list_served_configurations(cells), **group_by_configuration(cells, BUILDING)}
    results = []
    for conf in confs:
        try:
            removed_count, is_settled = _finish(writer, name, conf)
            reason = find_rebuild_reason(writer.tables, name, conf, writer.clock())
            if reason:
                rebuild(writer, name, conf, threads=threads, progress=progress)
        except LeaseConflictError:
            continue
        except ConfigurationError as error:
            # For example, an extra is not installed on this machine. Other configurations go on.
            results.append(MaintenanceResult(name, conf, 0, False, "", str(error)))
            continue
        results.append(MaintenanceResult(name, conf, removed_count, is_settled, reason))
    return results


def _finish(writer: CollectionWriter, name: CollectionName, conf: str) -> tuple[int, bool]:
    """Complete what interrupted rebuilds of a configuration left undone.

    Remove their clusterings, and bring documents' rows up to date with the served clustering.
    Return the number of removed clusterings, and whether the rows were brought up to date.
    Raises LeaseConflictError while another process is rebuilding.
    """
    with writer.leases.acquire_renewed(name_rebuild_lease(name, conf)):
        removed_count = drop_interrupted(writer, name, conf)
        cells = writer.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
        served_timestamp = decode_int(cells, served_column(conf), -1)
        if served_timestamp < 0 or decode_int(cells, settled_column(conf), -1) == served_timestamp:
            return removed_count, False
        clusterings = [
            clustering
            for clustering in list_stored_clusterings(writer.tables, name)
            if clustering.conf == conf
        ]
        return removed_count, any(
            settle_documents(writer, clustering)
            for clustering in clusterings
            if clustering.timestamp == served_timestamp
        )
