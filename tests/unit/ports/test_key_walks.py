"""Reading a table page by page returns every row once and in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fonds.model.errors import ConfigurationError
from fonds.ports.scan import iter_pages, iter_rows
from fonds.stores.table.sqlite import SqliteTable

NAME = "walked"
COUNT = 12
KEYS = [b"%02d" % number for number in range(COUNT)]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    opened = SqliteTable(tmp_path / "table.sqlite")
    opened.declare(NAME, ["f"])
    yield opened
    opened.close()


def fill(table: SqliteTable, keys: Sequence[bytes]) -> None:
    table.put(NAME, [(key, {"f:a": key, "f:b": b"large"}) for key in keys])


def list_keys(rows: Iterator[tuple[bytes, dict[str, bytes]]]) -> list[bytes]:
    return [key for key, _ in rows]


def test_an_empty_table_has_no_page(table: SqliteTable) -> None:
    assert [*iter_pages(table, NAME)] == []
    assert [*iter_rows(table, NAME)] == []


@pytest.mark.parametrize("page_rows", [1, 5, COUNT - 1, COUNT, COUNT + 1, COUNT * 9])
def test_every_row_is_returned_once_and_in_order_for_any_page_size(
    table: SqliteTable, page_rows: int
) -> None:
    fill(table, KEYS)
    pages = [*iter_pages(table, NAME, page_rows=page_rows)]
    assert [key for page in pages for key, _ in page] == KEYS
    assert [len(page) for page in pages[:-1]] == [page_rows] * (len(pages) - 1)
    assert 0 < len(pages[-1]) <= page_rows
    assert [*iter_rows(table, NAME, page_rows=page_rows)] == table.scan(NAME)


def test_only_rows_with_the_prefix_are_returned(table: SqliteTable) -> None:
    fill(table, KEYS)
    assert list_keys(iter_rows(table, NAME, b"1", page_rows=1)) == [b"10", b"11"]
    assert list_keys(iter_rows(table, NAME, b"9")) == []


def test_reading_resumes_after_any_key(table: SqliteTable) -> None:
    fill(table, KEYS)
    assert list_keys(iter_rows(table, NAME, after=b"08", page_rows=2)) == [b"09", b"10", b"11"]
    assert list_keys(iter_rows(table, NAME, after=b"08x")) == [b"09", b"10", b"11"]
    assert list_keys(iter_rows(table, NAME, b"1", after=b"10")) == [b"11"]
    assert list_keys(iter_rows(table, NAME, after=KEYS[-1])) == []


def test_only_requested_columns_are_read_and_rows_without_them_are_skipped(
    table: SqliteTable,
) -> None:
    fill(table, KEYS[:2])
    table.put(NAME, [(b"bare", {"f:b": b"large"})])
    rows = [*iter_rows(table, NAME, columns=["f:a"], page_rows=1)]
    assert rows == [(key, {"f:a": key}) for key in KEYS[:2]]


def test_a_page_is_read_when_the_previous_one_is_consumed(table: SqliteTable) -> None:
    fill(table, KEYS[:4])
    walked = iter_pages(table, NAME, page_rows=2)
    assert [key for key, _ in next(walked)] == KEYS[:2]
    table.delete(NAME, [KEYS[2]])
    fill(table, [KEYS[0], KEYS[4]])
    assert [key for page in walked for key, _ in page] == [KEYS[3], KEYS[4]]


def test_an_undeclared_table_raises(table: SqliteTable) -> None:
    with pytest.raises(ConfigurationError):
        next(iter_rows(table, "undeclared"))
