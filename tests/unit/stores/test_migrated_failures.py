"""What a migration makes of rows an earlier Fonds left."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from fonds.model.rows import EntryRow, TallyRow
from fonds.stores.records import engine
from fonds.stores.records.migration import upgrade
from fonds.stores.records.sql import open_sqlite


def test_failures_of_before_belong_to_groups_and_are_counted_by_them(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0009")
    made.dispose()
    old = sqlite3.connect(path)
    at = "2024-05-06 12:00:00.000000"
    for name in ("a", "b", "c"):
        ended = ("quarantined", "done")[name == "c"]
        told = ("timeout", f"stopped after {ord(name)} s") if name != "c" else (None, "")
        old.execute(
            "INSERT INTO entries VALUES (?, 'library', 'capture', 'i', 'http://x.example/', NULL, NULL,"
            " 'default', ?, ?, 0, ?, ?, 'parse_story', ?, NULL, ?, ?)",
            (name, at, ended, 1 if name == "c" else 3, told[0], name, told[1], at),
        )
        old.execute(
            "INSERT INTO dispositions VALUES (?, 'library', 'parse_story', ?, NULL, NULL, ?, 0, ?, ?,"
            " NULL, 0, ?, ?)",
            (name, name, ended, told[0], told[1], at, at),
        )
    counts = [
        ("dispositions", "parse_story", "quarantined", "", 2),
        ("dispositions", "parse_story", "done", "", 1),
        ("entries", "quarantined", "timeout", "parse_story", 2),
        ("entries", "done", "", "parse_story", 1),
    ]
    old.executemany("INSERT INTO tallies VALUES (?, 'library', ?, ?, ?, ?)", counts)
    old.commit()
    old.close()
    records = open_sqlite(path)
    assert records.ledger.recount() == []
    groups = {row.entry_id: row.failure_group for row in records.find(EntryRow)}
    assert groups["a"] == groups["b"] is not None
    assert groups["c"] is None
    (row,) = records.find(TallyRow, {"counted": "failure_groups"})
    assert (row.first, row.second, row.third, row.count) == (
        groups["a"],
        "parse_story",
        "timeout",
        2,
    )
    records.close()
