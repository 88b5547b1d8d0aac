"""The table store alone, for those who need no other."""

from __future__ import annotations

from pathlib import Path

from fonds.config import Settings
from fonds.formats.journal import journal_schema, journal_table
from fonds.ports import Table
from fonds.runtime.homelock import make_home
from fonds.wiring.backends import backend


def open_table(home: Path, settings: Settings, name: str | None = None) -> Table:
    """The table store, with the journal declared; as it is where another table is meant by `name`."""
    make_home(home)
    table: Table = backend("table", settings.table, home)
    if name in (None, journal_of(settings)):
        schema = journal_schema(settings.table_families)
        table.declare(journal_of(settings), schema.names, compressions=schema.compressions)
    return table


def journal_of(settings: Settings) -> str:
    """The name of the journal table."""
    return journal_table(settings.group, settings.table_version, settings.env)
