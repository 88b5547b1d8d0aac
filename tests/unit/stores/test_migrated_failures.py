"""What a migration makes of rows an earlier Fonds left."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from fonds.model.by_time import (
    ENTRIES_BY_DAY,
    FAILURES_BY_DAY,
    INPUTS_BY_DAY,
    MESSAGES_BY_HOUR,
)
from fonds.model.failure import failure_group
from fonds.model.rows import EntryRow, TallyRow
from fonds.stores.records import engine
from fonds.stores.records.migration import upgrade
from fonds.stores.records.sql import open_sqlite


def test_what_entered_before_is_counted_by_day_and_hour(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0016")
    made.dispose()
    old = sqlite3.connect(path)
    days = [f"2024-05-{day:02} {hour}:59:59.999999" for day, hour in ((6, 23), (7, "00"), (7, 12))]
    ends = (("done", None), ("quarantined", "timeout"), ("pending", "duplicate"))
    group = {"timeout": "0" * 16}
    for name, at, (outcome, reason) in zip("abc", days, ends, strict=True):
        weight = {"done": 1, "quarantined": 3, "pending": 2}[outcome]
        old.execute(
            "INSERT INTO entries VALUES (?, 'library', 'capture', 'i', 'http://x.example/', NULL, NULL,"
            " 'default', ?, ?, ?, ?, ?, 'identify', ?, NULL, '', ?, ?)",
            (
                name,
                at,
                outcome,
                outcome == "pending",
                weight,
                reason,
                name,
                at,
                group.get(reason or ""),
            ),
        )
        verdict = "dropped" if outcome == "pending" else outcome
        old.execute(
            "INSERT INTO dispositions VALUES (?, 'library', 'identify', ?, NULL, NULL, ?, 0, ?, '', NULL,"
            " 0, ?, ?)",
            (name, name, verdict, reason, at, at),
        )
    old.execute(
        "INSERT INTO inputs VALUES ('i', '/i', 'warc', '1:1', 0, 3, '{\"revisit\": 4}', 4, 1, NULL, ?,"
        " 'library')",
        (days[0],),
    )
    old.commit()
    old.close()
    records = open_sqlite(path)
    assert not [told for told in records.ledger.recount() if "_by_" in told]
    rows = records.find(TallyRow, {"counted": [ENTRIES_BY_DAY, INPUTS_BY_DAY, FAILURES_BY_DAY]})
    assert {(row.first, row.second, row.third): row.count for row in rows} == {
        ("2024-05-06", "done", ""): 1,
        ("2024-05-07", "quarantined", "timeout"): 1,
        ("2024-05-07", "pending", ""): 1,
        (failure_group("identify", "timeout", "", "http://x.example/"), "2024-05-07", ""): 1,
        ("2024-05-06", "revisit", ""): 4,
    }
    hours = records.find(TallyRow, {"counted": MESSAGES_BY_HOUR, "third": "ended"})
    assert [(row.second, row.count) for row in hours] == [
        ("2024-05-06 23", 1),
        ("2024-05-07 00", 1),
        ("2024-05-07 12", 1),
    ]
    records.close()


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


def test_failures_that_differed_by_a_digest_become_one_group(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0019")
    made.dispose()
    old = sqlite3.connect(path)
    digests = ("sha1:" + "AB23" * 8, "sha1:" + "cd45" * 8, None)
    for number, digest in enumerate(digests):
        at = f"2024-05-0{number // 2 + 6} 12:00:00.000000"
        detail = f"read {digest}" if digest else "no digest"
        told = ("damaged-record", "identify", str(number), detail, at, f"{number:016x}")
        old.execute(
            "INSERT INTO entries VALUES (?, 'library', 'capture', 'i', 'http://x.example/', NULL, NULL,"
            " 'default', ?, 'quarantined', 0, 3, ?, ?, ?, NULL, ?, ?, ?)",
            (str(number), at, *told),
        )
        old.execute(
            "INSERT INTO dispositions VALUES (?, 'library', 'identify', ?, NULL, NULL, 'quarantined', 0,"
            " 'damaged-record', ?, NULL, 0, ?, ?)",
            (str(number), str(number), detail, at, at),
        )
        counts = [
            ("failure_groups", f"{number:016x}", "identify", "damaged-record"),
            ("failures_by_day", f"{number:016x}", at[:10], ""),
            ("entries_by_day", at[:10], "quarantined", "damaged-record"),
        ]
        old.executemany(
            "INSERT INTO tallies VALUES (?, 'library', ?, ?, ?, 1)"
            " ON CONFLICT DO UPDATE SET count = count + 1",
            counts,
        )
    counts = [
        ("dispositions", "identify", "quarantined", "", 3),
        ("entries", "quarantined", "damaged-record", "identify", 3),
        ("messages_by_hour", "identify", "2024-05-06 12", "came", 2),
        ("messages_by_hour", "identify", "2024-05-06 12", "ended", 2),
        ("messages_by_hour", "identify", "2024-05-07 12", "came", 1),
        ("messages_by_hour", "identify", "2024-05-07 12", "ended", 1),
    ]
    old.executemany("INSERT INTO tallies VALUES (?, 'library', ?, ?, ?, ?)", counts)
    old.commit()
    old.close()
    records = open_sqlite(path)
    assert records.ledger.recount() == []
    groups = {row.entry_id: row.failure_group for row in records.find(EntryRow)}
    assert (
        groups["0"]
        == groups["1"]
        == failure_group(
            "identify", "damaged-record", f"read {'EF67' * 8}", "http://x.example/other"
        )
    )
    assert groups["2"] not in (groups["0"], f"{2:016x}", None)
    rows = records.find(TallyRow, {"counted": ["failure_groups", "failures_by_day"]})
    assert sorted((row.first, row.second, row.count) for row in rows) == sorted(
        [
            (groups["0"], "identify", 2),
            (groups["0"], "2024-05-06", 2),
            (groups["2"], "identify", 1),
            (groups["2"], "2024-05-07", 1),
        ]
    )
    records.close()
