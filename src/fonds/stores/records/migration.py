"""Migrate the SQL database to the newest schema revision. Imported only if migrations are missing,
because the import is slow.
"""

from __future__ import annotations

from typing import Any

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import Script, ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from fonds.model.errors import ConfigurationError
from fonds.stores.records.revision import FOLDER, NEWEST, VERSION_TABLE


def upgrade(connection: Connection, revision: str = NEWEST) -> list[str]:
    """Run the missing migrations of the SQL database up to `revision` in the caller's transaction;
    return the revisions that ran.

    Raises ConfigurationError if the database was made by a newer Fonds.
    """
    scripts = ScriptDirectory(str(FOLDER), version_locations=[str(FOLDER)])
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
        script: Script | None = scripts.get_revision(current)
    except CommandError:
        script = None
    if script is None:
        raise ConfigurationError(
            f"{connection.engine.url!r} has revision {current}, made by a newer version "
            f"of Fonds; this version supports {scripts.get_current_head()}. Use the newer "
            "version."
        )
