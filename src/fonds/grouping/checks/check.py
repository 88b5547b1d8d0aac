"""Consistency check of a collection, and the repair of the damage found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fonds.grouping.changes.curation import move_excluded
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.clusterings import check_clusterings
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.checks.documents import check_documents, remove_wrong
from fonds.grouping.checks.unconfirmed_rows import check_head
from fonds.grouping.clustering import (
    is_served,
    list_all_stored_clusterings,
    list_stored_clusterings,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName, name_rebuild_lease
from fonds.grouping.rebuild.assignments import settle_documents
from fonds.grouping.rebuild.cleanup import drop, drop_interrupted
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.redo_log import PendingWrites, perform
from fonds.grouping.tables import (
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    READINGS,
    Cells,
    Tables,
    decode_text,
    encode_utf8,
    is_collection_row,
)
from fonds.grouping.views.curation import (
    BATCH_SIZE,
    find_excluded_labels,
    has_exclusions,
    iter_misplaced_ids,
)
from fonds.leases.lease import LeaseConflictError

# Exclusions, checked against the documents and their placements


def check_exclusions(
    writer: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    """Iterate over the damage of a collection's exclusions.

    An exclusion is a person's decision that a document is not in a theme (cluster). It is damaged
    if the document is missing, or still in the theme.
    `cells`: cells of the collection's row.
    """
    tables = writer.tables
    if n_missing := sum(len(rows) for rows in _iter_orphans(tables, name)):
        message = f"{n_missing:,} documents are excluded from themes but do not exist"
        yield Damage(Remedy.RELEASE, message)
    for clustering in list_stored_clusterings(tables, name):
        if is_served(clustering, cells) and (
            count := sum(map(len, iter_misplaced_ids(tables, clustering)))
        ):
            message = f"{count:,} documents are in themes from which they are excluded"
            yield Damage(Remedy.RELEASE, message, clustering.conf, clustering.timestamp)


def release(writer: CollectionWriter, name: CollectionName) -> int:
    """Repair a collection's exclusions and return the number of documents concerned.

    Exclusions of missing documents are removed. Other documents are moved out of the themes
    (clusters) that they are excluded from.
    Raises LeaseConflictError if the collection's lease cannot be acquired or may have expired.
    """
    count, tables = 0, writer.tables
    for rows in list(_iter_orphans(tables, name)):
        with writer.lease(name) as collection:
            existing_rows = tables.get_rows(DOCUMENTS, rows, [Column.ID])
            writes = PendingWrites()
            for row in rows:
                if row not in existing_rows:
                    writes.remove(EXCLUSIONS, row)
            perform(tables, name, collection.cells, [], writes, writer.leases, collection.lease)
        count += len(rows)
    for clustering in list_stored_clusterings(tables, name):
        for ids in list(iter_misplaced_ids(tables, clustering)):
            with writer.lease(name) as collection:
                if not is_served(clustering, collection.cells):
                    break
                writes = PendingWrites()
                move_excluded(
                    writer, clustering, ids, find_excluded_labels(tables, clustering, ids), writes
                )
                perform(
                    tables, name, collection.cells, ids, writes, writer.leases, collection.lease
                )
            count += len(ids)
    return count


def _iter_orphans(tables: Tables, name: CollectionName) -> Iterator[list[bytes]]:
    """Iterate over row keys of missing documents that have exclusions, in batches.

    The row key of an exclusion equals the row key of the excluded document.
    """
    if not has_exclusions(tables, name):
        return
    for page in tables.iter_pages(EXCLUSIONS, name.row, [Column.ID], page_rows=BATCH_SIZE):
        rows = [name.build_document_row(decode_text(cells, Column.ID)) for _, cells in page]
        existing_rows = tables.get_rows(DOCUMENTS, rows, [Column.ID])
        if orphans := [row for row in rows if row not in existing_rows]:
            yield orphans


DAMAGES_MAX = 100
"""Maximum number of cases of damage that are reported per collection."""


def find_damages(writer: CollectionWriter, name: CollectionName) -> list[Damage]:
    """Check a collection and return the damage found, at most 100 cases.

    Return an empty list if the collection does not exist, or changed during the check.
    """
    cells_before = _load_cells(writer.tables, name)
    if not is_collection_row(cells_before):
        return []
    damages = list(islice(_iter_damages(writer, name, cells_before), DAMAGES_MAX))
    return damages if _load_cells(writer.tables, name) == cells_before else []


def repair_collection(
    writer: CollectionWriter, name: CollectionName, *, threads: int | None = None
) -> Iterator[str]:
    """Check a collection, repair the damage found, and yield a message for each action.

    `threads`: number of threads for rebuilds; None for one per core.
    Raises LeaseConflictError while another process changes or rebuilds the collection.
    """
    damages = find_damages(writer, name)
    damages_by_remedy = {
        remedy: [item for item in damages if item.remedy is remedy] for remedy in Remedy
    }
    if damages_by_remedy[Remedy.COUNT]:
        yield f"{name}: counted {_count(writer, name):,} documents"
    if damages_by_remedy[Remedy.FORGET]:
        count = remove_wrong(writer, name)
        yield f"{name}: removed vectors of {count:,} documents that did not match their text"
    if damages_by_remedy[Remedy.SWEEP]:
        yield f"{name}: removed {_sweep(writer, name):,} leftovers"
    rebuilt_confs = sorted({item.conf for item in damages_by_remedy[Remedy.BUILD]})
    for conf in rebuilt_confs:
        result = rebuild(writer, name, conf, threads=threads)
        yield f"{name} was rebuilt by {conf}: {result.documents:,} documents"
    # Rebuilding alone would keep the damaged clustering next to the new one.
    outdated_clusterings = {
        (item.conf, item.timestamp)
        for item in damages_by_remedy[Remedy.DROP] + damages_by_remedy[Remedy.BUILD]
    }
    for item in list_all_stored_clusterings(writer.tables, name):
        if (item.conf, item.timestamp) in outdated_clusterings and drop(writer, item):
            yield f"{name}: removed the clustering {item.timestamp} by {item.conf}"
    if damages_by_remedy[Remedy.RELEASE]:
        yield f"{name}: corrected the exclusions of {release(writer, name):,} documents"
    if damages_by_remedy[Remedy.SETTLE] and not rebuilt_confs:
        yield from _settle_again(
            writer, name, {item.conf for item in damages_by_remedy[Remedy.SETTLE]}
        )


def _iter_damages(writer: CollectionWriter, name: CollectionName, cells: Cells) -> Iterator[Damage]:
    yield from check_clusterings(writer, name, cells)
    yield from check_documents(writer, name, cells)
    yield from check_exclusions(writer, name, cells)
    yield from check_head(writer.tables, name, cells)


def _load_cells(tables: Tables, name: CollectionName) -> Cells:
    return tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}


def _count(writer: CollectionWriter, name: CollectionName) -> int:
    with writer.lease(name, long=True) as collection:
        rows = writer.tables.iter_rows(DOCUMENTS, name.row, [Column.ID])
        count = sum(1 for _ in rows)
        writer.leases.check(collection.lease)
        writer.tables.put(COLLECTIONS, [(name.row, {Column.SIZE: encode_utf8(count)})])
    return count


def _sweep(writer: CollectionWriter, name: CollectionName) -> int:
    confs = {clustering.conf for clustering in list_all_stored_clusterings(writer.tables, name)}
    count = 0
    for conf in sorted(confs):
        with writer.leases.acquire_renewed(name_rebuild_lease(name, conf)):
            count += drop_interrupted(writer, name, conf)
    if not any(writer.leases.get_holder(name_rebuild_lease(name, conf)) for conf in confs):
        writer.tables.delete_prefix(READINGS, name.row)
    return count


def _settle_again(writer: CollectionWriter, name: CollectionName, confs: set[str]) -> Iterator[str]:
    """Rewrite documents' clusters and vectors, and the collection's dictionary and inverted index.

    This is done for each served clustering of the given configurations, from oldest to newest. Each
    pass overwrites the vectors and the index, so those of the newest clustering remain. Yield a
    message for each clustering.
    Raises LeaseConflictError if a clustering is no longer served.
    """
    cells = _load_cells(writer.tables, name)
    clusterings = [
        clustering
        for clustering in list_stored_clusterings(writer.tables, name)
        if is_served(clustering, cells)
    ]
    for clustering in sorted(clusterings, key=lambda each: each.timestamp):
        if clustering.conf in confs:
            with writer.leases.acquire_renewed(name_rebuild_lease(name, clustering.conf)):
                if not settle_documents(writer, clustering):
                    raise LeaseConflictError(
                        f"{name} by {clustering.conf} was rebuilt in the meantime"
                    )
            yield f"{name}: rewrote assignments and vectors by {clustering.conf}"
