"""Triggers of a rebuild: what must change in a collection before its clustering is rebuilt."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.grouping.clustering import StoredClustering, find_served
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.configuration import Configuration, get
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import COLLECTIONS, Cells, Tables, decode_int

LATER_MIN = 20
"""Minimum number of documents since the rebuild for shares among them to be meaningful."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Counts of a served clustering and of the changes since its rebuild.

    `rebuild_time_s`, `modification_time_s`: when the rebuild began, and when a document was last
        put; seconds since 1970. `current_document_count`: number of documents in the collection
        now. `document_count`: number of documents at the rebuild. `outlier_count`: number of
        documents at the rebuild that were in no cluster. `later_document_count`: number of
        documents assigned since the rebuild, called later documents. `later_outlier_count`: number
        of later documents that are outliers. `term_count`, `unknown_term_count`: number of distinct
        terms in a sample of the grouped documents, and how many of them are missing from the
        dictionary. `later_term_count`, `later_unknown_term_count`: the same two numbers for later
        documents.
    """

    rebuild_time_s: int
    modification_time_s: int
    current_document_count: int
    document_count: int
    outlier_count: int
    later_document_count: int
    later_outlier_count: int
    term_count: int
    unknown_term_count: int
    later_term_count: int
    later_unknown_term_count: int


def find_rebuild_reason(tables: Tables, name: CollectionName, conf: str, now_s: int) -> str:
    """Return why a collection must be rebuilt by a configuration now; '' if it need not be.

    The reasons are `growth`, `outliers`, `drift` and `age`. '' also if the collection has no served
    clustering by this configuration, or the configuration does not exist.
    `now_s`: seconds since 1970.
    """
    cells = tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    served_clustering = find_served(tables, name, conf, cells)
    try:
        configuration = get(tables, name.namespace, conf)
    except ValueError:
        return ""
    if served_clustering is None:
        return ""
    return check_triggers(configuration, _collect_counts(served_clustering, cells), now_s)


def check_triggers(configuration: Configuration, counts: ChangeCounts, now_s: int) -> str:
    """Return why a rebuild is due: `growth`, `outliers`, `drift` or `age`; '' if none is due.

    An unchanged collection is never rebuilt, however old its clustering is.
    `now_s`: seconds since 1970.
    """
    if _is_unchanged(counts):
        return ""
    if _has_grown(configuration, counts):
        return "growth"
    if counts.later_document_count >= LATER_MIN:
        if _has_outliers(configuration, counts):
            return "outliers"
        if _has_drifted(configuration, counts):
            return "drift"
    every_s = configuration.every_s
    return "age" if every_s is not None and now_s - counts.rebuild_time_s >= every_s else ""


def _is_unchanged(counts: ChangeCounts) -> bool:
    return (
        counts.later_document_count == 0
        and counts.modification_time_s <= counts.rebuild_time_s
        and counts.current_document_count == counts.document_count
    )


def _has_grown(configuration: Configuration, counts: ChangeCounts) -> bool:
    if configuration.growth_max is None:
        return False
    return counts.later_document_count > configuration.growth_max * max(counts.document_count, 1)


def _has_outliers(configuration: Configuration, counts: ChangeCounts) -> bool:
    """Return whether the share of outliers among documents added since the rebuild is too high.

    An outlier is a document that is not similar enough to any cluster. The limit is
    `outliers_factor` of the configuration times the share at the rebuild, which counts as at least
    one in twenty.
    """
    if configuration.outliers_factor is None:
        return False
    usual_share = max(counts.outlier_count / max(counts.document_count, 1), 0.05)
    later_share = counts.later_outlier_count / counts.later_document_count
    return later_share > configuration.outliers_factor * usual_share


def _has_drifted(configuration: Configuration, counts: ChangeCounts) -> bool:
    if configuration.unknown_max is None or counts.later_term_count == 0:
        return False
    usual_share = counts.unknown_term_count / max(counts.term_count, 1)
    later_share = counts.later_unknown_term_count / counts.later_term_count
    return later_share - usual_share > configuration.unknown_max


def _collect_counts(clustering: StoredClustering, collection: Cells) -> ChangeCounts:
    cells = clustering.cells
    return ChangeCounts(
        rebuild_time_s=clustering.timestamp,
        modification_time_s=decode_int(collection, Column.MODIFIED),
        current_document_count=decode_int(collection, Column.SIZE),
        document_count=decode_int(cells, Column.DOCUMENTS),
        outlier_count=decode_int(cells, Column.OUTLIERS),
        later_document_count=decode_int(cells, Column.LATER),
        later_outlier_count=decode_int(cells, Column.LATER_OUTLIERS),
        term_count=decode_int(cells, Column.TERMS),
        unknown_term_count=decode_int(cells, Column.UNKNOWN),
        later_term_count=decode_int(cells, Column.LATER_TERMS),
        later_unknown_term_count=decode_int(cells, Column.LATER_UNKNOWN),
    )
