"""`fonds ingest`: add files, web archives, CDX indexes and lists of links to the library."""

from __future__ import annotations

from typing import Any

import click

from fonds.cli import pipeline_run
from fonds.cli.context import App, command, pipeline_option
from fonds.cli.ingest_links import ListPreview, ingest_links
from fonds.cli.inputs import check_warc_base, expand_names, resolve_paths
from fonds.ingest.sources.link_sample import LinkSample
from fonds.stores.home_lock import HomeLock, create_home


@command(
    "ingest",
    answers={
        "one, when the work is done": pipeline_run.RunAnswer,
        "one, with --enter-only": pipeline_run.EnteredAnswer,
        "one for each list, with --dry-run": ListPreview,
    },
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--warc-base", metavar="DIR|URL", help="Folder of the WARCs named by a CDX.")
@click.option(
    "--follow",
    "follow_links",
    is_flag=True,
    default=None,
    help="Follow links out of the given folders, and record each.",
)
@click.option("--collection", metavar="NAME", help="Collection of the documents.")
@pipeline_option
@click.option(
    "--copy",
    "warc_copy_bodies",
    is_flag=True,
    default=None,
    help="Copy bodies from WARCs into the library's own.",
)
@click.option(
    "--workers",
    "work_workers",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Maximum number of processes for large inputs [one per core].",
)
@click.option(
    "--enter-only", is_flag=True, help="Enter the captures and leave the work to the workers."
)
@click.option(
    "--max",
    "count_max",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of links in this run.",
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="PERCENT",
    help="Enter a random share of the links.",
)
@click.option("--shuffle", is_flag=True, help="Enter links in random order.")
@click.option("--dry-run", is_flag=True, help="Show which links would enter, and change nothing.")
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
    """Add files to the library.

    Reads WARC, ARC, CDX, ZIP, PDF and HTML files, folders of them, URLs and s3://BUCKET/PREFIX*.
    File types are recognised by content. `@list` names a file with one path or URL per line, and
    `-` is standard input. A remote file is downloaded once and kept in the home's inbox.

    If interrupted, run the same command again to resume. Ingesting the same files again adds
    nothing. The exit code is 0 if everything is done, 1 if something was quarantined or is still
    waiting, and 130 if interrupted.

    A pipeline that begins with links (`csv`, `queue-fetcher`) reads files that list links: tables
    of URLs, or whole days of RSS. Use --max, --sample, --shuffle and --dry-run only with these.

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
    # Imported here because the stores and the fetcher are slow to import.
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.links import takes_links
    from fonds.wiring.pipelines import create_named_source

    check_warc_base(flags["warc_base"])
    settings = app.load_settings(**flags)
    if takes_links(settings):
        link_sample = LinkSample(100.0 if sample is None else sample, count_max)
        return ingest_links(app, settings, paths, link_sample, shuffle, dry_run, enter_only)
    if count_max is not None or sample is not None or shuffle or dry_run:
        raise click.UsageError(
            "--max, --sample, --shuffle and --dry-run need a pipeline that starts with "
            f"links; {settings.pipeline!r} does not."
        )
    names = expand_names(paths, app.home)
    create_home(app.home)
    with HomeLock(app.home, is_shared=enter_only or are_stores_shared(settings)) as lock:
        source = create_named_source(names, app.home, settings)
        stores = app.open_stores(settings, create=True)
        run_action = pipeline_run.run_intake_only if enter_only else pipeline_run.run_and_report
        named_paths = resolve_paths(names)
        return run_action(
            app,
            settings,
            stores,
            lock,
            lambda intake, intake_counts: intake.run(source, intake_counts, named_paths),
        )
