"""`fonds backfill`: indexes into the table and the records without reading a body, and WARCs read in bulk."""

from __future__ import annotations

import time
from typing import Any

import click
from rich.markup import escape

from fonds.bulk.captures.deciding import PDF_MIME, Wanted
from fonds.bulk.captures.papers import FILTERS
from fonds.bulk.captures.reading import LINES
from fonds.bulk.captures.tallies import Tallies, as_json, summed
from fonds.bulk.captures.writing import CAPTURES, FILES, REVISITS
from fonds.cli.commands.backfill_extract import backfill_extract
from fonds.cli.context import App, command, console, echo_json, global_options, say
from fonds.cli.inbox import expand_names
from fonds.cli.names import Commands, Name
from fonds.cli.stores.journal_table import engine_option, workers_option
from fonds.extract.mime import normalize_mime
from fonds.model.disposition import Reason
from fonds.model.errors import ConfigurationError
from fonds.model.numbers import how_many
from fonds.runtime.homelock import HomeLock


@click.group("backfill", cls=Commands)
@click.pass_context
def backfill(ctx: click.Context, /, **flags: Any) -> None:
    """Work in bulk: take in what indexes tell of files, or read the files of many WARCs.

    \b
    fonds backfill cdx crawl.cdx.gz indexes/
    fonds backfill extract --to parquet --out extracted/ warcs/
    """
    ctx.obj = ctx.obj.with_flags(**flags)


backfill.params += global_options()


@command("cdx")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@engine_option
@workers_option
@click.option(
    "--filter", "filter_", type=Name("filter", FILTERS), help="Only what looks like this."
)
@click.option(
    "--mime", "mimes", multiple=True, metavar="TYPE", help=f"Types that are taken [{PDF_MIME}]."
)
def cdx(
    app: App,
    paths: tuple[str, ...],
    engine: str,
    workers: int,
    filter_: str | None,
    mimes: tuple[str, ...],
) -> int:
    """Read CDX and CDXJ files, packed or not, into the table and the rows of `cdx`; no body is fetched.

    An index at an http(s) URL or `s3://BUCKET/PREFIX*` is fetched once, to the home's inbox; with Spark all
    machines must see the home. Every capture of a file is kept, the best of them in the file's row. The same
    lines leave the same rows in whatever order they come, and however often. Interrupted, start it again with
    the same words: it goes on. Told is what became of each line, by reason.

    \b
    fonds backfill cdx crawl.cdx.gz indexes/ --mime application/pdf --mime text/html
    fonds backfill cdx https://example.org/crawl.cdx.gz
    fonds backfill cdx indexes/ --filter papers --engine spark://master:7077
    """
    from fonds.wiring.backends import all_shared, close_stores, now
    from fonds.wiring.bulk.jobs import captures_job, find_indexes, open_engine
    from fonds.wiring.pipelines import fetched_paths

    began_s = time.monotonic()
    settings = app.settings()
    wanted = Wanted(_types(mimes), filter_ or "")
    running = open_engine(engine, app.home, settings, workers=workers)
    names = expand_names(paths, app.home)
    indexes = find_indexes(fetched_paths(names, app.home, settings), app.home)
    for path in indexes.others:
        say(f"{path} is no index: passed over")
    if not indexes.paths:
        raise click.UsageError("there is no index to be read")
    # Everything is there and of this version before processes open it.
    close_stores(app.stores(settings, make=True))
    with HomeLock(app.home, shared=all_shared(settings)):
        job = captures_job(indexes, wanted, app.home, settings, workers, now())
        done = summed(running.run(job))
    _tell(app, done, time.monotonic() - began_s)
    return 0


def _types(mimes: tuple[str, ...]) -> frozenset[str]:
    known = {one: normalize_mime(one) for one in mimes or (PDF_MIME,)}
    wrong = [one for one, mime in known.items() if mime is None]
    if wrong:
        raise ConfigurationError(f"{wrong[0]!r} is no type; write it as {PDF_MIME}")
    return frozenset(mime for mime in known.values() if mime is not None)


def _tell(app: App, done: Tallies, seconds: float) -> None:
    if app.json:
        echo_json({**as_json(done), "seconds": round(seconds, 3)})
        return
    counts, screen = done.counts, console()
    screen.print(
        f"{how_many(counts[LINES], 'line')}: {how_many(counts[CAPTURES], 'capture')} of"
        f" {how_many(counts[FILES], 'file')} and {how_many(counts[REVISITS], 'revisit')} kept;"
        f" {seconds:,.1f} s."
    )
    for reason in Reason:
        if count := counts[reason]:
            screen.print(f"  {count:>12,}  {reason}: {reason.explanation}")
            for example in done.examples[reason]:
                screen.print(f"                {escape(example)}", style="dim")


for _one in (cdx, backfill_extract):
    backfill.add_command(_one)
