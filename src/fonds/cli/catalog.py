"""`fonds catalog`: load and search the catalogue of works that papers and references are matched
with.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape

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
from fonds.cli.names import CommandGroup
from fonds.ingest.sources.remote_files import (
    is_remote,
)
from fonds.ingest.sources.walk import FoundPath, iter_files
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError, cause_of
from fonds.papers.bibliography.identifiers import find_doi_in_text, parse_doi
from fonds.papers.catalog.loader import LoadProgress, iter_loaded_files, load, load_progress
from fonds.papers.catalog.records import FILE_EXTENSIONS, RefusalReason
from fonds.papers.catalog.store import LISTED_MAX, Catalog, name_catalog_table
from fonds.papers.catalog.work import SOURCES, Work

REPORT_EVERY_S = 5.0
AUTHORS_MAX = 3


@click.group("catalog", cls=CommandGroup)
@click.pass_context
def catalog(ctx: click.Context, /, **flags: Any) -> None:
    """Manage the catalogue of published works.

    Papers and references are matched with it.

    \b
    fonds catalog load crossref/ releases.json.gz
    fonds catalog show 10.1000/182
    """
    ctx.obj = ctx.obj.with_flags(**flags)


catalog.params += build_global_options()


def open_catalog(app: App, *, create: bool = False) -> Catalog:
    """Return the catalogue of works. With `create`, its table is created if needed.

    Raises ConfigurationError if nothing was loaded yet, unless `create` is true.
    """
    settings = app.load_settings()
    table = app.open_table(settings, create=create)
    works_catalog = Catalog(table, name_catalog_table(settings.group, settings.env))
    if create:
        works_catalog.declare()
    elif works_catalog.name not in table.list_tables():
        hint = app.format_command("catalog load PATH…")
        raise ConfigurationError(f"No catalogue yet. Run `{hint}` to create it.")
    return works_catalog


class CatalogAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """JSON answer: numbers of records in the catalogue, by source."""

    files: Annotated[int, Meta(description="number of files read")]
    unfinished: Annotated[Sequence[str], Meta(description="files that were not read to the end")]
    loaded: Annotated[Mapping[str, int], Meta(description="number of records loaded, by source")]
    refused: Annotated[Mapping[str, int], Meta(description="number of refused records, by reason")]
    examples: Annotated[
        Mapping[str, Sequence[str]], Meta(description="a few refused records, by reason")
    ]
    failed: Annotated[Sequence[str], Meta(description="files that cannot be read, with errors")]


LoadAnswer = define_answer(
    "LoadAnswer",
    CatalogAnswer,
    seconds=Annotated[float, Meta(description="duration in seconds")],
)
"""JSON answer: the result of loading records into the catalogue."""


class WorkAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a work of the catalogue, merged and as each source describes it."""

    work: Annotated[Work, Meta(description="merged record of the work")]
    records: Annotated[Mapping[str, Work], Meta(description="records of the work, by source")]


class WorksAnswer(msgspec.Struct, frozen=True):
    """JSON answer: works of the catalogue whose title is or begins with the given one."""

    works: Annotated[Sequence[Work], Meta(description=f"at most {LISTED_MAX} works")]
    more: Annotated[bool, Meta(description="whether there are more")]


@command("load", answers={"one": LoadAnswer})
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--again", is_flag=True, help="Load files from the start that were loaded before.")
def load_files(app: App, paths: tuple[str, ...], again: bool) -> int:
    """Load records of works from files and folders.

    Files may be compressed. Formats: Crossref (REST API and public data file), fatcat release
    exports, OpenAlex works, and BibJSON.

    A record replaces the earlier record of the same work from the same source. Files that were
    loaded before and have not changed are skipped. A file at an http(s) URL or
    `s3://BUCKET/PREFIX*` is downloaded, loaded and removed. If interrupted, run the same command
    again to resume. The exit code is 1 if a file cannot be read.

    \b
    fonds catalog load crossref-public-data-file/ "s3://bucket/works/*"
    fonds catalog load release_export.json.gz works/part_000.gz
    """
    names = expand_names(paths, app.home)
    files, failure_messages = _find_files(
        app, [Path(file) for file in names if not is_remote(file)]
    )
    target, progress, started_s = (
        open_catalog(app, create=True),
        _ProgressReporter(app.is_quiet),
        time.monotonic(),
    )
    results = []
    for file in files:
        try:
            progress_of_file = load(
                target,
                file.path,
                f"{file.size_bytes}:{file.modified_ns}",
                progress.tick,
                loads_again=again,
            )
        except OSError as error:
            failure_messages.append(f"{file.path}: {cause_of(error)}")
            continue
        results.append(progress_of_file)
    urls = [file for file in names if is_remote(file)]
    results += _load_remote(app, target, urls, progress, failure_messages, loads_again=again)
    for message in failure_messages:
        print_note(message)
    _print_result(app, results, failure_messages, time.monotonic() - started_s)
    return 1 if failure_messages else 0


