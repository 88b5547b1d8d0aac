"""`fonds backfill extract`: PDFs and pages of any list of WARCs read in bulk, with books kept."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from fonds.bulk.extraction.books import Books, as_json, booked
from fonds.bulk.extraction.folder import claim, close_books
from fonds.cli.context import App, command, console, echo_json, say
from fonds.cli.inbox import expand_names
from fonds.cli.names import Name
from fonds.cli.stores.journal_table import engine_option, workers_option
from fonds.config import PORTS, Settings
from fonds.model.disposition import Reason
from fonds.model.numbers import how_many
from fonds.ports import Engine

if TYPE_CHECKING:
    from fonds.wiring.bulk.extraction import Warcs

PARQUET = "parquet"
FORMS = [PARQUET, "stores"]
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
    """Read the PDFs and pages of WARCs again, by the steps of the pipeline, and tell how every record ended.

    PATHs are WARC and ARC files, folders, http(s) URLs, `s3://BUCKET/PREFIX*`, and `@lists` of them. What
    lies elsewhere is fetched once, to the home's inbox. With `parquet` each body is read once and
    FOLDER holds `files` (what was read), `captures` (how each ended) and `books.jsonl` (the account of each
    WARC). With `stores` all goes through the pipeline of the home, what it knows from these WARCs too: that
    is read again where the extractor is another. Interrupted, start it again with the same words: it goes
    on. Exit code 0 when all could be read, 1 when something was set apart.

    \b
    fonds backfill extract --to parquet --out extracted/ crawl/ @more-warcs.txt
    fonds backfill extract --to parquet --out /shared/extracted /shared/warcs --engine spark://master:7077
    fonds backfill extract --to stores crawl/ "s3://bucket/2026/*"
    """
    if (out is None) == (to == PARQUET):
        raise click.UsageError("--to parquet needs a folder, --to stores none: --out names it")
    from fonds.wiring.bulk.extraction import find_warcs

    began_s = time.monotonic()
    running = _engine(app, to, engine, workers)
    names = expand_names(paths, app.home)
    warcs = find_warcs(names, app.home, app.settings(), keeps_files=to == PARQUET)
    for path in warcs.others:
        say(f"{path} is no WARC: passed over")
    if not warcs.rows:
        raise click.UsageError("there is no WARC to be read")
    if out is None:
        books = _into_stores(app, warcs, running, workers)
    else:
        books = _into_parquet(app, warcs, Path(out).absolute(), running)
    _tell(app, books, time.monotonic() - began_s)
    return 1 if books.failures or books.wrong else 0


def _engine(app: App, to: str, url: str, workers: int) -> Engine:
    """Files of this machine are one process's; the threads of that read side by side."""
    from fonds.wiring.bulk.jobs import open_engine

    settings, tell = app.settings(), None if app.quiet else _say
    stores = () if to == PARQUET else PORTS
    count = workers if to == PARQUET else _processes(settings, workers)
    return open_engine(url, app.home, settings, workers=count, stores=stores, tell=tell)


def _processes(settings: Settings, workers: int) -> int:
    from fonds.wiring.backends import all_shared
    from fonds.wiring.readers import cores

    return (workers or cores()) if all_shared(settings) else 1


def _into_parquet(app: App, warcs: Warcs, folder: Path, running: Engine) -> Books:
    from fonds.runtime.homelock import make_home
    from fonds.wiring.bulk.extraction import parquet_job

    make_home(app.home)
    job = parquet_job(warcs, folder, app.home, app.settings())
    claim(folder, job.name)
    books = booked(running.run(job))
    close_books(folder, books)
    return books


def _into_stores(app: App, warcs: Warcs, running: Engine, workers: int) -> Books:
    from fonds.library.repair.recovering import recover
    from fonds.runtime.homelock import HomeLock
    from fonds.wiring.backends import all_shared, close_stores
    from fonds.wiring.bulk.extraction import stores_job

    settings = app.settings()
    stores = app.stores(settings, make=True)
    recover(stores)
    close_stores(stores)
    with HomeLock(app.home, shared=all_shared(settings)):
        count = _processes(settings, workers)
        return booked(running.run(stores_job(warcs, app.home, settings, count)))


def _say(what: str, done: int, total: int) -> None:
    say(f"{what}: {done:,} of {total:,}")


def _tell(app: App, books: Books, seconds: float) -> None:
    count, paths = books.records.total(), len(books.ended)
    if app.json:
        told = {"warcs": paths, "records": count, "ended": as_json(books.total)}
        echo_json({**told, "wrong": books.wrong, "seconds": round(seconds, 3)})
        return
    screen = console()
    screen.print(f"{how_many(count, 'record')} of {how_many(paths, 'WARC')}; {seconds:,.1f} s.")
    for (verdict, reason), number in sorted(books.total.items(), key=lambda one: -one[1]):
        why = f" {reason}: {Reason(reason).explanation}" if reason else ""
        screen.print(f"  {number:>12,}  {escape(verdict + why)}")
    for path in books.wrong[:WRONG_SHOWN]:
        off = f"{how_many(books.records[path], 'record')} and {books.ended[path].total():,} endings"
        screen.print(escape(f"{path}: {off}"), style="bold red")
