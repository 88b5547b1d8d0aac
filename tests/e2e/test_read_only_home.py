"""A home on a read-only file system, or somebody else's: what reads works, what writes says why not."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fonds.stores.records.sql import open_sqlite
from fonds.stores.sqlite_file import SqliteFile
from fonds.stores.table.sqlite import SqliteTable
from read_only import read_only


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("used")
    (folder / "in").mkdir()
    (folder / "in" / "paper.pdf").write_bytes(text_pdf(("of tidal flats and their birds",)))
    (folder / "in" / "other.pdf").write_bytes(text_pdf(("nothing of the kind",)))
    assert fonds(folder / "home", "ingest", folder / "in").code == 0
    return folder / "home"


@pytest.fixture(scope="module")
def home(used: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("shut") / "home"
    shutil.copytree(used, folder)
    with read_only(folder) as shut:
        yield shut


def test_it_can_be_searched(home: Path) -> None:
    ran = fonds(home, "search", "tidal", "--json")
    assert ran.code == 0, ran.err
    assert "tidal" in ran.out


def test_a_file_of_it_can_be_shown(home: Path) -> None:
    (row, _) = fonds(home, "export").lines
    ran = fonds(home, "show", row["sha1hex"])
    assert ran.code == 0, ran.err
    assert row["sha1hex"] in ran.out


def test_it_can_be_exported(home: Path, tmp_path: Path) -> None:
    assert len(fonds(home, "export").lines) == 2
    ran = fonds(home, "export", "--format", "parquet", "--out", tmp_path / "all.parquet")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("words", [["audit"], ["status"], ["failures"], ["timetable"]], ids=str)
def test_it_can_be_looked_at(home: Path, words: list[str]) -> None:
    ran = fonds(home, *words)
    assert ran.code == 0, ran.err


def test_it_can_be_audited_deeply_and_what_is_found_is_told(used: Path, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    shutil.copytree(used, folder)
    with read_only(folder):
        whole = fonds(folder, "audit", "--deep", "--json")
        again = fonds(folder, "audit", "--deep", "--share", "1", "--json")
    assert whole.code == 0, whole.err
    assert "not stored" in whole.err
    assert whole.last["deep"]["checked"] == 2
    assert again.last["deep"]["checked"] == 1
    blob = next(path for path in (folder / "blobs").rglob("*") if path.suffix == ".txt")
    blob.write_bytes(b"x" * blob.stat().st_size)
    with read_only(folder):
        told = fonds(folder, "audit", "--deep", "--json")
    assert told.code == 1
    assert "has changed since it was written" in told.out
    # What was found before stays told where the next round does not come to it.
    assert fonds(folder, "audit", "--deep", "--json").code == 1
    with read_only(folder):
        assert fonds(folder, "audit", "--deep", "--share", "1", "--json").code == 1


@pytest.mark.parametrize(
    "words",
    [["ingest", __file__], ["run"], ["reindex"], ["catchup", "pdf", "--reextract"]],
    ids=lambda words: str(words[0]),
)
def test_what_would_write_says_why_it_cannot(home: Path, words: list[str]) -> None:
    ran = fonds(home, *words)
    assert ran.code == 2
    assert ran.err.startswith(f"fonds: Cannot write lock in {home}")
    assert "Traceback" not in ran.err


def test_stores_that_can_only_be_read_refuse_to_write(home: Path) -> None:
    table = SqliteTable(home / "table.sqlite")
    with pytest.raises(Exception, match="is read-only"):
        table.put("fonds-journal-extract-0-local", [(b"key", {"file:mime": b"x"})])
    records = open_sqlite(home / "records.sqlite")
    from fonds.model.rows import InputRow

    (row,) = records.find(InputRow, count_max=1)
    with pytest.raises(Exception, match="is read-only"):
        records.put([row])


def unclean(used: Path, folder: Path) -> Path:
    """A copy of the home as a killed process leaves it: rows in the log that the file does not have."""
    whole = folder / "whole"
    shutil.copytree(used, whole)
    connection = sqlite3.connect(whole / "records.sqlite", isolation_level=None)
    connection.execute("UPDATE file_meta SET mimetype = 'application/x-late'")
    shutil.copytree(whole, folder / "home")
    connection.close()
    assert (folder / "home" / "records.sqlite-wal").stat().st_size
    return folder / "home"


def test_what_a_killed_process_left_in_a_log_is_read_too(used: Path, tmp_path: Path) -> None:
    with read_only(unclean(used, tmp_path)) as home:
        ran = fonds(home, "export")
        assert ran.code == 0, ran.err
        assert {row["mimetype"] for row in ran.lines} == {"application/x-late"}


def test_a_log_that_cannot_be_read_is_not_passed_over(used: Path, tmp_path: Path) -> None:
    home = unclean(used, tmp_path)
    (home / "records.sqlite-shm").unlink()
    with read_only(home):
        ran = fonds(home, "export")
    assert ran.code == 2
    assert "was not closed properly" in ran.err
    assert fonds(home, "export").code == 0


def test_an_empty_file_that_cannot_be_written_is_no_database(tmp_path: Path) -> None:
    from fonds.queues import sqlite_rows

    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "queue.sqlite").touch()
    with read_only(tmp_path / "home") as home, pytest.raises(Exception, match="is empty"):
        SqliteFile(home / "queue.sqlite", sqlite_rows.LAYOUT)
