"""The SQLite table beyond its port: keys, families, and the cost of scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.errors import ConfigurationError, StorageFullError
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.table.rows import KEY_MAX_BYTES, find_prefix_end
from fonds.stores.table.sqlite import SqliteTable


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    table = SqliteTable(tmp_path / "table.sqlite")
    table.declare("t", ["f", "g"])
    yield table
    table.close()


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_keys_with_a_prefix_are_before_its_end(prefix: bytes, key: bytes) -> None:
    end = find_prefix_end(prefix)
    in_range = key >= prefix and (end is None or key < end)
    assert in_range == key.startswith(prefix)


@pytest.mark.parametrize("key", [b"", b"x" * (KEY_MAX_BYTES + 1)])
def test_keys_that_hbase_refuses_are_refused(table: SqliteTable, key: bytes) -> None:
    with pytest.raises(ValueError, match="row key"):
        table.put("t", [(b"fine", {"f:a": b""}), (key, {"f:a": b""})])
    assert table.scan("t") == []


@pytest.mark.parametrize("families", [[], [""], ["a:b"]])
def test_families_without_a_name_are_refused(table: SqliteTable, families: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="families"):
        table.declare("other", families)


def test_too_many_columns_are_refused(table: SqliteTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fonds.stores.table.rows.COLUMNS_MAX", 2)
    assert table.get("t", [b"key"], ["f:a", "f:b"]) == {}
    with pytest.raises(ValueError, match="request families instead"):
        table.get("t", [b"key"], ["f:a", "f:b", "f:c"])
    with pytest.raises(ValueError, match="request families instead"):
        table.delete("t", [b"key"], ["f:a", "f:b", "f:c"])


@pytest.mark.parametrize("columns", [["f:"], ["f:a", "g:"]], ids=str)
def test_a_family_is_not_deleted(table: SqliteTable, columns: list[str]) -> None:
    table.put("t", [(b"key", {"f:a": b"1"})])
    with pytest.raises(ValueError, match="by column"):
        table.delete("t", [b"key"], columns)
    assert table.get("t", [b"key"]) == {b"key": {"f:a": b"1"}}


def test_a_row_without_cells_is_not_stored(table: SqliteTable) -> None:
    table.put("t", [(b"key", {})])
    assert table.get("t", [b"key"]) == {}


def count_thousand_instructions(table: SqliteTable, scan: Callable[[], object]) -> int:
    """Return the number of instructions of SQLite, in thousands."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with table._file.read_connection() as connection:
        connection.set_progress_handler(count, 1000)
    scan()
    return steps


@pytest.mark.parametrize("columns", [None, ["f:"], ["f:a", "g:"]], ids=str)
def test_a_scan_stops_after_its_limit(table: SqliteTable, columns: list[str] | None) -> None:
    table.put("t", [(i.to_bytes(4, "big"), {"f:a": b"x" * 500}) for i in range(20_000)])

    def scan() -> None:
        assert len(table.scan("t", b"\x00", count_max=10, columns=columns)) == 10

    assert count_thousand_instructions(table, scan) <= 1, (
        "reading ten rows took too many instructions"
    )


@pytest.mark.parametrize("columns", [["g:"], ["g:a"], ["f:00000007", "g:"]], ids=str)
def test_a_scan_skips_unrequested_cells(table: SqliteTable, columns: list[str]) -> None:
    """Each row has 20,000 other cells, like a cluster with its documents."""
    other_cells = {f"f:{n:08}": b"" for n in range(20_000)}
    table.put("t", [(key, {**other_cells, "g:a": key}) for key in (b"a", b"b", b"c")])

    def scan() -> None:
        assert [cells["g:a"] for _, cells in table.scan("t", columns=columns)] == [b"a", b"b", b"c"]

    assert count_thousand_instructions(table, scan) <= 1, (
        "reading three rows took too many instructions"
    )


def get_read_bytes() -> int:
    """Return the number of bytes that this process has read from files."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs the I/O counters of Linux")
@pytest.mark.parametrize("columns", [["f:a"], ["f:"]], ids=" ".join)
def test_unrequested_cells_are_not_read_from_disk(tmp_path: Path, columns: list[str]) -> None:
    """Each row also has a cell of 1 MiB, the size of a TEI document."""
    table = SqliteTable(tmp_path / "large.sqlite")
    table.declare("t", ["f", "grobid0"])
    keys = [bytes([number]) for number in range(40)]
    for key in keys:
        table.put("t", [(key, {"f:a": key, "grobid0:tei_xml": bytes(2**20)})])
    table.close()
    table = SqliteTable(tmp_path / "large.sqlite")
    before = get_read_bytes()
    assert table.get("t", keys, columns) == {key: {"f:a": key} for key in keys}
    assert table.scan("t", columns=columns) == [(key, {"f:a": key}) for key in keys]
    assert get_read_bytes() - before < 2 * 2**20
    assert len(table.get("t", keys)) == 40
    assert get_read_bytes() - before > 40 * 2**20
    table.close()


def test_a_put_on_a_full_disk_is_rolled_back(table: SqliteTable) -> None:
    with table._file.read_connection() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageFullError, match=r"table\.sqlite"):
        table.put("t", [(bytes([i]), {"f:a": b"x" * 5000}) for i in range(1, 9)])
    assert table.scan("t") == []


def test_the_file_of_a_queue_is_refused(tmp_path: Path) -> None:
    SqliteQueue(tmp_path / "queue.sqlite").close()
    with pytest.raises(ConfigurationError, match=r"queue\.sqlite is not a table store"):
        SqliteTable(tmp_path / "queue.sqlite")


def test_adding_a_family_keeps_the_rows(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "table.sqlite")
    table.declare("t", ["f"])
    table.put("t", [(b"key", {"f:a": b"1"})])
    table.declare("t", ["f", "pdf0"])
    table.put("t", [(b"key", {"pdf0:pdf_status": b"yes"})])
    assert table.get("t", [b"key"]) == {b"key": {"f:a": b"1", "pdf0:pdf_status": b"yes"}}
    assert table.list_tables() == {"t": {"f", "pdf0"}}
