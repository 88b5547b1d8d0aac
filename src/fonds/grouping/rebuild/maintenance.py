"""Maintenance of a collection: remove remains of dead rebuilds, settle, and rebuild when due."""

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
from fonds.grouping.configuration import Configuration, get
from fonds.grouping.names import CollectionName, name_rebuild_lease
from fonds.grouping.rebuild.assignments import settle_documents
from fonds.grouping.rebuild.cleanup import drop_interrupted
from fonds.grouping.rebuild.rebuild import ProgressCallback, rebuild
from fonds.grouping.redo_log import SEQUENCE, find_oldest_needed, remove_changes
from fonds.grouping.tables import COLLECTIONS, MODIFIED, Cells, decode_int
from fonds.leases.lease import LeaseConflictError
from fonds.model.errors import ConfigurationError

# Rebuild triggers, as a pure function of the changes since the last rebuild


LATER_MIN = 20
"""Minimum number of later documents for shares among them to be meaningful."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Counts of a served clustering and of the changes since; times in seconds.

    `rebuilt`, `modified`: when the rebuild began, and when a document was last put.
    `size`: current number of documents.
    `documents`: number at the rebuild.
    `outliers`: number of those in no cluster.
    `later`: documents assigned since.
    `later_outliers`: number of those out of reach.
    `terms`, `unknown`: distinct terms of some grouped documents, and the number missing from the
        dictionary.
    `later_terms`, `later_unknown`: the same for later documents.
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
    """Return the reason for a rebuild: `growth`, `outliers`, `drift` or `age`; '' if none is due.

    An unchanged collection is never rebuilt, however old its clustering is.
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
    """Return whether the share of outliers among later documents is too high.

    The limit is `outliers_factor` times the previous share, which counts as at least one in twenty.
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

    `removed`: number of dead clusterings removed.
    `is_settled`: whether a published but unsettled clustering was settled.
    `reason`: reason of a rebuild; '' if there was none.
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
    """Maintain a collection. Configurations that another process is building are skipped."""
    with changes.lease(name) as collection:
        cells = collection.cells
        remove_changes(changes.tables, name, find_oldest_needed(cells, decode_int(cells, SEQUENCE)))
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
            # For example, an extra is missing on this machine; other configurations continue.
            done.append(MaintenanceResult(name, conf, 0, False, "", str(error)))
            continue
        done.append(MaintenanceResult(name, conf, removed, is_settled, reason))
    return done


def find_rebuild_reason(changes: CollectionWriter, name: CollectionName, conf: str) -> str:
    """Return why a configuration must be rebuilt now; '' if it need not be or never was built."""
    tables = changes.tables
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
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
        modified=decode_int(collection, MODIFIED),
        size=decode_int(collection, "main:size"),
        documents=decode_int(cells, "main:documents"),
        outliers=decode_int(cells, "main:outliers"),
        later=decode_int(cells, "main:later"),
        later_outliers=decode_int(cells, "main:later_outliers"),
        terms=decode_int(cells, "main:terms"),
        unknown=decode_int(cells, "main:unknown"),
        later_terms=decode_int(cells, "main:later_terms"),
        later_unknown=decode_int(cells, "main:later_unknown"),
    )


def _finish(changes: CollectionWriter, name: CollectionName, conf: str) -> tuple[int, bool]:
    """Remove what interrupted rebuilds left, and bring document rows up to date with the served clustering.

    Raises LeaseConflictError while it is being built.
    """
    with changes.leases.acquire_renewed(name_rebuild_lease(name, conf)):
        removed = drop_interrupted(changes, name, conf)
        cells = changes.tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
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
