"""What a migration makes of the headers that an earlier Fonds noted with what it fetched."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from fonds.model.rows import CaptureRightsRow, FetchedRow
from fonds.ports.rights import rights_of
from fonds.stores.records import engine
from fonds.stores.records.migration import upgrade
from fonds.stores.records.sql import open_sqlite

AT = "2026-05-06 12:00:00.000000"
SHA1, OTHER = "1" * 40, "2" * 40


def before(path: Path) -> sqlite3.Connection:
    """A database as it was before headers were interpreted."""
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0027")
    made.dispose()
    return sqlite3.connect(path)


def test_headers_of_before_are_statements_of_the_captures_that_were_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    old = before(path)
    sent = {
        "kept": ("train-ai=n", "noai, googlebot: noindex", "1", "https://e.example/tdm.json"),
        "spooled": (None, "none", None, None),
        "silent": (None, None, None, None),
        "dropped": (None, "noai", None, None),
    }
    for name, signals in sent.items():
        columns = (
            "capture_id, url, final_url, fetched, status, address, tls_check, redirects, in_spool"
        )
        columns += ", content_usage, x_robots_tag, tdm_reservation, tdm_policy"
        old.execute(
            f"INSERT INTO fetched ({columns}) VALUES (?, 'http://e.example/', 'http://e.example/', ?, 200,"
            " '', 'full', 0, 1, ?, ?, ?, ?)",
            (name, AT, *signals),
        )
    for name, sha1hex in (("kept", SHA1), ("silent", SHA1)):
        old.execute(
            "INSERT INTO cdx (capture_id, sha1hex, url, surt, surt_key, datetime, mimetype, status,"
            " warc_path, warc_offset, row_created) VALUES (?, ?, 'u', 's', 's', '20260506120000',"
            " 'text/html', 200, ?, 0, ?)",
            (name, sha1hex, name, AT),
        )
    for name, sha1hex in (("kept", SHA1), ("spooled", OTHER)):
        old.execute(
            "INSERT INTO file_meta (sha1hex, sha256hex, md5hex, size_bytes, mimetype, capture_id,"
            " row_created) VALUES (?, ?, ?, 1, 'text/html', ?, ?)",
            (sha1hex, "3" * 64, "4" * 32, name, AT),
        )
    old.commit()
    old.close()
    records = open_sqlite(path)
    found = rights_of(records, {"kept": SHA1, "spooled": OTHER, "silent": SHA1})
    assert {name: one.prefers for name, one in found.items()} == {
        "kept": ("noai", "noindex", "tdm-reservation=1", "tdm-policy", "train-ai=n"),
        "spooled": ("none",),
        "silent": (),
    }
    assert len(list(records.find(CaptureRightsRow))) == 2
    assert len(list(records.find(FetchedRow))) == 4
