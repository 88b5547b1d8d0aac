"""What migrations make of sources and their links that an earlier Fonds left."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from fonds.model.by_source import ENTRIES_BY_SOURCE
from fonds.model.rows import SourceRow, TallyRow
from fonds.stores.records import engine
from fonds.stores.records.migration import upgrade
from fonds.stores.records.sql import open_sqlite

AT = "2026-05-06 12:00:00.000000"
POLL = "0123456789ab.000001"


def before(path: Path) -> sqlite3.Connection:
    """A database as it was before links were counted by source."""
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0021")
    made.dispose()
    return sqlite3.connect(path)


def test_links_of_before_are_counted_by_their_source(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    old = before(path)
    told = [
        ("a", "link", POLL, "done", None, "fetch"),
        ("b", "link", POLL, "dropped", "robots-denied", "fetch"),
        ("c", "link", POLL, "pending", "duplicate", "fetch"),
        ("d", "capture", POLL, "done", None, "fetch"),
        ("e", "link", "0123456789ab", "done", None, "fetch"),
    ]
    for name, kind, poll, outcome, reason, step in told:
        weight = {"done": 1, "dropped": 2, "pending": 2}[outcome]
        verdict = "dropped" if reason else "done"
        old.execute(
            "INSERT INTO entries VALUES (?, 'queue-fetcher', ?, ?, 'http://x.example/', NULL, NULL,"
            " 'default', ?, ?, ?, ?, ?, ?, ?, NULL, '', ?, NULL)",
            (name, kind, poll, AT, outcome, outcome == "pending", weight, reason, step, name, AT),
        )
        old.execute(
            "INSERT INTO dispositions VALUES (?, 'queue-fetcher', ?, ?, NULL, NULL, ?, 0, ?, '', NULL,"
            " 0, ?, ?)",
            (name, step, name, verdict, reason, AT, AT),
        )
    old.commit()
    old.close()
    records = open_sqlite(path)
    rows = records.find(TallyRow, {"counted": ENTRIES_BY_SOURCE})
    assert {(row.first, row.second, row.third): row.count for row in rows} == {
        ("0123456789ab", "done", "fetch "): 1,
        ("0123456789ab", "dropped", "fetch robots-denied"): 1,
        ("0123456789ab", "pending", ""): 1,
    }
    assert not [told for told in records.ledger.recount() if "_by_source" in told]
    records.close()


def test_sources_of_before_stand_as_their_last_poll_left_them(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    old = before(path)
    long_ago, lately = "2026-01-01 12:00:00.000000", "2026-05-05 12:00:00.000000"
    rows = [
        ("waiting", 0, 0, None, None),
        ("failing", 12, 0, lately, lately),
        ("failing", 3, 0, long_ago, long_ago),
        ("dead", 12, 0, long_ago, long_ago),
        ("silent", 0, 2, lately, lately),
        ("quiet", 0, 0, lately, long_ago),
        ("active", 0, 0, lately, lately),
    ]
    columns = (
        "source_id, url, kind, state, title, folder, collection, pipeline, tls, added_at, next_poll"
    )
    columns += ", polls, polling, claims, mark, listed, links, last_polled"
    for number, (_, failures, silent, well, new) in enumerate(rows):
        old.execute(
            f"INSERT INTO sources ({columns}, failures, silent_polls, last_well, last_new) VALUES"
            f" ('s{number}', 'https://{number}.example/', 'feed', 'active', '', '', 'c', 'queue-fetcher',"
            " 'full', ?, ?, 1, 0, 0, 0, 0, 0, ?, ?, ?, ?, ?)",
            (long_ago, AT, AT, failures, silent, well, new),
        )
    old.commit()
    old.close()
    records = open_sqlite(path)
    found = sorted(records.find(SourceRow), key=lambda row: row.source_id)
    assert [row.standing for row in found] == [one[0] for one in rows]
    assert {row.failing_since for row in found} == {row.muted_until for row in found} == {None}
    records.close()


def test_sources_of_before_were_never_backfilled(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0022")
        columns = "source_id, url, kind, state, title, folder, collection, pipeline, tls, added_at"
        columns += (
            ", next_poll, polls, polling, claims, mark, listed, links, failures, silent_polls"
        )
        told = "'s', 'https://a.example/', 'feed', 'active', '', '', 'c', 'queue-fetcher', 'full'"
        connection.exec_driver_sql(
            f"INSERT INTO sources ({columns}) VALUES ({told}, ?, ?, 1, 0, 0, 0, 0, 0, 0, 0)",
            (AT, AT),
        )
    made.dispose()
    records = open_sqlite(path)
    (row,) = records.find(SourceRow)
    assert (row.backfill, row.backfill_changes) == (None, 0)
    records.change(SourceRow, ["s"], {"backfill": {"a": 1}}, {"backfill_changes": 0})
    assert next(iter(records.get(SourceRow, ["s"]))).backfill == {"a": 1}
    records.close()
