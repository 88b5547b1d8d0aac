"""`fonds ingest`: take in files, archives and indexes."""

from __future__ import annotations

from typing import Any

import click

from fonds.cli.context import App, command
from fonds.cli.inbox import expand_paths
from fonds.cli.work import work_off
from fonds.runtime.homelock import HomeLock


@command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--warc-base", metavar="DIR|URL", help="Where the WARCs named by a CDX are.")
@click.option("--collection", metavar="NAME", help="Collection the documents belong to.")
@click.option("--copy", is_flag=True, default=None, help="Copy bodies out of WARCs into ours.")
def ingest(app: App, paths: tuple[str, ...], **flags: Any) -> int:
    """Take in WARC, ARC, CDX, ZIP, PDF and HTML files, and folders of them.

    Each is recognised by its content. `@list` names a file with one path a line, `-` is standard input.
    Interrupted at any moment and started again, it goes on; run again on the same files it adds nothing.
    Exit code 0 when all is settled, 1 when something was quarantined, 130 when interrupted.

    \b
    fonds ingest crawl.warc.gz papers/ "old pages.zip"
    fonds ingest --warc-base /archive/warcs index.cdx
    fonds ingest @paths.txt --collection elections
    curl -s https://example.org/paper.pdf | fonds ingest -
    """
    settings = app.settings(**flags)
    found = expand_paths(paths, app.home)
    app.home.mkdir(parents=True, exist_ok=True)
    with HomeLock(app.home):
        from fonds.wiring import path_source

        source = path_source(found, app.home, settings)
        stores = app.stores(settings, make=True)
        return work_off(app, settings, stores, lambda intake, entered: intake.run(source, entered))
