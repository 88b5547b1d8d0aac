"""All that can be said against a collection, and made right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fonds.grouping.changes.curation import move_excluded
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.clusterings import check_clusterings
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.checks.documents import check_documents, remove_wrong
from fonds.grouping.clustering import (
    is_served,
    list_all_stored_clusterings,
    list_stored_clusterings,
)
from fonds.grouping.names import CollectionName, name_rebuild_lease
from fonds.grouping.rebuild.assignments import settle_documents
from fonds.grouping.rebuild.cleanup import drop, drop_leavings
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.redo_log import PendingWrites, perform
from fonds.grouping.tables import (
    COLLECTION_SIZE,
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

# Documents people took out of themes, against where they are and whether they are there.


def check_exclusions(
    changes: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    """What is wrong with the exclusions of a collection, whose row holds `cells`."""
    tables = changes.tables
    if gone := sum(len(some) for some in _iter_orphans(tables, name)):
        told = f"{gone:,} documents are kept out of themes, and are not there"
        yield Damage(Remedy.RELEASE, told)
    for one in list_stored_clusterings(tables, name):
        if is_served(one, cells) and (count := sum(map(len, iter_misplaced_ids(tables, one)))):
            told = f"{count:,} documents are in themes they were taken out of"
            yield Damage(Remedy.RELEASE, told, one.conf, one.timestamp)


def release(changes: CollectionWriter, name: CollectionName) -> int:
    """Forget the exclusions of documents that are gone, and take the others out of where they may not be; how
    many documents."""
    count, tables = 0, changes.tables
    for some in list(_iter_orphans(tables, name)):
        with changes.lease(name) as held:
            there = tables.get_rows(DOCUMENTS, some, ["main:id"])
            changes.leases.check(held.lease)
            tables.delete(EXCLUSIONS, [row for row in some if row not in there])
        count += len(some)
    for one in list_stored_clusterings(tables, name):
        for ids in list(iter_misplaced_ids(tables, one)):
            with changes.lease(name) as held:
                if not is_served(one, held.cells):
                    break
                writes = PendingWrites()
                move_excluded(changes, one, ids, find_excluded_labels(tables, one, ids), writes)
                perform(tables, name, held.cells, ids, writes, changes.leases, held.lease)
            count += len(ids)
    return count


def _iter_orphans(tables: Tables, name: CollectionName) -> Iterator[list[bytes]]:
    """The rows of exclusions of documents there are not, some at a time."""
    if not has_exclusions(tables, name):
        return
    for page in tables.iter_pages(EXCLUSIONS, name.row, ["main:id"], page_rows=BATCH_SIZE):
        rows = [name.build_document_row(decode_text(cells, "main:id")) for _, cells in page]
        there = tables.get_rows(DOCUMENTS, rows, ["main:id"])
        if gone := [row for row in rows if row not in there]:
            yield gone


DAMAGES_MAX = 100
"""So many damages of one collection are told."""


def find_damages(changes: CollectionWriter, name: CollectionName) -> list[Damage]:
    """What is wrong with a collection; nothing of one that was changed while it was looked at."""
    before = _load_cells(changes.tables, name)
    if not is_collection_row(before):
        return []
    found = list(islice(_iter_damages(changes, name, before), DAMAGES_MAX))
    return found if _load_cells(changes.tables, name) == before else []


def repair_collection(
    changes: CollectionWriter, name: CollectionName, *, threads: int | None = None
) -> Iterator[str]:
    """Make right what can be, and tell each act. Raises LeaseConflictError while others change or build
    it."""
    found = find_damages(changes, name)
    wanted = {remedy: [one for one in found if one.remedy is remedy] for remedy in Remedy}
    if wanted[Remedy.COUNT]:
        yield f"{name}: {_count(changes, name):,} documents were counted"
    if wanted[Remedy.FORGET]:
        count = remove_wrong(changes, name)
        yield f"{name}: vectors that were not of the text of {count:,} documents were removed"
    if wanted[Remedy.SWEEP]:
        yield f"{name}: {_sweep(changes, name):,} leavings were removed"
    built = sorted({one.conf for one in wanted[Remedy.BUILD]})
    for conf in built:
        made = rebuild(changes, name, conf, threads=threads)
        yield f"{name} was built anew by {conf}: {made.documents:,} documents"
    # What was served until now would be kept beside the new one as it is.
    old = {(one.conf, one.timestamp) for one in wanted[Remedy.DROP] + wanted[Remedy.BUILD]}
    for one in list_all_stored_clusterings(changes.tables, name):
        if (one.conf, one.timestamp) in old and drop(changes, one):
            yield f"{name}: the clustering {one.timestamp} by {one.conf} was removed"
    if wanted[Remedy.RELEASE]:
        yield f"{name}: {release(changes, name):,} documents are no longer where they may not be"
    if wanted[Remedy.SETTLE] and not built:
        yield from _settle_again(changes, name, {one.conf for one in wanted[Remedy.SETTLE]})


def _iter_damages(
    changes: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    yield from check_clusterings(changes, name, cells)
    yield from check_documents(changes, name, cells)
    yield from check_exclusions(changes, name, cells)


def _load_cells(tables: Tables, name: CollectionName) -> Cells:
    return tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}


def _count(changes: CollectionWriter, name: CollectionName) -> int:
    with changes.lease(name, long=True) as held:
        rows = changes.tables.iter_rows(DOCUMENTS, name.row, ["main:id"])
        count = sum(1 for _ in rows)
        changes.leases.check(held.lease)
        changes.tables.put(COLLECTIONS, [(name.row, {COLLECTION_SIZE: encode_utf8(count)})])
    return count


def _sweep(changes: CollectionWriter, name: CollectionName) -> int:
    confs = {one.conf for one in list_all_stored_clusterings(changes.tables, name)}
    count = 0
    for conf in sorted(confs):
        with changes.leases.acquire_renewed(name_rebuild_lease(name, conf)):
            count += drop_leavings(changes, name, conf)
    if not any(changes.leases.get_holder(name_rebuild_lease(name, conf)) for conf in confs):
        changes.tables.delete_prefix(READINGS, name.row)
    return count


def _settle_again(
    changes: CollectionWriter, name: CollectionName, confs: set[str]
) -> Iterator[str]:
    """Write documents' places, vectors, dictionary and index again, those of the last built at the end."""
    cells = _load_cells(changes.tables, name)
    served = [one for one in list_stored_clusterings(changes.tables, name) if is_served(one, cells)]
    for one in sorted(served, key=lambda each: each.timestamp):
        if one.conf in confs:
            with changes.leases.acquire_renewed(name_rebuild_lease(name, one.conf)):
                if not settle_documents(changes, one):
                    raise LeaseConflictError(f"{name} by {one.conf} was built anew meanwhile")
            yield f"{name}: places and vectors by {one.conf} were written again"
