"""`fonds export`: write the library or the results of a search as rows, references or captures.

An exported file gets a manifest, which `fonds verify` uses.
"""

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
from fonds.search.earlier_versions import build_earlier_note
from fonds.search.export_formats import EXPORT_FORMATS, ExportFormat, export_documents
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
FILE_ONLY_MESSAGE = "Parquet cannot be written to standard output. Name a file with --out."

ROWS_ONLY_MESSAGE = (
    "cannot be combined with QUERY, filters or --limit, and needs a format with rows."
)


@dataclass(slots=True)
class ExportCounts:
    """State of an export while it is written: what was counted and collected so far.

    - `contents`: count and hash of the exported documents of a search.
    - `rows`: number of exported rows; used if the whole library or a table is exported.
    - `search`: the exported search; None for an export of rows.
    - `members`: collects one line per exported document for the manifest; None if the manifest
      lists no documents.
    - `columns`: types of the exported columns, by name.
    - `missed`: documents of the search that could not be exported.
    - `generation`: id that the full-text index had for its state when the export began; None if
      unknown.
    """

    contents: ResultContents
    rows: int = 0
    search: ExportedSearch | None = None
    members: ManifestMembers | None = None
    columns: Mapping[str, str] = field(default_factory=lambda: FIELDS)
    missed: MissingDocuments = field(default_factory=MissingDocuments)
    generation: str | None = None

    @property
    def count(self) -> int:
        """Number of exported documents of a search, or of exported rows if no search is
        exported.
        """
        return self.contents.count if self.search else self.rows


