"""`fonds ingest`: add files, web archives, CDX indexes and lists of links to the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from msgspec import Meta

from fonds.cli import pipeline_run
from fonds.cli.context import App, command, echo_json, open_console, pipeline_option
from fonds.cli.inputs import check_warc_base, expand_names, report_unread, resolve_paths
from fonds.ingest.sources.link_rows import LinkSample
from fonds.model.encoding import pluralize
from fonds.model.entry import Entry
from fonds.model.rows import InputRow
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.stores.home_lock import HomeLock, create_home

if TYPE_CHECKING:
    from fonds.config import Settings
    from fonds.ingest.sources.link_lists import LimitedSource
    from fonds.ports import Records


# Ingest lists of links, for pipelines that begin with links.


URLS_MAX = 5
NOTHING_NEW_MESSAGE = "Nothing found: these lists contain no new links."


class ListPreview(msgspec.Struct, frozen=True):
    """JSON answer: the links of a list that `fonds ingest` would add."""

    input: Annotated[str, Meta(description="path or URL of the list")]
    links: Annotated[int, Meta(description="number of links that would enter")]
    others: Annotated[
        Mapping[str, int], Meta(description="number of links that would not enter, by reason")
    ]
    error: Annotated[str | None, Meta(description="why the list cannot be read to the end")]
    known: Annotated[bool, Meta(description="whether an earlier run ingested the list")]
    first: Annotated[Sequence[str], Meta(description="the first links that would enter")]


def ingest_links(
    app: App,
    settings: Settings,
    names: Sequence[str],
    choice: LinkSample,
    shuffle: bool,
    dry_run: bool,
    enter_only: bool,
) -> int:
    """Ingest the links of link lists, or preview them with `dry_run`. Return the exit code.

    - `names`: paths and URLs of the lists.
    - `choice`: decides which links of the lists are ingested.
    - `shuffle`: whether the links are ingested in random order.
    - `enter_only`: whether links are only put on the queue, because workers elsewhere fetch them.

    Raises click.UsageError for a list that does not exist.
    """
    from fonds.wiring.links import open_link_lists
    from fonds.wiring.stores import are_stores_shared

    paths = expand_names(names, app.home)

    def source(home: Path, records: Records | None) -> LimitedSource:
        return open_link_lists(paths, home, settings, records, choice, shuffle=shuffle)

    if dry_run:
        has_home = app.home.is_dir()
        with TemporaryDirectory() as scratch_folder:
            records = app.open_stores(settings).records if has_home else None
            return _preview_lists(
                app, source(Path(scratch_folder), records), records, settings.pipeline
            )
    create_home(app.home)
    with HomeLock(app.home, shared=enter_only or are_stores_shared(settings)) as lock:
        stores = app.open_stores(settings, create=True)
        lists = source(app.home, stores.records)
        run_action = (
            pipeline_run.run_intake_only
            if enter_only
            else partial(pipeline_run.run_and_report, empty_message=NOTHING_NEW_MESSAGE)
        )
        feed = _build_feed(lists, resolve_paths(paths))
        return report_unread(lists.problems, run_action(app, settings, stores, lock, feed))


def _build_feed(
    source: LimitedSource, named_paths: Collection[str]
) -> Callable[[Intake, IntakeCounts], None]:
    def feed(intake: Intake, entered: IntakeCounts) -> None:
        limited = replace(intake, stopping=lambda: intake.stopping() or source.is_done())
        limited.run(source, entered, named_paths)

    return feed


def _preview_lists(app: App, source: LimitedSource, records: Records | None, pipeline: str) -> int:
    """Read link lists without ingesting them, and print which links would be added.

    Return the exit code: 1 if a list cannot be read, otherwise 0.
    """
    for row in source.iter_inputs():
        known_inputs = records.get(InputRow, [(row.input_id, pipeline)]) if records else []
        if known_inputs and known_inputs[0].finished and row.error is None:
            _preview_list(app, row, [], Counter(), is_known=True)
            continue
        tally: Counter[str] = Counter()
        urls: list[str] = []
        for entry in source.iter_entries(
            known_inputs[0] if known_inputs and row.error is None else row
        ):
            if isinstance(entry, Entry):
                urls.append(entry.url)
            elif not isinstance(entry, int):
                tally.update(entry)
        _preview_list(app, row, urls, tally, is_known=False)
        if source.is_done():
            break
    return report_unread(source.problems, 0)


def _preview_list(
    app: App, row: InputRow, urls: list[str], tally: Counter[str], *, is_known: bool
) -> None:
    if app.is_json:
        echo_json(ListPreview(row.path, len(urls), tally, row.error, is_known, urls[:URLS_MAX]))
        return
    other_counts = "".join(f", {count:,} {why}" for why, count in sorted(tally.items()))
    summary = (
        "already ingested"
        if is_known
        else f"{pluralize(len(urls), 'link')} would enter{other_counts}"
    )
    open_console().print(f"{row.path}: {summary}", markup=False)
    for url in urls[:URLS_MAX]:
        open_console().print(f"  {url}", markup=False)


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
    check_warc_base(flags["warc_base"])
    settings = app.load_settings(**flags)
    from fonds.wiring.links import takes_links

    if takes_links(settings):
        link_sample = LinkSample(100.0 if sample is None else sample, count_max)
        return ingest_links(app, settings, paths, link_sample, shuffle, dry_run, enter_only)
    if count_max is not None or sample is not None or shuffle or dry_run:
        raise click.UsageError(
            "--max, --sample, --shuffle and --dry-run need a pipeline that starts with "
            f"links; {settings.pipeline!r} does not."
        )
    names = expand_names(paths, app.home)
    from fonds.wiring.pipelines import create_named_source
    from fonds.wiring.stores import are_stores_shared

    create_home(app.home)
    with HomeLock(app.home, shared=enter_only or are_stores_shared(settings)) as lock:
        source = create_named_source(names, app.home, settings)
        stores = app.open_stores(settings, create=True)
        run_action = pipeline_run.run_intake_only if enter_only else pipeline_run.run_and_report
        paths_named = resolve_paths(names)
        return run_action(
            app,
            settings,
            stores,
            lock,
            lambda intake, entered: intake.run(source, entered, paths_named),
        )
