"""What the commands about the wide-row table share: which table is meant, and how keys are shown."""

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


def opened(app: App, name: str | None) -> tuple[Table, str, Schema]:
    """The table store, the name of the table that is meant, and the journal's schema."""
    settings = app.settings()
    journal = journal_table(settings.group, settings.table_version, settings.env)
    store, schema = app.table(settings), journal_schema(settings.table_families)
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
