"""Migrations, refusals and the SQLite side of the records."""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from fonds.model import rows
from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import (
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
)
from fonds.model.rows.row import Prefix
from fonds.stores import sqlite_file
from fonds.stores.records import engine, migration, revision, tables
from fonds.stores.records.revision import VERSION_TABLE
from fonds.stores.records.sql import SqlRecords, open_sqlite
from seed_pdf_rows import (
    SEED_COLUMNS,
    SEED_COLUMNS_REQUIRED,
    SEED_REFUSES,
    insert_of,
    seed_values,
)

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
FILE = FileMetaRow("a" * 40, "b" * 64, "c" * 32, 1, "text/html", "capture", NOON)


MIGRATIONS = Path(rows.__file__).parents[2] / "stores" / "migrations"
ADDED = """
import sqlalchemy as sa
from alembic import op

revision = "{number}"
down_revision = "{before}"


def upgrade() -> None:
    op.add_column("file_meta", sa.Column("mood", sa.Text, nullable=False, server_default="calm"))
"""
REVISIONS = sorted(path.stem[1:5] for path in MIGRATIONS.glob("m0*.py"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "records.sqlite"


@pytest.fixture
def records(path: Path) -> Iterator[SqlRecords]:
    opened = open_sqlite(path)
    yield opened
    opened.close()


def add_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this Fonds know one more migration, and return its file."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for file in MIGRATIONS.glob("m0*.py"):
        shutil.copy(file, folder)
    number = f"{int(REVISIONS[-1]) + 1:04}"
    added = folder / f"m{number}_mood.py"
    added.write_text(ADDED.format(number=number, before=REVISIONS[-1]))
    monkeypatch.setattr(revision, "FOLDER", folder)
    monkeypatch.setattr(migration, "FOLDER", folder)
    return added


def test_a_new_database_runs_all_migrations_and_says_so(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first = open_sqlite(path)
    assert first.migrated == REVISIONS
    assert f"ran the migrations {', '.join(REVISIONS)}" in caplog.text
    first.close()
    again = open_sqlite(path)
    assert again.migrated == []
    again.close()


def test_a_database_of_an_older_revision_is_brought_forward_and_keeps_its_rows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = open_sqlite(path)
    older.put([FILE])
    older.close()
    added = add_migration(tmp_path, monkeypatch)
    records = open_sqlite(path)
    assert records.migrated == [added.name[1:5]]
    assert list(records.find(FileMetaRow)) == [FILE]
    records.close()
    with closing(sqlite3.connect(path)) as there:
        assert there.execute("SELECT mood FROM file_meta").fetchall() == [("calm",)]


def test_an_upgrade_that_fails_late_leaves_the_database_as_it_was(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = open_sqlite(path)
    older.put([FILE])
    older.close()
    with closing(sqlite3.connect(path)) as there:
        before = list(there.iterdump())
    added = add_migration(tmp_path, monkeypatch)
    added.write_text(added.read_text() + "    raise RuntimeError('halfway')\n")
    with pytest.raises(RuntimeError, match="halfway"):
        open_sqlite(path)
    with closing(sqlite3.connect(path)) as there:
        assert list(there.iterdump()) == before


def test_another_program_inserts_pdf_rows_by_the_columns_of_the_seed(
    path: Path, records: SqlRecords
) -> None:
    with closing(sqlite3.connect(path)) as other:
        for number, columns in enumerate((SEED_COLUMNS, SEED_COLUMNS_REQUIRED)):
            values = seed_values(number, columns)
            other.execute(insert_of(columns, "?"), values)
        other.commit()
    whole, bare = records.find(PdfMetaRow)
    assert (whole.word_count, whole.metadata, whole.extractor) == (
        7,
        PdfMetadata(title="Fähre"),
        "",
    )
    assert whole.pdf_created == NOON
    assert (bare.status, bare.word_count, bare.error_msg) == ("success", None, None)
    assert abs(bare.updated - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize("changed", SEED_REFUSES)
def test_pdf_rows_that_the_seed_refuses_are_refused(
    path: Path, records: SqlRecords, changed: dict[str, str]
) -> None:
    values = dict(zip(SEED_COLUMNS, seed_values(1, SEED_COLUMNS), strict=True)) | changed
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(insert_of(SEED_COLUMNS, "?"), tuple(values.values()))


def test_the_schema_has_the_rows_columns_in_their_order() -> None:
    kinds = [getattr(rows, name) for name in rows.__all__ if name not in ("Row", "Prefix")]
    assert {kind.TABLE for kind in kinds} == {*tables.metadata.tables}
    for kind in kinds:
        names = [one.name for one in dataclasses.fields(kind)]
        assert tables.get_table(kind).c.keys() == names
        assert {one.name for one in tables.get_table(kind).primary_key} == set(kind.KEY)


def test_a_database_of_a_newer_fonds_is_refused(path: Path, records: SqlRecords) -> None:
    records.close()
    newer = sqlite3.connect(path)
    newer.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    newer.commit()
    newer.close()
    with pytest.raises(ConfigurationError, match="revision 9999, made by a newer version"):
        open_sqlite(path)


def test_a_database_from_before_the_first_release_is_refused_with_a_remedy(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old:
        old.execute("CREATE TABLE fonds_revision (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        old.execute("INSERT INTO fonds_revision VALUES ('0032')")
        old.execute("CREATE TABLE file_meta (sha1hex TEXT PRIMARY KEY)")
        old.commit()
    before = path.read_bytes()
    remedy = r"before its first release.*new home and run `fonds ingest` again"
    with pytest.raises(ConfigurationError, match=remedy):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_as_it_was(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (url)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"not made by Fonds; it has the tables bookmarks"):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alembic.op.create_index", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        open_sqlite(path)
    monkeypatch.undo()
    records = open_sqlite(path)
    assert records.migrated == REVISIONS
    records.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://host/db", "sqlite: or postgresql:"),
        ("not a url", "not a database URL"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
    ],
)
def test_urls_no_records_can_be_kept_at_are_refused(url: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        SqlRecords(url)


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"%PDF-1.7 " * 1000)
    with pytest.raises(ConfigurationError, match=r"records\.sqlite is not a database file"):
        open_sqlite(path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="Cannot create the folder"):
        open_sqlite(tmp_path / "file" / "records.sqlite")


def test_a_full_disk_is_told_and_the_put_is_undone(records: SqlRecords) -> None:
    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 60")

    records._engine.dispose()
    sa.event.listen(records._engine, "connect", limit)
    many = [
        InputRow(f"{i}", "x" * 4000, "warc", "1-2", 0, 0, {}, 0, False, None, NOON)
        for i in range(100)
    ]
    with pytest.raises(StorageFullError, match=r"records\.sqlite"):
        records.put(many)
    assert records.count(InputRow) == {(): 0}


def test_a_database_locked_for_too_long_is_unavailable(
    path: Path, records: SqlRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.01)
    impatient = open_sqlite(path)
    with (
        engine.connect_to_write(records._engine) as connection,
        connection.begin(),
        pytest.raises(StoreUnavailableError, match="locked"),
    ):
        impatient.put([FILE])
    impatient.put([FILE])
    assert list(records.find(FileMetaRow)) == [FILE]
    impatient.close()


def test_readers_do_not_wait_for_a_writer(path: Path, records: SqlRecords) -> None:
    records.put([FILE])
    with engine.connect_to_write(records._engine) as connection, connection.begin():
        connection.execute(sa.delete(tables.get_table(FileMetaRow)))
        assert list(records.find(FileMetaRow)) == [FILE]


def test_a_forked_child_connects_for_itself(records: SqlRecords) -> None:
    records.put([FILE])
    child = os.fork()
    if child == 0:
        done = False
        try:
            records.delete(FileMetaRow, [FILE.sha1hex])
            done = records.count(FileMetaRow) == {(): 0}
        finally:
            os._exit(0 if done else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert list(records.find(FileMetaRow)) == []


def plan(records: SqlRecords, query: str) -> list[str]:
    with records._engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")
        return [row[3] for row in rows]


@pytest.mark.parametrize(
    "question",
    [
        "entries WHERE entry_id = 'x'",
        "entries WHERE input_id = 'x'",
        "entries WHERE url = 'x'",
        "entries WHERE entry_id > 'x' ORDER BY entry_id LIMIT 9",
        "entries WHERE pipeline = 'x' AND outcome = 'x' ORDER BY settled_at DESC LIMIT 9",
        "entries WHERE pipeline = 'x' AND outcome = 'x' AND reason = 'x' AND step = 'x'"
        " ORDER BY settled_at DESC LIMIT 9",
        "entries WHERE failure_group = 'x' AND pipeline = 'x' ORDER BY settled_at DESC LIMIT 9",
        "dispositions WHERE entry_id = 'x'",
        "dispositions WHERE about = 'x'",
        "dispositions WHERE is_open = 1 AND pipeline = 'x' AND step = 'x'"
        " ORDER BY promised_at LIMIT 9",
        "inputs WHERE error >= ''",
        "inputs ORDER BY tally_count DESC, input_id LIMIT 9",
        "file_meta WHERE mimetype = 'x' ORDER BY row_created DESC, sha1hex LIMIT 9",
    ],
)
def test_a_few_of_many_rows_are_found_by_an_index(records: SqlRecords, question: str) -> None:
    steps = plan(records, f"SELECT * FROM {question}")
    assert steps
    wrong = ("SCAN", "USE TEMP B-TREE FOR ORDER BY")
    assert not [s for s in steps if s.startswith(wrong) and "USING INDEX" not in s], steps


def test_composed_keys_and_prefixes_are_found_by_index(records: SqlRecords) -> None:
    seen: list[str] = []
    sa.event.listen(
        records._engine,
        "before_cursor_execute",
        lambda _c, _u, statement, parameters, _x, _m: seen.append(statement),
    )
    records.get(DispositionRow, [("a", "library", "x"), ("b", "library", "y")])
    list(records.find(EntryRow, {"entry_id": Prefix("ab")}))
    for statement in [one for one in seen if one.startswith("SELECT")]:
        values = statement.count("?")
        with records._engine.connect() as connection:
            rows = connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {statement}", tuple("v" for _ in range(values))
            )
            steps = [row[3] for row in rows]
        assert any(step.startswith("SEARCH") for step in steps), statement
        assert not [step for step in steps if step.startswith(("SCAN disp", "SCAN entr"))]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("53100", StorageFullError),
        ("57P01", StoreUnavailableError),
        ("40P01", StoreUnavailableError),
        (None, StoreUnavailableError),
        ("28P01", ConfigurationError),
        ("3D000", ConfigurationError),
        ("23514", sa.exc.OperationalError),
    ],
)
def test_what_postgresql_says_is_told_as_what_to_do(
    state: str | None, expected: type[Exception]
) -> None:
    told = RuntimeError("server said so")
    told.sqlstate = state  # type: ignore[attr-defined]
    server = SimpleNamespace(
        dialect=SimpleNamespace(name="postgresql"), url=sa.make_url("postgresql://u:secret@h/d")
    )
    with (
        pytest.raises(expected, match="server said so") as caught,
        engine.translate_errors(server),  # type: ignore[arg-type]
    ):
        raise sa.exc.OperationalError("SELECT 1", {}, told)
    assert "secret" not in str(caught.value)


def test_the_timeout_of_every_sqlite_file_is_the_same() -> None:
    assert engine.BUSY_TIMEOUT_S == sqlite_file.BUSY_TIMEOUT_S