@command("show", answers={"one for each work": WorkAnswer})
@click.argument("key", metavar="DOI")
def show_work(app: App, key: str) -> int:
    """Show the records of a work by DOI or other id (`pmid:1`).

    \b
    fonds catalog show 10.1000/182
    fonds catalog show arxiv:1901.00596 --json
    """
    target = open_catalog(app)
    doi = parse_doi(key) or find_doi_in_text(key)
    ids = target.find_by_identifier(f"doi:{doi}" if doi and not key.startswith("doi:") else key).ids
    works = target.load_works(ids)
    if not works:
        print_note(
            f"The catalogue has no work {key!r}. Run "
            f"`{app.format_command('catalog search TITLE')}` to search titles."
        )
        return 1
    for id_, work in works.items():
        records = target.load_records(id_)
        if app.is_json:
            echo_json(WorkAnswer(work, records))
            continue
        open_console().print(f"[bold]{escape(work.full_title or id_)}[/bold]")
        for name, value in _build_fields(work):
            open_console().print(f"  {name}: {escape(value)}")
        open_console().print(f"  sources: {', '.join(records)}")
    return 0


@command("search", answers={"one": WorksAnswer})
@click.argument("title")
@click.option(
    "--author", metavar="NAME", help="Family name of the first author, for common titles."
)
def search_titles(app: App, title: str, author: str | None) -> int:
    """Find works whose title is TITLE or begins with it.

    If there are more than 50, only works with exactly this title are considered, and then only
    those by --author. If these are still too many, none is listed.

    \b
    fonds catalog search "On the electrodynamics of moving bodies"
    fonds catalog search introduction --author Knuth
    """
    target = open_catalog(app)
    matches = target.find_by_title(title, author)
    works = list(target.load_works(matches.ids).values())
    if app.is_json:
        echo_json(WorksAnswer(works, matches.has_more))
    else:
        for work in works:
            open_console().print(f"{escape(work.id)}  {escape(_format_work(work))}")
    if matches.has_more:
        print_note(
            f"More than {LISTED_MAX} works have this title. Add an author or more of the title."
        )
    elif not works:
        print_note("No work has this title.")
    return 0


@command("stats", answers={"one": CatalogAnswer})
def count_loaded(app: App) -> int:
    """Count loaded and refused records of the catalogue.

    Records are counted by source, and refused ones by reason.

    A work that several sources describe counts once per source.

    \b
    fonds catalog stats
    fonds catalog stats --json
    """
    _print_result(app, list(iter_loaded_files(open_catalog(app))), [], None)
    return 0


def _load_remote(
    app: App,
    target: Catalog,
    urls: Sequence[str],
    progress: _ProgressReporter,
    failed_paths: list[str],
    *,
    loads_again: bool,
) -> Iterator[LoadProgress]:
    """Load the catalogue files at URLs. Yield the progress of each file that could be read.

    Messages about files that cannot be fetched or read are appended to `failed_paths`.
    """
    if not urls:
        return
    # Imported here because the pipelines are slow to import.
    from fonds.wiring.pipelines import create_named_source, open_input

    source, other_count = create_named_source(urls, app.home, app.load_settings()), 0
    for row in source.iter_inputs():
        if row.path not in urls and not row.path.lower().endswith(FILE_EXTENSIONS):
            other_count += 1
            continue
        position = load_progress(target, row.path, row.fingerprint)
        try:
            if row.error is None and (loads_again or not position.finished):
                with open_input(source, row) as path:
                    position = load(
                        target,
                        path,
                        row.fingerprint,
                        progress.tick,
                        row.path,
                        loads_again=loads_again,
                    )
        except ConfigurationError as error:
            failed_paths.append(str(error))
        except OSError as error:
            failed_paths.append(f"{row.path}: {cause_of(error)}")
        else:
            if row.error is None:
                yield position
            else:
                failed_paths.append(f"{row.path}: {row.error}")
    _print_skipped(other_count)


