"""Collections on HBase: rows of the layout, read by a plain Thrift client; failed rebuilds leave no rows."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import happybase
import pytest

from fonds.grouping.changes.lifecycle import remove
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.configuration import Configuration
from fonds.grouping.configuration import save_configuration as put_configuration
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.maintenance import maintain
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import FAMILIES, Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.hbase import HbaseTable
from kept_collections import NEWS, Clock, find_faults, themed_documents
from real_servers import url_of

pytestmark = pytest.mark.servers


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[CollectionWriter]:
    store, records = HbaseTable(url_of("TEST_HBASE_URL")), open_sqlite(tmp_path / "records.sqlite")
    tables = Tables(store, f"t{os.urandom(5).hex()}_")
    tables.declare()
    yield CollectionWriter(
        tables, Leases(LeaseTable(records), create_worker_name(), time.monotonic), Clock()
    )
    store.close()
    records.close()
    shutil.rmtree(tmp_path, ignore_errors=True)


def _scan(
    writer: CollectionWriter, table: str, prefix: bytes = b""
) -> dict[bytes, dict[bytes, bytes]]:
    parts = urlsplit(url_of("TEST_HBASE_URL"))
    client = happybase.Connection(parts.hostname, parts.port or 9090)
    try:
        rows = client.table(writer.tables.prefix + table).scan(row_prefix=prefix or None)
        return {key: dict(cells) for key, cells in rows}
    finally:
        client.close()


def test_rows_follow_the_documented_layout(writer: CollectionWriter) -> None:
    writer.put(NEWS, themed_documents(120))
    result = rebuild(writer, NEWS)
    writer.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    writer.delete(NEWS, ["d0", "d1"])
    documents = _scan(writer, "documents")
    assert len(documents) == 119
    row = documents[NEWS.build_document_row("later")]
    assert row[b"main:text"].startswith(b"violin")
    assert row[b"processing:vector_idf"].startswith(b"FGf")
    assert row[b"processing:vector_tfidf"].startswith(b"FGw")
    (collection,) = _scan(writer, "collections").values()
    assert collection[b"main:size"] == b"119"
    assert collection[b"main:configuration:DEFAULT:rebuilt"] == str(result.timestamp).encode()
    assert collection[b"processing:dictionary"][8:11] == b"FGd"
    assert collection[b"processing:index"][8:11] == b"FGi"
    clusters = [
        cells for cells in _scan(writer, "clusters", NEWS.row).values() if b"main:id" in cells
    ]
    assert len(clusters) == result.clusters
    for cells in clusters:
        ids = [name for name in cells if name.startswith(b"documents:")]
        assert int(cells[b"main:size"]) == len(ids) > 0
    assert find_faults(writer.tables, NEWS) == []


def test_a_failed_rebuild_and_a_removal_leave_no_rows(writer: CollectionWriter) -> None:
    writer.put(NEWS, themed_documents(60))
    rebuild(writer, NEWS)

    def fail(stage: str, done: int, total: int) -> None:
        if stage == "write" and done:
            raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        rebuild(writer, NEWS, progress=fail)
    maintain(writer, NEWS)
    assert find_faults(writer.tables, NEWS) == []
    remove(writer, NEWS)
    assert [table for table in FAMILIES if _scan(writer, table, NEWS.row)] == []


def _decode_cluster_row(row: bytes) -> tuple[str, str, str, int, str]:
    """Decode f2 as described in `docs/grouping.md`: parts end with 00 01, and a NUL is 00 FF."""
    texts, rest = [], row
    for _ in range(3):
        part, _, rest = rest.partition(b"\x00\x01")
        texts.append(part.replace(b"\x00\xff", b"\x00").decode())
    label, end, trailing = rest[8:].partition(b"\x00\x01")
    assert (end, trailing) == (b"\x00\x01", b"")
    namespace, key, conf = texts
    return namespace, key, conf, int.from_bytes(rest[:8], "big"), label.decode()


ODD_NAME = CollectionName("n\x00\x01ews/ü", "2026\x0011")
SIMILAR_NAME = CollectionName("n\x00\x01ews/ü", "2026\x00111")


def test_row_keys_of_clusters_have_the_format_f2(writer: CollectionWriter) -> None:
    """Names with a common start: each prefix finds only the rows of its clustering."""
    for name in (ODD_NAME, SIMILAR_NAME):
        writer.put(name, themed_documents(60))
    put_configuration(writer.tables, ODD_NAME.namespace, "DEFAULT2", Configuration())
    results = {
        (name, conf): rebuild(writer, name, conf)
        for name, conf in ((ODD_NAME, "DEFAULT"), (ODD_NAME, "DEFAULT2"), (SIMILAR_NAME, "DEFAULT"))
    }
    rows = _scan(writer, "clusters")
    for (name, conf), result in results.items():
        prefix = build_clustering_prefix(name.namespace, name.key, conf, result.timestamp)
        cluster_rows = {row: cells for row, cells in rows.items() if row.startswith(prefix)}
        assert len(cluster_rows) == result.clusters
        for row, cells in cluster_rows.items():
            namespace, key, found_conf, timestamp, label = _decode_cluster_row(row)
            assert (CollectionName(namespace, key), found_conf, timestamp) == (
                name,
                conf,
                result.timestamp,
            )
            assert label.encode() == cells[b"main:label"]
            assert str(timestamp).encode() == cells[b"main:timestamp"]
    assert list(map(_decode_cluster_row, sorted(rows))) == sorted(map(_decode_cluster_row, rows))


def test_the_served_clustering_is_complete_during_a_rebuild(writer: CollectionWriter) -> None:
    """A plain client reads the served clustering completely at every stage of a rebuild."""
    writer.put(NEWS, themed_documents(120))
    before = rebuild(writer, NEWS)
    writer.put(NEWS, themed_documents(160))
    served = _load_served(writer)
    assert served[0] == before.timestamp
    served_by_stage: dict[str, tuple[int, dict[bytes, set[bytes]]]] = {}
    result = rebuild(
        writer,
        NEWS,
        progress=lambda stage, *_: served_by_stage.setdefault(stage, _load_served(writer)),
    )
    after = _load_served(writer)
    assert after[0] == result.timestamp > before.timestamp
    assert len(after[1]) == result.clusters
    assert {"write", "label"} <= served_by_stage.keys()
    assert all(clustering in (served, after) for clustering in served_by_stage.values()), (
        served_by_stage.keys()
    )
    assert served_by_stage["write"] == served


def _load_served(writer: CollectionWriter) -> tuple[int, dict[bytes, set[bytes]]]:
    """Return the timestamp of the served clustering, and the documents of its clusters by label."""
    (collection,) = _scan(writer, "collections", NEWS.row).values()
    timestamp = int(collection[b"main:configuration:DEFAULT:rebuilt"])
    prefix = build_clustering_prefix(NEWS.namespace, NEWS.key, "DEFAULT", timestamp)
    clusters = _scan(writer, "clusters", prefix).values()
    return timestamp, {
        cells[b"main:label"]: {cell for cell in cells if cell.startswith(b"documents:")}
        for cells in clusters
    }
