"""A read-only home: commands that read work, and commands that write report why they cannot."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.running import fonds
from fixtures.pdfs import text_pdf
from fonds.cli.main import COMMANDS
from fonds.stores.records.sql import open_sqlite
from fonds.stores.sqlite_file import SqliteFile
from fonds.stores.table.sqlite import SqliteTable
from home_texts import change_text, list_text_keys, read_text
from read_only import read_only


@pytest.fixture(scope="module")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("used")
    (folder / "in").mkdir()
    (folder / "in" / "paper.pdf").write_bytes(text_pdf(("of tidal flats and their birds",)))
    (folder / "in" / "other.pdf").write_bytes(text_pdf(("nothing of the kind",)))
    assert fonds(folder / "home", "ingest", folder / "in").code == 0
    return folder / "home"


@pytest.fixture(scope="module")
def home(used_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("locked") / "home"
    shutil.copytree(used_home, folder)
    with read_only(folder) as locked_home:
        yield locked_home


def test_a_read_only_home_is_searched(home: Path) -> None:
    result = fonds(home, "search", "tidal", "--json")
    assert result.code == 0, result.err
    assert "tidal" in result.out


def test_a_file_of_a_read_only_home_is_shown(home: Path) -> None:
    (row, _) = fonds(home, "export").lines
    result = fonds(home, "show", row["sha1hex"])
    assert result.code == 0, result.err
    assert row["sha1hex"] in result.out


def test_a_read_only_home_is_exported(home: Path, tmp_path: Path) -> None:
    assert len(fonds(home, "export").lines) == 2
    result = fonds(home, "export", "--format", "parquet", "--out", tmp_path / "all.parquet")
    assert result.code == 0, result.err


@pytest.mark.parametrize(
    "words", [["audit"], ["status"], ["failures"], ["timetable"], ["repair"]], ids=str
)
def test_reports_work_on_a_read_only_home(home: Path, words: list[str]) -> None:
    result = fonds(home, *words)
    assert result.code == 0, result.err


def test_a_deep_audit_of_a_read_only_home_reports_faults(used_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "home"
    shutil.copytree(used_home, folder)
    with read_only(folder):
        full_audit = fonds(folder, "audit", "--deep", "--json")
        share_audit = fonds(folder, "audit", "--deep", "--share", "1", "--json")
    assert full_audit.code == 0, full_audit.err
    assert "not stored" in full_audit.err
    assert full_audit.last["deep"]["checked"] == 2
    assert share_audit.last["deep"]["checked"] == 1
    key = list_text_keys(folder)[0]
    change_text(folder, key, b"x" * len(read_text(folder, key)))
    with read_only(folder):
        failed_audit = fonds(folder, "audit", "--deep", "--json")
    assert failed_audit.code == 1
    assert "has changed since it was written" in failed_audit.out
    # The next audit still reports the fault, even if its share does not contain the file.
    assert fonds(folder, "audit", "--deep", "--json").code == 1
    with read_only(folder):
        assert fonds(folder, "audit", "--deep", "--share", "1", "--json").code == 1


@pytest.mark.parametrize(
    "words",
    [
        ["ingest", __file__],
        ["run"],
        ["reindex"],
        ["catchup", "pdf", "--reextract"],
        ["repair", "--yes"],
    ],
    ids=lambda words: str(words[0]),
)
def test_commands_that_write_refuse_a_read_only_home(home: Path, words: list[str]) -> None:
    result = fonds(home, *words)
    assert result.code == 2
    assert result.err.startswith(f"fonds: Cannot write lock in {home}")
    assert "Traceback" not in result.err


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"serve", "run", "work"}))
def test_no_command_ends_a_read_only_home_with_a_traceback(home: Path, name: str) -> None:
    result = fonds(home, name)
    assert "Traceback" not in result.err, result.err


def test_read_only_stores_refuse_to_write(home: Path) -> None:
    table = SqliteTable(home / "table.sqlite")
    with pytest.raises(Exception, match="is read-only"):
        table.put("fonds-journal-extract-0-local", [(b"key", {"file:mime": b"x"})])
    records = open_sqlite(home / "records.sqlite")
    from fonds.model.rows import InputRow

    (row,) = records.find(InputRow, count_max=1)
    with pytest.raises(Exception, match="is read-only"):
        records.put([row])


def copy_unclean(used_home: Path, folder: Path) -> Path:
    """Return a copy of the home as a killed process leaves it: with rows that are only in the WAL."""
    open_home = folder / "whole"
    shutil.copytree(used_home, open_home)
    connection = sqlite3.connect(open_home / "records.sqlite", isolation_level=None)
    connection.execute("UPDATE file_meta SET mimetype = 'application/x-late'")
    shutil.copytree(open_home, folder / "home")
    connection.close()
    assert (folder / "home" / "records.sqlite-wal").stat().st_size
    return folder / "home"


def test_rows_in_the_wal_of_a_killed_process_are_read(used_home: Path, tmp_path: Path) -> None:
    with read_only(copy_unclean(used_home, tmp_path)) as home:
        result = fonds(home, "export")
        assert result.code == 0, result.err
        assert {row["mimetype"] for row in result.lines} == {"application/x-late"}


def test_an_unreadable_wal_is_an_error(used_home: Path, tmp_path: Path) -> None:
    home = copy_unclean(used_home, tmp_path)
    (home / "records.sqlite-shm").unlink()
    with read_only(home):
        result = fonds(home, "export")
    assert result.code == 2
    assert "was not closed properly" in result.err
    assert fonds(home, "export").code == 0


def test_an_empty_read_only_file_is_not_a_database(tmp_path: Path) -> None:
    from fonds.queues import sqlite_rows

    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "queue.sqlite").touch()
    with read_only(tmp_path / "home") as home, pytest.raises(Exception, match="is empty"):
        SqliteFile(home / "queue.sqlite", sqlite_rows.LAYOUT)