def _print_skipped(count: int) -> None:
    if count:
        skipped_text = pluralize(count, "file in folders skipped", "files in folders skipped")
        print_note(f"{skipped_text}: unknown format (supported: {', '.join(FILE_EXTENSIONS)})")


def _find_files(app: App, paths: Sequence[Path]) -> tuple[list[FoundPath], list[str]]:
    """Return the catalogue files to load, and messages about files that cannot be read.

    Files that the user named are loaded whatever their name. In folders, files are chosen by their
    extension, and the number of other files is printed.
    """
    named_paths = {Path(os.path.abspath(path)) for path in paths}  # noqa: PTH100 (as they are walked)
    files, failure_messages, other_count = [], [], 0
    for file in iter_files(paths, app.home):
        if file.is_outside:
            failure_messages.append(f"{file.path} is a link out of the folder and is skipped")
        elif file.error:
            failure_messages.append(f"{file.path}: {file.error}")
        elif file.path in named_paths or file.path.name.lower().endswith(FILE_EXTENSIONS):
            files.append(file)
        else:
            other_count += 1
    _print_skipped(other_count)
    return files, failure_messages


class _ProgressReporter:
    """Prints every five seconds how many catalogue records were read, on a terminal or not."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._began_s = self._reported_s = time.monotonic()
        self._count = 0
        self._last = ("", 0)

    def tick(self, progress: LoadProgress) -> None:
        """Add the records read since the last call, and print the number if a report is due."""
        path, position = self._last
        self._count += progress.position - position if path == progress.path else 0
        self._last = (progress.path, progress.position)
        now_s = time.monotonic()
        if self._quiet or now_s - self._reported_s < REPORT_EVERY_S:
            return
        self._reported_s = now_s
        print_note(
            f"{pluralize(self._count, 'record')},"
            f" {self._count / (now_s - self._began_s):,.0f}/s; in {progress.path}"
        )


def _print_result(
    app: App, files: list[LoadProgress], failed_paths: list[str], seconds: float | None
) -> None:
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for file in files:
        counts.update(file.counts)
        for reason, lines in file.examples.items():
            examples[reason] = [*examples.get(reason, []), *lines][:3]
    loaded_counts = {name: counts[name] for name in SOURCES if counts[name]}
    refused_counts = {str(name): counts[name] for name in RefusalReason if counts[name]}
    if app.is_json:
        answer = CatalogAnswer(
            files=len(files),
            unfinished=_list_unfinished(files),
            loaded=loaded_counts,
            refused=refused_counts,
            examples=examples,
            failed=failed_paths,
        )
        echo_json(
            answer
            if seconds is None
            else build_answer(LoadAnswer, answer, seconds=round(seconds, 3))
        )
        return
    duration = "" if seconds is None else f"; {seconds:,.1f} s"
    screen = open_console()
    files_text = pluralize(len(files), "file")
    screen.print(
        f"{files_text}: {pluralize(sum(loaded_counts.values()), 'record')} loaded{duration}."
    )
    for name, count in loaded_counts.items():
        screen.print(f"  {count:>12,}  {name}")
    for reason in RefusalReason:
        if count := refused_counts.get(reason, 0):
            screen.print(f"  {count:>12,}  {reason}: {reason.explanation}")
            for example in examples.get(reason, []):
                screen.print(f"                {escape(example)}", style="dim")
    for path in _list_unfinished(files):
        print_note(f"{path} was not read to the end; load it again")


def _list_unfinished(files: list[LoadProgress]) -> list[str]:
    return [file.path for file in files if not file.finished]


def _build_fields(work: Work) -> list[tuple[str, str]]:
    values: Mapping[str, Any] = msgspec.to_builtins(work)
    names = "; ".join(f"{author.given} {author.surname}".strip() for author in work.authors)
    values = {**values, "authors": names, "issn": ", ".join(work.issn)}
    omitted_names = ("title", "subtitle", "source")
    return [
        (name, str(value)) for name, value in values.items() if value and name not in omitted_names
    ]


def _format_work(work: Work) -> str:
    names = ", ".join(author.surname for author in work.authors[:AUTHORS_MAX])
    suffix = " et al." if len(work.authors) > AUTHORS_MAX else ""
    return ". ".join(
        filter(None, (names + suffix, str(work.year or ""), work.full_title, work.container))
    )


for _one in (load_files, show_work, search_titles, count_loaded):
    catalog.add_command(_one)
