"""`fonds backfill`: import indexes without reading bodies, and extract many WARCs in bulk."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape

from fonds.bulk.tallies import ExampleCounts, TallyReport, build_report, sum_tallies
from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    print_note,
)
from fonds.cli.inputs import expand_names
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.names import CommandGroup, SuggestingChoice
from fonds.cli.table_options import engine_option, workers_option
from fonds.config import PORTS, Settings
from fonds.extract.mime import normalize_mime
from fonds.ingest.bulk.capture_filter import FILTERS, PDF_MIME, CaptureFilter
from fonds.ingest.bulk.extraction_manifest import (
    ExtractionManifest,
    encode_ending_counts,
    reserve_folder,
    sum_manifests,
    write_manifest,
)
from fonds.ingest.bulk.index_job import CAPTURES, FILES, REVISITS
from fonds.ingest.bulk.index_reader import LINES
from fonds.model.disposition import Reason
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError
from fonds.ports import Engine
from fonds.stores.home_lock import HomeLock, create_home

if TYPE_CHECKING:
    from fonds.wiring.jobs import WarcInputs


PARQUET = "parquet"
FORMS = [PARQUET, "stores"]
UNBALANCED_MAX = 10


class ExtractionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """JSON answer: the result of extracting WARC files in bulk."""

    warcs: Annotated[int, Meta(description="number of WARC files")]
    records: Annotated[int, Meta(description="number of records read")]
    ended: Annotated[
        Mapping[str, int], Meta(description="number of records by `verdict` or `verdict:reason`")
    ]
    wrong: Annotated[
        Sequence[str],
        Meta(description="WARC files whose records and outcomes differ in number"),
    ]
    seconds: Annotated[float, Meta(description="duration in seconds")]


ImportedIndexAnswer = define_answer(
    "ImportedIndexAnswer",
    TallyReport,
    seconds=Annotated[float, Meta(description="duration in seconds")],
)
"""JSON answer: the result of importing CDX indexes."""


@command("extract", answers={"one": ExtractionAnswer})
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--to", type=SuggestingChoice("form", FORMS), required=True, help="Where to store results."
)
@click.option("--out", metavar="FOLDER", help="Folder for Parquet files.")
@engine_option
@workers_option
def backfill_extract(
    app: App, paths: tuple[str, ...], to: str, out: str | None, engine: str, workers: int
) -> int:
    """Extract the PDFs and pages of many WARCs.

    The number of records with each outcome is shown at the end.

    PATHs are WARC and ARC files, folders, http(s) URLs, `s3://BUCKET/PREFIX*`, and `@lists` of
    them. Remote files are downloaded once, to the home's inbox.

    With `parquet`, each body is read once. FOLDER then holds `files` (what was read), `captures`
    (how each ended) and `books.jsonl` (the account of each WARC). With `stores`, everything goes
    through the pipeline of the home. Files it already knows from these WARCs are read again if the
    extractor has changed.

    If interrupted, run the same command again to resume. The exit code is 0 if everything could be
    read and 1 otherwise.

    \b fonds backfill extract --to parquet --out extracted/ crawl/ @more-warcs.txt fonds backfill
    extract --to parquet --out /shared/extracted /shared/warcs --engine spark://master:7077 fonds
    backfill extract --to stores crawl/ "s3://bucket/2026/*"
    """
    if (out is None) == (to == PARQUET):
        raise click.UsageError("--to parquet needs --out FOLDER; --to stores does not take it.")
    # Imported here because the jobs are slow to import.
    from fonds.wiring.jobs import find_warcs

    started_s = time.monotonic()
    job_engine = _open_engine(app, to, engine, workers)
    names = expand_names(paths, app.home)
    warcs = find_warcs(names, app.home, app.load_settings(), keeps_files=to == PARQUET)
    for path in warcs.other_paths:
        print_note(f"{path} is not a WARC and is skipped")
    if not warcs.rows:
        raise click.UsageError("No WARC to read.")
    if out is None:
        ledger = _extract_to_stores(app, warcs, job_engine, workers)
    else:
        ledger = _extract_to_parquet(app, warcs, Path(out).absolute(), job_engine)
    _print_manifest(app, ledger, time.monotonic() - started_s)
    return 1 if ledger.failures or ledger.unbalanced_warcs else 0


def _open_engine(app: App, to: str, url: str, workers: int) -> Engine:
    """Return the engine that runs bulk jobs: on this machine or on Spark.

    - `to`: where results go: to Parquet files or to the stores.
    - `url`: `local`, or the URL of a Spark master.
    - `workers`: number of processes; 0 for one per core. Results go to stores from one process
      only, unless several processes can share the stores.
    """
    # Imported here because the jobs are slow to import.
    from fonds.wiring.jobs import open_engine

    settings, report_progress = app.load_settings(), None if app.is_quiet else _report_progress
    stores = () if to == PARQUET else PORTS
    count = workers if to == PARQUET else _count_processes(settings, workers)
    return open_engine(
        url, app.home, settings, workers=count, stores=stores, report=report_progress
    )


def _count_processes(settings: Settings, workers: int) -> int:
    # Imported here because the readers and the stores are slow to import.
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.readers import count_cores

    return (workers or count_cores()) if are_stores_shared(settings) else 1


def _extract_to_parquet(
    app: App, warcs: WarcInputs, folder: Path, engine: Engine
) -> ExtractionManifest:
    # Imported here because the jobs are slow to import.
    from fonds.wiring.jobs import build_parquet_job

    create_home(app.home)
    job = build_parquet_job(warcs, folder, app.home, app.load_settings())
    reserve_folder(folder, job.name)
    ledger = sum_manifests(engine.run(job))
    write_manifest(folder, ledger)
    return ledger


def _extract_to_stores(
    app: App, warcs: WarcInputs, engine: Engine, workers: int
) -> ExtractionManifest:
    # Imported here because the audit, the jobs and the stores are slow to import.
    from fonds.audit.repair.cleanup import recover
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.jobs import build_stores_job
    from fonds.wiring.stores import close_stores

    settings = app.load_settings()
    stores = app.open_stores(settings, create=True)
    recover(stores)
    close_stores(stores)
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        count = _count_processes(settings, workers)
        return sum_manifests(engine.run(build_stores_job(warcs, app.home, settings, count)))


def _report_progress(noun: str, done_count: int, total: int) -> None:
    print_note(f"{noun}: {done_count:,} of {total:,}")


def _print_manifest(app: App, manifest: ExtractionManifest, seconds: float) -> None:
    count, paths = manifest.records.total(), len(manifest.endings)
    if app.is_json:
        answer = ExtractionAnswer(
            warcs=paths,
            records=count,
            ended=encode_ending_counts(manifest.total),
            wrong=manifest.unbalanced_warcs,
            seconds=round(seconds, 3),
        )
        echo_json(answer)
        return
    screen = open_console()
    screen.print(f"{pluralize(count, 'record')} of {pluralize(paths, 'WARC')}; {seconds:,.1f} s.")
    for (verdict, reason), number in sorted(manifest.total.items(), key=lambda item: -item[1]):
        reason_text = f" {reason}: {Reason(reason).explanation}" if reason else ""
        screen.print(f"  {number:>12,}  {escape(verdict + reason_text)}")
    for path in manifest.unbalanced_warcs[:UNBALANCED_MAX]:
        difference = (
            f"{pluralize(manifest.records[path], 'record')}"
            f" and {manifest.endings[path].total():,} endings"
        )
        screen.print(escape(f"{path}: {difference}"), style="bold red")


@click.group("backfill", cls=CommandGroup)
@click.pass_context
def backfill(ctx: click.Context, /, **flags: Any) -> None:
    """Work in bulk: import indexes, or extract many WARCs.

    \b
    fonds backfill cdx crawl.cdx.gz indexes/
    fonds backfill extract --to parquet --out extracted/ warcs/
    """
    ctx.obj = ctx.obj.with_flags(**flags)


backfill.params += build_global_options()


@command("cdx", answers={"one": ImportedIndexAnswer})
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@engine_option
@workers_option
@click.option(
    "--filter",
    "filter_",
    type=SuggestingChoice("filter", FILTERS),
    help="Only captures of this type.",
)
@click.option(
    "--mime", "mimes", multiple=True, metavar="TYPE", help=f"Media types to keep [{PDF_MIME}]."
)
def cdx(
    app: App,
    paths: tuple[str, ...],
    engine: str,
    workers: int,
    filter_: str | None,
    mimes: tuple[str, ...],
) -> int:
    """Import CDX and CDXJ indexes without fetching bodies.

    Indexes may be compressed. An index at an http(s) URL or `s3://BUCKET/PREFIX*` is downloaded
    once, to the home's inbox. With Spark, all machines must see the home. Every capture of a file
    is kept, and the row of the file shows the best one. The result does not depend on the order of
    the lines or on repetitions. The number of lines with each outcome is shown.

    If interrupted, run the same command again to resume.

    \b
    fonds backfill cdx crawl.cdx.gz indexes/ --mime application/pdf --mime text/html
    fonds backfill cdx https://example.org/crawl.cdx.gz
    fonds backfill cdx indexes/ --filter papers --engine spark://master:7077
    """
    # Imported here because the jobs, the pipelines and the stores are slow to import.
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.jobs import build_captures_job, find_indexes, open_engine
    from fonds.wiring.pipelines import fetch_paths
    from fonds.wiring.stores import close_stores, get_utc_now

    started_s = time.monotonic()
    settings = app.load_settings()
    capture_filter = CaptureFilter(_parse_types(mimes), filter_ or "")
    job_engine = open_engine(engine, app.home, settings, workers=workers)
    names = expand_names(paths, app.home)
    indexes = find_indexes(fetch_paths(names, app.home, settings), app.home)
    for path in indexes.other_paths:
        print_note(f"{path} is not an index and is skipped")
    if not indexes.paths:
        raise click.UsageError("No index to read.")
    # Create and migrate the stores before several processes open them.
    close_stores(app.open_stores(settings, create=True))
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        job = build_captures_job(
            indexes, capture_filter, app.home, settings, workers, get_utc_now()
        )
        tallies = sum_tallies(job_engine.run(job))
    _print_tallies(app, tallies, time.monotonic() - started_s)
    return 0


def _parse_types(mimes: tuple[str, ...]) -> frozenset[str]:
    types = {name: normalize_mime(name) for name in mimes or (PDF_MIME,)}
    invalid = [name for name, mime in types.items() if mime is None]
    if invalid:
        raise ConfigurationError(f"{invalid[0]!r} is not a media type. Example: {PDF_MIME}")
    return frozenset(mime for mime in types.values() if mime is not None)


def _print_tallies(app: App, tallies: ExampleCounts, seconds: float) -> None:
    if app.is_json:
        answer = build_answer(ImportedIndexAnswer, build_report(tallies), seconds=round(seconds, 3))
        echo_json(answer)
        return
    counts, screen = tallies.counts, open_console()
    screen.print(
        f"{pluralize(counts[LINES], 'line')}: {pluralize(counts[CAPTURES], 'capture')} of"
        f" {pluralize(counts[FILES], 'file')} and {pluralize(counts[REVISITS], 'revisit')} recorded;"
        f" {seconds:,.1f} s."
    )
    for reason in Reason:
        if count := counts[reason]:
            screen.print(f"  {count:>12,}  {reason}: {reason.explanation}")
            for example in tallies.examples[reason]:
                screen.print(f"                {escape(example)}", style="dim")


for _one in (cdx, backfill_extract):
    backfill.add_command(_one)