@command("export", output="rows in the format of --format; the manifest lists their columns")
@click.argument("query", nargs=-1, metavar="[QUERY]")
@click.option(
    "--format", "form", type=SuggestingChoice("format", list(EXPORT_FORMATS)), default="jsonl"
)
@click.option(
    "--out", metavar="FILE", help="File to write [standard output]. Parquet needs a file."
)
@search_options(*FILTERS[1:], further_kinds=list(TABLES))
@click.option("--limit", type=click.IntRange(1), help="Maximum number of documents of a search.")
@click.option("--no-text", is_flag=True, help="Omit the texts.")
def export(
    app: App,
    query: tuple[str, ...],
    form: str,
    out: str | None,
    limit: int | None,
    no_text: bool,
    **filters: Any,
) -> int:
    """Export files, or the documents of a search: hashes, capture, metadata and text.

    Without QUERY and filters, export one row for each file, ordered by SHA-1. With them, export all
    results of the same `fonds search`, in an order that depends only on the ids. The formats bibtex
    and csl write references, and warc and wacz the archived captures, for documents only.

    With --out, a manifest FILE.manifest.json records query, fields, count, hashes and time. `fonds
    verify` compares it with the file and the library. `--kind citations` exports which papers cite
    which, and `--kind ledger` all inputs and their outcomes, with counts that add up. Files under
    embargo are left out. The exit code is 1 if the content of a document could not be read.

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
    is_library = request is not None and not request.build_filters() and EXPORT_FORMATS[form].rows
    if limit is not None and is_library:
        raise click.UsageError("--limit needs a QUERY. '*' finds all documents.")
    all_stores = app.open_stores()
    stores, matches = all_stores.for_readers(), None
    counts = ExportCounts(
        ResultContents(), members=ManifestMembers(stores.records) if out is not None else None
    )
    if table:
        chunks = _export_table(stores, EXPORT_FORMATS[form], counts, table)
    elif request is None or is_library:
        chunks = _export_library(stores, EXPORT_FORMATS[form], counts, with_text=not no_text)
    else:
        matches = _find_result(stores, request)
        if matches.total and not app.is_quiet:
            print_note(_format_limit(matches.total, limit))
        counts.search, counts.generation = (
            build_exported_search(request, matches, limit),
            matches.generation,
        )
        chunks = _export_result(
            stores, EXPORT_FORMATS[form], counts, matches, limit, with_text=not no_text
        )
    if out is not None:
        # Imported here because the log of actions is slow to import.
        from fonds.cli.acts import record_export

        record_export(all_stores.records, Path(out))
    _write(out, form, counts, chunks, stores.index)
    if not counts.count:
        options = {"format": form, "out": out, "limit": limit}
        retry_command = _format_command(app, options, request, no_text=no_text)
        for sentence in _explain_empty(stores, table, matches, retry_command):
            print_note(sentence)
    _say_missed(counts.missed)
    if out is not None and not app.is_quiet:
        print_note(f"{_format_count(counts, form)} written to {out}, manifest to {out}{SUFFIX}")
    return 1 if counts.missed.count else 0


def _find_table(
    query: tuple[str, ...], form: str, limit: int | None, filters: Mapping[str, Any]
) -> str | None:
    """Return the table that `--kind` names, such as `citations`; None if it names kinds of
    documents.

    - `query`: the search words.
    - `form`: the export format.
    - `limit`: maximum number of rows; None for all.
    - `filters`: values of the filter options, by name.

    Raises click.UsageError for a misspelled table name, and if the export of a table does not
    support one of the other options.
    """
    kinds = filters["kind"]
    table = next((kind for kind in kinds if kind in TABLES), None)
    if table is None:
        for kind_name in kinds:
            if kind_name not in list(Kind) and (near := find_nearest_name(kind_name, TABLES)):
                raise click.UsageError(f"There is no kind {kind_name!r}. Did you mean {near!r}?")
        return None
    other_filters = build_request(query, {**filters, "kind": ()}).build_filters()
    if len(kinds) > 1 or other_filters or limit or EXPORT_FORMATS[form].rows is None:
        raise click.UsageError(f"--kind {table} {ROWS_ONLY_MESSAGE}")
    return str(table)


def _format_count(counts: ExportCounts, form: str) -> str:
    if EXPORT_FORMATS[form].rows is not None:
        return pluralize(counts.count, "row")
    return pluralize(counts.count - counts.missed.count, "document")


def _say_missed(missing_documents: MissingDocuments) -> None:
    """Print notes about the documents that could not be exported."""
    for document in missing_documents.first[:MISSING_NAMES_MAX]:
        print_note(f"not exported: {document.id}: {document.why}")
    if missing_documents.count > MISSING_NAMES_MAX:
        print_note(
            f"{missing_documents.count - MISSING_NAMES_MAX:,} more were not exported; "
            f"the last record, {SUMMARY_URL}, lists them"
        )


def _write(
    out: str | None, form: str, counts: ExportCounts, pieces: Iterator[bytes], index: Index
) -> None:
    """Write an export to standard output, or to a file with a manifest next to it.

    - `out`: path of the file; None for standard output.
    - `form`: the export format.
    - `counts`: counted while `pieces` is read, and used for the manifest.
    - `pieces`: bytes of the export.
    """
    if out is None:
        for chunk in pieces:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    digest = _write_file(Path(out), pieces)
    manifest = _build_manifest(Path(out), form, counts, digest)
    if counts.generation is not None:
        manifest = replace(manifest, generation=confirm_generation(index, counts.generation))
    write_manifest(Path(out), manifest)


def _find_result(stores: Stores, request: SearchRequest) -> MatchCount:
    """Count the documents that a search request finds. Raises click.UsageError for an invalid
    query.
    """
    try:
        return count_request(request, stores)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _format_limit(total: int, limit: int | None) -> str:
    if limit is not None and limit < total:
        return f"{pluralize(total, 'document')} found; the first {limit:,} are exported"
    export_clause = "it is exported" if total == 1 else "all are exported"
    return f"{pluralize(total, 'document')} found; {export_clause}"


def _export_result(
    stores: Stores,
    form: ExportFormat,
    counts: ExportCounts,
    matches: MatchCount,
    limit: int | None,
    *,
    with_text: bool,
) -> Iterator[bytes]:
    # Documents added during the export are exported too.
    documents = counts.contents.collect(
        iter_documents(stores.index, matches.query, limit or sys.maxsize)
    )
    if counts.members is not None:
        documents = counts.members.collect(documents)
    return export_documents(
        form, stores, documents, with_text=with_text, missing_documents=counts.missed
    )


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
    # Imported here because the stores are slow to import.
    from fonds.wiring.stores import get_utc_now

    return Manifest(
        file=path.name,
        format=form,
        rows=counts.count,
        sha256=digest,
        fields=list(counts.columns) if EXPORT_FORMATS[form].rows is not None else [],
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
    """Return a command line for another export. It ends with `--`, so that search words can be
    added.

    - `options`: values of options by name; None omits the option.
    - `request`: search request whose filters are repeated; None for no filters.
    - `no_text`: whether to add `--no-text`.
    """
    named_options = [f"--{name}={value}" for name, value in options.items() if value is not None]
    filters = format_options(request) if request else []
    flags = ["--no-text"] if no_text else []
    return app.format_command(shlex.join(["export", *named_options, *filters, *flags, "--"]))


def _explain_empty(
    stores: Stores, table: str | None, match_count: MatchCount | None, command: str
) -> Iterator[str]:
    """Yield sentences that explain why an export is empty.

    - `table`: the exported table; None if documents are exported.
    - `match_count`: result of the exported search; None if no search is exported.
    - `command`: command line of the export without search words, for suggesting other searches.

    If `table` and `match_count` are both None, the whole library is exported.
    """
    if table is not None:
        yield f"0 rows: {TABLES[table].empty}"
    elif match_count is not None:
        yield from _nothing_found(stores, match_count.query, command)
    else:
        yield "0 rows: the library has no files"


def _nothing_found(stores: Stores, query: SearchQuery, command: str) -> Iterator[str]:
    """Yield the notes that explain why an exported search found nothing, as `fonds search` prints
    them.

    `command` is the command line of the export, up to the search words.
    """
    results = stores.index.search(replace(query, count_max=1, facet_values_max=0))
    yield "0 documents: nothing found."
    yield from results.notes
    if (note := build_earlier_note(results)) is not None and results.earlier_text is not None:
        yield f"{note}; to export them: {command} {shlex.quote(results.earlier_text)}"


def _write_file(path: Path, pieces: Iterator[bytes]) -> str:
    """Write pieces of bytes to a file, atomically by way of a temporary name.

    Return the SHA-256 of its content in hexadecimal. Raises ConfigurationError if the file cannot
    be written.
    """
    partial = path.with_name(path.name + ".part")
    digest = hashlib.sha256()
    try:
        with partial.open("wb") as stream:
            for chunk in pieces:
                digest.update(chunk)
                stream.write(chunk)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"Cannot write {path}: {cause_of(error)}") from error
    return digest.hexdigest()
