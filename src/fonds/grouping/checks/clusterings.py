"""Clusterings against themselves: sizes against members, cells and assignments; near-duplicates; what dead
rebuilds left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from fonds.grouping.changes.cells import COPY, ORIGINAL
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.clustering import (
    DROPPED,
    StoredClustering,
    is_served,
    list_all_stored_clusterings,
    list_served_configurations,
    served_column,
)
from fonds.grouping.clustering_model import read_model
from fonds.grouping.names import CollectionName, build_unclustered_conf, name_rebuild_lease
from fonds.grouping.redo_log import iter_chunks
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    DISTINCT,
    MEMBERS,
    READINGS,
    SIZE,
    Cells,
    Tables,
    build_assignment_row,
    decode_int,
    decode_text,
)
from fonds.model.errors import DamagedInputError
from fonds.ports.scan import Page

# Near-duplicates of a clustering: each linked to a document that is where it is, and counted once.


BATCH_SIZE = 200
_LABEL = "main:label"

LINKED = (
    "near-duplicates name a document that is not in their cluster, or is a near-duplicate itself"
)
LEVELS = "documents are near-duplicates of others on one level than on the first"
COPIES = "near-duplicates are not told of by the documents they name"
NOT_DUPLICATES_MESSAGE = "documents are told to be near-duplicates, and are not"


def check_duplicates(tables: Tables, clustering: StoredClustering) -> Iterator[str]:
    """One sentence for each way links and counts of a clustering's near-duplicates do not agree, on each
    level. Reads the assignments page by page."""
    apart = build_unclustered_conf(clustering.conf)
    for conf in clustering.iter_level_confs():
        if conf != apart:
            yield from _check_level(tables, clustering, conf)


def _check_level(tables: Tables, clustering: StoredClustering, conf: str) -> Iterator[str]:
    prefix = build_clustering_prefix(
        clustering.name.namespace, clustering.name.key, conf, clustering.timestamp
    )
    distinct: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for page in tables.iter_pages(ASSIGNMENTS, prefix, ["main:"], page_rows=BATCH_SIZE):
        distinct.update(decode_text(cells, _LABEL) for _, cells in page if ORIGINAL not in cells)
        wrong.update(_check_page(tables, clustering, conf, page))
    for told, count in wrong.items():
        yield f"{conf} {clustering.timestamp}: {count:,} {told}"
    for row, cells in tables.iter_rows(CLUSTERS, prefix, [SIZE, DISTINCT]):
        label, counted = parse_cluster_row(row)[4], decode_int(cells, DISTINCT, -1)
        if counted != distinct[label]:
            yield (
                f"{conf} {clustering.timestamp}, cluster {label!r}: it counts {counted:,} distinct documents;"
                f" {distinct[label]:,} of its documents are near-duplicates of none"
            )


def _check_page(
    tables: Tables, clustering: StoredClustering, conf: str, page: Page
) -> Iterator[str]:
    ids = [parse_cluster_row(row)[4] for row, _ in page]
    linked = [(id_, cells) for id_, (_, cells) in zip(ids, page, strict=True) if ORIGINAL in cells]
    columns = [_LABEL, ORIGINAL, *(f"{COPY}{id_}" for id_, _ in linked)]
    originals = [decode_text(cells, ORIGINAL) for _, cells in linked]
    theirs = _load_assignments(tables, clustering, conf, originals, columns)
    for _, cells in linked:
        original = theirs.get(decode_text(cells, ORIGINAL), {})
        if ORIGINAL in original or original.get(_LABEL) != cells.get(_LABEL):
            yield LINKED
    if conf == clustering.conf:
        yield from _check_copies(tables, clustering, page, ids, theirs)
        return
    firsts = _load_assignments(tables, clustering, clustering.conf, ids, [_LABEL, ORIGINAL])
    for id_, (_, cells) in zip(ids, page, strict=True):
        if id_ in firsts and decode_text(firsts[id_], ORIGINAL) != decode_text(cells, ORIGINAL):
            yield LEVELS


def _check_copies(
    tables: Tables,
    clustering: StoredClustering,
    page: Page,
    ids: Sequence[str],
    other_cells: Mapping[str, Cells],
) -> Iterator[str]:
    """What originals say of their near-duplicates, both ways; said on the first level alone."""
    told = []
    for id_, (_, cells) in zip(ids, page, strict=True):
        original = decode_text(cells, ORIGINAL)
        if original and f"{COPY}{id_}" not in other_cells.get(original, {}):
            yield COPIES
        told += [(id_, name.removeprefix(COPY)) for name in cells if name.startswith(COPY)]
    for some in iter_chunks(told, BATCH_SIZE):
        found = _load_assignments(
            tables, clustering, clustering.conf, [copy for _, copy in some], [ORIGINAL]
        )
        for id_, copy in some:
            if decode_text(found.get(copy), ORIGINAL) != id_:
                yield NOT_DUPLICATES_MESSAGE


def _load_assignments(
    tables: Tables,
    clustering: StoredClustering,
    conf: str,
    ids: Sequence[str],
    columns: Sequence[str],
) -> dict[str, Mapping[str, bytes]]:
    """The assignments of documents on a level, by id."""
    rows = {
        build_assignment_row(clustering.name, conf, clustering.timestamp, id_): id_ for id_ in ids
    }
    return {
        rows[row]: cells for row, cells in tables.get_rows(ASSIGNMENTS, list(rows), columns).items()
    }


def check_clusterings(
    changes: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    """What is wrong with the clusterings of a collection, whose row holds `cells`; one that is being built
    is left alone."""
    rows = list_all_stored_clusterings(changes.tables, name)
    there = {(one.conf, one.timestamp) for one in rows if DROPPED not in one.cells}
    for conf, timestamp in list_served_configurations(cells).items():
        if (conf, timestamp) not in there:
            told = f"the clustering {timestamp} by {conf}, which is served, is not there"
            yield Damage(Remedy.BUILD, told, conf, timestamp)
    for one in rows:
        if DROPPED in one.cells or one.timestamp > decode_int(cells, served_column(one.conf), -1):
            if changes.leases.get_holder(name_rebuild_lease(name, one.conf)) is None:
                told = f"the clustering {one.timestamp} by {one.conf} was left by one that died"
                yield Damage(Remedy.SWEEP, told, one.conf, one.timestamp)
            continue
        remedy = Remedy.BUILD if is_served(one, cells) else Remedy.DROP
        for told in chain(_check_sizes(changes.tables, one), check_duplicates(changes.tables, one)):
            yield Damage(remedy, told, one.conf, one.timestamp)
        if is_served(one, cells) and (told := _check_model(changes, one)):
            yield Damage(remedy, told, one.conf, one.timestamp)
    yield from _find_orphan_pages(changes, name, rows)


def _check_sizes(tables: Tables, clustering: StoredClustering) -> Iterator[str]:
    """One sentence for each cluster of any level whose size is not what it holds."""
    for conf in clustering.iter_level_confs():
        prefix = build_clustering_prefix(
            clustering.name.namespace, clustering.name.key, conf, clustering.timestamp
        )
        assigned = Counter(
            decode_text(found, "main:label")
            for _, found in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label"])
        )
        for row, found in tables.iter_rows(CLUSTERS, prefix, ["main:size"]):
            label, size = parse_cluster_row(row)[4], decode_int(found, "main:size", -1)
            members = sum(1 for _ in tables.iter_rows(MEMBERS, row, ["main:score"]))
            cells = len(tables.get_row(CLUSTERS, row, ["documents:"]) or {})
            if not size == members == cells == assigned[label]:
                yield (
                    f"{conf} {clustering.timestamp}, cluster {label!r}: its size is {size:,}; it has"
                    f" {members:,} members, {cells:,} scores and {assigned[label]:,} documents"
                )
            del assigned[label]
        for label, count in assigned.items():
            yield f"{conf} {clustering.timestamp}: {count:,} documents are in {label!r}, which is not there"


def _check_model(changes: CollectionWriter, clustering: StoredClustering) -> str:
    """What is wrong with the model later documents are placed by; '' for nothing."""
    try:
        found = read_model(changes.tables, clustering.name, clustering.conf, clustering.timestamp)
    except DamagedInputError as error:
        return f"the model of {clustering.conf} {clustering.timestamp} cannot be read: {error}"
    return (
        ""
        if found is not None
        else f"the model of {clustering.conf} {clustering.timestamp} is gone"
    )


def _find_orphan_pages(
    changes: CollectionWriter, name: CollectionName, rows: list[StoredClustering]
) -> Iterator[Damage]:
    """Pages an engine read for a clustering that nobody builds."""
    if not changes.tables.is_complete():
        return
    by_row = {one.row: one for one in rows}
    left: Counter[bytes] = Counter()
    for row, _ in changes.tables.iter_rows(READINGS, name.row, ["main:slice"]):
        left[next((each for each in by_row if row.startswith(each)), b"")] += 1
    for head, count in left.items():
        built = by_row.get(head)
        if built is None or changes.leases.get_holder(name_rebuild_lease(name, built.conf)) is None:
            yield Damage(Remedy.SWEEP, f"{count:,} pages of documents were left by one that died")
