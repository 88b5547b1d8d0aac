"""What a collection needs from time to time: leavings removed, what died finished, a rebuild where one is
due."""

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
from fonds.grouping.rebuild.cleanup import drop_leavings
from fonds.grouping.rebuild.rebuild import ProgressCallback, rebuild
from fonds.grouping.redo_log import SEQUENCE, find_oldest_needed, remove_changes
from fonds.grouping.tables import COLLECTIONS, MODIFIED, Cells, decode_int
from fonds.leases.lease import LeaseConflictError
from fonds.model.errors import ConfigurationError

# When a clustering is to be built again, as a pure function of what came since.


LATER_MIN = 20
"""Shares of fewer later documents than this say nothing."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """What is known of a served clustering and of what came after it; all are counts, times in seconds.

    `rebuilt`, `modified`: when it was begun, and when a document was last put. `size`: documents now,
    `documents`: those it was built of, `outliers` of them in no cluster. `later`: documents assigned since,
    `later_outliers` of them out of reach. `terms`, `unknown`: distinct terms of some grouped documents, and
    how many the dictionary leaves out; `later_terms`, `later_unknown`: the same of the later ones.
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
    """Why to build again: `growth`, `outliers`, `drift` or `age`; '' while it is not to be.

    Nothing that did not change is built again, however old it is.
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
    """Outliers are as many times more among later documents as is said; one in twenty is usual."""
    if configuration.outliers_factor is None:
        return False
    usual = max(since.outliers / max(since.documents, 1), 0.05)
    return since.later_outliers / since.later > configuration.outliers_factor * usual


def _has_drifted(configuration: Configuration, since: ChangeCounts) -> bool:
    if configuration.unknown_max is None or since.later_terms == 0:
        return False
    usual = since.unknown / max(since.terms, 1)
    return since.later_unknown / since.later_terms - usual > configuration.unknown_max


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What was done for one configuration of a collection: clusterings removed that died, whether one was
    finished that was visible and not settled, why it was built again, '' where it was not, and what a person
    must change before it can be, '' where nothing."""

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
    """See to a collection; what another process builds is left to it."""
    with changes.lease(name) as held:
        cells = held.cells
        remove_changes(changes.tables, name, find_oldest_needed(cells, decode_int(cells, SEQUENCE)))
    confs = {**list_served_configurations(cells), **group_by_configuration(cells, BUILDING)}
    done = []
    for conf in confs:
        try:
            removed, was_settled = _finish(changes, name, conf)
            why = find_rebuild_reason(changes, name, conf)
            if why:
                rebuild(changes, name, conf, threads=threads, progress=progress)
        except LeaseConflictError:
            continue
        except ConfigurationError as error:
            # An extra that is missing here, say: the others need not wait for it.
            done.append(MaintenanceResult(name, conf, 0, False, "", str(error)))
            continue
        done.append(MaintenanceResult(name, conf, removed, was_settled, why))
    return done


def find_rebuild_reason(changes: CollectionWriter, name: CollectionName, conf: str) -> str:
    """Why a configuration is to be built again now; '' where it need not be, or never was."""
    tables = changes.tables
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    one = next(
        (
            each
            for each in list_stored_clusterings(tables, name)
            if each.conf == conf and is_served(each, cells)
        ),
        None,
    )
    try:
        configuration = get(tables, name.namespace, conf)
    except ValueError:
        return ""
    if one is None:
        return ""
    return check_triggers(configuration, _collect_changes(one, cells), changes.clock())


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
    """Remove what died, settle what was served and not settled. Raises LeaseConflictError while it is
    being built."""
    with changes.leases.acquire_renewed(name_rebuild_lease(name, conf)):
        removed = drop_leavings(changes, name, conf)
        cells = changes.tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
        serving = decode_int(cells, served_column(conf), -1)
        if serving < 0 or decode_int(cells, settled_column(conf), -1) == serving:
            return removed, False
        clusterings = [
            each for each in list_stored_clusterings(changes.tables, name) if each.conf == conf
        ]
        return removed, any(
            settle_documents(changes, each) for each in clusterings if each.timestamp == serving
        )
