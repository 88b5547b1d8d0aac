"""`fonds catalog`: the catalogue papers and references are matched with, loaded and looked into."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
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
from fonds.cli.names import CommandGroup
from fonds.ingest.sources.remote_files import (
    is_remote,
)
from fonds.ingest.sources.walk import FoundPath, iter_files
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError, cause_of
from fonds.papers.bibliography.identifiers import find_doi_in_text, parse_doi
from fonds.papers.catalog.loader import LoadProgress, iter_loaded_files, load, load_progress
from fonds.papers.catalog.records import ENDS, RefusalReason
from fonds.papers.catalog.store import LISTED_MAX, Catalog, name_catalog_table
from fonds.papers.catalog.work import SOURCES, Work

REPORT_EVERY_S = 5.0
AUTHORS_MAX = 3


@click.group("catalog", cls=CommandGroup)
@click.pass_context
def catalog(ctx: click.Context, /, **flags: Any) -> None:
    """Works as others publish them: what papers and references are matched with.

    \b
    fonds catalog load crossref/ releases.json.gz
    fonds catalog show 10.1000/182
    """
    ctx.obj = ctx.obj.with_flags(**flags)


catalog.params += build_global_options()


def open_catalog(app: App, *, create: bool = False) -> Catalog:
    """The home's catalogue. Raises ConfigurationError where nothing was ever loaded, unless `create`."""
    settings = app.load_settings()
    table = app.open_table(settings, create=create)
    found = Catalog(table, name_catalog_table(settings.group, settings.env))
    if create:
        found.declare()
    elif found.name not in table.list_tables():
        told = app.format_command("catalog load PATH…")
        raise ConfigurationError(f"there is no catalogue yet: `{told}` makes it")
    return found


@command("load")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
def load_files(app: App, paths: tuple[str, ...]) -> int:
    """Read records of works out of files and folders, packed or not: Crossref (REST API, public data file),
    fatcat release exports, OpenAlex works, BibJSON.

    A record replaces the one its source gave of the same work before. What was loaded is passed over as
    long as it is the same file; interrupted, start it again with the same words: it goes on. A file at an
    http(s) URL or `s3://BUCKET/PREFIX*` is fetched whole, and removed when it was read. Exit code 1 when a
    file cannot be read.

    \b
    fonds catalog load crossref-public-data-file/ "s3://bucket/works/*"
    fonds catalog load release_export.json.gz works/part_000.gz
    """
    names = expand_names(paths, app.home)
    found, failed = _find_files(app, [Path(one) for one in names if not is_remote(one)])
    kept, progress, began_s = (
        open_catalog(app, create=True),
        _ProgressReporter(app.is_quiet),
        time.monotonic(),
    )
    done = []
    for one in found:
        try:
            told = load(kept, one.path, f"{one.size_bytes}:{one.modified_ns}", progress.tick)
        except OSError as error:
            failed.append(f"{one.path}: {cause_of(error)}")
            continue
        done.append(told)
    done += _load_remote(app, kept, [one for one in names if is_remote(one)], progress, failed)
    for told_of in failed:
        print_note(told_of)
    _print_result(app, done, failed, time.monotonic() - began_s)
    return 1 if failed else 0


@command("show")
@click.argument("key", metavar="DOI")
def show_work(app: App, key: str) -> int:
    """Show what sources say of the work with a DOI, or with an id as matches name it (`pmid:1`).

    \b
    fonds catalog show 10.1000/182
    fonds catalog show arxiv:1901.00596 --json
    """
    kept = open_catalog(app)
    doi = parse_doi(key) or find_doi_in_text(key)
    ids = kept.find_by_identifier(f"doi:{doi}" if doi and not key.startswith("doi:") else key).ids
    works = kept.load_works(ids)
    if not works:
        print_note(
            f"the catalogue has no work {key!r};"
            f" `{app.format_command('catalog search TITLE')}` looks for titles"
        )
        return 1
    for id_, work in works.items():
        records = kept.load_records(id_)
        if app.is_json:
            echo_json({"work": work, "records": records})
            continue
        open_console().print(f"[bold]{escape(work.full_title or id_)}[/bold]")
        for name, value in _build_fields(work):
            open_console().print(f"  {name}: {escape(value)}")
        open_console().print(f"  told by: {', '.join(records)}")
    return 0


@command("search")
@click.argument("title")
@click.option(
    "--author", metavar="NAME", help="Family name of the first author, for common titles."
)
def search_titles(app: App, title: str, author: str | None) -> int:
    """Find works whose titles are TITLE or begin so, at most 50.

    \b
    fonds catalog search "On the electrodynamics of moving bodies"
    fonds catalog search introduction --author Knuth
    """
    kept = open_catalog(app)
    found = kept.find_by_title(title, author)
    works = list(kept.load_works(found.ids).values())
    if app.is_json:
        echo_json({"works": works, "more": found.has_more})
    else:
        for work in works:
            open_console().print(f"{escape(work.id)}  {escape(_format_work(work))}")
    if found.has_more:
        print_note(
            f"more than {LISTED_MAX} works have such a title: none is listed; name an author, or more of it"
        )
    elif not works:
        print_note("no work has such a title")
    return 0


