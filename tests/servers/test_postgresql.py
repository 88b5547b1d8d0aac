"""PostgreSQL beyond the port: concurrent migrations, invalid characters, a stopped server, secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from psycopg import Connection

from fonds.config import load_settings
from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import FileMetaRow, PdfMetaRow
from fonds.stores.records.sql import SqlRecords
from fonds.web.app import create_app
from fonds.wiring.stores import close_stores, open_stores
from many_entries import ADDRESSES, fill_entries
from real_servers import run_private_server, url_of
from seed_pdf_rows import (
    SEED_COLUMNS,
    SEED_COLUMNS_REQUIRED,
    SEED_REFUSES,
    insert_of,
    seed_values,
)
from sql_statements import record_queries

pytestmark = pytest.mark.servers

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OPEN = (
    "import sys; from fonds.stores.records.sql import SqlRecords; SqlRecords(sys.argv[1]).close()"
)


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of a new database."""
    server, name = url_of("TEST_POSTGRESQL_URL"), f"t{os.urandom(5).hex()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield f"{server.rpartition('/')[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def row(key: str, mimetype: str = "text/html") -> FileMetaRow:
    return FileMetaRow(key, (key * 2)[:64], key[:32], 1, mimetype, "capture", NOW)


def keys(count: int) -> list[str]:
    return [f"{number:040x}" for number in range(count)]


def test_four_concurrent_processes_create_the_tables(database: str) -> None:
    words = [sys.executable, "-c", OPEN, database]
    processes = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(4)]
    results = [(process.wait(60), process.communicate()[1]) for process in processes]
    assert results == [(0, b"")] * 4
    records = SqlRecords(database)
    assert records.migrated == []
    records.close()


def test_columns_have_native_types(database: str) -> None:
    SqlRecords(database).close()
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT table_name || '.' || column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'public'"
        ).fetchall()
    types = dict(rows)
    assert types["pdf_meta.metadata"] == "jsonb"
    assert types["story_meta.story"] == "jsonb"
    assert types["file_meta.row_created"] == "timestamp with time zone"


def test_other_programs_insert_pdf_rows_by_the_columns_of_the_seed(database: str) -> None:
    records = SqlRecords(database)
    with psycopg.connect(database) as connection:
        for number, columns in enumerate((SEED_COLUMNS, SEED_COLUMNS_REQUIRED)):
            connection.execute(insert_of(columns, "%s"), seed_values(number, columns))
    full_row, minimal_row = records.find(PdfMetaRow)
    assert (full_row.word_count, full_row.metadata, full_row.extractor) == (
        7,
        PdfMetadata(title="Fähre"),
        "",
    )
    assert (minimal_row.status, minimal_row.word_count, minimal_row.error_msg) == (
        "success",
        None,
        None,
    )
    assert abs(minimal_row.updated - datetime.now(UTC)) < timedelta(minutes=5)
    records.close()


@pytest.mark.parametrize("changed", SEED_REFUSES)
def test_pdf_rows_that_violate_checks_of_the_seed_are_refused(
    database: str, changed: dict[str, str]
) -> None:
    SqlRecords(database).close()
    values = dict(zip(SEED_COLUMNS, seed_values(1, SEED_COLUMNS), strict=True)) | changed
    with psycopg.connect(database) as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(insert_of(SEED_COLUMNS, "%s"), tuple(values.values()))


def test_every_check_of_the_seed_counts_bytes(database: str) -> None:
    SqlRecords(database).close()
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = 'pdf_meta'::regclass AND contype = 'c'"
        ).fetchall()
    assert sorted(row[0] for row in rows if "length" in row[0]) == [
        "CHECK ((octet_length(pdf_version) >= 1))",
        "CHECK ((octet_length(permanent_id) >= 1))",
        "CHECK ((octet_length(sha1hex) = 40))",
        "CHECK ((octet_length(status) >= 1))",
    ]


def test_nul_and_lone_surrogates_are_removed(database: str) -> None:
    records = SqlRecords(database)
    key = "ab" * 20
    records.put([row(key, "text/\x00ht\ud800ml")])
    assert [stored.mimetype for stored in records.get(FileMetaRow, [key])] == ["text/html"]
    records.close()


def test_concurrent_writers_of_equal_rows_do_not_deadlock(
    database: str,
) -> None:
    records = SqlRecords(database)
    rows = [row(key) for key in keys(300)]

    def write(part: int) -> None:
        for _ in range(10):
            records.put(rows if part % 2 else rows[::-1])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(6)))
    assert records.count(FileMetaRow) == {(): 300}
    records.close()


def test_a_stopped_server_is_reported_and_used_again() -> None:
    with run_private_server("postgresql") as server:
        records = SqlRecords(server.url)
        records.put([row("ab" * 20)])
        server.stop()
        with pytest.raises(StoreUnavailableError) as raised:
            records.put([row("cd" * 20)])
        assert server.url.split(":")[2].partition("@")[0] not in str(raised.value)
        server.start()
        records.put([row("cd" * 20)])
        assert records.count(FileMetaRow) == {(): 2}
        records.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [(("fonds:", "fonds:s3cret"), "password"), (("/postgres", "/nowhere"), "nowhere")],
)
def test_a_refused_login_is_reported_without_the_password(
    change: tuple[str, str], message: str
) -> None:
    url = url_of("TEST_POSTGRESQL_URL")
    password = url.split(":")[2].partition("@")[0]
    with pytest.raises((ConfigurationError, StoreUnavailableError), match=message) as caught:
        SqlRecords(url.replace(*change))
    text = f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert password not in text
    assert "s3cret" not in text


def test_status_pages_read_few_rows(database: str, tmp_path: Path) -> None:
    stores = open_stores(tmp_path, load_settings(tmp_path).replace_values(records=database))
    fill_entries(stores, 10_000)
    app = create_app(stores)
    with (
        psycopg.connect(database, autocommit=True) as connection,
        TestClient(app, base_url="http://localhost") as client,
    ):
        connection.execute("ANALYZE")
        with record_queries() as queries:
            for address in ADDRESSES:
                assert client.get(address).status_code == 200
        counts = [(query, count_rows(explain(connection, query, v))) for query, v in queries]
    close_stores(stores)
    assert len(counts) > 20
    assert [(query, count) for query, count in counts if count > 1_000] == []


def explain(connection: Connection, query: str, values: Any) -> dict[str, Any]:
    """Run a query, and return PostgreSQL's plan with the number of rows that each node read."""
    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchone()
    assert row is not None
    return row[0][0]["Plan"]  # type: ignore[no-any-return]


def count_rows(node: dict[str, Any]) -> int:
    """Return the number of rows that the scans of a plan read from tables and indexes."""
    children = node.get("Plans", ())
    if not children:
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        return round(rows * node["Actual Loops"])
    return sum(map(count_rows, children))
