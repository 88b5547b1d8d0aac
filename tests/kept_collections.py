"""Collections for tests: opened in a folder, looked at by brute force, and their texts drawn."""

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
    """Seconds since 1970 that go on by one each time they are asked for."""

    at: int = 1_790_000_000
    ticks: itertools.count[int] = field(default_factory=itertools.count)

    def __call__(self) -> int:
        """The next second."""
        return self.at + next(self.ticks)


@dataclass
class Kept:
    """Tables of collections in a folder, and what changes them."""

    tables: Tables
    changes: CollectionWriter
    records: SqlRecords
    closes: list[object]

    def close(self) -> None:
        """Close both files."""
        for close in self.closes:
            close.close()  # type: ignore[attr-defined]


def open_kept(
    folder: Path, clock: Clock | None = None, lease_s: float = 30.0, tables: Tables | None = None
) -> Kept:
    """Open what is kept in a folder, or in the tables of a server with its records there; `records.sqlite`
    is made when it is not there."""
    tables = tables or Tables(SqliteTable(folder / "table.sqlite"))
    records = open_records(folder / "records.sqlite")
    tables.declare()
    leases = Leases(LeaseTable(records), create_worker_name(), time.monotonic, lease_s)
    changes = CollectionWriter(tables, leases, clock or Clock())
    return Kept(tables, changes, records, [tables.store, records])


def themed(count: int, seed: int = 1, themes: int = 5) -> list[Document]:
    """Documents on themes, `d0`, `d1` and so on."""
    texts, _ = themed_texts(count, seed=seed, themes=themes)
    return [Document(f"d{at}", one, title=one[:40]) for at, one in enumerate(texts)]


def faults(tables: Tables, name: CollectionName) -> list[str]:
    """What of a collection's rows does not agree, found by reading them all; nothing when all is well."""
    cells = tables.get_row(COLLECTIONS, name.row, ["main:"]) or {}
    there = {
        parse_document_row(row)[2] for row, _ in tables.iter_rows(DOCUMENTS, name.row, ["main:id"])
    }
    every = {parse_document_row(row)[2] for row, _ in tables.iter_rows(DOCUMENTS, name.row)}
    found = [f"{id_}: a row that is no document" for id_ in every - there]
    if decode_int(cells, "main:size") != len(there):
        found.append(f"size {decode_int(cells, 'main:size')} of {len(there)}")
    left = len(tables.get_page(CHANGES, name.row))
    if left and not any(column.endswith(":rebuilt") for column in cells):
        found.append(f"{left} changes are left")
    for row, told in tables.iter_rows(CLUSTERINGS, name.row, ["main:"]):
        del row
        found += _of_clustering(tables, name, decode_text(told, "main:conf"), told, there, cells)
    return found + _excluded(tables, name, there)


def _excluded(tables: Tables, name: CollectionName, there: set[str]) -> list[str]:
    """Documents in a theme they are excluded from, and exclusions of documents there are not."""
    found = []
    for _, cells in tables.iter_rows(EXCLUSIONS, name.row):
        id_ = decode_text(cells, "main:id")
        if id_ not in there:
            found.append(f"{id_}: excluded, and not there")
        barred = parse_exclusions(cells)
        if not barred:
            found.append(f"{id_}: excluded from nothing")
        found += [
            f"{id_}: in {placement.cluster_id}, which it is excluded from"
            for placement in list_placements(tables, name, id_)
            if (placement.conf, placement.cluster_id) in barred
        ]
    return found


def _of_clustering(
    tables: Tables,
    name: CollectionName,
    conf: str,
    told: dict[str, bytes],
    there: set[str],
    cells: dict[str, bytes],
) -> list[str]:
    timestamp, found = decode_int(told, "main:timestamp"), []
    served = decode_int(cells, f"main:configuration:{conf}:rebuilt", -1)
    if timestamp > served:
        return [f"{conf} {timestamp}: left over"]
    confs = [build_level_conf(conf, one) for one in range(decode_int(told, "main:levels"))]
    placed: Counter[str] = Counter()
    for one in (*confs, build_unclustered_conf(conf)):
        counted, ids, listed = _read(tables, name, one, timestamp)
        if one != build_unclustered_conf(conf):
            found += _distinct(tables, name, one, timestamp)
        if counted[0] != counted[1]:
            found.append(f"{one} {timestamp}: sizes {counted}")
        if not ids == listed[0] == listed[1]:
            found.append(f"{one} {timestamp}: {ids} {listed}")
        if one in (conf, build_unclustered_conf(conf)):
            placed.update(id_ for id_, _ in ids)
    if timestamp == served and (placed.keys() != there or set(placed.values()) - {1}):
        found.append(f"{conf} {timestamp}: has {placed.keys() ^ there} or several times")
    if not placed.keys() <= there:
        found.append(f"{conf} {timestamp}: has what is not there: {placed.keys() - there}")
    return found


def _read(tables: Tables, name: CollectionName, conf: str, timestamp: int):  # type: ignore[no-untyped-def]
    from fonds.grouping.stored.keys import build_clustering_prefix

    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    sizes, cells, ids = {}, {}, set()
    for row, found in tables.iter_rows(CLUSTERS, prefix):
        label = parse_cluster_row(row)[4]
        sizes[label] = decode_int(found, "main:size", -1)
        own = [column[len("documents:") :] for column in found if column.startswith("documents:")]
        cells[label] = len(own)
        ids |= {(id_, label) for id_ in own}
    assigned = {
        (parse_cluster_row(row)[4], decode_text(found, "main:label"))
        for row, found in tables.iter_rows(ASSIGNMENTS, prefix)
    }
    ranked = [
        (decode_text(found, "main:id"), _label(row))
        for row, found in tables.iter_rows(MEMBERS, prefix)
    ]
    assert len(ranked) == len(set(ranked))
    return (sizes, cells), ids, (assigned, set(ranked))


def _label(row: bytes) -> str:
    """The label in the row of a member: the last part that ends before the score."""
    parts = row.split(b"\x00\x01")
    return parts[-2][8:].decode() if len(parts) == 5 else "?"


def _distinct(tables: Tables, name: CollectionName, conf: str, timestamp: int) -> list[str]:
    """Clusters that count other than the documents in them that are near-duplicates of none, and
    near-duplicates of what is none of the cluster's, or of a near-duplicate."""
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    rows = {
        parse_cluster_row(row)[4]: (
            decode_text(cells, "main:label"),
            decode_text(cells, "main:original"),
        )
        for row, cells in tables.iter_rows(ASSIGNMENTS, prefix, ["main:label", "main:original"])
    }
    distinct = Counter(label for label, original in rows.values() if not original)
    found = [
        f"{conf} {timestamp} {label}: {decode_int(cells, 'main:distinct')} distinct of {distinct[label]}"
        for row, cells in tables.iter_rows(CLUSTERS, prefix, ["main:distinct"])
        if decode_int(cells, "main:distinct") != distinct[label := parse_cluster_row(row)[4]]
    ]
    return found + [
        f"{conf} {timestamp}: {id_} is a near-duplicate of {original}"
        for id_, (label, original) in rows.items()
        if original and rows.get(original) != (label, "")
    ]
