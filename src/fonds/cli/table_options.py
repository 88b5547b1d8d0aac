"""Options that commands for the wide-row table share: table name, key format, engine and
workers.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from fonds.cli.context import App
from fonds.model.errors import ConfigurationError
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Table
from fonds.stores.journal_table.keys import name_journal_table
from fonds.stores.journal_table.schema import Schema, build_journal_schema

table_option = click.option(
    "--table", "name", metavar="NAME", help="Name of another table than the journal."
)
base32_option = click.option("--base32", is_flag=True, help="Show SHA-1s in base32 instead of hex.")

engine_option = click.option(
    "--engine",
    metavar="URL",
    default="local",
    show_default=True,
    help="Run on this computer, or on Spark, such as spark://host:7077.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(0, 1024),
    default=0,
    help="Number of local processes; 0 means one per core.",
)


def open_table(app: App, name: str | None) -> tuple[Table, str, Schema]:
    """Return the opened table store, the name of the chosen table, and the schema of the journal
    table.

    `name` chooses a table; None chooses the journal. Raises ConfigurationError for an unknown
    table.
    """
    settings = app.load_settings()
    journal = name_journal_table(settings.group, settings.table_version, settings.env)
    store, schema = app.open_table(settings, name), build_journal_schema(settings.table_families)
    if name is not None and name != journal and name not in (table_names := store.list_tables()):
        raise ConfigurationError(format_unknown_name("table", name, sorted(table_names)))
    return store, name or journal, schema


def select_columns(schema: Schema, columns: Sequence[str]) -> list[str] | None:
    """Return the chosen columns and column families (`file:`) of a table; None for all.

    Raises ConfigurationError for an unknown column.
    """
    for name in columns:
        if name.removesuffix(":") not in schema.names:
            schema.get_column(name)
    return [name if ":" in name else f"{name}:" for name in columns] or None
