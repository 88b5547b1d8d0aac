"""`fonds backfill extract`: PDFs and pages of any list of WARCs read in bulk, with books kept."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.markup import escape

from fonds.bulk.extraction.books import Books, as_json, booked
from fonds.bulk.extraction.folder import claim, close_books
from fonds.cli.context import App, command, console, echo_json, say
from fonds.cli.inbox import expand_paths
from fonds.cli.names import Name
from fonds.cli.stores.journal_table import engine_option, workers_option
from fonds.model.disposition import Reason

PARQUET = "parquet"
FORMS = [PARQUET]
WRONG_SHOWN = 10


@command("extract")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--to", type=Name("form", FORMS), required=True, help="Where results go.")
@click.option("--out", metavar="FOLDER", help="The folder Parquet files are written into.")
@engine_option
@workers_option
def backfill_extract(
    app: App, paths: tuple[str, ...], to: str, out: str | None, engine: str, workers: int
) -> int:
    """Read the PDFs and pages of WARCs again, each body once, by the steps of the pipeline.

    PATHs are WARC and ARC files, folders, and `@lists` of them. Of every record of every WARC it is told how
    it ended; FOLDER holds `files` (what was read), `captures` (how each ended) and `books.jsonl` (the
    account of each WARC). Interrupted, start it again with the same words: it goes on. Exit code 0 when
    all could be read, 1 when something was set apart.

    \b
    fonds backfill extract --to parquet --out extracted/ crawl/ @more-warcs.txt
    fonds backfill extract --to parquet --out /shared/extracted /shared/warcs --engine spark://master:7077
    """
    if out is None:
        raise click.UsageError("--to parquet needs a folder: name it with --out")
    from fonds.runtime.homelock import make_home
    from fonds.wiring.bulk.extraction import find_warcs, parquet_job
    from fonds.wiring.bulk.jobs import open_engine

    began_s = time.monotonic()
    settings = app.settings()
    running = open_engine(
        engine, app.home, settings, workers=workers, stores=(), tell=None if app.quiet else _say
    )
    warcs = find_warcs(expand_paths(paths, app.home), app.home)
    for path in warcs.others:
        say(f"{path} is no WARC: passed over")
    if not warcs.rows:
        raise click.UsageError("there is no WARC to be read")
    make_home(app.home)
    folder = Path(out).absolute()
    job = parquet_job(warcs, folder, app.home, settings)
    claim(folder, job.name)
    books = booked(running.run(job))
    close_books(folder, books)
    _tell(app, books, time.monotonic() - began_s)
    return 1 if books.failures or books.wrong else 0


def _say(what: str, done: int, total: int) -> None:
    say(f"{what}: {done:,} of {total:,}")


def _tell(app: App, books: Books, seconds: float) -> None:
    count, paths = books.records.total(), len(books.ended)
    if app.json:
        told = {"warcs": paths, "records": count, "ended": as_json(books.total)}
        echo_json({**told, "wrong": books.wrong, "seconds": round(seconds, 3)})
        return
    screen = console()
    screen.print(f"{count:,} records of {paths:,} WARCs; {seconds:,.1f} s.")
    for (verdict, reason), number in sorted(books.total.items(), key=lambda one: -one[1]):
        why = f" {reason}: {Reason(reason).explanation}" if reason else ""
        screen.print(f"  {number:>12,}  {escape(verdict + why)}")
    for path in books.wrong[:WRONG_SHOWN]:
        off = f"{books.records[path]:,} records and {books.ended[path].total():,} endings"
        screen.print(escape(f"{path}: {off}"), style="bold red")
