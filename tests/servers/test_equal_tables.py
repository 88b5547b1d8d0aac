"""The same done to a table on this machine and on HBase leaves the same, whatever it was."""

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
PUT = st.tuples(
    st.just("put"), st.lists(st.tuples(st.sampled_from(KEYS), CELLS), min_size=1, max_size=4)
)
DELETE = st.tuples(st.just("delete"), st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[Table]]]:
    """One name, and both tables declared alike."""
    name = f"t{os.urandom(5).hex()}"
    folder: Path = tmp_path_factory.mktemp("twins")
    both = [HbaseTable(url_of("TEST_HBASE_URL")), SqliteTable(folder / "table.sqlite")]
    for one in both:
        one.declare(name, JOURNAL.names, compressions=JOURNAL.compressions)
    yield name, both
    for one in both:
        one.close()


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(acts=st.lists(PUT | DELETE, max_size=12))
def test_any_acts_leave_the_same_in_both(
    twins: tuple[str, list[Table]], acts: list[tuple[str, list]]
) -> None:
    name, both = twins
    left = []
    for table in both:
        table.delete(name, [key for key, _ in table.scan(name)])
        for act, what in acts:
            (table.put if act == "put" else table.delete)(name, what)
        left.append((table.scan(name), table.get(name, KEYS), table.scan(name, columns=["file:"])))
    assert left[0] == left[1]


def test_grobids_family_is_compressed_with_snappy_and_all_keep_one_version(
    twins: tuple[str, list[Table]],
) -> None:
    name, _ = twins
    host, _, port = url_of("TEST_HBASE_URL").removeprefix("hbase://").partition(":")
    connection = happybase.Connection(host, int(port))
    families = {key.decode(): told for key, told in connection.table(name).families().items()}
    connection.close()
    assert {told["max_versions"] for told in families.values()} == {1}
    assert families["grobid0"]["compression"] == b"SNAPPY"
    assert {families[one]["compression"] for one in ("f", "file", "match0")} == {b"GZ"}
