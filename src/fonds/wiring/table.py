"""Open the wide-row table without the other stores."""

from __future__ import annotations

from pathlib import Path

from fonds.config import Settings
from fonds.ports import Table
from fonds.stores.home_lock import create_home
from fonds.stores.journal_table.keys import name_journal_table
from fonds.stores.journal_table.schema import build_journal_schema
from fonds.wiring.backends import open_backend


def open_table(home: Path, settings: Settings, name: str | None = None) -> Table:
    """Open the table store without the other stores.

    Creates the journal table if it does not exist, unless `name` is another table.
    """
    create_home(home)
    table: Table = open_backend("table", settings.table, home)
    if name in (None, name_journal(settings)):
        schema = build_journal_schema(settings.table_families)
        table.declare(name_journal(settings), schema.names, compressions=schema.compressions)
    return table


def name_journal(settings: Settings) -> str:
    """Return the configured name of the journal table, which has one wide row per file."""
    return name_journal_table(settings.group, settings.table_version, settings.env)
