"""Collections on HBase: the rows of the layout, read by the bare Thrift client; deaths leave nothing."""

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
def changes(tmp_path: Path) -> Iterator[CollectionWriter]:
    store, records = HbaseTable(url_of("TEST_HBASE_URL")), open_sqlite(tmp_path / "records.sqlite")
    tables = Tables(store, f"t{os.urandom(5).hex()}_")
    tables.declare()
    yield CollectionWriter(
        tables, Leases(LeaseTable(records), create_worker_name(), time.monotonic), Clock()
    )
    store.close()
    records.close()
    shutil.rmtree(tmp_path, ignore_errors=True)


def _bare(
    changes: CollectionWriter, table: str, prefix: bytes = b""
) -> dict[bytes, dict[bytes, bytes]]:
    parts = urlsplit(url_of("TEST_HBASE_URL"))
    client = happybase.Connection(parts.hostname, parts.port or 9090)
    try:
        found = client.table(changes.tables.prefix + table).scan(row_prefix=prefix or None)
        return {key: dict(cells) for key, cells in found}
    finally:
        client.close()


def test_the_rows_are_those_of_the_layout(changes: CollectionWriter) -> None:
    changes.put(NEWS, themed_documents(120))
    made = rebuild(changes, NEWS)
    changes.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    changes.delete(NEWS, ["d0", "d1"])
    documents = _bare(changes, "documents")
    assert len(documents) == 119
    one = documents[NEWS.build_document_row("later")]
    assert one[b"main:text"].startswith(b"violin")
    assert one[b"processing:vector_idf"].startswith(b"FGf")
    assert one[b"processing:vector_tfidf"].startswith(b"FGw")
    (collection,) = _bare(changes, "collections").values()
    assert collection[b"main:size"] == b"119"
    assert collection[b"main:configuration:DEFAULT:rebuilt"] == str(made.timestamp).encode()
    assert collection[b"processing:dictionary"][8:11] == b"FGd"
    assert collection[b"processing:index"][8:11] == b"FGi"
    clusters = [
        cells for cells in _bare(changes, "clusters", NEWS.row).values() if b"main:id" in cells
    ]
    assert len(clusters) == made.clusters
    for cells in clusters:
        ids = [name for name in cells if name.startswith(b"documents:")]
        assert int(cells[b"main:size"]) == len(ids) > 0
    assert find_faults(changes.tables, NEWS) == []


def test_a_rebuild_that_dies_and_a_removal_leave_nothing(changes: CollectionWriter) -> None:
    changes.put(NEWS, themed_documents(60))
    rebuild(changes, NEWS)

    def dies(stage: str, done: int, total: int) -> None:
        if stage == "write" and done:
            raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        rebuild(changes, NEWS, progress=dies)
    maintain(changes, NEWS)
    assert find_faults(changes.tables, NEWS) == []
    remove(changes, NEWS)
    assert [table for table in FAMILIES if _bare(changes, table, NEWS.row)] == []


def _parts(row: bytes) -> tuple[str, str, str, int, str]:
    """Decode f2 by what `docs/grouping.md` says of it: parts end with 00 01, a NUL in one is 00 FF."""
    texts, rest = [], row
    for _ in range(3):
        part, _, rest = rest.partition(b"\x00\x01")
        texts.append(part.replace(b"\x00\xff", b"\x00").decode())
    label, end, behind = rest[8:].partition(b"\x00\x01")
    assert (end, behind) == (b"\x00\x01", b"")
    namespace, key, conf = texts
    return namespace, key, conf, int.from_bytes(rest[:8], "big"), label.decode()


ODD = CollectionName("n\x00\x01ews/ü", "2026\x0011")
NEIGHBOUR = CollectionName("n\x00\x01ews/ü", "2026\x00111")


def test_the_stored_keys_of_clusters_are_f2(changes: CollectionWriter) -> None:
    """Two collections and two configurations whose parts begin alike: each prefix finds its own clusters."""
    for name in (ODD, NEIGHBOUR):
        changes.put(name, themed_documents(60))
    put_configuration(changes.tables, ODD.namespace, "DEFAULT2", Configuration())
    made = {
        (name, conf): rebuild(changes, name, conf)
        for name, conf in ((ODD, "DEFAULT"), (ODD, "DEFAULT2"), (NEIGHBOUR, "DEFAULT"))
    }
    rows = _bare(changes, "clusters")
    for (name, conf), one in made.items():
        prefix = build_clustering_prefix(name.namespace, name.key, conf, one.timestamp)
        found = {row: cells for row, cells in rows.items() if row.startswith(prefix)}
        assert len(found) == one.clusters
        for row, cells in found.items():
            namespace, key, found_conf, timestamp, label = _parts(row)
            assert (CollectionName(namespace, key), found_conf, timestamp) == (
                name,
                conf,
                one.timestamp,
            )
            assert label.encode() == cells[b"main:label"]
            assert str(timestamp).encode() == cells[b"main:timestamp"]
    assert list(map(_parts, sorted(rows))) == sorted(map(_parts, rows))


def test_the_clustering_before_is_whole_while_the_next_is_built(changes: CollectionWriter) -> None:
    """A bare client asks at every stage of a rebuild which clustering is served, and reads all of it."""
    changes.put(NEWS, themed_documents(120))
    before = rebuild(changes, NEWS)
    changes.put(NEWS, themed_documents(160))
    served = _served(changes)
    assert served[0] == before.timestamp
    seen: dict[str, tuple[int, dict[bytes, set[bytes]]]] = {}
    made = rebuild(
        changes, NEWS, progress=lambda stage, *_: seen.setdefault(stage, _served(changes))
    )
    after = _served(changes)
    assert after[0] == made.timestamp > before.timestamp
    assert len(after[1]) == made.clusters
    assert {"write", "label"} <= seen.keys()
    assert all(found in (served, after) for found in seen.values()), seen.keys()
    assert seen["write"] == served


def _served(changes: CollectionWriter) -> tuple[int, dict[bytes, set[bytes]]]:
    """The time of the clustering that is served, and the documents of each of its clusters by its label."""
    (collection,) = _bare(changes, "collections", NEWS.row).values()
    timestamp = int(collection[b"main:configuration:DEFAULT:rebuilt"])
    prefix = build_clustering_prefix(NEWS.namespace, NEWS.key, "DEFAULT", timestamp)
    found = _bare(changes, "clusters", prefix).values()
    return timestamp, {
        cells[b"main:label"]: {cell for cell in cells if cell.startswith(b"documents:")}
        for cells in found
    }
