"""What reading costs: statements are made once, and readers pay for hiding only while something is hidden."""

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


def body(number: int) -> Body:
    return Body(number, f"http://a.example/{number}", NOW, "text/html", b"%d" % number)


def embargo(sha1hex: str) -> EmbargoRow:
    return EmbargoRow(sha1hex, "rights", "", NOW + timedelta(days=9), "me", NOW)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[SqlRecords]:
    found = open_sqlite(tmp_path / "records.sqlite")
    found.put([file_row(body(number)) for number in NUMBERS])
    yield found
    found.close()


@contextmanager
def heard() -> Iterator[list[str]]:
    """The statements that run meanwhile, without those that only begin a transaction."""
    said: list[str] = []

    def before(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement != "BEGIN":
            said.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", before)
    try:
        yield said
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", before)


def test_hiding_costs_one_small_statement_while_nothing_is_hidden(records: SqlRecords) -> None:
    readers = records.for_readers()

    def asked() -> list[str]:
        with heard() as said:
            list(readers.find(TallyRow, {"counted": "file_meta"}))
            readers.count(EntryRow, ("outcome",))
        return [one for one in said if "cdx" in one]

    assert asked() == []
    some = file_row(body(0)).sha1hex
    records.put([embargo(some)])
    assert len(asked()) == 2
    assert readers.count(FileMetaRow) == {(): len(NUMBERS) - 1}
    records.delete(EmbargoRow, [some])
    assert asked() == []
    assert readers.count(FileMetaRow) == {(): len(NUMBERS)}


def test_a_walk_hides_from_its_next_page_on_what_came_under_embargo(records: SqlRecords) -> None:
    keys = sorted(row.sha1hex for row in records.find(FileMetaRow))
    walk = records.for_readers().find(FileMetaRow)
    found = [next(walk).sha1hex]
    records.put([embargo(keys[-1])])
    found += [row.sha1hex for row in walk]
    assert found == keys[:-1]


def test_the_first_of_each_is_asked_with_a_statement_made_before(records: SqlRecords) -> None:
    """Whatever the values are, and up to the same size however many they are."""
    keys = [row.sha1hex for row in records.find(FileMetaRow)]

    def first(some: list[str]) -> list[str | None]:
        wheres = [{"sha1hex": one, "mimetype": "text/html"} for one in some]
        rows = records.first_of_each(FileMetaRow, wheres, ("-row_created",))
        return [row.sha1hex if row else None for row in rows]

    assert first(keys[:60]) == keys[:60]
    made = _build_cached_statement.cache_info().misses
    assert first([*keys[200:240], "none"]) == [*keys[200:240], None]
    assert first(keys[500:564]) == keys[500:564]
    assert _build_cached_statement.cache_info().misses == made
    for size in (1, 3, CONDITIONS_PER_STATEMENT, CONDITIONS_PER_STATEMENT + 1):
        assert first(keys[:size]) == keys[:size]
