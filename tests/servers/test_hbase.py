"""HBase beyond the port: paging, threads, deletions, large cells, a restart, attributes of families."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import happybase
import pytest

from fonds.model.errors import (
    ConfigurationError,
    LimitError,
    StoreUnavailableError,
)
from fonds.stores.table.hbase import HbaseTable
from real_servers import free_port, run_private_server, url_of

pytestmark = pytest.mark.servers


@pytest.fixture
def name() -> str:
    return f"t{os.urandom(5).hex()}"


@pytest.fixture
def table(name: str) -> Iterator[HbaseTable]:
    opened = HbaseTable(url_of("TEST_HBASE_URL"))
    opened.declare(name, ("f", "file"))
    yield opened
    opened.close()


def test_many_rows_are_scanned_by_prefix_in_pages(table: HbaseTable, name: str) -> None:
    keys = [b"%d/%05d" % (number % 3, number) for number in range(5_000)]
    table.put(name, [(key, {"f:a": key}) for key in keys])
    scanned_keys: list[bytes] = []
    after = None
    while rows := table.scan(name, b"1/", after=after, count_max=250):
        scanned_keys += [key for key, _ in rows]
        after = rows[-1][0]
    assert scanned_keys == sorted(key for key in keys if key.startswith(b"1/"))


def test_concurrent_threads_write(table: HbaseTable, name: str) -> None:
    def write(part: int) -> None:
        for number in range(20):
            table.put(name, [(b"%d/%d" % (part, number), {"f:a": b"%d" % part})])
            table.put(name, [(b"shared", {f"file:{part}-{number}": b""})])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert len(table.scan(name, count_max=1000)) == 161
    assert len(table.get(name, [b"shared"])[b"shared"]) == 160


def test_a_put_right_after_a_deletion_is_visible(table: HbaseTable, name: str) -> None:
    for number in range(100):
        value = b"%d" % number
        table.put(name, [(b"key", {"f:a": value, f"f:{number}": b"x"})])
        table.delete(name, [b"key"])
        table.put(name, [(b"key", {"f:a": value})])
        assert table.get(name, [b"key"]) == {b"key": {"f:a": value}}


def test_a_purge_keeps_all_other_cells_and_says_what_remains(table: HbaseTable, name: str) -> None:
    table.put(name, [(b"%d" % number, {"f:a": b"%d" % number}) for number in range(10)])
    table.delete(name, [b"3"])
    (sentence,) = table.purge()
    assert "HBase keeps deleted cells until its compaction has ended" in sentence
    assert [key for key, _ in table.scan(name, count_max=20)] == [
        b"%d" % number for number in range(10) if number != 3
    ]


def test_large_cells_are_stored_and_too_large_ones_refused(table: HbaseTable, name: str) -> None:
    large = os.urandom(12 * 1024 * 1024)
    table.put(name, [(b"large", {"file:x": large}), (b"small", {"file:x": b"1"})])
    assert table.get(name, [b"large"])[b"large"]["file:x"] == large
    with pytest.raises(LimitError, match="too large for"):
        table.put(name, [(b"huge", {"file:x": bytes(65 * 1024 * 1024)})])
    assert table.get(name, [b"small"])


def test_families_have_one_version_and_compression(table: HbaseTable, name: str) -> None:
    place = urlsplit(url_of("TEST_HBASE_URL"))
    connection = happybase.Connection(place.hostname, place.port)
    families = connection.table(name).families()
    connection.close()
    assert {family["max_versions"] for family in families.values()} == {1}
    assert {family["compression"] for family in families.values()} == {b"GZ"}


def test_a_dropped_table_is_reported(table: HbaseTable, name: str) -> None:
    place = urlsplit(url_of("TEST_HBASE_URL"))
    connection = happybase.Connection(place.hostname, place.port)
    connection.delete_table(name, disable=True)
    connection.close()
    with pytest.raises((StoreUnavailableError, ConfigurationError)):
        table.put(name, [(b"a", {"f:a": b"1"})])
    with pytest.raises(ConfigurationError, match="No table"):
        table.put(name, [(b"a", {"f:a": b"1"})])


def test_a_stopped_server_is_reported_and_used_again(name: str) -> None:
    with run_private_server("hbase") as server:
        table = HbaseTable(server.url)
        table.declare(name, ("f",))
        table.put(name, [(b"a", {"f:a": b"1"})])
        server.stop(signal.SIGTERM)
        with pytest.raises(StoreUnavailableError, match="does not answer"):
            table.put(name, [(b"b", {"f:a": b"2"})])
        server.start()
        table.put(name, [(b"b", {"f:a": b"2"})])
        assert set(table.get(name, [b"a", b"b"])) == {b"a", b"b"}
        table.close()


def test_an_unreachable_server_is_reported() -> None:
    url_of("TEST_HBASE_URL")
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        HbaseTable(f"hbase://127.0.0.1:{free_port()}").get("table", [b"a"])
