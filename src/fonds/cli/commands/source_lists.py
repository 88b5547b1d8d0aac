"""`fonds sources import` and `export`: sources as OPML."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from fonds.cli.context import App, command, say
from fonds.cli.inbox import file_named
from fonds.cli.sources.source_options import tell_added, told_wanted, wanted_options
from fonds.cli.working.noted import noted
from fonds.model.errors import FondsError, cause_of
from fonds.model.numbers import how_many
from fonds.model.rows import SourceRow
from fonds.runtime.homelock import make_home
from fonds.sources.following.editing import add, of_outlines, outlines

OPML_MAX_BYTES = 50 * 1024 * 1024


@command("import")
@click.argument("path", metavar="FILE|URL|-")
@wanted_options
def import_(app: App, path: str, **flags: Any) -> int:
    """Follow the feeds of an OPML file, of this machine or at a URL; `-` is standard input.

    Exit code 1 when some of it is no source.

    \b
    fonds sources import feeds.opml --collection elections
    """
    from fonds.formats.listings.opml import read_opml

    try:
        listed = read_opml(_body(app, path))
    except (OSError, FondsError) as error:
        raise click.UsageError(f"{path} cannot be read as OPML: {cause_of(error)}") from error
    now = datetime.now(UTC)
    rows, refused = of_outlines(listed, told_wanted(app, flags), now)
    make_home(app.home)
    records = app.stores(make=True).records
    with noted(records, f"fonds sources import {path}: {how_many(len(rows), 'source')}"):
        fresh = add(records, rows)
    tell_added(app, fresh, len(rows) - len(fresh), refused)
    return int(bool(refused))


def _body(app: App, name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(OPML_MAX_BYTES + 1)
    with file_named(name, app) as path, path.open("rb") as stream:
        body = stream.read(OPML_MAX_BYTES + 1)
    if len(body) > OPML_MAX_BYTES:
        raise click.UsageError(f"{name}: OPML may have {OPML_MAX_BYTES} bytes at most")
    return body


@command("export")
@click.argument("path", required=False, metavar="[FILE]")
def export(app: App, path: str | None) -> int:
    """Write the feeds that are followed as OPML, to a file or standard output.

    \b
    fonds sources export feeds.opml
    """
    from fonds.formats.listings.opml import write_opml

    rows = sorted(app.stores().records.find(SourceRow), key=lambda row: (row.folder, row.url))
    body = write_opml(outlines(rows), "Sources", datetime.now(UTC))
    if path is None or path == "-":
        sys.stdout.buffer.write(body)
    else:
        Path(path).write_bytes(body)
    left = sum(row.kind != "feed" for row in rows)
    if left:
        say(f"{how_many(left, 'source')} left out: OPML names feeds alone")
    return 0
