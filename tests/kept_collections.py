"""Collections for tests: open them in a folder, generate documents, and check all their rows."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from empty_records import open_records
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName, build_level_conf, build_unclustered_conf
from fonds.grouping.stored.keys import (
    build_clustering_prefix,
    parse_cluster_row,
    parse_document_row,
)
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CHANGES,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    MEMBERS,
    Tables,
    decode_int,
    decode_text,
)
from fonds.grouping.views.curation import parse_exclusions
from fonds.grouping.views.documents import list_placements
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.stores.records.sql import SqlRecords
from fonds.stores.table.sqlite import SqliteTable
from themed_texts import themed_texts

NEWS = CollectionName("news", "2026-11")


@dataclass
class Clock:
    """Seconds since 1970 that advance by one on each reading."""

    at: int = 1_790_000_000
    ticks: itertools.count[int] = field(default_factory=itertools.count)

    def __call__(self) -> int:
        """Return the next second."""
        return self.at + next(self.ticks)


@dataclass
class CollectionStore:
    """Tables of collections in a folder, and the writer that changes them."""

    tables: Tables
    writer: CollectionWriter
    records: SqlRecords
    closes: list[object]

    def close(self) -> None:
        """Close both stores."""
        for closeable in self.closes:
            closeable.close()  # type: ignore[attr-defined]


def open_collection_store(
    folder: Path, clock: Clock | None = None, lease_s: float = 30.0, tables: Tables | None = None
) -> CollectionStore:
    """Open the collections in a folder, or in the given tables with the records in the folder.

    Create `records.sqlite` if it does not exist.
    """
    tables = tables or Tables(SqliteTable(folder / "table.sqlite"))
    records = open_records(folder / "records.sqlite")
    tables.declare()
    leases = Leases(LeaseTable(records), create_worker_name(), time.monotonic, lease_s)
    writer = CollectionWriter(tables, leases, clock or Clock())
    return CollectionStore(tables, writer, records, [tables.store, records])


def themed_documents(count: int, seed: int = 1, themes: int = 5) -> list[Document]:
    """Generate documents on themes, with the ids `d0`, `d1` and so on."""
    texts, _ = themed_texts(count, seed=seed, themes=themes)
    return [Document(f"d{at}", text, title=text[:40]) for at, text in enumerate(texts)]


def find_faults(tables: Tables, name: CollectionName) -> list[str]:
    """Read all rows of a collection and describe each inconsistency."""
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    document_ids = {
        parse_document_row(row)[2] for row, _ in tables.iter_rows(DOCUMENTS, name.row, ["main:id"])
    }
    all_ids = {parse_document_row(row)[2] for row, _ in tables.iter_rows(DOCUMENTS, name.row)}
    messages = [f"{id_}: a row that is no document" for id_ in all_ids - document_ids]
    if decode_int(cells, "main:size") != len(document_ids):
        messages.append(f"size {decode_int(cells, 'main:size')} of {len(document_ids)}")
    change_count = len(tables.get_page(CHANGES, name.row))
    if change_count and not any(column.endswith(":rebuilt") for column in cells):
        messages.append(f"{change_count} changes remain")
    for row, clustering_cells in tables.iter_rows(CLUSTERINGS, name.row, ["main:"]):
        del row
        messages += _find_clustering_faults(
            tables,
            name,
            decode_text(clustering_cells, "main:conf"),
            clustering_cells,
            document_ids,
            cells,
        )
    return messages + _find_exclusion_faults(tables, name, document_ids)


def _find_exclusion_faults(
    tables: Tables, name: CollectionName, document_ids: set[str]
) -> list[str]:
    """Find documents in a theme they are excluded from, and exclusions of missing documents."""
    messages = []
    for _, cells in tables.iter_rows(EXCLUSIONS, name.row):
        id_ = decode_text(cells, "main:id")
        if id_ not in document_ids:
            messages.append(f"{id_}: excluded, but no document")
        excluded_clusters = parse_exclusions(cells)
        if not excluded_clusters:
            messages.append(f"{id_}: excluded from nothing")
        messages += [
            f"{id_}: in {placement.cluster_id}, which it is excluded from"
            for placement in list_placements(tables, name, id_)
            if (placement.conf, placement.cluster_id) in excluded_clusters
        ]
    return messages


def _find_clustering_faults(
    tables: Tables,
    name: CollectionName,
    conf: str,
    clustering_cells: dict[str, bytes],
    document_ids: set[str],
    cells: dict[str, bytes],
) -> list[str]:
    timestamp, messages = decode_int(clustering_cells, "main:timestamp"), []
    served_timestamp = decode_int(cells, f"main:configuration:{conf}:rebuilt", -1)
    if timestamp > served_timestamp:
        return [f"{conf} {timestamp}: older rows remain"]
    confs = [
        build_level_conf(conf, level_conf)
        for level_conf in range(decode_int(clustering_cells, "main:levels"))
    ]
    placement_counts: Counter[str] = Counter()
    for level_conf in (*confs, build_unclustered_conf(conf)):
        cluster_sizes, ids, label_pairs = _read_clustering(tables, name, level_conf, timestamp)
        if level_conf != build_unclustered_conf(conf):
            messages += _find_duplicate_faults(tables, name, level_conf, timestamp)
        if cluster_sizes[0] != cluster_sizes[1]:
            messages.append(f"{level_conf} {timestamp}: sizes {cluster_sizes}")
        if not ids == label_pairs[0] == label_pairs[1]:
            messages.append(f"{level_conf} {timestamp}: {ids} {label_pairs}")
        if level_conf in (conf, build_unclustered_conf(conf)):
            placement_counts.update(id_ for id_, _ in ids)
    if timestamp == served_timestamp and (
        placement_counts.keys() != document_ids or set(placement_counts.values()) - {1}
    ):
        messages.append(
            f"{conf} {timestamp}: has {placement_counts.keys() ^ document_ids} wrong or several times"
        )
    if not placement_counts.keys() <= document_ids:
        messages.append(
            f"{conf} {timestamp}: contains missing documents: {placement_counts.keys() - document_ids}"
        )
    return messages


def _read_clustering(tables: Tables, name: CollectionName, conf: str, timestamp: int):  # type: ignore[no-untyped-def]
    from fonds.grouping.stored.keys import build_clustering_prefix

    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    sizes, cells, ids = {}, {}, set()
    for row, row_cells in tables.iter_rows(CLUSTERS, prefix):
        label = parse_cluster_row(row)[4]
        sizes[label] = decode_int(row_cells, "main:size", -1)
        document_columns = [
            column[len("documents:") :] for column in row_cells if column.startswith("documents:")
        ]
        cells[label] = len(document_columns)
        ids |= {(id_, label) for id_ in document_columns}
    assigned_pairs = {
        (parse_cluster_row(row)[4], decode_text(row_cells, "main:label"))
        for row, row_cells in tables.iter_rows(ASSIGNMENTS, prefix)
    }
    ranked_pairs = [
        (decode_text(row_cells, "main:id"), _parse_label(row))
        for row, row_cells in tables.iter_rows(MEMBERS, prefix)
    ]
    assert len(ranked_pairs) == len(set(ranked_pairs))
    return (sizes, cells), ids, (assigned_pairs, set(ranked_pairs))


def _parse_label(row: bytes) -> str:
    """Return the label in the row key of a member: the last part before the score."""
    parts = row.split(b"\x00\x01")
    return parts[-2][8:].decode() if len(parts) == 5 else "?"


def _find_duplicate_faults(
    tables: Tables, name: CollectionName, conf: str, timestamp: int
) -> list[str]:
    """Find clusters with a wrong count of distinct documents, and wrong near-duplicates.

    A near-duplicate must refer to a document of the same cluster that is no near-duplicate itself.
    """
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    rows = {
        parse_cluster_row(row)[4]: (
            decode_text(cells, "main:label"),
            decode_text(cells, "main:original"),
        )
        for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label", "main:original"])
    }
    originals = Counter(label for label, original in rows.values() if not original)
    messages = [
        f"{conf} {timestamp} {label}: {decode_int(cells, 'main:distinct')} distinct of {originals[label]}"
        for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:distinct"])
        if decode_int(cells, "main:distinct") != originals[label := parse_cluster_row(row)[4]]
    ]
    return messages + [
        f"{conf} {timestamp}: {id_} is a near-duplicate of {original}"
        for id_, (label, original) in rows.items()
        if original and rows.get(original) != (label, "")
    ]
