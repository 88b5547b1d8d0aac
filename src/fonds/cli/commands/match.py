"""`fonds match`: papers and references held against the catalogue, in bulk or one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click
import msgspec
from rich.markup import escape

from fonds.bibliography.identifiers.doi import doi_in
from fonds.bibliography.references import parse_reference
from fonds.bulk.captures.tallies import Tallies, as_json, summed
from fonds.bulk.matching import PAPERS, REFERENCES
from fonds.catalog.finding import find
from fonds.catalog.matching.sought import of_citation
from fonds.cli.commands.catalog import opened
from fonds.cli.context import App, command, console, echo_json, global_options, say
from fonds.cli.inbox import file_named
from fonds.cli.names import Commands
from fonds.cli.stores.journal_table import engine_option, workers_option
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.rows import CitationRow
from fonds.runtime.homelock import HomeLock

STRING_MAX_CHARS = 4_000


@click.group("match", cls=Commands, invoke_without_command=True)
@engine_option
@workers_option
@click.pass_context
def match(ctx: click.Context, /, engine: str, workers: int, **flags: Any) -> int | None:
    """Hold all references of the papers that are here against the catalogue, then the papers.

    What the step `match` does for papers as they come, for those that are here, in the order of the
    catalogue; the rows are the same.

    \b
    fonds match
    fonds match references --engine spark://master:7077
    """
    ctx.obj = ctx.obj.with_flags(**flags)
    if ctx.invoked_subcommand is not None:
        return None
    # A paper's row says how many citations there are: these first.
    for what in (REFERENCES, PAPERS):
        _run(ctx.obj, what, engine, workers)
    return 0


match.params += global_options()


@command("papers")
@engine_option
@workers_option
def match_papers(app: App, engine: str, workers: int) -> int:
    """Match every paper whose bibliography is here: the cells of `match0`, and the rows of `matches`.

    \b
    fonds match papers
    """
    return _run(app, PAPERS, engine, workers)


@command("references")
@engine_option
@workers_option
def match_references(app: App, engine: str, workers: int) -> int:
    """Match every reference of every paper: the rows of `citations`.

    \b
    fonds match references
    """
    return _run(app, REFERENCES, engine, workers)


@command("strings")
@click.argument("file", metavar="FILE|URL|-")
def match_strings(app: App, file: str) -> int:
    """Match references as they are printed, one a line, and write a JSON line for each.

    \b
    fonds match strings references.txt > matched.jsonl
    echo "Brook B. Tides and their banks. J River Res. 1999;7:1-9." | fonds match strings -
    """
    kept = opened(app)
    with file_named(file, app) as path:
        for line in _lines(str(path)):
            citation = parse_reference(line[:STRING_MAX_CHARS])
            found = find(kept, of_citation(citation))
            echo_json({"reference": line, **msgspec.to_builtins(found)})
    return 0


@command("citations")
@click.option("--doi", metavar="DOI", help="Only who cites this.")
def write_citations(app: App, doi: str | None) -> int:
    """Write who cites whom, a JSON line for each reference: the citing file, the number of the reference from
    0, it as printed, the work it was matched with, and how surely.

    \b
    fonds match citations > citations.jsonl
    fonds match citations --doi 10.1000/182
    """
    bare = doi_in(doi) if doi else None
    if doi and bare is None:
        raise ConfigurationError(f"{doi!r} is no DOI; write it as 10.1000/182")
    count = 0
    for row in app.stores().records.find(CitationRow, {"doi": bare} if bare else None):
        echo_json(row)
        count += 1
    if not count:
        say("nothing here was found to cite it" if bare else "no reference was matched yet")
    return 0


def _run(app: App, what: str, engine: str, workers: int) -> int:
    from fonds.wiring.backends import all_shared, close_stores, now
    from fonds.wiring.bulk.jobs import match_job, open_engine

    settings = app.settings()
    running = open_engine(engine, app.home, settings, workers=workers)
    app.must_be_there()
    opened(app)
    # Everything is there and of this version before processes open it.
    close_stores(app.stores(settings, make=True))
    with HomeLock(app.home, shared=all_shared(settings)):
        done = summed(running.run(match_job(what, app.home, settings, now())))
    _tell(app, what, done)
    return 0


def _tell(app: App, what: str, done: Tallies) -> None:
    counts: Mapping[str, int] = done.counts
    if app.json:
        echo_json({"what": what, **as_json(done)})
        return
    screen = console()
    screen.print(f"{sum(counts.values()):,} {what} held against the catalogue.")
    for word, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        screen.print(f"  {count:>12,}  {escape(word)}")


def _lines(file: str) -> Iterator[str]:
    try:
        stream = sys.stdin.buffer if file == "-" else open(file, "rb")  # noqa: SIM115, PTH123
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {cause_of(error)}") from error
    with stream:
        while line := stream.readline(STRING_MAX_CHARS * 4):
            if text := line.decode("utf-8", "replace").strip():
                yield text


for _one in (match_papers, match_references, match_strings, write_citations):
    match.add_command(_one)
