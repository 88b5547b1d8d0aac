"""A collection of very many themes whose rows are written directly, without grouping documents."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from fonds.grouping.changes.cells import build_cluster_key, join_cells
from fonds.grouping.changes.curation import (
    pin,
    rename,
)
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.clustering import (
    REASONS,
    Placement,
    StoredClustering,
    served_column,
)
from fonds.grouping.clustering_model import write_chunks
from fonds.grouping.columns import Column
from fonds.grouping.configuration import Configuration
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName, build_unclustered_conf
from fonds.grouping.stored.matrices import encode_matrix
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERINGS,
    CLUSTERS,
    COLLECTIONS,
    MEMBERS,
    Tables,
    encode_json,
    encode_utf8,
)
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.ports import Stores
from kept_collections import Clock

MANY = CollectionName("many", "themes")
BEFORE, NOW = 1_780_000_000, 1_790_000_000
CONF = "DEFAULT"
DAY_S = 86_400


def fill_many_themes(stores: Stores, count: int, text: str) -> None:
    """Store `count` documents, each in a theme of its own, in two clusterings.

    Document ids are the numbers from 0 in forty hex digits. Labels are long. Of ten themes, one is
    new, one was split and the others were kept. All themes are similar.
    """
    tables = Tables(stores.table)
    tables.declare()
    writer = CollectionWriter(
        tables, Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic), Clock()
    )
    writer.put(
        MANY,
        [
            Document(f"{at:040x}", text, f"{text} {at}", time=BEFORE + at % 400 * DAY_S)
            for at in range(count)
        ],
    )
    for at in (BEFORE, NOW):
        _write_clustering(tables, at, count, text)
    tables.put(COLLECTIONS, [(MANY.row, {served_column(CONF): encode_utf8(NOW)})])
    for number in range(4):
        pin(writer, MANY, CONF, f"t{number * 10}")
        rename(writer, MANY, CONF, f"t{number * 10}", f"{text[:180]} {number}")


def _write_clustering(tables: Tables, at: int, count: int, text: str) -> None:
    clustering = StoredClustering(MANY, CONF, at, 1, {})
    labels = [f"{text} {number}" for number in range(count)]
    tables.put(CLUSTERINGS, [(clustering.row, _build_key_cells(at) | {
        "main:configuration": encode_json(Configuration()), "main:levels": b"1",
        "main:begun": encode_utf8(at), "main:ended": encode_utf8(at), "main:documents": encode_utf8(count),
        "main:clusters": encode_utf8(count),
        "main:events": encode_json(_build_events(count) if at == NOW else []),
        Column.MODEL: encode_json({"of_terms": 4, "dense": 0, "language": "de",
                          "places": [[[CONF, label]] for label in labels], "finer": []}),
    })])  # fmt: skip
    centroids = np.ones((count, 4), np.float32) / 2
    write_chunks(
        tables, CLUSTERINGS, clustering.row, Column.CENTROIDS, encode_matrix(centroids, at)
    )
    rows = [
        row
        for at, label in enumerate(labels)
        for row in _iter_theme_rows(clustering, at, label, text)
    ]
    for table in (CLUSTERS, ASSIGNMENTS, MEMBERS):
        tables.put(table, [(row, cells) for table_name, row, cells in rows if table_name == table])
    tables.put(CLUSTERS, [
        (build_cluster_key(MANY, build_unclustered_conf(CONF), at, reason),
         _build_key_cells(at) | {"main:label": encode_utf8(reason), "main:size": b"0"})
        for reason in REASONS
    ])  # fmt: skip


def _iter_theme_rows(
    clustering: StoredClustering, number: int, label: str, text: str
) -> Iterator[tuple[str, bytes, dict[str, bytes]]]:
    coordinates = {"main:x": f"{number % 61 / 30 - 1:.4f}", "main:y": f"{number % 53 / 26 - 1:.4f}"}
    cells = _build_key_cells(clustering.timestamp) | {
        name: encode_utf8(coordinate) for name, coordinate in coordinates.items()
    }
    is_new = clustering.timestamp == NOW and number % 10 == 9
    cells |= {
        "main:label": encode_utf8(label), "main:id": encode_utf8(f"{'n' if is_new else 't'}{number}"),
        "main:level": b"0", "main:size": b"1", "main:distinct": b"1",
        "main:terms": encode_json([[f"{text} {at}", 9.5] for at in range(10)]),
    }  # fmt: skip
    yield CLUSTERS, build_cluster_key(MANY, CONF, clustering.timestamp, label), cells
    yield from join_cells(clustering, f"{number:040x}", Placement(CONF, label, b"0.9000"))


def _build_key_cells(at: int) -> dict[str, bytes]:
    return {
        "main:namespace": encode_utf8(MANY.namespace), "main:collection_key": encode_utf8(MANY.key),
        "main:conf": encode_utf8(CONF), "main:timestamp": encode_utf8(at),
    }  # fmt: skip


def _build_events(count: int) -> list[tuple[str, list[str], list[str]]]:
    """Build the lineage of themes: of ten, one is gone, one new, one split and the others kept."""
    events: list[tuple[str, list[str], list[str]]] = []
    for number in range(count):
        theme_id = f"t{number}"
        if number % 10 == 9:
            events += [("gone", [theme_id], []), ("new", [], [f"n{number}"])]
        elif number % 10 == 8:
            events.append(("split", [theme_id], [theme_id, f"t{number - 1}"]))
        else:
            events.append(("kept", [theme_id], [theme_id]))
    return events
