"""`fonds match`: match papers and references with the catalogue of works, in bulk or one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape

from fonds.bulk.tallies import ExampleCounts, TallyReport, build_report, sum_tallies
from fonds.cli.catalog import open_catalog
from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    print_note,
)
from fonds.cli.inputs import open_named_file
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.names import CommandGroup
from fonds.cli.table_options import engine_option, workers_option
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.rows import CitationRow
from fonds.papers.bibliography.identifiers import find_doi_in_text
from fonds.papers.bibliography.reference_parser import parse_reference
from fonds.papers.bulk_match import PAPERS, REFERENCES
from fonds.papers.catalog.lookup import find
from fonds.papers.catalog.match import Match
from fonds.papers.catalog.match_query import build_citation_query
from fonds.stores.home_lock import HomeLock

STRING_MAX_CHARS = 4_000


@click.group("match", cls=CommandGroup, invoke_without_command=True)
@engine_option
@workers_option
@click.pass_context
def match(ctx: click.Context, /, engine: str, workers: int, **flags: Any) -> int | None:
    """Match all papers and references with the catalogue.

    This gives the same rows as the step `match`, which matches papers as they arrive. Here all
    papers are matched in bulk, in the order of the catalogue.

    \b
    fonds match
    fonds match references --engine spark://master:7077
    """
    ctx.obj = ctx.obj.with_flags(**flags)
    if ctx.invoked_subcommand is not None:
        return None
    # References first: the row of a paper contains its number of citations.
    for subject in (REFERENCES, PAPERS):
        _run(ctx.obj, subject, engine, workers)
    return 0


match.params += build_global_options()


class MatchSubject(msgspec.Struct, frozen=True):
    """What was matched with the catalogue of works, as a part of a JSON answer."""

    what: Annotated[str, Meta(description="papers or references")]


class PrintedReference(msgspec.Struct, frozen=True):
    """Printed reference that is matched with the catalogue, as a part of a JSON answer."""

    reference: Annotated[str, Meta(description="the line")]


BulkMatchAnswer = define_answer("BulkMatchAnswer", MatchSubject, TallyReport)
"""JSON answer: the result of matching all papers or references."""

MatchedReference = define_answer("MatchedReference", PrintedReference, Match)
"""JSON answer: a printed reference with the work that it was matched with."""


@command("papers", answers={"one": BulkMatchAnswer})
@engine_option
@workers_option
def match_papers(app: App, engine: str, workers: int) -> int:
    """Match every paper that has a bibliography record.

    Results go to the cells of `match0` and the rows of `matches`.

    \b
    fonds match papers
    """
    return _run(app, PAPERS, engine, workers)


@command("references", answers={"one": BulkMatchAnswer})
@engine_option
@workers_option
def match_references(app: App, engine: str, workers: int) -> int:
    """Match every reference of every paper. Results go to the rows of `citations`.

    \b
    fonds match references
    """
    return _run(app, REFERENCES, engine, workers)


@command("strings", answers={"one for each line": MatchedReference})
@click.argument("file", metavar="FILE|URL|-")
def match_strings(app: App, file: str) -> int:
    """Match printed references, one per line.

    Prints a JSON line for each.

    \b
    fonds match strings references.txt > matched.jsonl
    echo "Brook B. Tides and their banks. J River Res. 1999;7:1-9." | fonds match strings -
    """
    opened_catalog = open_catalog(app)
    with open_named_file(file, app) as path:
        for line in _iter_lines(str(path)):
            citation = parse_reference(line[:STRING_MAX_CHARS])
            result = find(opened_catalog, build_citation_query(citation))
            echo_json(build_answer(MatchedReference, result, reference=line))
    return 0


@command("citations", answers={"one for each reference": CitationRow})
@click.option("--doi", metavar="DOI", help="Only references to this DOI.")
def write_citations(app: App, doi: str | None) -> int:
    """Print who cites whom, as one JSON line per reference.

    A line has the citing file, the number of the reference from 0, its printed text, the matched
    work, and the confidence of the match.

    \b
    fonds match citations > citations.jsonl
    fonds match citations --doi 10.1000/182
    """
    plain_doi = find_doi_in_text(doi) if doi else None
    if doi and plain_doi is None:
        raise ConfigurationError(f"{doi!r} is not a DOI. Example: 10.1000/182")
    count = 0
    for row in app.open_stores().records.find(
        CitationRow, {"doi": plain_doi} if plain_doi else None
    ):
        echo_json(row)
        count += 1
    if not count:
        print_note(
            "no citations of it found" if plain_doi else "no references have been matched yet"
        )
    return 0


def _run(app: App, subject: str, engine: str, workers: int) -> int:
    # Imported here because the jobs and the stores are slow to import.
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.jobs import build_match_job, open_engine
    from fonds.wiring.stores import close_stores, get_utc_now

    settings = app.load_settings()
    job_engine = open_engine(engine, app.home, settings, workers=workers)
    app.require_home()
    open_catalog(app)
    # Create and migrate the stores before several processes open them.
    close_stores(app.open_stores(settings, create=True))
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        tallies = sum_tallies(
            job_engine.run(build_match_job(subject, app.home, settings, get_utc_now()))
        )
    _print_result(app, subject, tallies)
    return 0


def _print_result(app: App, subject: str, tallies: ExampleCounts) -> None:
    counts: Mapping[str, int] = tallies.counts
    if app.is_json:
        echo_json(build_answer(BulkMatchAnswer, build_report(tallies), what=subject))
        return
    screen = open_console()
    screen.print(f"{sum(counts.values()):,} {subject} compared with the catalogue.")
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        screen.print(f"  {count:>12,}  {escape(word)}")


def _iter_lines(file: str) -> Iterator[str]:
    try:
        stream = sys.stdin.buffer if file == "-" else open(file, "rb")  # noqa: SIM115, PTH123
    except OSError as error:
        raise ConfigurationError(f"Cannot read {file}: {cause_of(error)}") from error
    with stream:
        while line := stream.readline(STRING_MAX_CHARS * 4):
            if text := line.decode("utf-8", "replace").strip():
                yield text


for _one in (match_papers, match_references, match_strings, write_citations):
    match.add_command(_one)
