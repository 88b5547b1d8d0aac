"""A WARC name resolves to the only WARC that it can mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from empty_records import open_records
from fixtures.archives import BACKENDS
from fonds.archive.warc_names import ALIKE_MAX, WarcNames, list_paths
from fonds.model.errors import PermanentError
from fonds.ports import Records

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    opened = open_records(tmp_path / "records.sqlite")
    yield opened
    opened.close()


def add_warcs(records: Records, folder: Path, starts: dict[str, str]) -> None:
    """Write WARCs that start with these bytes below the folder, and record their names."""
    names = WarcNames(records, BACKENDS["local"](folder), lambda: NOON)
    for name, start in starts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(start)
        names.record_path(name, str(path))


def test_a_warc_is_found_by_the_end_of_its_path(tmp_path: Path, records: Records) -> None:
    add_warcs(records, tmp_path, {f"item/{n}.warc.gz": str(n) for n in (0, 1, 100)})
    for number in (0, 1, 100):
        path = str(tmp_path / f"item/{number}.warc.gz")
        assert list_paths(records, f"{number}.warc.gz") == [path]
        assert list_paths(records, f"all/item/{number}.warc.gz") == [path]
    assert list_paths(records, "other/0.warc.gz") == []
    assert list_paths(records, "00.warc.gz") == []


def test_the_query_by_file_name_uses_an_index(tmp_path: Path, records: Records) -> None:
    with sqlite3.connect(tmp_path / "records.sqlite") as connection:
        query = "SELECT * FROM warc_files WHERE file_name = '1.warc.gz' ORDER BY name LIMIT 100"
        plan = str(connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())
    connection.close()
    assert "warc_files_file_name" in plan
    assert "SCAN" not in plan


def test_an_ambiguous_name_is_refused(tmp_path: Path, records: Records) -> None:
    twins = {"a/x.warc.gz": "1", "b/x.warc.gz": "2"}
    copies = {"a/y.warc.gz": "3", "b/y.warc.gz": "3"}
    too_many = {f"{n:03}/z.warc.gz": "4" for n in range(ALIKE_MAX)}
    add_warcs(records, tmp_path, twins | copies | too_many)
    with pytest.raises(
        PermanentError, match=r"end like it: a/x\.warc\.gz, b/x\.warc\.gz\. Give the name"
    ):
        list_paths(records, "x.warc.gz")
    assert list_paths(records, "mine/a/x.warc.gz") == [str(tmp_path / "a/x.warc.gz")]
    assert list_paths(records, "a/x.warc.gz") == [str(tmp_path / "a/x.warc.gz")]
    assert sorted(list_paths(records, "y.warc.gz")) == [
        str(tmp_path / f"{n}/y.warc.gz") for n in "ab"
    ]
    with pytest.raises(PermanentError, match=r"004/z\.warc\.gz, …\. Give the name"):
        list_paths(records, "z.warc.gz")
