"""Read the schema revision of a SQL database and find the newest one. Does not import alembic,
which is slow to import.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.errors import ConfigurationError
from fonds.stores.records.tables import metadata

VERSION_TABLE = "fonds_schema_revision"
DEVELOPMENT_VERSION_TABLE = "fonds_revision"
"""Name of the table with the schema version in databases from before the first release. Such
databases cannot be migrated.
"""
NEWEST = "head"
FOLDER = Path(__file__).parents[1] / "migrations"
_LOCK_KEY = 0x466F6E6473


def refuse_foreign(connection: Connection) -> None:
    """Check that a database is empty or was made by a released version of Fonds.

    Raises ConfigurationError if another program, or a version of Fonds before the first release,
    made the database. On SQLite, any table of another program is an error. On a server, only a
    table with the name of a Fonds table is.
    """
    inspector = sa.inspect(connection)
    names_in_use = {*inspector.get_table_names(), *inspector.get_view_names()}
    if VERSION_TABLE in names_in_use:
        return
    url = repr(connection.engine.url)
    if DEVELOPMENT_VERSION_TABLE in names_in_use:
        raise ConfigurationError(
            f"{url} was made by Fonds before its first release and cannot be migrated. "
            "Choose a new home and run `fonds ingest` again."
        )
    if connection.dialect.name != "sqlite":
        names_in_use &= {*metadata.tables}
    if names_in_use:
        names = ", ".join(sorted(names_in_use)[:5])
        raise ConfigurationError(
            f"{url} was not made by Fonds; it has the tables {names}. Choose another "
            "database for the records."
        )


def wait_for_turn(connection: Connection) -> None:
    """Wait until no other process inspects or migrates the SQL database, and keep others waiting
    until the transaction ends.

    Several workers may start at once. On SQLite nothing is done here, because the write lock has
    the same effect.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))


def find_newest_revision() -> str:
    """Return the newest schema revision, four digits from the migration files `m0001_what.py`."""
    return max(path.name[1:5] for path in FOLDER.glob("m[0-9]*.py"))


def read_revision(connection: Connection) -> str | None:
    """Return the schema revision of an SQL database; None if no migration has run.

    Raises ConfigurationError if another program removed the revision.
    """
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    table = sa.table(VERSION_TABLE, sa.column("version_num"))
    revision = connection.execute(sa.select(table.c.version_num)).scalar()
    if revision is None:
        raise ConfigurationError(
            f"{connection.engine.url!r} has no schema revision: the table {VERSION_TABLE} is empty. "
            "Restore the database from a backup."
        )
    return str(revision)
