"""`fonds table`: the wide-row table looked at and written by hand, taken out whole and put in again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from fonds.cli.commands.table_counts import count_table
from fonds.cli.commands.table_files import export_table, import_table
from fonds.cli.context import App, command, console, echo_json, global_options, say
from fonds.cli.names import Commands
from fonds.cli.stores.journal_table import base32_option, opened, picked_columns, table_option
from fonds.formats.journal import journal_schema, journal_table, key_from_text, key_text, older_key
from fonds.formats.journal.creating import shell_statement, table_options
from fonds.formats.journal.keys import SHA1_BYTES
from fonds.formats.journal.texts import row_line, written_cell
from fonds.model.errors import ConfigurationError
from fonds.model.numbers import how_many

SHOWN_CHARS = 300
PAGE_ROWS = 200
LATER_MAX = 1000
REGIONS = 16


@click.group("table", cls=Commands)
@click.pass_context
def table(ctx: click.Context, /, **flags: Any) -> None:
    """Look at the table: one wide row for each file by its SHA-1, behind it one for each later capture.

    A KEY is a SHA-1 in hex or base32, or what `scan` shows.

    \b
    fonds table list
    fonds table get SD75ENMQBDMCFGECDULLEF3YYXBZV3BW
    fonds table scan --from 90 --limit 20 --column file:cdx
    fonds table export journal.jsonl
    """
    ctx.obj = ctx.obj.with_flags(**flags)


table.params += global_options()


@command("create")
@table_option
@click.option("--shell", is_flag=True, help="Show what to tell the HBase shell, and make nothing.")
@click.option(
    "--regions",
    type=click.IntRange(1, 4096),
    help=f"Regions a table is split into by --shell (default: those of the table's URL, else {REGIONS}).",
)
def create(app: App, name: str | None, shell: bool, regions: int | None) -> int:
    """Make the journal table, or one like it; again is harmless. Every command makes what it needs.

    A Thrift server cannot split a new table into regions: --shell shows the statement for the HBase
    shell that does, with families, versions and compression.

    \b
    fonds table create
    fonds table create --shell --regions 64 | hbase shell -n
    """
    settings = app.settings()
    schema = journal_schema(settings.table_families)
    chosen = name or journal_table(settings.group, settings.table_version, settings.env)
    if shell:
        families = {one.name: one.compression for one in schema.families}
        in_memory, told = table_options(settings.table)
        count = regions or (told if told > 1 else REGIONS)
        click.echo(shell_statement(chosen, families, count, in_memory))
        return 0
    store = app.table(settings, chosen, make=True)
    store.declare(chosen, schema.names, compressions=schema.compressions)
    if app.json:
        echo_json({"table": chosen, "families": schema.names})
    else:
        console().print(f"{escape(chosen)} is there, with {', '.join(schema.names)}.")
    return 0


@command("list")
def list_(app: App) -> int:
    """List the tables of the store, each with its families.

    \b
    fonds table list --json
    """
    store, journal, _ = opened(app, None)
    for name, families in sorted(store.tables().items()):
        if app.json:
            echo_json({"table": name, "families": sorted(families), "journal": name == journal})
        else:
            mark = " (the journal)" if name == journal else ""
            console().print(f"{escape(name)}{mark}: {escape(', '.join(sorted(families)))}")
    return 0


@command("get")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@table_option
@click.option("--column", "columns", multiple=True, metavar="FAMILY:NAME", help="Only this column.")
@base32_option
def get(
    app: App, keys: tuple[str, ...], name: str | None, columns: tuple[str, ...], base32: bool
) -> int:
    """Show the rows of files, and those of their later captures. Exit code 1 when a key has no row.

    \b
    fonds table get 90ffd2359008d82298821d16b21778c5c39aec36
    fonds table get SD75ENMQBDMCFGECDULLEF3YYXBZV3BW --column file:cdx --json
    """
    store, chosen, schema = opened(app, name)
    picked, lacking = picked_columns(schema, columns), 0
    for text in keys:
        prefix = _key(text)
        rows = store.scan(chosen, prefix, count_max=LATER_MAX + 1, columns=picked)
        rows += [*store.get(chosen, _crawler_keys(prefix), picked).items()]
        for key, cells in rows[:LATER_MAX]:
            _show(app, row_line(key, cells, schema, base32=base32))
        if not rows:
            say(f"no row has the key {text}")
            lacking += 1
        elif len(rows) > LATER_MAX:
            rest = app.told(f"table scan --from {text}")
            say(f"{text} has more rows than the {LATER_MAX:,} shown: `{rest}`")
    return 1 if lacking else 0


@command("put")
@click.argument("key")
@click.argument("cells", nargs=-1, required=True, metavar="FAMILY:NAME=VALUE...")
@table_option
def put(app: App, key: str, cells: tuple[str, ...], name: str | None) -> int:
    """Write cells of one row; the others stay.

    VALUE is checked by the column's type; @FILE stands for a file's bytes.

    \b
    fonds table put 90ffd2359008d82298821d16b21778c5c39aec36 grobid0:quality=good
    fonds table put SD75ENMQBDMCFGECDULLEF3YYXBZV3BW grobid0:tei_xml=@paper.tei.xml
    """
    store, chosen, schema = opened(app, name)
    written = {}
    for cell in cells:
        column, equals, value = cell.partition("=")
        if not equals:
            raise click.UsageError(f"{cell!r}: write it as FAMILY:NAME=VALUE")
        written[column] = written_cell(schema, column, _bytes(value))
    store.put(chosen, [(_key(key), written)])
    if app.json:
        echo_json({"key": key_text(_key(key)), "cells": len(written)})
    elif not app.quiet:
        console().print(f"{how_many(len(written), 'cell')} written.")
    return 0


@command("scan")
@table_option
@click.option("--from", "start", metavar="HEX", default="", help="Keys that begin so, in hex.")
@click.option("--after", metavar="KEY", help="Go on behind this key.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option("--column", "columns", multiple=True, metavar="FAMILY:NAME", help="Only this column.")
@base32_option
def scan(
    app: App,
    name: str | None,
    start: str,
    after: str | None,
    limit: int,
    columns: tuple[str, ...],
    base32: bool,
) -> int:
    """Show rows in the order of their keys.

    \b
    fonds table scan --limit 100 --json
    fonds table scan --from 90ff --column file:mime
    """
    store, chosen, schema = opened(app, name)
    prefix, last = _prefix(start), _key(after) if after else None
    picked, left = picked_columns(schema, columns), limit
    while left and (
        rows := store.scan(
            chosen,
            prefix,
            after=last,
            count_max=min(left, PAGE_ROWS),
            columns=picked,
        )
    ):
        for key, cells in rows:
            _show(app, row_line(key, cells, schema, base32=base32))
        left, last = left - len(rows), rows[-1][0]
    if not left and last and store.scan(chosen, prefix, after=last, count_max=1, columns=picked):
        say(f"{limit:,} shown; the next: --after {key_text(last, base32=base32)}")
    return 0


def _key(text: str) -> bytes:
    try:
        return key_from_text(text)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _prefix(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if len(text) < 32 else key_from_text(text)
    except ValueError as error:
        raise ConfigurationError(f"--from {text!r} is no beginning of a key in hex") from error


def _bytes(value: str) -> bytes:
    if not value.startswith("@"):
        return value.encode("utf-8", "surrogateescape")
    try:
        return Path(value[1:]).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{value[1:]} cannot be read: {error.strerror}") from error


def _crawler_keys(key: bytes) -> list[bytes]:
    """The row `sha1:BASE32` in which crawlers note the same file."""
    return [older_key(key.hex())] if len(key) == SHA1_BYTES else []


def _show(app: App, row: dict[str, Any]) -> None:
    if app.json:
        echo_json(row)
        return
    screen = console()
    screen.print(f"[bold]{escape(row['key'])}[/bold]")
    for name, value in row["cells"].items():
        text = str(value)
        cut = f"... ({len(text):,} characters)" if len(text) > SHOWN_CHARS else ""
        shown = "".join(c if c.isprintable() else "·" for c in text[:SHOWN_CHARS])
        screen.print(f"  {escape(name)}  {escape(shown)}{cut}")


for one in (create, list_, get, put, scan, count_table, export_table, import_table):
    table.add_command(one)