@command("stats")
def count_loaded(app: App) -> int:
    """Count what was loaded: files, records by source, and what was refused, by reason.

    Records are counted as they were read; a work several sources tell of is one of each.

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
) -> Iterator[LoadProgress]:
    """Load what lies at URLs; what cannot be had or read is added to `failed_paths`."""
    if not urls:
        return
    from fonds.wiring.pipelines import create_named_source, open_input

    source, others = create_named_source(urls, app.home, app.load_settings()), 0
    for row in source.iter_inputs():
        if row.path not in urls and not row.path.lower().endswith(ENDS):
            others += 1
            continue
        at = load_progress(target, row.path, row.fingerprint)
        try:
            if row.error is None and not at.finished:
                with open_input(source, row) as path:
                    at = load(target, path, row.fingerprint, progress.tick, row.path)
        except ConfigurationError as error:
            failed_paths.append(str(error))
        except OSError as error:
            failed_paths.append(f"{row.path}: {cause_of(error)}")
        else:
            if row.error is None:
                yield at
            else:
                failed_paths.append(f"{row.path}: {row.error}")
    _print_skipped(others)


def _print_skipped(count: int) -> None:
    if count:
        have = pluralize(count, "file below folders has", "files below folders have")
        print_note(f"{have} other names ({', '.join(ENDS)} are read)")


def _find_files(app: App, paths: Sequence[Path]) -> tuple[list[FoundPath], list[str]]:
    """The files to be read, and what cannot be. Below a folder it is those whose names say so; how many
    others lie there is told."""
    named = {Path(os.path.abspath(path)) for path in paths}  # noqa: PTH100 (as they are walked)
    found, failed, others = [], [], 0
    for one in iter_files(paths, app.home):
        if one.is_led_out:
            failed.append(f"{one.path} is a link that leads out of the folder: passed over")
        elif one.error:
            failed.append(f"{one.path}: {one.error}")
        elif one.path in named or one.path.name.lower().endswith(ENDS):
            found.append(one)
        else:
            others += 1
    _print_skipped(others)
    return found, failed


class _ProgressReporter:
    """Says now and then how many records were read, on a terminal or not."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._began_s = self._reported_s = time.monotonic()
        self._count = 0
        self._last = ("", 0)

    def tick(self, at: LoadProgress) -> None:
        """Take note of a batch."""
        path, position = self._last
        self._count += at.position - position if path == at.path else 0
        self._last = (at.path, at.position)
        now_s = time.monotonic()
        if self._quiet or now_s - self._reported_s < REPORT_EVERY_S:
            return
        self._reported_s = now_s
        print_note(
            f"{pluralize(self._count, 'record')},"
            f" {self._count / (now_s - self._began_s):,.0f}/s; in {at.path}"
        )


def _print_result(
    app: App, files: list[LoadProgress], failed_paths: list[str], seconds: float | None
) -> None:
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for one in files:
        counts.update(one.counts)
        for reason, told in one.examples.items():
            examples[reason] = [*examples.get(reason, []), *told][:3]
    taken = {name: counts[name] for name in SOURCES if counts[name]}
    refused = {str(name): counts[name] for name in RefusalReason if counts[name]}
    if app.is_json:
        whole: dict[str, Any] = {"files": len(files), "unfinished": _list_unfinished(files)}
        whole |= {"taken": taken, "refused": refused, "examples": examples, "failed": failed_paths}
        echo_json(whole if seconds is None else {**whole, "seconds": round(seconds, 3)})
        return
    lasted = "" if seconds is None else f"; {seconds:,.1f} s"
    screen = open_console()
    read = pluralize(len(files), "file")
    screen.print(f"{read}: {pluralize(sum(taken.values()), 'record')} taken{lasted}.")
    for name, count in taken.items():
        screen.print(f"  {count:>12,}  {name}")
    for reason in RefusalReason:
        if count := refused.get(reason, 0):
            screen.print(f"  {count:>12,}  {reason}: {reason.explanation}")
            for example in examples.get(reason, []):
                screen.print(f"                {escape(example)}", style="dim")
    for path in _list_unfinished(files):
        print_note(f"{path} was not read to its end: load it again")


def _list_unfinished(files: list[LoadProgress]) -> list[str]:
    return [one.path for one in files if not one.finished]


def _build_fields(work: Work) -> list[tuple[str, str]]:
    told: Mapping[str, Any] = msgspec.to_builtins(work)
    names = "; ".join(f"{one.given} {one.surname}".strip() for one in work.authors)
    told = {**told, "authors": names, "issn": ", ".join(work.issn)}
    left_out = ("title", "subtitle", "source")
    return [(name, str(value)) for name, value in told.items() if value and name not in left_out]


def _format_work(work: Work) -> str:
    names = ", ".join(one.surname for one in work.authors[:AUTHORS_MAX])
    more = " et al." if len(work.authors) > AUTHORS_MAX else ""
    return ". ".join(
        filter(None, (names + more, str(work.year or ""), work.full_title, work.container))
    )


for _one in (load_files, show_work, search_titles, count_loaded):
    catalog.add_command(_one)
