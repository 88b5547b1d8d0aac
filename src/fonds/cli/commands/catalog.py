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

from fonds.bibliography.identifiers.doi import doi_alone, doi_in
from fonds.catalog.files import ENDS
from fonds.catalog.keys import catalog_table
from fonds.catalog.loading import Loaded, load, loaded, mark_of
from fonds.catalog.store import LISTED_MAX, Catalog
from fonds.catalog.works.reading import Refusal
from fonds.catalog.works.work import SOURCES, Work
from fonds.cli.context import App, command, console, echo_json, global_options, say
from fonds.cli.inbox import expand_names
from fonds.cli.names import Commands
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.numbers import how_many
from fonds.sources.listed.remote_files import is_remote
from fonds.sources.walk import FoundPath, walk

TOLD_EVERY_S = 5.0
AUTHORS_SHOWN = 3


@click.group("catalog", cls=Commands)
@click.pass_context
def catalog(ctx: click.Context, /, **flags: Any) -> None:
    """Works as others publish them: what papers and references are matched with.

    \b
    fonds catalog load crossref/ releases.json.gz
    fonds catalog show 10.1000/182
    """
    ctx.obj = ctx.obj.with_flags(**flags)


catalog.params += global_options()


def opened(app: App, *, make: bool = False) -> Catalog:
    """The home's catalogue. Raises ConfigurationError where nothing was ever loaded, unless `make`."""
    settings = app.settings()
    table = app.table(settings, make=make)
    found = Catalog(table, catalog_table(settings.group, settings.env))
    if make:
        found.declare()
    elif found.name not in table.tables():
        told = app.told("catalog load PATH…")
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
    found, failed = _files(app, [Path(one) for one in names if not is_remote(one)])
    kept, progress, began_s = opened(app, make=True), _Progress(app.quiet), time.monotonic()
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
        say(told_of)
    _tell(app, done, failed, time.monotonic() - began_s)
    return 1 if failed else 0


@command("show")
@click.argument("key", metavar="DOI")
def show_work(app: App, key: str) -> int:
    """Show what sources say of the work with a DOI, or with an id as matches name it (`pmid:1`).

    \b
    fonds catalog show 10.1000/182
    fonds catalog show arxiv:1901.00596 --json
    """
    kept = opened(app)
    doi = doi_alone(key) or doi_in(key)
    ids = kept.by_identifier(f"doi:{doi}" if doi and not key.startswith("doi:") else key).ids
    works = kept.works(ids)
    if not works:
        say(
            f"the catalogue has no work {key!r}; `{app.told('catalog search TITLE')}` looks for titles"
        )
        return 1
    for id_, work in works.items():
        records = kept.records(id_)
        if app.json:
            echo_json({"work": work, "records": records})
            continue
        console().print(f"[bold]{escape(work.whole_title or id_)}[/bold]")
        for name, value in _fields(work):
            console().print(f"  {name}: {escape(value)}")
        console().print(f"  told by: {', '.join(records)}")
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
    kept = opened(app)
    found = kept.by_title(title, author)
    works = list(kept.works(found.ids).values())
    if app.json:
        echo_json({"works": works, "more": found.more})
    else:
        for work in works:
            console().print(f"{escape(work.id)}  {escape(_line(work))}")
    if found.more:
        say(
            f"more than {LISTED_MAX} works have such a title: none is listed; name an author, or more of it"
        )
    elif not works:
        say("no work has such a title")
    return 0


@command("stats")
def count_loaded(app: App) -> int:
    """Count what was loaded: files, records by source, and what was refused, by reason.

    Records are counted as they were read; a work several sources tell of is one of each.

    \b
    fonds catalog stats
    fonds catalog stats --json
    """
    _tell(app, list(loaded(opened(app))), [], None)
    return 0


def _load_remote(
    app: App, kept: Catalog, urls: Sequence[str], progress: _Progress, failed: list[str]
) -> Iterator[Loaded]:
    """Load what lies at URLs; what cannot be had or read is added to `failed`."""
    if not urls:
        return
    from fonds.wiring.pipelines import named_source, opened_input

    source, others = named_source(urls, app.home, app.settings()), 0
    for row in source.inputs():
        if row.path not in urls and not row.path.lower().endswith(ENDS):
            others += 1
            continue
        at = mark_of(kept, row.path, row.fingerprint)
        try:
            if row.error is None and not at.finished:
                with opened_input(source, row) as path:
                    at = load(kept, path, row.fingerprint, progress.tick, row.path)
        except ConfigurationError as error:
            failed.append(str(error))
        except OSError as error:
            failed.append(f"{row.path}: {cause_of(error)}")
        else:
            if row.error is None:
                yield at
            else:
                failed.append(f"{row.path}: {row.error}")
    _tell_others(others)


