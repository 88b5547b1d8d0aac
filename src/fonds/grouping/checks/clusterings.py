"""Checks of stored clusterings: sizes, assignments, near-duplicates, models, remains of rebuilds.

Each check yields damage or messages, and changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from fonds.grouping.changes.cells import COPY_CELL
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.checks.damage import Damage, Remedy
from fonds.grouping.checksums import COVERED, has_valid_checksum
from fonds.grouping.clustering import (
    StoredClustering,
    is_served,
    list_all_stored_clusterings,
    list_served_configurations,
    served_column,
)
from fonds.grouping.clustering_model import read_model
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName, build_unclustered_conf, name_rebuild_lease
from fonds.grouping.redo_log import iter_chunks
from fonds.grouping.stored.keys import build_clustering_prefix, parse_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    MEMBERS,
    READINGS,
    Cells,
    Tables,
    build_assignment_row,
    build_member_suffix,
    decode_float,
    decode_int,
    decode_text,
)
from fonds.model.errors import DamagedInputError
from fonds.ports.scan import Page

# Near-duplicates: each links to an original document in the same cluster. Only originals count as
# distinct documents.


BATCH_SIZE = 200

LINKED = (
    "near-duplicates refer to a document that is itself a near-duplicate or not in their cluster"
)
LEVELS = "documents have a different original than on the first level"
COPIES = "near-duplicates are not listed by their originals"
NOT_DUPLICATES_MESSAGE = "documents are listed as near-duplicates but are not"


def check_duplicates(tables: Tables, clustering: StoredClustering) -> Iterator[str]:
    """Check links between near-duplicates and their originals, and counts of distinct documents.

    Yield a message for each inconsistency, on each level of the clustering. The assignments of
    documents are read page by page.
    """
    unclustered_conf = build_unclustered_conf(clustering.conf)
    for conf in clustering.iter_level_confs():
        if conf != unclustered_conf:
            yield from _check_level(tables, clustering, conf)


def _check_level(tables: Tables, clustering: StoredClustering, conf: str) -> Iterator[str]:
    prefix = build_clustering_prefix(
        clustering.name.namespace, clustering.name.key, conf, clustering.timestamp
    )
    distinct: Counter[str] = Counter()
    message_counts: Counter[str] = Counter()
    for page in tables.iter_pages(ASSIGNMENTS, prefix, [MAIN_FAMILY], page_rows=BATCH_SIZE):
        distinct.update(
            decode_text(cells, Column.LABEL) for _, cells in page if Column.ORIGINAL not in cells
        )
        message_counts.update(_check_page(tables, clustering, conf, page))
    for message, count in message_counts.items():
        yield f"{conf} {clustering.timestamp}: {count:,} {message}"
    for row, cells in tables.iter_rows(CLUSTERS, prefix, [Column.SIZE, Column.DISTINCT]):
        label, stored_count = parse_cluster_row(row)[4], decode_int(cells, Column.DISTINCT, -1)
        if stored_count != distinct[label]:
            yield (
                f"{conf} {clustering.timestamp}, cluster {label!r}: its distinct count is "
                f"{stored_count:,}, but {distinct[label]:,} of its documents are not "
                "near-duplicates"
            )


def _check_page(
    tables: Tables, clustering: StoredClustering, conf: str, page: Page
) -> Iterator[str]:
    ids = [parse_cluster_row(row)[4] for row, _ in page]
    linked_rows = [
        (id_, cells) for id_, (_, cells) in zip(ids, page, strict=True) if Column.ORIGINAL in cells
    ]
    columns = [
        Column.LABEL,
        Column.ORIGINAL,
        *(f"{Column.COPY_PREFIX}{id_}" for id_, _ in linked_rows),
    ]
    originals = [decode_text(cells, Column.ORIGINAL) for _, cells in linked_rows]
    original_cells = _load_assignments(tables, clustering, conf, originals, columns)
    for _, cells in linked_rows:
        original = original_cells.get(decode_text(cells, Column.ORIGINAL), {})
        if Column.ORIGINAL in original or original.get(Column.LABEL) != cells.get(Column.LABEL):
            yield LINKED
    if conf == clustering.conf:
        yield from _check_copies(tables, clustering, page, ids, original_cells)
        return
    first_level = _load_assignments(
        tables, clustering, clustering.conf, ids, [Column.LABEL, Column.ORIGINAL]
    )
    for id_, (_, cells) in zip(ids, page, strict=True):
        if id_ in first_level and decode_text(first_level[id_], Column.ORIGINAL) != decode_text(
            cells, Column.ORIGINAL
        ):
            yield LEVELS


def _check_copies(
    tables: Tables,
    clustering: StoredClustering,
    page: Page,
    ids: Sequence[str],
    other_cells: Mapping[str, Cells],
) -> Iterator[str]:
    """Check that the assignments of near-duplicates and of their originals refer to each other.

    Only the first level of the clustering is checked.

    Yield a message for each original that does not list its near-duplicate, and for each listed
    document that does not refer back.
    `page`: row keys and cells of assignments.
    `ids`: document id of each assignment.
    `other_cells`: cells of the assignments of originals, by document id.
    """
    links = []
    for id_, (_, cells) in zip(ids, page, strict=True):
        original = decode_text(cells, Column.ORIGINAL)
        copy_column = f"{Column.COPY_PREFIX}{id_}"
        if original and other_cells.get(original, {}).get(copy_column) != COPY_CELL:
            yield COPIES
        links += [
            (id_, name.removeprefix(Column.COPY_PREFIX))
            for name in cells
            if name.startswith(Column.COPY_PREFIX)
        ]
    for batch in iter_chunks(links, BATCH_SIZE):
        copy_cells = _load_assignments(
            tables, clustering, clustering.conf, [copy for _, copy in batch], [Column.ORIGINAL]
        )
        for id_, copy in batch:
            if decode_text(copy_cells.get(copy), Column.ORIGINAL) != id_:
                yield NOT_DUPLICATES_MESSAGE


def _load_assignments(
    tables: Tables,
    clustering: StoredClustering,
    conf: str,
    ids: Sequence[str],
    columns: Sequence[str],
) -> dict[str, Mapping[str, bytes]]:
    """Return the cells of documents' assignments to clusters on one level, by document id.

    A level is one granularity of a clustering. Documents without an assignment are left out.
    `conf`: configuration part of the row keys, which names the level.
    `columns`: columns to read.
    """
    rows = {
        build_assignment_row(clustering.name, conf, clustering.timestamp, id_): id_ for id_ in ids
    }
    return {
        rows[row]: cells for row, cells in tables.get_rows(ASSIGNMENTS, list(rows), columns).items()
    }


def check_clusterings(
    writer: CollectionWriter, name: CollectionName, cells: Cells
) -> Iterator[Damage]:
    """Iterate over the damage of a collection's clusterings, except those being built.

    `cells`: cells of the collection's row.
    """
    rows = list_all_stored_clusterings(writer.tables, name)
    existing = {
        (clustering.conf, clustering.timestamp)
        for clustering in rows
        if Column.DROPPED not in clustering.cells
    }
    for conf, timestamp in list_served_configurations(cells).items():
        if (conf, timestamp) not in existing:
            message = f"the served clustering {timestamp} by {conf} does not exist"
            yield Damage(Remedy.BUILD, message, conf, timestamp)
    for clustering in rows:
        if Column.DROPPED in clustering.cells or clustering.timestamp > decode_int(
            cells, served_column(clustering.conf), -1
        ):
            if writer.leases.get_holder(name_rebuild_lease(name, clustering.conf)) is None:
                message = (
                    f"the clustering {clustering.timestamp} by {clustering.conf} was left by a "
                    "process that ended early"
                )
                yield Damage(Remedy.SWEEP, message, clustering.conf, clustering.timestamp)
            continue
        remedy = Remedy.BUILD if is_served(clustering, cells) else Remedy.DROP
        for message in chain(
            _check_values(writer.tables, clustering),
            _check_sizes(writer.tables, clustering),
            check_duplicates(writer.tables, clustering),
        ):
            yield Damage(remedy, message, clustering.conf, clustering.timestamp)
        if is_served(clustering, cells) and (message := _check_model(writer, clustering)):
            yield Damage(remedy, message, clustering.conf, clustering.timestamp)
    yield from _find_orphan_pages(writer, name, rows)


def _check_values(tables: Tables, clustering: StoredClustering) -> Iterator[str]:
    """Check the checksum of a clustering's row. Yield a message if a cell was changed."""
    columns = [*sorted(COVERED[CLUSTERINGS]), Column.CHECKSUM]
    cells = tables.get_row(CLUSTERINGS, clustering.row, columns) or {}
    if not has_valid_checksum(CLUSTERINGS, clustering.row, cells):
        yield f"{clustering.conf} {clustering.timestamp}: its row was changed by another program"


