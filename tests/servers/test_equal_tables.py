"""Any operations on a SQLite table and on HBase give the same rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import happybase
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fonds.ports import Table
from fonds.stores.journal_table.keys import build_alternate_key, build_old_key, build_row_key
from fonds.stores.journal_table.schema import JOURNAL
from fonds.stores.table.hbase import HbaseTable
from fonds.stores.table.sqlite import SqliteTable
from real_servers import url_of

pytestmark = pytest.mark.servers

SHAS = [bytes([number]).hex() * 20 for number in (0, 7, 255)]
KEYS = [
    *(build_row_key(sha) for sha in SHAS),
    *(build_alternate_key(sha, "cdx-1") for sha in SHAS),
    *(build_old_key(sha) for sha in SHAS),
]
CELLS = st.dictionaries(
    st.sampled_from([*JOURNAL.columns]),
    st.binary(max_size=6)
    | st.integers(-(2**63), 2**63 - 1).map(lambda n: n.to_bytes(8, "big", signed=True)),
    max_size=4,
)
PUTS = st.tuples(
    st.just("put"), st.lists(st.tuples(st.sampled_from(KEYS), CELLS), min_size=1, max_size=4)
)
DELETES = st.tuples(st.just("delete"), st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[Table]]]:
    """A table name, and tables tables with equal declarations."""
    name = f"t{os.urandom(5).hex()}"
    folder: Path = tmp_path_factory.mktemp("twins")
    tables = [HbaseTable(url_of("TEST_HBASE_URL")), SqliteTable(folder / "table.sqlite")]
    for table in tables:
        table.declare(name, JOURNAL.names, compressions=JOURNAL.compressions)
    yield name, tables
    for table in tables:
        table.close()


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(acts=st.lists(PUTS | DELETES, max_size=12))
def test_any_operations_give_the_same_rows_in_both_tables(
    twins: tuple[str, list[Table]], acts: list[tuple[str, list]]
) -> None:
    name, tables = twins
    results = []
    for table in tables:
        table.delete(name, [key for key, _ in table.scan(name)])
        for act, argument in acts:
            (table.put if act == "put" else table.delete)(name, argument)
        results.append(
            (table.scan(name), table.get(name, KEYS), table.scan(name, columns=["file:"]))
        )
    assert results[0] == results[1]


def test_families_have_one_version_and_their_compression(
    twins: tuple[str, list[Table]],
) -> None:
    name, _ = twins
    host, _, port = url_of("TEST_HBASE_URL").removeprefix("hbase://").partition(":")
    connection = happybase.Connection(host, int(port))
    families = {key.decode(): family for key, family in connection.table(name).families().items()}
    connection.close()
    assert {family["max_versions"] for family in families.values()} == {1}
    assert families["grobid0"]["compression"] == b"SNAPPY"
    assert {families[key]["compression"] for key in ("f", "file", "match0")} == {b"GZ"}
