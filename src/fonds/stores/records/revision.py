"""Schema revision of a database: whether it is ours, which it has, and which is newest; loads no alembic."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from fonds.model.errors import ConfigurationError
from fonds.stores.records.tables import metadata

VERSION_TABLE = "fonds_schema_revision"
DEVELOPMENT_VERSION_TABLE = "fonds_revision"
"""Version table of databases made before the first release; no migration starts from them."""
NEWEST = "head"
FOLDER = Path(__file__).parents[1] / "migrations"
_LOCK_KEY = 0x466F6E6473


def refuse_foreign(connection: Connection) -> None:
    """Raise ConfigurationError for another program's database or one made before the first release.

    On SQLite any table of another program counts. On a server, only tables with the names of ours do.
    """
    inspector = sa.inspect(connection)
    found = {*inspector.get_table_names(), *inspector.get_view_names()}
    if VERSION_TABLE in found:
        return
    url = repr(connection.engine.url)
    if DEVELOPMENT_VERSION_TABLE in found:
        raise ConfigurationError(
            f"{url} was made by a Fonds from before the first release and cannot be migrated."
            " Choose a new home and run `fonds ingest` again."
        )
    if connection.dialect.name != "sqlite":
        found &= {*metadata.tables}
    if found:
        names = ", ".join(sorted(found)[:5])
        raise ConfigurationError(
            f"{url} was not made by Fonds: it has the tables {names}."
            " Choose another database for the records."
        )


def wait_for_turn(connection: Connection) -> None:
    """Let one process at a time look and migrate, until the transaction ends; several workers may start
    at once. SQLite's write lock does the same."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))


def find_newest_revision() -> str:
    """The newest revision there is: migrations are called `m0001_what.py`, in their order."""
    return max(path.name[1:5] for path in FOLDER.glob("m[0-9]*.py"))


def read_revision(connection: Connection) -> str | None:
    """The revision of a database; None for one without."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    table = sa.table(VERSION_TABLE, sa.column("version_num"))
    found = connection.execute(sa.select(table.c.version_num)).scalar()
    return None if found is None else str(found)
