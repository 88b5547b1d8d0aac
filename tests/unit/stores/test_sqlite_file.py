"""SQLite files shared by threads and processes, and the translation of their errors."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.stores import sqlite_file
from fonds.stores.sqlite_file import FileLayout, SqliteFile

LAYOUT = FileLayout("shelf", 0x1234, 2, "CREATE TABLE things (name TEXT, body BLOB)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "shelf.sqlite"


@pytest.fixture
def shelf(path: Path) -> Iterator[SqliteFile]:
    file = SqliteFile(path, LAYOUT)
    yield file
    file.close()


def add(file: SqliteFile, name: str, size_bytes: int = 0) -> None:
    with file.write_transaction() as connection:
        connection.execute("INSERT INTO things VALUES (?, ?)", (name, bytes(size_bytes)))


def list_names(file: SqliteFile) -> list[str]:
    with file.read_connection() as connection:
        return [row[0] for row in connection.execute("SELECT name FROM things ORDER BY rowid")]


def test_a_new_file_is_created_with_its_folders(path: Path, shelf: SqliteFile) -> None:
    add(shelf, "a")
    second = SqliteFile(path, LAYOUT)
    assert list_names(second) == ["a"]
    second.close()


def test_only_durable_transactions_sync_at_each_commit(
    shelf: SqliteFile,
) -> None:
    """SQLite syncs its log at each commit at level 2, and only now and then at level 1."""
    with shelf.write_transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    with shelf.write_transaction(durable=False) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
    with shelf.write_transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_failed_transaction_is_rolled_back(shelf: SqliteFile) -> None:
    rows = [("a",), ("b", "one too many")]
    with pytest.raises(sqlite3.ProgrammingError), shelf.write_transaction() as connection:
        connection.executemany("INSERT INTO things (name) VALUES (?)", rows)
    add(shelf, "c")
    assert list_names(shelf) == ["c"]


def test_a_database_of_another_program_is_refused_unchanged(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"shelf\.sqlite is not a shelf of Fonds"):
        SqliteFile(path, LAYOUT)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_of_a_newer_layout_is_refused(path: Path, shelf: SqliteFile) -> None:
    older_layout = FileLayout("shelf", 0x1234, 1, LAYOUT.schema)
    with pytest.raises(ConfigurationError, match="newer version of Fonds"):
        SqliteFile(path, older_layout)


def test_a_file_that_is_not_a_database_is_refused_by_name(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"%PDF-1.7 " * 1000)
    with pytest.raises(ConfigurationError, match=r"shelf\.sqlite is not a database file"):
        SqliteFile(path, LAYOUT)


def test_a_damaged_file_is_reported(path: Path, shelf: SqliteFile) -> None:
    for i in range(200):
        add(shelf, f"thing {i}", 2000)
    shelf.close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = b"\x99" * (len(content) - 4096 * 3)
    path.write_bytes(content)
    damaged_file = SqliteFile(path, LAYOUT)
    with pytest.raises(ConfigurationError, match="is damaged"):
        list_names(damaged_file)
    damaged_file.close()


def test_a_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="folder"):
        SqliteFile(tmp_path / "file" / "shelf.sqlite", LAYOUT)
    with pytest.raises(ConfigurationError, match="Cannot open"):
        SqliteFile(tmp_path, LAYOUT)


def test_a_locked_file_is_unavailable_after_the_timeout(
    path: Path, shelf: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0.01)
    impatient_file = SqliteFile(path, LAYOUT)
    with shelf.write_transaction(), pytest.raises(StoreUnavailableError, match="locked"):
        add(impatient_file, "a")
    add(impatient_file, "b")
    assert list_names(impatient_file) == ["b"]
    impatient_file.close()


def test_a_full_file_accepts_writes_once_there_is_space(shelf: SqliteFile) -> None:
    with shelf.read_connection() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageFullError, match="No space left"):
        add(shelf, "big", 100_000)
    with shelf.read_connection() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    add(shelf, "big", 100_000)
    assert list_names(shelf) == ["big"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root privileges")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_loses_no_committed_rows(small_disk: Path) -> None:
    file = SqliteFile(small_disk / "shelf.sqlite", LAYOUT)
    add(file, "kept", 10_000)
    with pytest.raises(StorageFullError, match="No space left"):
        add_until_full(file)
    stored_names = list_names(file)
    assert stored_names[0] == "kept"
    file.close()
    second_file = SqliteFile(small_disk / "shelf.sqlite", LAYOUT)
    assert list_names(second_file) == stored_names
    second_file.close()


def add_until_full(file: SqliteFile) -> None:
    for i in range(100):
        add(file, f"more {i}", 100_000)


LIMITED_PROGRAM = """
import resource, signal, sys
from pathlib import Path
from fonds.stores.sqlite_file import FileLayout, SqliteFile
from fonds.model.errors import StoreUnavailableError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
layout = FileLayout("shelf", 0x1234, 2, "CREATE TABLE things (name TEXT, body BLOB)")
file = SqliteFile(Path(sys.argv[1]), layout)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    with file.write_transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('big', zeroblob(1000000))")
except StoreUnavailableError as error:
    print(error)
"""


def test_a_refused_write_is_reported_with_the_file(path: Path, shelf: SqliteFile) -> None:
    result = subprocess.run(
        [sys.executable, "-c", LIMITED_PROGRAM, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Cannot read or write" in result.stdout
    add(shelf, "small")
    assert list_names(shelf) == ["small"]


def test_a_forked_child_opens_its_own_connection(path: Path, shelf: SqliteFile) -> None:
    add(shelf, "parent")
    child = os.fork()
    if child == 0:
        has_both = False
        try:
            add(shelf, "child")
            shelf.close()
            has_both = list_names_in_new_connection(path) == ["parent", "child"]
        finally:
            os._exit(0 if has_both else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    add(shelf, "parent again")
    assert list_names(shelf) == ["parent", "child", "parent again"]


def list_names_in_new_connection(path: Path) -> list[str]:
    file = SqliteFile(path, LAYOUT)
    names = list_names(file)
    file.close()
    return names


def test_shrinking_returns_free_pages_to_the_disk(path: Path, shelf: SqliteFile) -> None:
    for i in range(100):
        add(shelf, str(i), 40_000)
    with shelf.write_transaction() as connection:
        connection.execute("DELETE FROM things")
    pages = count_pages(shelf)
    shelf.shrink(100_000)
    assert count_pages(shelf) == pages, "the file shrank although too few pages are free"
    shelf.shrink(200)
    remaining_pages = count_pages(shelf)
    assert pages - 202 <= remaining_pages <= pages - 200
    shelf.close()
    assert path.stat().st_size == remaining_pages * 4096


def count_pages(file: SqliteFile) -> int:
    with file.read_connection() as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


def test_programming_errors_are_not_translated(shelf: SqliteFile) -> None:
    with (
        pytest.raises(sqlite3.OperationalError, match="no such table"),
        shelf.read_connection() as connection,
    ):
        connection.execute("SELECT * FROM nonsense")


def test_a_killed_writer_leaves_only_committed_rows(path: Path, shelf: SqliteFile) -> None:
    child = os.fork()
    if child == 0:
        add(shelf, "committed")
        with shelf.write_transaction() as connection:
            connection.execute("INSERT INTO things VALUES ('torn', NULL)")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert list_names(shelf) == ["committed"]
    add(shelf, "next")
