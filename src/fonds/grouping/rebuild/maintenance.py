"""Maintenance of a collection: remove what dead rebuilds left, settle, and rebuild when due.

To settle a clustering is to bring the rows of all documents up to date with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import (
    BUILDING,
    StoredClustering,
    group_by_configuration,
    is_served,
    list_served_configurations,
    list_stored_clusterings,
    served_column,
    settled_column,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.configuration import Configuration, get
from fonds.grouping.names import CollectionName, name_rebuild_lease
from fonds.grouping.rebuild.assignments import settle_documents
from fonds.grouping.rebuild.cleanup import drop_interrupted
from fonds.grouping.rebuild.rebuild import ProgressCallback, rebuild
from fonds.grouping.redo_log import find_last_removable, remove_changes
from fonds.grouping.tables import COLLECTIONS, Cells, decode_int
from fonds.leases.lease import LeaseConflictError
from fonds.model.errors import ConfigurationError

# Rebuild triggers, as a pure function of the changes since the last rebuild


LATER_MIN = 20
"""Minimum number of documents since the rebuild for shares among them to be meaningful."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Counts of a served clustering and of the changes since its rebuild.

    `rebuilt`, `modified`: when the rebuild began, and when a document was last put; seconds since
        1970.
    `size`: current number of documents in the collection.
    `documents`: number of documents at the rebuild.
    `outliers`: number of documents at the rebuild that were in no cluster.
    `later`: number of documents assigned since the rebuild, called later documents.
    `later_outliers`: number of later documents that are outliers.
    `terms`, `unknown`: number of distinct terms in a sample of the grouped documents, and how many
        of them are missing from the dictionary.
    `later_terms`, `later_unknown`: the same two numbers for later documents.
    """

    rebuilt: int
    modified: int
    size: int
    documents: int
    outliers: int
    later: int
    later_outliers: int
    terms: int
    unknown: int
    later_terms: int
    later_unknown: int


def check_triggers(configuration: Configuration, since: ChangeCounts, now: int) -> str:
    """Return why a rebuild is due: `growth`, `outliers`, `drift` or `age`; '' if none is due.

    An unchanged collection is never rebuilt, however old its clustering is.
    `now`: seconds since 1970.
    """
    if since.later == 0 and since.modified <= since.rebuilt and since.size == since.documents:
        return ""
    if _has_grown(configuration, since):
        return "growth"
    if since.later >= LATER_MIN:
        if _has_outliers(configuration, since):
            return "outliers"
        if _has_drifted(configuration, since):
            return "drift"
    every_s = configuration.every_s
    return "age" if every_s is not None and now - since.rebuilt >= every_s else ""


def _has_grown(configuration: Configuration, since: ChangeCounts) -> bool:
    if configuration.growth_max is None:
        return False
    return since.later > configuration.growth_max * max(since.documents, 1)


def _has_outliers(configuration: Configuration, since: ChangeCounts) -> bool:
    """Return whether the share of outliers among documents added since the rebuild is too high.

    An outlier is a document that is not similar enough to any cluster. The limit is
    `outliers_factor` of the configuration times the share at the rebuild, which counts as at least
    one in twenty.
    """
    if configuration.outliers_factor is None:
        return False
    usual_share = max(since.outliers / max(since.documents, 1), 0.05)
    return since.later_outliers / since.later > configuration.outliers_factor * usual_share


def _has_drifted(configuration: Configuration, since: ChangeCounts) -> bool:
    if configuration.unknown_max is None or since.later_terms == 0:
        return False
    usual_share = since.unknown / max(since.terms, 1)
    return since.later_unknown / since.later_terms - usual_share > configuration.unknown_max


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """Result of the maintenance of one configuration of a collection.

    `name`, `conf`: the collection and the configuration.
    `removed`: number of clusterings removed that interrupted rebuilds had left.
    `is_settled`: whether documents' rows were brought up to date with the served clustering, which
        an interrupted process had not done.
    `reason`: reason of a rebuild that was made; '' if none was.
    `refused`: what a person must change before a rebuild is possible; '' if nothing.
    """

    name: CollectionName
    conf: str
    removed: int
    is_settled: bool
    reason: str
    refused: str = ""


def maintain(
    changes: CollectionWriter,
    name: CollectionName,
    *,
    threads: int | None = None,
    progress: ProgressCallback = lambda stage, done, total: None,
) -> list[MaintenanceResult]:
    """Maintain a collection: clean up and rebuild each of its configurations when due.

    Return one result per configuration. Configurations that another process is building are
    skipped.
    `threads`: number of threads for the computation; None for one per core.
    `progress`: function that is called with the stage, the number of documents done, and the total.
    """
    with changes.lease(name) as collection:
        cells = collection.cells
        remove_changes(
            changes.tables, name, find_last_removable(cells, decode_int(cells, Column.SEQUENCE))
        )
    confs = {**list_served_configurations(cells), **group_by_configuration(cells, BUILDING)}
    done = []
    for conf in confs:
        try:
            removed, is_settled = _finish(changes, name, conf)
            reason = find_rebuild_reason(changes, name, conf)
            if reason:
                rebuild(changes, name, conf, threads=threads, progress=progress)
        except LeaseConflictError:
            continue
        except ConfigurationError as error:
            # For example, an extra is not installed on this machine. Other configurations go on.
            done.append(MaintenanceResult(name, conf, 0, False, "", str(error)))
            continue
        done.append(MaintenanceResult(name, conf, removed, is_settled, reason))
    return done


def find_rebuild_reason(changes: CollectionWriter, name: CollectionName, conf: str) -> str:
    """Return why a collection must be rebuilt by a configuration now; '' if it need not be.

    The reasons are `growth`, `outliers`, `drift` and `age`. '' also if the collection has no served
    clustering by this configuration, or the configuration does not exist.
    """
    tables = changes.tables
    cells = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    clustering = next(
        (
            candidate
            for candidate in list_stored_clusterings(tables, name)
            if candidate.conf == conf and is_served(candidate, cells)
        ),
        None,
    )
    try:
        configuration = get(tables, name.namespace, conf)
    except ValueError:
        return ""
    if clustering is None:
        return ""
    return check_triggers(configuration, _collect_changes(clustering, cells), changes.clock())


def _collect_changes(clustering: StoredClustering, collection: Cells) -> ChangeCounts:
    cells = clustering.cells
    return ChangeCounts(
        rebuilt=clustering.timestamp,
        modified=decode_int(collection, Column.MODIFIED),
        size=decode_int(collection, Column.SIZE),
        documents=decode_int(cells, Column.DOCUMENTS),
        outliers=decode_int(cells, Column.OUTLIERS),
        later=decode_int(cells, Column.LATER),
        later_outliers=decode_int(cells, Column.LATER_OUTLIERS),
        terms=decode_int(cells, Column.TERMS),
        unknown=decode_int(cells, Column.UNKNOWN),
        later_terms=decode_int(cells, Column.LATER_TERMS),
        later_unknown=decode_int(cells, Column.LATER_UNKNOWN),
    )


def _finish(changes: CollectionWriter, name: CollectionName, conf: str) -> tuple[int, bool]:
    """Complete what interrupted rebuilds of a configuration left undone.

    Remove their clusterings, and bring documents' rows up to date with the served clustering.
    Return the number of removed clusterings, and whether the rows were brought up to date.
    Raises LeaseConflictError while another process is rebuilding.
    """
    with changes.leases.acquire_renewed(name_rebuild_lease(name, conf)):
        removed = drop_interrupted(changes, name, conf)
        cells = changes.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
        served_timestamp = decode_int(cells, served_column(conf), -1)
        if served_timestamp < 0 or decode_int(cells, settled_column(conf), -1) == served_timestamp:
            return removed, False
        clusterings = [
            clustering
            for clustering in list_stored_clusterings(changes.tables, name)
            if clustering.conf == conf
        ]
        return removed, any(
            settle_documents(changes, clustering)
            for clustering in clusterings
            if clustering.timestamp == served_timestamp
        )
