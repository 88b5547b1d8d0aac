"""Migrations, refusals and the SQLite side of the records."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from fonds import sqlite_file
from fonds.formats.surt import lookup_key
from fonds.model import rows
from fonds.model.errors import ConfigurationError, StorageFullError, StoreUnavailableError
from fonds.model.rows import (
    CdxRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
    InputRow,
    PdfMetaRow,
)
from fonds.model.rows.row import Prefix
from fonds.stores.records import engine
from fonds.stores.records.migration import upgrade
from fonds.stores.records.revision import VERSION_TABLE
from fonds.stores.records.schema import tables
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


MIGRATIONS = Path(rows.__file__).parents[2] / "stores" / "records" / "migrations"
REVISIONS = sorted(path.stem[1:5] for path in MIGRATIONS.glob("m0*.py"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "records.sqlite"


@pytest.fixture
def records(path: Path) -> Iterator[SqlRecords]:
    opened = open_sqlite(path)
    yield opened
    opened.close()


def at_revision(path: Path, revision: str) -> None:
    """Makes a database as an earlier Fonds left it."""
    path.parent.mkdir()
    old = engine.open_engine(sa.URL.create("sqlite", database=str(path)))
    with engine.writing(old) as connection, connection.begin():
        upgrade(connection, revision)
    old.dispose()


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


@pytest.mark.skipif(len(REVISIONS) < 2, reason="there is one migration so far")
def test_a_database_of_an_older_revision_is_brought_forward_and_keeps_its_rows(path: Path) -> None:
    at_revision(path, REVISIONS[0])
    old = sqlite3.connect(path)
    old.execute(
        "INSERT INTO file_meta VALUES (?, ?, ?, 1, 'text/html', 'capture', '2024-05-06 12:00:00.000000')",
        (FILE.sha1hex, FILE.sha256hex, FILE.md5hex),
    )
    old.commit()
    old.close()
    records = open_sqlite(path)
    assert records.migrated == REVISIONS[1:]
    assert list(records.find(FileMetaRow)) == [FILE]
    records.close()


def test_the_migrations_end_where_the_schema_is(records: SqlRecords) -> None:
    with records._engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, tables.metadata) == []
        inspector = sa.inspect(connection)
        for table in tables.metadata.tables.values():
            assert _checks(inspector, table.name) == _declared_checks(table)


def _checks(inspector: sa.Inspector, table: str) -> set[str]:
    return {str(check["sqltext"]) for check in inspector.get_check_constraints(table)}


def _declared_checks(table: sa.Table) -> set[str]:
    return {
        re.sub(r"octet_length\((\w+)\)", r"length(CAST(\1 AS BLOB))", str(one.sqltext))
        for one in table.constraints | {c for col in table.c for c in col.constraints}
        if isinstance(one, sa.CheckConstraint)
    }


def test_another_program_inserts_pdf_rows_by_the_columns_of_the_seed(
    path: Path, records: SqlRecords
) -> None:
    with closing(sqlite3.connect(path)) as other:
        for number, columns in enumerate((SEED_COLUMNS, SEED_COLUMNS_REQUIRED)):
            values = seed_values(number, columns)
            other.execute(insert_of(columns, "?"), values)
        other.commit()
    whole, bare = records.find(PdfMetaRow)
    assert (whole.word_count, whole.metadata, whole.extractor) == (7, {"title": "Fähre"}, "")
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


def test_pdf_rows_of_an_older_fonds_are_kept(path: Path) -> None:
    at_revision(path, "0026")
    with closing(sqlite3.connect(path)) as other:
        columns = (*SEED_COLUMNS, "extractor", "error_msg")
        values = (*seed_values(0, SEED_COLUMNS), "fonds-pdf/4", "one page is missing")
        other.execute(insert_of(columns, "?"), values)
        other.commit()
    records = open_sqlite(path)
    [row] = records.find(PdfMetaRow)
    assert (row.sha1hex, row.page_count, row.metadata) == (f"{0:040x}", 2, {"title": "Fähre"})
    assert (row.extractor, row.error_msg) == ("fonds-pdf/4", "one page is missing")
    records.close()


def test_the_schema_has_the_rows_columns_in_their_order() -> None:
    kinds = [getattr(rows, name) for name in rows.__all__ if name not in ("Row", "Prefix")]
    assert {kind.TABLE for kind in kinds} == {*tables.metadata.tables}
    for kind in kinds:
        names = [one.name for one in dataclasses.fields(kind)]
        assert tables.table_of(kind).c.keys() == names
        assert {one.name for one in tables.table_of(kind).primary_key} == set(kind.KEY)


def test_a_database_of_a_newer_fonds_is_refused(path: Path, records: SqlRecords) -> None:
    records.close()
    newer = sqlite3.connect(path)
    newer.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    newer.commit()
    newer.close()
    with pytest.raises(ConfigurationError, match="revision 9999, made by a newer Fonds"):
        open_sqlite(path)


def test_another_programs_database_is_refused_and_left_as_it_was(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (url)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"not made by Fonds: it has the tables bookmarks"):
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
        ("not a url", "no database URL"),
        ("sqlite://", "need a file"),
        ("sqlite:///:memory:", "need a file"),
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
    with pytest.raises(ConfigurationError, match="no folder"):
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
        engine.writing(records._engine) as connection,
        connection.begin(),
        pytest.raises(StoreUnavailableError, match="locked"),
    ):
        impatient.put([FILE])
    impatient.put([FILE])
    assert list(records.find(FileMetaRow)) == [FILE]
    impatient.close()


def test_readers_do_not_wait_for_a_writer(path: Path, records: SqlRecords) -> None:
    records.put([FILE])
    with engine.writing(records._engine) as connection, connection.begin():
        connection.execute(sa.delete(tables.table_of(FileMetaRow)))
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
        engine.translated(server),  # type: ignore[arg-type]
    ):
        raise sa.exc.OperationalError("SELECT 1", {}, told)
    assert "secret" not in str(caught.value)


def test_the_timeout_of_every_sqlite_file_is_the_same() -> None:
    assert engine.BUSY_TIMEOUT_S == sqlite_file.BUSY_TIMEOUT_S


def test_captures_noted_before_they_had_a_key_are_found_by_it(path: Path) -> None:
    at_revision(path, "0003")
    short, long = "org,example)/a", f"org,example)/{'b' * 500}"
    old = sqlite3.connect(path)
    for offset, key in enumerate((short, long)):
        old.execute(
            "INSERT INTO cdx VALUES (?, ?, 'http://example.org/', ?, ?, '20240506120000',"
            " 'text/html', '/a.warc.gz', 10, ?, '2024-05-06 12:00:00.000000')",
            (f"capture-{offset}", "a" * 40, key, sha1(key.encode()).hexdigest(), offset),
        )
    old.commit()
    old.close()
    records = open_sqlite(path)
    found = {row.surt: (row.surt_key, row.status) for row in records.find(CdxRow)}
    assert found == {key: (lookup_key(key), None) for key in (short, long)}
    records.close()
