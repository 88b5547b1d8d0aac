"""`fonds ingest`: take in files, archives and indexes."""

from __future__ import annotations

from typing import Any

import click

from fonds.cli.commands.ingest_links import ingest_links
from fonds.cli.context import App, command, pipeline_option
from fonds.cli.inbox import absolute_paths, check_warc_base, expand_names
from fonds.cli.working import working_off
from fonds.runtime.homelock import HomeLock, make_home
from fonds.sources.listed.choice import Choice


@command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--warc-base", metavar="DIR|URL", help="Where the WARCs named by a CDX are.")
@click.option(
    "--follow",
    "follow_links",
    is_flag=True,
    default=None,
    help="Follow links that lead out of the folders named here, and note each.",
)
@click.option("--collection", metavar="NAME", help="Collection the documents belong to.")
@pipeline_option
@click.option(
    "--copy",
    "warc_copy_bodies",
    is_flag=True,
    default=None,
    help="Copy bodies out of WARCs into ours.",
)
@click.option(
    "--workers",
    "work_workers",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Processes to use at most where much is waiting [one a core].",
)
@click.option(
    "--enter-only", is_flag=True, help="Enter the captures and leave the work to workers."
)
@click.option(
    "--max", "count_max", type=click.IntRange(1), metavar="N", help="So many links in this run."
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="PERCENT",
    help="A share of links.",
)
@click.option("--shuffle", is_flag=True, help="Links in another order than they are listed.")
@click.option("--dry-run", is_flag=True, help="Tell which links would enter, and enter none.")
def ingest(
    app: App,
    paths: tuple[str, ...],
    enter_only: bool,
    count_max: int | None,
    sample: float | None,
    shuffle: bool,
    dry_run: bool,
    **flags: Any,
) -> int:
    """Take in WARC, ARC, CDX, ZIP, PDF and HTML files, folders of them, URLs and s3://BUCKET/PREFIX*.

    Each is recognised by its content. `@list` names a file with one path or URL a line, `-` is standard
    input. A file from elsewhere is fetched once and kept in the home's inbox.
    Interrupted at any moment and started again, it goes on; run again on the same files it adds nothing.
    Exit code 0 when all is settled, 1 when something was quarantined or still waits, 130 when interrupted.

    A pipeline that begins with links (`csv`, `queue-fetcher`) takes in files that list them: tables of
    addresses, or whole days of RSS. --max, --sample, --shuffle and
    --dry-run are for these.

    \b
    fonds ingest crawl.warc.gz papers/ "old pages.zip"
    fonds ingest --warc-base /archive/warcs index.cdx
    fonds ingest @paths.txt --collection elections
    fonds ingest https://example.org/crawl.warc.gz "s3://bucket/2026/*"
    fonds ingest --enter-only /archive/2026   # and `fonds work STEP` elsewhere
    curl -s https://example.org/paper.pdf | fonds ingest -
    fonds ingest --pipeline csv urls.csv --max 1000
    fonds ingest --pipeline csv --dry-run s3://bucket/csv/2023-11*
    """
    check_warc_base(flags["warc_base"])
    settings = app.settings(**flags)
    from fonds.wiring.links.link_inputs import takes_links

    if takes_links(settings):
        wanted = Choice(100.0 if sample is None else sample, count_max)
        return ingest_links(app, settings, paths, wanted, shuffle, dry_run, enter_only)
    if count_max is not None or sample is not None or shuffle or dry_run:
        raise click.UsageError(
            f"--max, --sample, --shuffle and --dry-run are for pipelines that begin with links;"
            f" {settings.pipeline!r} does not"
        )
    found = expand_names(paths, app.home)
    from fonds.wiring.backends import all_shared
    from fonds.wiring.pipelines import named_source

    make_home(app.home)
    with HomeLock(app.home, shared=enter_only or all_shared(settings)) as lock:
        source = named_source(found, app.home, settings)
        stores = app.stores(settings, make=True)
        act = working_off.enter_only if enter_only else working_off.work_off
        paths_named = absolute_paths(found)
        return act(
            app,
            settings,
            stores,
            lock,
            lambda intake, entered: intake.run(source, entered, paths_named),
        )
