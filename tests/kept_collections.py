"""Collections for tests: opened in a folder, looked at by brute force, and their texts drawn."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims
from fonds.collections.documents import Document
from fonds.collections.names import Name, apart_conf, level_conf
from fonds.collections.reading.curated import exclusions_in
from fonds.collections.reading.documents import places
from fonds.collections.tables import (
    ASSIGNMENTS,
    CHANGES,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    MEMBERS,
    Tables,
    number,
    text,
)
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster, parts_of_document
from fonds.process_identity import this_process
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.sqlite import SqliteTable
from themed_texts import themed_texts

NEWS = Name("news", "2026-11")


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
    changes: Changes
    closes: list[object]

    def close(self) -> None:
        """Close both files."""
        for one in self.closes:
            one.close()  # type: ignore[attr-defined]


def open_kept(
    folder: Path, clock: Clock | None = None, lease_s: float = 30.0, tables: Tables | None = None
) -> Kept:
    """Open what is kept in a folder, or in the tables of a server with its records there; `records.sqlite`
    is made when it is not there."""
    tables = tables or Tables(SqliteTable(folder / "table.sqlite"))
    records = open_sqlite(folder / "records.sqlite")
    tables.declare()
    claims = Claims(records, this_process(), time.monotonic, lease_s)
    return Kept(tables, Changes(tables, claims, clock or Clock()), [tables.store, records])


def themed(count: int, seed: int = 1, themes: int = 5) -> list[Document]:
    """Documents on themes, `d0`, `d1` and so on."""
    texts, _ = themed_texts(count, seed=seed, themes=themes)
    return [Document(f"d{at}", one, title=one[:40]) for at, one in enumerate(texts)]


def faults(tables: Tables, name: Name) -> list[str]:
    """What of a collection's rows does not agree, found by reading them all; nothing when all is well."""
    cells = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    there = {parts_of_document(row)[2] for row, _ in tables.scan(DOCUMENTS, name.row, ["main:id"])}
    every = {parts_of_document(row)[2] for row, _ in tables.scan(DOCUMENTS, name.row)}
    found = [f"{id_}: a row that is no document" for id_ in every - there]
    if number(cells, "main:size") != len(there):
        found.append(f"size {number(cells, 'main:size')} of {len(there)}")
    left = len(tables.page(CHANGES, name.row))
    if left and not any(column.endswith(":rebuilt") for column in cells):
        found.append(f"{left} changes are left")
    for row, told in tables.scan(CLUSTERINGS, name.row, ["main:"]):
        del row
        found += _of_clustering(tables, name, text(told, "main:conf"), told, there, cells)
    return found + _excluded(tables, name, there)


def _excluded(tables: Tables, name: Name, there: set[str]) -> list[str]:
    """Documents in a theme they are excluded from, and exclusions of documents there are not."""
    found = []
    for _, cells in tables.scan(EXCLUSIONS, name.row):
        id_ = text(cells, "main:id")
        if id_ not in there:
            found.append(f"{id_}: excluded, and not there")
        barred = exclusions_in(cells)
        if not barred:
            found.append(f"{id_}: excluded from nothing")
        found += [
            f"{id_}: in {one.cluster_id}, which it is excluded from"
            for one in places(tables, name, id_)
            if (one.conf, one.cluster_id) in barred
        ]
    return found


def _of_clustering(
    tables: Tables,
    name: Name,
    conf: str,
    told: dict[str, bytes],
    there: set[str],
    cells: dict[str, bytes],
) -> list[str]:
    timestamp, found = number(told, "main:timestamp"), []
    served = number(cells, f"main:configuration:{conf}:rebuilt", -1)
    if timestamp > served:
        return [f"{conf} {timestamp}: left over"]
    confs = [level_conf(conf, one) for one in range(number(told, "main:levels"))]
    placed: Counter[str] = Counter()
    for one in (*confs, apart_conf(conf)):
        counted, ids, listed = _read(tables, name, one, timestamp)
        if one != apart_conf(conf):
            found += _distinct(tables, name, one, timestamp)
        if counted[0] != counted[1]:
            found.append(f"{one} {timestamp}: sizes {counted}")
        if not ids == listed[0] == listed[1]:
            found.append(f"{one} {timestamp}: {ids} {listed}")
        if one in (conf, apart_conf(conf)):
            placed.update(id_ for id_, _ in ids)
    if timestamp == served and (placed.keys() != there or set(placed.values()) - {1}):
        found.append(f"{conf} {timestamp}: has {placed.keys() ^ there} or several times")
    if not placed.keys() <= there:
        found.append(f"{conf} {timestamp}: has what is not there: {placed.keys() - there}")
    return found


def _read(tables: Tables, name: Name, conf: str, timestamp: int):  # type: ignore[no-untyped-def]
    from fonds.formats.grouping.keys import clustering_prefix

    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    sizes, cells, ids = {}, {}, set()
    for row, found in tables.scan(CLUSTERS, prefix):
        label = parts_of_cluster(row)[4]
        sizes[label] = number(found, "main:size", -1)
        own = [column[len("documents:") :] for column in found if column.startswith("documents:")]
        cells[label] = len(own)
        ids |= {(id_, label) for id_ in own}
    assigned = {
        (parts_of_cluster(row)[4], text(found, "main:label"))
        for row, found in tables.scan(ASSIGNMENTS, prefix)
    }
    ranked = [(text(found, "main:id"), _label(row)) for row, found in tables.scan(MEMBERS, prefix)]
    assert len(ranked) == len(set(ranked))
    return (sizes, cells), ids, (assigned, set(ranked))


def _label(row: bytes) -> str:
    """The label in the row of a member: the last part that ends before the score."""
    parts = row.split(b"\x00\x01")
    return parts[-2][8:].decode() if len(parts) == 5 else "?"


def _distinct(tables: Tables, name: Name, conf: str, timestamp: int) -> list[str]:
    """Clusters that count other than the documents in them that are near-duplicates of none, and
    near-duplicates of what is none of the cluster's, or of a near-duplicate."""
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    rows = {
        parts_of_cluster(row)[4]: (text(cells, "main:label"), text(cells, "main:original"))
        for row, cells in tables.scan(ASSIGNMENTS, prefix, ["main:label", "main:original"])
    }
    distinct = Counter(label for label, original in rows.values() if not original)
    found = [
        f"{conf} {timestamp} {label}: {number(cells, 'main:distinct')} distinct of {distinct[label]}"
        for row, cells in tables.scan(CLUSTERS, prefix, ["main:distinct"])
        if number(cells, "main:distinct") != distinct[label := parts_of_cluster(row)[4]]
    ]
    return found + [
        f"{conf} {timestamp}: {id_} is a near-duplicate of {original}"
        for id_, (label, original) in rows.items()
        if original and rows.get(original) != (label, "")
    ]