class _ScoreSum:
    """Number of documents in a cluster, and the sum of the hashes of their ids and scores."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0

    def add(self, id_: str, score: bytes) -> None:
        self.count += 1
        self.total += hash((id_, score))


def _check_sizes(tables: Tables, clustering: StoredClustering) -> Iterator[str]:
    """Check that the stored size of each cluster equals the number of its documents.

    All levels (granularities) of a clustering are checked. Yield a message for each cluster whose
    size, members, scores and assignments differ, or whose values were changed, and for assignments
    to missing clusters.
    """
    for conf in clustering.iter_level_confs():
        prefix = build_clustering_prefix(
            clustering.name.namespace, clustering.name.key, conf, clustering.timestamp
        )
        assignments: defaultdict[str, _ScoreSum] = defaultdict(_ScoreSum)
        for row, row_cells in tables.iter_rows(ASSIGNMENTS, prefix, [Column.LABEL, Column.SCORE]):
            assignments[decode_text(row_cells, Column.LABEL)].add(
                parse_cluster_row(row)[4], row_cells.get(Column.SCORE, b"")
            )
        for row, row_cells in tables.iter_rows(CLUSTERS, prefix, [MAIN_FAMILY]):
            label = parse_cluster_row(row)[4]
            assigned = assignments.pop(label, _ScoreSum())
            for message in _check_cluster(tables, row, row_cells, assigned):
                yield f"{conf} {clustering.timestamp}, cluster {label!r}: {message}"
        for label, assigned in assignments.items():
            yield (
                f"{conf} {clustering.timestamp}: {assigned.count:,} documents are in {label!r}, "
                "which does not exist"
            )


def _check_cluster(
    tables: Tables, row: bytes, row_cells: Cells, assigned: _ScoreSum
) -> Iterator[str]:
    """Check one cluster against its members, its scores and the assignments of its documents.

    `row_cells`: cells of the cluster's row in the family `main`.
    `assigned`: documents that are assigned to the cluster.
    """
    members, scored, n_misplaced = _ScoreSum(), _ScoreSum(), 0
    for member_row, cells in tables.iter_rows(MEMBERS, row, [Column.ID, Column.SCORE]):
        id_, score = decode_text(cells, Column.ID), cells.get(Column.SCORE, b"")
        members.add(id_, score)
        n_misplaced += member_row != row + build_member_suffix(
            decode_float(cells, Column.SCORE), id_
        )
    for column, score in (tables.get_row(CLUSTERS, row, [Column.DOCUMENT_PREFIX]) or {}).items():
        scored.add(column.removeprefix(Column.DOCUMENT_PREFIX), score)
    size = decode_int(row_cells, Column.SIZE, -1)
    if not size == members.count == scored.count == assigned.count:
        yield (
            f"its size is {size:,}, but it has {members.count:,} members, {scored.count:,} scores "
            f"and {assigned.count:,} documents"
        )
    elif not members.total == scored.total == assigned.total:
        yield "its members, its scores and the assignments of its documents differ"
    if n_misplaced:
        yield f"{n_misplaced:,} members have another id or score than their row key"
    if not has_valid_checksum(CLUSTERS, row, row_cells):
        yield "its row was changed by another program"


def _check_model(writer: CollectionWriter, clustering: StoredClustering) -> str:
    """Read the model that assigns new documents to the clusters of a clustering, to check it.

    Return what is wrong with the model; '' if nothing is.
    """
    try:
        model = read_model(writer.tables, clustering.name, clustering.conf, clustering.timestamp)
    except DamagedInputError as error:
        return f"cannot read the model of {clustering.conf} {clustering.timestamp}: {error}"
    return (
        ""
        if model is not None
        else f"the model of {clustering.conf} {clustering.timestamp} is missing"
    )


def _find_orphan_pages(
    writer: CollectionWriter, name: CollectionName, rows: list[StoredClustering]
) -> Iterator[Damage]:
    """Yield the damage of pages in the table `readings` that interrupted rebuilds left.

    A bulk engine stores pages of read documents in this table for the clustering being built.
    `rows`: all clusterings of the collection.
    """
    if not writer.tables.is_complete():
        return
    clusterings_by_row = {clustering.row: clustering for clustering in rows}
    page_counts: Counter[bytes] = Counter()
    for row, _ in writer.tables.iter_rows(READINGS, name.row, [Column.SLICE]):
        clustering_row = next(filter(row.startswith, clusterings_by_row), b"")
        page_counts[clustering_row] += 1
    for clustering_row, count in page_counts.items():
        clustering = clusterings_by_row.get(clustering_row)
        if (
            clustering is None
            or writer.leases.get_holder(name_rebuild_lease(name, clustering.conf)) is None
        ):
            yield Damage(
                Remedy.SWEEP,
                (f"{count:,} pages of documents were left by a process that ended early"),
            )
