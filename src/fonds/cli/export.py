"""`fonds export`: the library, or what a search finds, as rows or references, with a manifest beside it."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from fonds import __version__
from fonds.cli.context import App, command, print_note
from fonds.cli.names import SuggestingChoice
from fonds.cli.search_options import build_request, format_options, search_options
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.file import Kind
from fonds.model.search import SearchQuery
from fonds.model.suggestions import find_nearest_name
from fonds.ports import Index, Stores
from fonds.search.earlier_versions import earlier_note
from fonds.search.export_formats import FORMS, ExportFormat, export_documents
from fonds.search.export_rows import FIELDS, TABLES, iter_library_rows
from fonds.search.export_warcs import SUMMARY_URL, MissingDocuments
from fonds.search.manifest import (
    SUFFIX,
    ExportedSearch,
    Manifest,
    ManifestMembers,
    build_exported_search,
    write_manifest,
)
from fonds.search.request import FILTERS, SearchRequest
from fonds.search.run_search import count_request
from fonds.search.scan import (
    MatchCount,
    ResultContents,
    confirm_generation,
    iter_documents,
)

MISSING_NAMES_MAX = 5
FILE_ONLY_MESSAGE = "parquet cannot be written to standard output: name a file with --out"

ALONE = "are rows of their own: no QUERY, no filter, no --limit and no form of references"


@dataclass(slots=True)
class ExportCounts:
    """What went out: rows of the library are counted here, documents of a result by its contents."""

    contents: ResultContents
    rows: int = 0
    search: ExportedSearch | None = None
    members: ManifestMembers | None = None
    columns: Mapping[str, str] = field(default_factory=lambda: FIELDS)
    missed: MissingDocuments = field(default_factory=MissingDocuments)
    generation: str | None = None

    @property
    def count(self) -> int:
        """How many."""
        return self.contents.count if self.search else self.rows


@command("export")
@click.argument("query", nargs=-1, metavar="[QUERY]")
@click.option("--format", "form", type=SuggestingChoice("format", list(FORMS)), default="jsonl")
@click.option(
    "--out", metavar="FILE", help="Where to write; standard output if not given (not for parquet)."
)
@search_options(*FILTERS[1:], further_kinds=list(TABLES))
@click.option("--limit", type=click.IntRange(1), help="Maximum documents of a search.")
@click.option("--no-text", is_flag=True, help="Leave the texts out.")
def export(
    app: App,
    query: tuple[str, ...],
    form: str,
    out: str | None,
    limit: int | None,
    no_text: bool,
    **filters: Any,
) -> int:
    """Write one row for each file, or for each document of a search: hashes, capture, metadata, text.

    Without QUERY and filters every file that was kept, in the order of their SHA-1. With them the whole
    result, however large, of the same search by `fonds search`, in an order of its own. bibtex and csl are
    references, warc and wacz the archived captures themselves, all of documents alone. Beside FILE a manifest
    FILE.manifest.json says query, fields, count, hashes and when; `fonds verify` holds it against file and
    library. `--kind citations` is who cites whom, `--kind ledger` all that came in and what became of it,
    with counts that add up. What is under embargo is left out. Exit code 1 when bytes of a document could
    not be had.

    \b
    fonds export > library.jsonl
    fonds export --format parquet --out library.parquet --kind pdf
    fonds export 'flood year:2024' --format csv --out floods.csv --no-text
    fonds export --kind ledger --format csv --out ledger.csv
    fonds export author:müller --format bibtex
    fonds export 'flood kind:story' --format wacz --out floods.wacz
    """
    if form == "parquet" and out is None:
        raise click.UsageError(FILE_ONLY_MESSAGE)
    table = _find_table(query, form, limit, filters)
    request = None if table else build_request(query, filters)
    is_library = request is not None and not request.build_filters() and FORMS[form].rows
    if limit is not None and is_library:
        raise click.UsageError("--limit is for the documents of a QUERY; '*' finds all of them")
    stores = app.open_stores().for_readers()
    found = None
    done = ExportCounts(
        ResultContents(), members=ManifestMembers(stores.records) if out is not None else None
    )
    if table:
        pieces = _export_table(stores, FORMS[form], done, table)
    elif request is None or is_library:
        pieces = _export_library(stores, FORMS[form], done, with_text=not no_text)
    else:
        found = _find_result(stores, request)
        if found.total and not app.is_quiet:
            print_note(_format_limit(found.total, limit))
        done.search, done.generation = (
            build_exported_search(request, found, limit),
            found.generation,
        )
        pieces = _export_result(stores, FORMS[form], done, found, limit, with_text=not no_text)
    _write(out, form, done, pieces, stores.index)
    if not done.count:
        options = {"format": form, "out": out, "limit": limit}
        again = _format_command(app, options, request, no_text=no_text)
        for sentence in _explain_empty(stores, table, found, again):
            print_note(sentence)
    _say_missed(done.missed)
    if out is not None and not app.is_quiet:
        print_note(f"{_format_count(done, form)} in {out}, and {out}{SUFFIX} beside it")
    return 1 if done.missed.count else 0


def _find_table(
    query: tuple[str, ...], form: str, limit: int | None, filters: Mapping[str, Any]
) -> str | None:
    """Return the name of the rows that `--kind` names. Raises click.UsageError for other options with it."""
    kinds = filters["kind"]
    table = next((kind for kind in kinds if kind in TABLES), None)
    if table is None:
        for one in kinds:
            if one not in list(Kind) and (near := find_nearest_name(one, TABLES)):
                raise click.UsageError(f"there is no kind {one!r}; did you mean {near!r}?")
        return None
    others = build_request(query, {**filters, "kind": ()}).build_filters()
    if len(kinds) > 1 or others or limit or FORMS[form].rows is None:
        raise click.UsageError(f"{table} {ALONE}")
    return str(table)


def _format_count(counts: ExportCounts, form: str) -> str:
    if FORMS[form].rows is not None:
        return pluralize(counts.count, "row")
    return pluralize(counts.count - counts.missed.count, "document")


def _say_missed(missed: MissingDocuments) -> None:
    """Say which documents could not be written."""
    for one in missed.first[:MISSING_NAMES_MAX]:
        print_note(f"not in it: {one.id}: {one.why}")
    if missed.count > MISSING_NAMES_MAX:
        print_note(
            f"and {missed.count - MISSING_NAMES_MAX:,} more; the last record, {SUMMARY_URL}, names them"
        )


def _write(
    out: str | None, form: str, counts: ExportCounts, pieces: Iterator[bytes], index: Index
) -> None:
    """To standard output, or to a file with its manifest."""
    if out is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    digest = _write_file(Path(out), pieces)
    manifest = _build_manifest(Path(out), form, counts, digest)
    if counts.generation is not None:
        manifest = replace(manifest, generation=confirm_generation(index, counts.generation))
    write_manifest(Path(out), manifest)


def _find_result(stores: Stores, request: SearchRequest) -> MatchCount:
    """Count what a search finds. Raises click.UsageError for a search that cannot be understood."""
    try:
        return count_request(request, stores)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _format_limit(total: int, limit: int | None) -> str:
    if limit is not None and limit < total:
        return f"{pluralize(total, 'document')} found; the first {limit:,} of them are written"
    written = "it is written" if total == 1 else "all of them are written"
    return f"{pluralize(total, 'document')} found; {written}"


def _export_result(
    stores: Stores,
    form: ExportFormat,
    counts: ExportCounts,
    matches: MatchCount,
    limit: int | None,
    *,
    with_text: bool,
) -> Iterator[bytes]:
    # What comes while it is written is written too.
    documents = counts.contents.collect(
        iter_documents(stores.index, matches.query, limit or sys.maxsize)
    )
    if counts.members is not None:
        documents = counts.members.collect(documents)
    return export_documents(form, stores, documents, with_text=with_text, missed=counts.missed)


def _export_library(
    stores: Stores,
    form: ExportFormat,
    counts: ExportCounts,
    *,
    with_text: bool,
) -> Iterator[bytes]:
    def counted() -> Iterator[dict[str, object]]:
        for row in iter_library_rows(stores, with_text=with_text):
            counts.rows += 1
            yield row

    return form.rows(counted(), FIELDS) if form.rows else iter(())


def _export_table(
    stores: Stores, form: ExportFormat, counts: ExportCounts, name: str
) -> Iterator[bytes]:
    table = TABLES[name]
    counts.columns = table.columns

    def counted() -> Iterator[dict[str, object]]:
        for row in table.rows(stores):
            counts.rows += 1
            yield row

    return form.rows(counted(), table.columns) if form.rows else iter(())


def _build_manifest(path: Path, form: str, counts: ExportCounts, digest: str) -> Manifest:
    from fonds.wiring.stores import get_utc_now

    return Manifest(
        file=path.name,
        format=form,
        rows=counts.count,
        sha256=digest,
        fields=list(counts.columns) if FORMS[form].rows is not None else [],
        written_at=get_utc_now(),
        fonds=__version__,
        search=counts.search,
        documents_sha256=counts.contents.sha256hex if counts.search else None,
        extractors=list(counts.members.extractors) if counts.members else (),
        documents=counts.members.lines if counts.members and counts.search else None,
    )


def _format_command(
    app: App, options: Mapping[str, object], request: SearchRequest | None, *, no_text: bool
) -> str:
    """Return the command line of an export with these options and filters, up to its query."""
    named = [f"--{name}={value}" for name, value in options.items() if value is not None]
    filters = format_options(request) if request else []
    flags = ["--no-text"] if no_text else []
    return app.format_command(shlex.join(["export", *named, *filters, *flags, "--"]))


def _explain_empty(
    stores: Stores, table: str | None, found: MatchCount | None, command: str
) -> Iterator[str]:
    """Return sentences that say why an export has no rows. `command` exports another query."""
    if table is not None:
        yield f"0 rows: {TABLES[table].empty}"
    elif found is not None:
        yield from _nothing_found(stores, found.query, command)
    else:
        yield "0 rows: no file is here"


def _nothing_found(stores: Stores, query: SearchQuery, command: str) -> Iterator[str]:
    """Return what `fonds search` says of a query that finds nothing."""
    results = stores.index.search(replace(query, count_max=1, facet_values_max=0))
    yield "0 documents: nothing found."
    yield from results.notes
    if (note := earlier_note(results)) is not None and results.earlier_text is not None:
        yield f"{note}; to export them: {command} {shlex.quote(results.earlier_text)}"


def _write_file(path: Path, pieces: Iterator[bytes]) -> str:
    """Whole or not at all: under another name until it is complete. The SHA-256 of what was written."""
    partial = path.with_name(path.name + ".part")
    digest = hashlib.sha256()
    try:
        with partial.open("wb") as stream:
            for piece in pieces:
                digest.update(piece)
                stream.write(piece)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"{path} cannot be written: {cause_of(error)}") from error
    return digest.hexdigest()
