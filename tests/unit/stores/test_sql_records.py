"""Migrations, refused databases and the SQLite backend of the records."""

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
from sql_statements import explain_query, listen_to_engines, open_file, record_queries

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
FILE = FileMetaRow("a" * 40, "b" * 64, "c" * 32, 1, "text/html", "capture", NOON)


MIGRATIONS = Path(rows.__file__).parents[2] / "stores" / "migrations"
ADDED_MIGRATION = """
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
    records = open_sqlite(path)
    yield records
    records.close()


def add_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add one more migration and return its file."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for file in MIGRATIONS.glob("m0*.py"):
        shutil.copy(file, folder)
    number = f"{int(REVISIONS[-1]) + 1:04}"
    migration_file = folder / f"m{number}_mood.py"
    migration_file.write_text(ADDED_MIGRATION.format(number=number, before=REVISIONS[-1]))
    monkeypatch.setattr(revision, "FOLDER", folder)
    monkeypatch.setattr(migration, "FOLDER", folder)
    return migration_file


def test_a_new_database_runs_and_logs_all_migrations(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first = open_sqlite(path)
    assert first.migrated == REVISIONS
    assert f"ran the migrations {', '.join(REVISIONS)}" in caplog.text
    first.close()
    second = open_sqlite(path)
    assert second.migrated == []
    second.close()


def test_migrating_an_older_database_keeps_its_rows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older_records = open_sqlite(path)
    older_records.put([FILE])
    older_records.close()
    migration_file = add_migration(tmp_path, monkeypatch)
    records = open_sqlite(path)
    assert records.migrated == [migration_file.name[1:5]]
    assert list(records.find(FileMetaRow)) == [FILE]
    records.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT mood FROM file_meta").fetchall() == [("calm",)]


def test_a_migration_that_fails_late_is_rolled_back(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older_records = open_sqlite(path)
    older_records.put([FILE])
    older_records.close()
    with closing(sqlite3.connect(path)) as connection:
        before = list(connection.iterdump())
    migration_file = add_migration(tmp_path, monkeypatch)
    migration_file.write_text(migration_file.read_text() + "    raise RuntimeError('halfway')\n")
    with pytest.raises(RuntimeError, match="halfway"):
        open_sqlite(path)
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before


def test_other_programs_can_insert_pdf_rows_with_the_seed_columns(
    path: Path, records: SqlRecords
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for number, columns in enumerate((SEED_COLUMNS, SEED_COLUMNS_REQUIRED)):
            values = seed_values(number, columns)
            connection.execute(insert_of(columns, "?"), values)
        connection.commit()
    full_row, minimal_row = records.find(PdfMetaRow)
    assert (full_row.word_count, full_row.metadata, full_row.extractor) == (
        7,
        PdfMetadata(title="Fähre"),
        "",
    )
    assert full_row.pdf_created == NOON
    assert (minimal_row.status, minimal_row.word_count, minimal_row.error_msg) == (
        "success",
        None,
        None,
    )
    assert abs(minimal_row.updated - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize("changed_fields", SEED_REFUSES)
def test_pdf_rows_that_the_seed_refuses_are_refused(
    path: Path, records: SqlRecords, changed_fields: dict[str, str]
) -> None:
    values = dict(zip(SEED_COLUMNS, seed_values(1, SEED_COLUMNS), strict=True)) | changed_fields
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(insert_of(SEED_COLUMNS, "?"), tuple(values.values()))


def test_tables_have_the_columns_and_keys_of_their_rows() -> None:
    kinds = [getattr(rows, name) for name in rows.__all__ if name not in ("Row", "Prefix")]
    assert {kind.TABLE for kind in kinds} == {*tables.metadata.tables}
    for kind in kinds:
        names = [field.name for field in dataclasses.fields(kind)]
        assert tables.get_table(kind).c.keys() == names
        assert {column.name for column in tables.get_table(kind).primary_key} == set(kind.KEY)


def test_a_database_of_a_newer_version_is_refused(path: Path, records: SqlRecords) -> None:
    records.close()
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(ConfigurationError, match="revision 9999, made by a newer version"):
        open_sqlite(path)


def test_a_database_from_before_the_first_release_is_refused_with_advice(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE fonds_revision (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
        )
        connection.execute("INSERT INTO fonds_revision VALUES ('0032')")
        connection.execute("CREATE TABLE file_meta (sha1hex TEXT PRIMARY KEY)")
        connection.commit()
    before = path.read_bytes()
    remedy = r"before its first release.*new home and run `fonds ingest` again"
    with pytest.raises(ConfigurationError, match=remedy):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_unchanged(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"not made by Fonds; it has the tables bookmarks"):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_a_failed_migration_can_be_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alembic.op.create_index", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        open_sqlite(path)
    monkeypatch.undo()
    records = open_sqlite(path)
    assert records.migrated == REVISIONS
    records.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://host/db", "sqlite: or postgresql:"),
        ("not a url", "not a database URL"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
    ],
)
def test_unsupported_database_urls_are_refused(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SqlRecords(url)


def test_a_file_that_is_not_a_database_is_refused_by_name(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"%PDF-1.7 " * 1000)
    with pytest.raises(ConfigurationError, match=r"records\.sqlite is not a database file"):
        open_sqlite(path)


def test_a_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="Cannot create the folder"):
        open_sqlite(tmp_path / "file" / "records.sqlite")


def test_a_put_on_a_full_disk_is_rolled_back(path: Path) -> None:
    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 60")

    open_sqlite(path).close()
    inputs = [
        InputRow(f"{number}", "x" * 4000, "warc", "1-2", 0, 0, {}, 0, False, None, NOON)
        for number in range(100)
    ]
    with listen_to_engines("connect", limit), closing(open_sqlite(path)) as records:
        with pytest.raises(StorageFullError, match=r"records\.sqlite"):
            records.put(inputs)
        assert records.count(InputRow) == {(): 0}


def test_a_locked_database_is_unavailable_after_the_timeout(
    path: Path, records: SqlRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.01)
    impatient_records = open_sqlite(path)
    with (
        open_file(path) as other_engine,
        engine.connect_to_write(other_engine) as connection,
        connection.begin(),
        pytest.raises(StoreUnavailableError, match="locked"),
    ):
        impatient_records.put([FILE])
    impatient_records.put([FILE])
    assert list(records.find(FileMetaRow)) == [FILE]
    impatient_records.close()


def test_readers_do_not_wait_for_a_writer(path: Path, records: SqlRecords) -> None:
    records.put([FILE])
    with (
        open_file(path) as other_engine,
        engine.connect_to_write(other_engine) as connection,
        connection.begin(),
    ):
        connection.execute(sa.delete(tables.get_table(FileMetaRow)))
        assert list(records.find(FileMetaRow)) == [FILE]


def test_a_forked_child_opens_its_own_connection(records: SqlRecords) -> None:
    records.put([FILE])
    child = os.fork()
    if child == 0:
        is_empty = False
        try:
            records.delete(FileMetaRow, [FILE.sha1hex])
            is_empty = records.count(FileMetaRow) == {(): 0}
        finally:
            os._exit(0 if is_empty else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert list(records.find(FileMetaRow)) == []


@pytest.mark.usefixtures("records")
@pytest.mark.parametrize(
    "condition",
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
def test_selective_queries_use_an_index(path: Path, condition: str) -> None:
    steps = explain_query(path, f"SELECT * FROM {condition}")
    assert steps
    full_scans = ("SCAN", "USE TEMP B-TREE FOR ORDER BY")
    assert not [
        step for step in steps if step.startswith(full_scans) and "USING INDEX" not in step
    ], steps


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (
            "entries WHERE url IN ('x', 'y') AND pipeline = 'x' AND kind = 'link'",
            "entries_url (url=? AND pipeline=?)",
        ),
        (
            "file_meta WHERE EXISTS (SELECT * FROM dispositions WHERE about = file_meta.sha1hex"
            " AND verdict = 'dropped' AND reason = 'duplicate')",
            "dispositions_about (about=? AND reason=?)",
        ),
        ("dispositions WHERE reason = 'x'", "dispositions_reason_step (reason=?)"),
        ("entries WHERE pipeline = 'x' AND input_id = 'x'", "entries_input_id (input_id=?)"),
        (
            "entries WHERE pipeline = 'x' AND input_id IN ('x', 'y') GROUP BY outcome, reason",
            "entries_input_id (input_id=?)",
        ),
        (
            "entries WHERE pipeline = 'x' AND outcome = 'pending' GROUP BY input_id",
            "entries_outcome (pipeline=? AND outcome=?)",
        ),
    ],
)
@pytest.mark.usefixtures("records")
def test_sqlite_chooses_the_narrowest_index(path: Path, query: str, index: str) -> None:
    steps = explain_query(path, f"SELECT * FROM {query}")
    assert any(step.endswith(f"USING INDEX {index}") for step in steps), steps


def test_composite_keys_and_prefixes_use_an_index(path: Path, records: SqlRecords) -> None:
    with record_queries() as queries:
        records.get(DispositionRow, [("a", "library", "x"), ("b", "library", "y")])
        list(records.find(EntryRow, {"entry_id": Prefix("ab")}))
    assert len(queries) == 2
    for statement, values in queries:
        steps = explain_query(path, statement, values)
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
def test_postgresql_errors_are_translated_by_their_state(
    state: str | None, expected: type[Exception]
) -> None:
    error = RuntimeError("server said so")
    error.sqlstate = state  # type: ignore[attr-defined]
    server = SimpleNamespace(
        dialect=SimpleNamespace(name="postgresql"), url=sa.make_url("postgresql://u:secret@h/d")
    )
    with (
        pytest.raises(expected, match="server said so") as translated,
        engine.translate_errors(server),  # type: ignore[arg-type]
    ):
        raise sa.exc.OperationalError("SELECT 1", {}, error)
    assert "secret" not in str(translated.value)


def test_the_timeout_of_every_sqlite_file_is_the_same() -> None:
    assert engine.BUSY_TIMEOUT_S == sqlite_file.BUSY_TIMEOUT_S
