"""The cost of reading: statements are built once, and readers pay for hiding only while a file is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from fonds.model.rows import EmbargoRow, EntryRow, FileMetaRow, TallyRow
from fonds.stores.records.sql import (
    CONDITIONS_PER_STATEMENT,
    PAGE_ROWS,
    SqlRecords,
    _build_cached_statement,
    open_sqlite,
)
from home_rows import NOW, Body, file_row

NUMBERS = range(PAGE_ROWS + 10)


def build_body(number: int) -> Body:
    return Body(number, f"http://a.example/{number}", NOW, "text/html", b"%d" % number)


def build_embargo(sha1hex: str) -> EmbargoRow:
    return EmbargoRow(sha1hex, "rights", "", NOW + timedelta(days=9), "me", NOW)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    records = open_sqlite(tmp_path / "records.sqlite")
    records.put([file_row(build_body(number)) for number in NUMBERS])
    yield records
    records.close()


@contextmanager
def collect_statements() -> Iterator[list[str]]:
    """Collect the executed statements, except those that begin a transaction."""
    statements: list[str] = []

    def before(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement != "BEGIN":
            statements.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    try:
        yield statements
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", before)


def test_reading_runs_no_hiding_statements_while_nothing_is_hidden(records: SqlRecords) -> None:
    readers = records.for_readers()

    def list_cdx_statements() -> list[str]:
        with collect_statements() as statements:
            list(readers.find(TallyRow, {"counted": "file_meta"}))
            readers.count(EntryRow, ("outcome",))
        return [statement for statement in statements if "cdx" in statement]

    assert list_cdx_statements() == []
    sha1hex = file_row(build_body(0)).sha1hex
    records.put([build_embargo(sha1hex)])
    assert len(list_cdx_statements()) == 2
    assert readers.count(FileMetaRow) == {(): len(NUMBERS) - 1}
    records.delete(EmbargoRow, [sha1hex])
    assert list_cdx_statements() == []
    assert readers.count(FileMetaRow) == {(): len(NUMBERS)}


def test_a_running_query_hides_new_embargoes_from_its_next_page(records: SqlRecords) -> None:
    keys = sorted(row.sha1hex for row in records.find(FileMetaRow))
    walk = records.for_readers().find(FileMetaRow)
    read_keys = [next(walk).sha1hex]
    records.put([build_embargo(keys[-1])])
    read_keys += [row.sha1hex for row in walk]
    assert read_keys == keys[:-1]


def test_first_of_each_reuses_the_cached_statement(records: SqlRecords) -> None:
    """The statement depends on the number of values only above a limit, and never on the values."""
    keys = [row.sha1hex for row in records.find(FileMetaRow)]

    def find_first(requested_keys: list[str]) -> list[str | None]:
        wheres = [{"sha1hex": key, "mimetype": "text/html"} for key in requested_keys]
        rows = records.first_of_each(FileMetaRow, wheres, ("-row_created",))
        return [row.sha1hex if row else None for row in rows]

    assert find_first(keys[:60]) == keys[:60]
    misses = _build_cached_statement.cache_info().misses
    assert find_first([*keys[200:240], "none"]) == [*keys[200:240], None]
    assert find_first(keys[500:564]) == keys[500:564]
    assert _build_cached_statement.cache_info().misses == misses
    for size in (1, 3, CONDITIONS_PER_STATEMENT, CONDITIONS_PER_STATEMENT + 1):
        assert find_first(keys[:size]) == keys[:size]
