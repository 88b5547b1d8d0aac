"""Table writes for documents that join a cluster, move to another one, or leave a clustering.

Only the holder of the collection's lease, or the process that builds the clustering, may read and
write cluster sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fonds.grouping.clustering import Placement, StoredClustering
from fonds.grouping.columns import Column
from fonds.grouping.names import CollectionName, build_unclustered_conf
from fonds.grouping.redo_log import PendingWrites
from fonds.grouping.stored.keys import build_cluster_row
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    MEMBERS,
    Tables,
    build_assignment_row,
    build_member_row,
    decode_int,
    decode_text,
    encode_utf8,
)

COPY_CELL = b"1"
"""Value of the cell that names a near-duplicate in the assignment row of its original."""
_PLACEMENT_COLUMNS = (Column.LABEL, Column.SCORE, Column.ORIGINAL)


def load_placements(
    tables: Tables, clustering: StoredClustering, ids: Sequence[str]
) -> dict[str, list[Placement]]:
    """Return the current placements of documents in a clustering, on every level, by document id.

    Documents without a placement are left out.
    """
    placements: dict[str, list[Placement]] = {}
    for conf in clustering.iter_level_confs():
        rows = {
            build_assignment_row(clustering.name, conf, clustering.timestamp, id_): id_
            for id_ in ids
        }
        for row, cells in tables.get_rows(ASSIGNMENTS, list(rows), _PLACEMENT_COLUMNS).items():
            if Column.LABEL not in cells:
                continue
            original = decode_text(cells, Column.ORIGINAL)
            placement = Placement(
                conf, decode_text(cells, Column.LABEL), cells.get(Column.SCORE, b"0"), original
            )
            placements.setdefault(rows[row], []).append(placement)
    return placements


def add_moves(
    tables: Tables,
    clustering: StoredClustering,
    placements_before: Mapping[str, Sequence[Placement]],
    placements_after: Mapping[str, Sequence[Placement]],
    writes: PendingWrites,
) -> Counter[str]:
    """Add to `writes` the changes from the previous to the new placements of documents.

    The sizes of all affected clusters are updated too.
    `placements_before`, `placements_after`: placements (the cluster, or the reason for none, on
        each level) by document id.
    Return, for each reason why documents are unclustered, by how much their number changes;
    negative if it decreases.
    """
    sizes: Counter[tuple[str, str]] = Counter()
    distinct: Counter[tuple[str, str]] = Counter()
    for id_ in {**placements_before, **placements_after}:
        previous_placements, new_placements = (
            set(placements_before.get(id_, ())),
            set(placements_after.get(id_, ())),
        )
        for placement in previous_placements - new_placements:
            _remove_from_cluster(clustering, id_, placement, writes)
            sizes[placement.conf, placement.label] -= 1
            distinct[placement.conf, placement.label] -= not placement.original
        for placement in new_placements - previous_placements:
            _join(clustering, id_, placement, writes)
            sizes[placement.conf, placement.label] += 1
            distinct[placement.conf, placement.label] += not placement.original
        _remove_assignments(clustering, id_, previous_placements, new_placements, writes)
    unclustered_conf = build_unclustered_conf(clustering.conf)
    _update_size(tables, clustering, Column.SIZE, sizes, writes)
    distinct_sizes = Counter(
        {key: count for key, count in distinct.items() if key[0] != unclustered_conf}
    )
    _update_size(tables, clustering, Column.DISTINCT, distinct_sizes, writes)
    return Counter(
        {label: count for (conf, label), count in sizes.items() if conf == unclustered_conf}
    )


def join_cells(
    clustering: StoredClustering, id_: str, placement: Placement
) -> Iterator[tuple[str, bytes, dict[str, bytes]]]:
    """Iterate over the cells to write when a document joins a cluster.

    Each item is a tuple of table name, row key and cells.
    """
    name, conf, timestamp = clustering.name, placement.conf, clustering.timestamp
    label, score = placement.label, placement.score
    row = build_cluster_row(name.namespace, name.key, conf, timestamp, label)
    yield CLUSTERS, row, {build_document_column(id_): score}
    assignment_row = build_assignment_row(name, conf, timestamp, id_)
    cells = {Column.LABEL: encode_utf8(label), Column.SCORE: score}
    if placement.original:
        cells[Column.ORIGINAL] = encode_utf8(placement.original)
        if conf == clustering.conf:
            yield _build_copy_row(clustering, id_, placement)
    yield ASSIGNMENTS, assignment_row, cells
    member_row = build_member_row(name, conf, timestamp, label, score, id_)
    yield MEMBERS, member_row, {Column.ID: encode_utf8(id_), Column.SCORE: score}


def _build_copy_row(
    clustering: StoredClustering, id_: str, placement: Placement
) -> tuple[str, bytes, dict[str, bytes]]:
    """Return the write that records a near-duplicate in the assignment row of its original.

    The result is (table, row key, cells).
    """
    row = build_assignment_row(
        clustering.name, clustering.conf, clustering.timestamp, placement.original
    )
    return ASSIGNMENTS, row, {f"{Column.COPY_PREFIX}{id_}": COPY_CELL}


def build_document_column(id_: str) -> str:
    """Return the name of the column for a document in the row of its cluster."""
    return f"{Column.DOCUMENT_PREFIX}{id_}"


def build_cluster_key(name: CollectionName, conf: str, timestamp: int, label: str) -> bytes:
    """Return the row key of a cluster of a collection in the table `clusters`."""
    return build_cluster_row(name.namespace, name.key, conf, timestamp, label)


def _join(
    clustering: StoredClustering, id_: str, placement: Placement, writes: PendingWrites
) -> None:
    for table, row, cells in join_cells(clustering, id_, placement):
        writes.put(table, row, cells)


def _remove_from_cluster(
    clustering: StoredClustering, id_: str, placement: Placement, writes: PendingWrites
) -> None:
    name, conf, timestamp = clustering.name, placement.conf, clustering.timestamp
    row = build_cluster_key(name, conf, timestamp, placement.label)
    writes.remove_cell(CLUSTERS, row, build_document_column(id_))
    member_row = build_member_row(name, conf, timestamp, placement.label, placement.score, id_)
    writes.remove(MEMBERS, member_row)
    if placement.original:
        writes.remove_cell(
            ASSIGNMENTS, build_assignment_row(name, conf, timestamp, id_), Column.ORIGINAL
        )
        if conf == clustering.conf:
            _, original_row, cells = _build_copy_row(clustering, id_, placement)
            for column in cells:
                writes.remove_cell(ASSIGNMENTS, original_row, column)


def _remove_assignments(
    clustering: StoredClustering,
    id_: str,
    previous_placements: set[Placement],
    new_placements: set[Placement],
    writes: PendingWrites,
) -> None:
    """Add to `writes` the removal of a document's assignment row on each level that the document
    left.
    """
    for conf in {placement.conf for placement in previous_placements} - {
        placement.conf for placement in new_placements
    }:
        writes.remove(
            ASSIGNMENTS, build_assignment_row(clustering.name, conf, clustering.timestamp, id_)
        )


def _update_size(
    tables: Tables,
    clustering: StoredClustering,
    column: str,
    sizes: Counter[tuple[str, str]],
    writes: PendingWrites,
) -> None:
    changes_by_row = {
        build_cluster_key(clustering.name, conf, clustering.timestamp, label): count
        for (conf, label), count in sizes.items()
        if count
    }
    rows = tables.get_rows(CLUSTERS, list(changes_by_row), [column])
    for row, count in changes_by_row.items():
        size = decode_int(rows.get(row), column) + count
        writes.put(CLUSTERS, row, {column: encode_utf8(max(size, 0))})
