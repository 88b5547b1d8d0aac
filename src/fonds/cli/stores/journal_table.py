"""What the commands about the wide-row table share: which table is meant, how keys are shown, who counts."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fonds.cli.context import App
from fonds.formats.journal import Schema, journal_schema, journal_table
from fonds.model.errors import ConfigurationError
from fonds.model.names import no_such
from fonds.ports import Table

table_option = click.option(
    "--table", "name", metavar="NAME", help="Another table than the home's journal."
)
base32_option = click.option("--base32", is_flag=True, help="Show SHA-1s in base32, not in hex.")

engine_option = click.option(
    "--engine",
    metavar="URL",
    default="local",
    show_default=True,
    help="This machine, or a Spark master, as spark://host:7077.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(0, 1024), default=0, help="Processes here; 0 means one a core."
)


def opened(app: App, name: str | None) -> tuple[Table, str, Schema]:
    """The table store, the name of the table that is meant, and the journal's schema."""
    settings = app.settings()
    journal = journal_table(settings.group, settings.table_version, settings.env)
    store, schema = app.table(settings, name), journal_schema(settings.table_families)
    if name is not None and name != journal and name not in (known := store.tables()):
        raise ConfigurationError(no_such("table", name, sorted(known)))
    return store, name or journal, schema


def picked_columns(schema: Schema, columns: Sequence[str]) -> list[str] | None:
    """The columns and families (`file:`) somebody named; None for all. Raises ConfigurationError for one
    there is not."""
    for name in columns:
        if name.removesuffix(":") not in schema.names:
            schema.column(name)
    return [name if ":" in name else f"{name}:" for name in columns] or None
