"""WARCs of before are found by their file names, and a name leads to the only WARC it can mean."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from fonds.model.errors import PermanentError
from fonds.ports import Records
from fonds.steps.intake.warc_names import ALIKE_MAX, paths_of
from fonds.stores.records import engine
from fonds.stores.records.migration import upgrade
from fonds.stores.records.sql import open_sqlite

AT = "2026-05-06 12:00:00.000000"


def known(path: Path, rows: list[tuple[str, str, str]]) -> Records:
    """Records migrated from a time when WARCs had a name, a path and the SHA-1 of their start alone."""
    made = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(made) as connection, connection.begin():
        upgrade(connection, "0030")
    made.dispose()
    with sqlite3.connect(path) as old:
        old.executemany(
            f"INSERT INTO warc_files (name, path, head_sha1, row_created) VALUES (?, ?, ?, '{AT}')",
            rows,
        )
    return open_sqlite(path)


def test_every_warc_of_before_is_found_by_the_end_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    rows = [(f"item/{n}.warc.gz", f"/mnt/item/{n}.warc.gz", str(n)) for n in range(2_500)]
    records = known(path, [*rows, ("https://a.example/w/x.warc", "https://a.example/w/x.warc", "")])
    for number in (0, 999, 1_000, 2_499):
        assert paths_of(records, f"{number}.warc.gz") == [f"/mnt/item/{number}.warc.gz"]
        assert paths_of(records, f"all/item/{number}.warc.gz") == [f"/mnt/item/{number}.warc.gz"]
    assert paths_of(records, "w/x.warc") == ["https://a.example/w/x.warc"]
    assert paths_of(records, "other/0.warc.gz") == []
    assert paths_of(records, "00.warc.gz") == []
    with sqlite3.connect(path) as there:
        query = "SELECT * FROM warc_files WHERE file_name = '1.warc.gz' ORDER BY name LIMIT 100"
        plan = str(there.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())
    assert "warc_files_file_name" in plan
    assert "SCAN" not in plan


def test_a_name_that_several_warcs_may_mean_leads_nowhere(tmp_path: Path) -> None:
    twins = [("a/x.warc.gz", "/mnt/a/x.warc.gz", "1"), ("b/x.warc.gz", "/mnt/b/x.warc.gz", "2")]
    copies = [("a/y.warc.gz", "/mnt/a/y.warc.gz", "3"), ("b/y.warc.gz", "/mnt/b/y.warc.gz", "3")]
    many = [(f"{n:03}/z.warc.gz", f"/mnt/{n}/z.warc.gz", "4") for n in range(ALIKE_MAX)]
    records = known(tmp_path / "records.sqlite", [*twins, *copies, *many])
    with pytest.raises(PermanentError, match=r"end alike: a/x\.warc\.gz, b/x\.warc\.gz\. Name it"):
        paths_of(records, "x.warc.gz")
    assert paths_of(records, "mine/a/x.warc.gz") == ["/mnt/a/x.warc.gz"]
    assert paths_of(records, "a/x.warc.gz") == ["/mnt/a/x.warc.gz"]
    assert sorted(paths_of(records, "y.warc.gz")) == ["/mnt/a/y.warc.gz", "/mnt/b/y.warc.gz"]
    with pytest.raises(PermanentError, match=r"004/z\.warc\.gz, …\. Name it"):
        paths_of(records, "z.warc.gz")
