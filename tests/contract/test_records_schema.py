"""The migrations create exactly the declared tables, and one process at a time runs them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from fonds.stores.records.revision import VERSION_TABLE, find_newest_revision
from fonds.stores.records.sql import SqlRecords
from fonds.stores.records.tables import POSTGRESQL_WHERE, metadata

Schema = dict[str, dict[str, Any]]


def reflect(connection: Connection) -> Schema:
    """Return the definitions of all tables of the database except the revision table."""
    inspector = sa.inspect(connection)
    names = set(inspector.get_table_names()) - {VERSION_TABLE}
    return {name: reflect_table(inspector, name) for name in names}


def reflect_table(inspector: sa.Inspector, table: str) -> dict[str, Any]:
    dialect = inspector.dialect
    return {
        "columns": [
            (
                column["name"],
                column["type"].compile(dialect),
                getattr(column["type"], "collation", None),
                column["nullable"],
                column["default"],
            )
            for column in inspector.get_columns(table)
        ],
        "primary key": inspector.get_pk_constraint(table)["constrained_columns"],
        "indexes": {
            index["name"]: (
                index["column_names"],
                bool(index["unique"]),
                {name: str(value) for name, value in index.get("dialect_options", {}).items()},
            )
            for index in inspector.get_indexes(table)
        },
        "checks": sorted(
            check_constraint["sqltext"]
            for check_constraint in inspector.get_check_constraints(table)
        ),
        "options": inspector.get_table_options(table) if dialect.name == "sqlite" else {},
    }


def create_as_declared(connection: Connection) -> Schema:
    """Recreate the tables from their declarations; return their definitions."""
    for table in metadata.tables.values():
        for index in table.indexes:
            if condition := index.info.get(POSTGRESQL_WHERE):
                index.dialect_options["postgresql"]["where"] = sa.text(condition)
    metadata.drop_all(connection)
    assert reflect(connection) == {}
    metadata.create_all(connection)
    return reflect(connection)


@pytest.mark.usefixtures("records")
def test_the_migrations_create_the_declared_tables(records_engine: Engine) -> None:
    with records_engine.begin() as connection:
        migrated = reflect(connection)
        assert migrated == create_as_declared(connection)
    assert {*migrated} == {*metadata.tables}


@pytest.mark.usefixtures("records")
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE fetched DROP COLUMN etag",
        "ALTER TABLE fetched ADD COLUMN more TEXT",
        "ALTER TABLE fetched RENAME COLUMN etag TO tag",
        "DROP INDEX cdx_sha1hex",
        "CREATE INDEX cdx_mimetype ON cdx (mimetype)",
        "DROP INDEX fetched_in_spool; CREATE INDEX fetched_in_spool ON fetched (in_spool)",
        "DROP TABLE embargoes",
        "CREATE TABLE more (name TEXT PRIMARY KEY)",
    ],
)
def test_the_comparison_detects_each_kind_of_change(records_engine: Engine, change: str) -> None:
    with records_engine.begin() as connection:
        declared = reflect(connection)
        for statement in change.split("; "):
            connection.exec_driver_sql(statement)
        assert reflect(connection) != declared


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        ("fetched", "in_spool BOOLEAN NOT NULL", "in_spool BOOLEAN"),
        ("fetched", "status INTEGER NOT NULL", "status BIGINT NOT NULL"),
        ("cdx", "PRIMARY KEY (warc_path, warc_offset)", "PRIMARY KEY (warc_offset, warc_path)"),
        ("cdx", "CHECK (length(url) >= 1)", ""),
        ("entries", "WITHOUT ROWID", ""),
    ],
)
def test_the_comparison_detects_each_kind_of_definition(
    tmp_path: Any, table: str, old: str, new: str
) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/declared.sqlite")
    with engine.begin() as connection:
        metadata.create_all(connection)
        declared = reflect(connection)
        query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
        definition = connection.exec_driver_sql(query, (table,)).scalar_one()
        indexes = [row[0] for row in _load_index_definitions(connection, table)]
        assert old in definition
        connection.exec_driver_sql(f"DROP TABLE {table}")
        for statement in (definition.replace(old, new), *indexes):
            connection.exec_driver_sql(statement)
        assert reflect(connection) != declared
        connection.exec_driver_sql(f"DROP TABLE {table}")
        for statement in (definition, *indexes):
            connection.exec_driver_sql(statement)
        assert reflect(connection) == declared
    engine.dispose()


def _load_index_definitions(connection: Connection, table: str) -> list[Any]:
    query = (
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
    )
    return list(connection.exec_driver_sql(query, (table,)).all())


@pytest.mark.usefixtures("records")
def test_only_one_process_migrates_a_new_database(
    records_engine: Engine, open_records: Callable[[], SqlRecords]
) -> None:
    with records_engine.begin() as connection:
        metadata.drop_all(connection)
        connection.exec_driver_sql(f"DROP TABLE {VERSION_TABLE}")
    with ThreadPoolExecutor(4) as threads:
        opened = [future.result() for future in [threads.submit(open_records) for _ in range(4)]]
    assert sorted(records.migrated for records in opened) == [
        [],
        [],
        [],
        [find_newest_revision()],
    ]
