"""A value of another type in a SQLite file is explained in a sentence, or read as its bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fonds.model.errors import DamagedRowError
from fonds.model.message import Message, Subscription
from fonds.model.rows import FileMetaRow
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.records.sql import SqlRecords, open_sqlite
from fonds.stores.table.sqlite import SqliteTable
from home_rows import NOW, Body, file_row

FILE = file_row(Body(1, "http://a.example/1", NOW, "text/html", b"1"))


def run_sql(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement, values).rowcount == 1
    connection.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [("size_bytes", "x"), ("mimetype", b"\xff"), ("row_created", "x"), ("row_created", b"\xff")],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda records: records.get(FileMetaRow, [FILE.sha1hex]),
        lambda records: list(records.find(FileMetaRow)),
        lambda records: list(records.find(FileMetaRow, order=("capture_id",))),
        lambda records: records.first_of_each(
            FileMetaRow, [{"sha1hex": FILE.sha1hex}], ["sha1hex"]
        ),
        lambda records: records.count(
            FileMetaRow, ["size_bytes", "mimetype", "row_created"], {"sha1hex": FILE.sha1hex}
        ),
    ],
    ids=["get", "find", "find-in-order", "first", "count"],
)
def test_a_value_of_another_type_in_the_records_is_named(
    tmp_path: Path, column: str, value: object, read: Callable[[SqlRecords], object]
) -> None:
    path = tmp_path / "records.sqlite"
    records = open_sqlite(path)
    records.put([FILE])
    run_sql(path, f"UPDATE file_meta SET {column} = ?", value)
    place = (
        f"column {column} of the table file_meta cannot be read in the row sha1hex={FILE.sha1hex}"
    )
    with pytest.raises(DamagedRowError, match=place):
        read(records)
    records.close()


@pytest.mark.parametrize("value", ["x", 7, 1.5])
def test_a_cell_of_another_type_is_read_as_bytes_and_can_be_replaced(
    tmp_path: Path, value: object
) -> None:
    path = tmp_path / "table.sqlite"
    table = SqliteTable(path)
    table.declare("t", ["f"])
    table.put("t", [(b"k", {"f:c": b"1"})])
    run_sql(path, "UPDATE cells SET value = ?", value)
    stored = str(value).encode()
    assert table.get("t", [b"k"]) == {b"k": {"f:c": stored}}
    assert table.scan("t") == [(b"k", {"f:c": stored})]
    table.put("t", [(b"k", {"f:c": b"2"})], where_equal={b"k": stored})
    assert table.get("t", [b"k"]) == {b"k": {"f:c": b"2"}}
    table.close()


@pytest.mark.parametrize(
    ("column", "value"), [("headers", "{"), ("headers", "[]"), ("key", b"\xff"), ("body", "x")]
)
def test_a_message_with_a_value_of_another_type_is_named(
    tmp_path: Path, column: str, value: object
) -> None:
    path, subscription = tmp_path / "queue.sqlite", Subscription("step", "t")
    queue = SqliteQueue(path)
    queue.declare([subscription])
    queue.put("t", [Message("m", b"body", "k")])
    run_sql(path, f"UPDATE contents SET {column} = ?", value)
    with pytest.raises(DamagedRowError, match=r"Message 1 in queue\.sqlite cannot be read"):
        queue.receive(subscription.incoming, 1, 0.0)
    queue.close()