def _tell_others(count: int) -> None:
    if count:
        have = how_many(count, "file below folders has", "files below folders have")
        say(f"{have} other names ({', '.join(ENDS)} are read)")


def _files(app: App, paths: Sequence[Path]) -> tuple[list[FoundPath], list[str]]:
    """The files to be read, and what cannot be. Below a folder it is those whose names say so; how many
    others lie there is told."""
    named = {Path(os.path.abspath(path)) for path in paths}  # noqa: PTH100 (as they are walked)
    found, failed, others = [], [], 0
    for one in walk(paths, app.home):
        if one.leads_out:
            failed.append(f"{one.path} is a link that leads out of the folder: passed over")
        elif one.error:
            failed.append(f"{one.path}: {one.error}")
        elif one.path in named or one.path.name.lower().endswith(ENDS):
            found.append(one)
        else:
            others += 1
    _tell_others(others)
    return found, failed


class _Progress:
    """Says now and then how many records were read, on a terminal or not."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._began_s = self._told_s = time.monotonic()
        self._count = 0
        self._last = ("", 0)

    def tick(self, at: Loaded) -> None:
        """Take note of a batch."""
        path, position = self._last
        self._count += at.position - position if path == at.path else 0
        self._last = (at.path, at.position)
        now_s = time.monotonic()
        if self._quiet or now_s - self._told_s < TOLD_EVERY_S:
            return
        self._told_s = now_s
        say(
            f"{how_many(self._count, 'record')}, {self._count / (now_s - self._began_s):,.0f}/s; in {at.path}"
        )


def _tell(app: App, files: list[Loaded], failed: list[str], seconds: float | None) -> None:
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for one in files:
        counts.update(one.counts)
        for reason, told in one.examples.items():
            examples[reason] = [*examples.get(reason, []), *told][:3]
    taken = {name: counts[name] for name in SOURCES if counts[name]}
    refused = {str(name): counts[name] for name in Refusal if counts[name]}
    if app.json:
        whole: dict[str, Any] = {"files": len(files), "unfinished": _unfinished(files)}
        whole |= {"taken": taken, "refused": refused, "examples": examples, "failed": failed}
        echo_json(whole if seconds is None else {**whole, "seconds": round(seconds, 3)})
        return
    lasted = "" if seconds is None else f"; {seconds:,.1f} s"
    screen = console()
    read = how_many(len(files), "file")
    screen.print(f"{read}: {how_many(sum(taken.values()), 'record')} taken{lasted}.")
    for name, count in taken.items():
        screen.print(f"  {count:>12,}  {name}")
    for reason in Refusal:
        if count := refused.get(reason, 0):
            screen.print(f"  {count:>12,}  {reason}: {reason.explanation}")
            for example in examples.get(reason, []):
                screen.print(f"                {escape(example)}", style="dim")
    for path in _unfinished(files):
        say(f"{path} was not read to its end: load it again")


def _unfinished(files: list[Loaded]) -> list[str]:
    return [one.path for one in files if not one.finished]


def _fields(work: Work) -> list[tuple[str, str]]:
    told: Mapping[str, Any] = msgspec.to_builtins(work)
    names = "; ".join(f"{one.given} {one.surname}".strip() for one in work.authors)
    told = {**told, "authors": names, "issn": ", ".join(work.issn)}
    left_out = ("title", "subtitle", "source")
    return [(name, str(value)) for name, value in told.items() if value and name not in left_out]


def _line(work: Work) -> str:
    names = ", ".join(one.surname for one in work.authors[:AUTHORS_SHOWN])
    more = " et al." if len(work.authors) > AUTHORS_SHOWN else ""
    return ". ".join(
        filter(None, (names + more, str(work.year or ""), work.whole_title, work.container))
    )


for _one in (load_files, show_work, search_titles, count_loaded):
    catalog.add_command(_one)
