"""Brings a database to the newest revision, and refuses those that are not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import Script, ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from fonds.model.errors import ConfigurationError
from fonds.stores.records.schema import metadata

VERSION_TABLE = "fonds_revision"
NEWEST = "head"

_FOLDER = Path(__file__).parent / "migrations"
_LOCK_KEY = 0x466F6E6473


def refuse_foreign(connection: Connection) -> None:
    """Raises ConfigurationError for a database that holds other things than ours, changing nothing.

    A file is ours alone; on a server other tables are welcome unless they have our names.
    """
    inspector = sa.inspect(connection)
    found = {*inspector.get_table_names(), *inspector.get_view_names()}
    if VERSION_TABLE in found:
        return
    if connection.dialect.name != "sqlite":
        found &= {*metadata.tables}
    if found:
        names = ", ".join(sorted(found)[:5])
        raise ConfigurationError(
            f"{connection.engine.url!r} was not made by Fonds: it has the tables {names}."
            " Choose another database for the records."
        )


def wait_for_turn(connection: Connection) -> None:
    """Let one process at a time look and migrate, until the transaction ends; several workers may start
    at once. SQLite's write lock does the same."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))


def upgrade(connection: Connection, revision: str = NEWEST) -> list[str]:
    """Run what is missing up to `revision` inside the caller's transaction; the revisions that ran.

    Raises ConfigurationError for a database made by a newer Fonds.
    """
    scripts = ScriptDirectory(str(_FOLDER), version_locations=[str(_FOLDER)])
    ran: list[str] = []

    def missing(current: Any, context: MigrationContext) -> Any:
        steps = scripts._upgrade_revs(revision, current)
        ran.extend(step.revision.revision for step in steps)
        return steps

    context = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE, "script": scripts, "fn": missing}
    )
    _refuse_newer(connection, scripts, context.get_current_revision())
    with Operations.context(context):
        context.run_migrations()
    return ran


def _refuse_newer(connection: Connection, scripts: ScriptDirectory, current: str | None) -> None:
    if current is None:
        return
    try:
        known: Script | None = scripts.get_revision(current)
    except CommandError:
        known = None
    if known is None:
        raise ConfigurationError(
            f"{connection.engine.url!r} has revision {current}, made by a newer Fonds;"
            f" this one knows {scripts.get_current_head()}. Use the newer Fonds."
        )
