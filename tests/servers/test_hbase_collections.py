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

from fonds.collections.building.rebuilding import rebuild
from fonds.collections.building.tending import tend
from fonds.collections.changing.collections import remove
from fonds.collections.changing.writing import Changes
from fonds.collections.claims import Claims
from fonds.collections.documents import Document
from fonds.collections.tables import FAMILIES, Tables
from fonds.process_identity import this_process
from fonds.stores.records.sql import open_sqlite
from fonds.stores.table.hbase import HbaseTable
from kept_collections import NEWS, Clock, faults, themed
from real_servers import url_of

pytestmark = pytest.mark.servers


@pytest.fixture
def changes(tmp_path: Path) -> Iterator[Changes]:
    store, records = HbaseTable(url_of("TEST_HBASE_URL")), open_sqlite(tmp_path / "records.sqlite")
    tables = Tables(store, f"t{os.urandom(5).hex()}_")
    tables.declare()
    yield Changes(tables, Claims(records, this_process(), time.monotonic), Clock())
    store.close()
    records.close()
    shutil.rmtree(tmp_path, ignore_errors=True)


def _bare(changes: Changes, table: str, prefix: bytes = b"") -> dict[bytes, dict[bytes, bytes]]:
    parts = urlsplit(url_of("TEST_HBASE_URL"))
    client = happybase.Connection(parts.hostname, parts.port or 9090)
    try:
        found = client.table(changes.tables.prefix + table).scan(row_prefix=prefix or None)
        return {key: dict(cells) for key, cells in found}
    finally:
        client.close()


def test_the_rows_are_those_of_the_layout(changes: Changes) -> None:
    changes.put(NEWS, themed(120))
    made = rebuild(changes, NEWS)
    changes.put(NEWS, [Document("later", "violin concerto conductor symphony cello")])
    changes.delete(NEWS, ["d0", "d1"])
    documents = _bare(changes, "documents")
    assert len(documents) == 119
    one = documents[NEWS.document("later")]
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
    assert faults(changes.tables, NEWS) == []


def test_a_rebuild_that_dies_and_a_removal_leave_nothing(changes: Changes) -> None:
    changes.put(NEWS, themed(60))
    rebuild(changes, NEWS)

    def dies(stage: str, done: int, total: int) -> None:
        if stage == "write" and done:
            raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        rebuild(changes, NEWS, progress=dies)
    tend(changes, NEWS)
    assert faults(changes.tables, NEWS) == []
    remove(changes, NEWS)
    assert [table for table in FAMILIES if _bare(changes, table, NEWS.row)] == []
