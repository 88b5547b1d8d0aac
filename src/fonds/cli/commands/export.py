"""`fonds export`: the library, or what a search finds, as rows or references, with a manifest beside it."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from fonds import __version__
from fonds.cli.context import App, command, say
from fonds.cli.names import Name
from fonds.library.searching.earlier_versions import earlier_note
from fonds.library.searching.exported.forms import FORMS, Form, written
from fonds.library.searching.exported.rows import FIELDS, TABLES, exported
from fonds.library.searching.exported.warcs import SUMMARY_URL, Missed
from fonds.library.searching.manifest import SUFFIX, Asked, Manifest, asked_of, write_manifest
from fonds.library.searching.members import Members
from fonds.library.searching.whole import Contents, Found, found_now, lasted, whole
from fonds.model.document import Match, SearchQuery
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.file import SEARCHED_KINDS, Kind
from fonds.model.names import alternatives, no_such
from fonds.model.numbers import how_many
from fonds.model.rows import EntryRow
from fonds.ports import Index, Stores

KINDS = [*map(str, SEARCHED_KINDS), *TABLES]

MISSED_NAMED = 5
TO_FILES = "parquet cannot be written to standard output: name a file with --out"

ALONE = "are rows of their own: no QUERY, --collection, --limit or form of references"


@dataclass(slots=True)
class Written:
    """What went out: rows of the library are counted here, documents of a result by its contents."""

    contents: Contents
    rows: int = 0
    asked: Asked | None = None
    members: Members | None = None
    columns: Mapping[str, str] = field(default_factory=lambda: FIELDS)
    missed: Missed = field(default_factory=Missed)
    generation: str | None = None

    @property
    def count(self) -> int:
        """How many."""
        return self.contents.count if self.asked else self.rows


@command("export")
@click.argument("query", nargs=-1, metavar="[QUERY]")
@click.option("--format", "form", type=Name("format", list(FORMS)), default="jsonl")
@click.option(
    "--out", metavar="FILE", help="Where to write; standard output if not given (not for parquet)."
)
@click.option("--kind", type=Name("kind", KINDS), metavar="KIND", help=f"{alternatives(KINDS)}.")
@click.option("--collection", metavar="NAME")
@click.option("--limit", type=click.IntRange(1), help="Of a search at most so many documents.")
@click.option(
    "--match",
    type=Name("kind of match", list(Match)),
    default=Match.EXACT.value,
    show_default=True,
    help="exact: documents with all words of QUERY; best: documents with any of them.",
)
@click.option("--no-text", is_flag=True, help="Leave the texts out.")
def export(
    app: App,
    query: tuple[str, ...],
    form: str,
    out: str | None,
    kind: str | None,
    collection: str | None,
    limit: int | None,
    match: str,
    no_text: bool,
) -> int:
    """Write one row for each file, or for each document a QUERY finds: hashes, capture, metadata, text.

    Without QUERY every file that was kept, in the order of their SHA-1; with one the whole result, however
    large, in an order of its own. bibtex and csl are references, warc and wacz the archived captures
    themselves, all of documents alone. Beside FILE a manifest FILE.manifest.json says query, fields, count,
    hashes and when; `fonds verify` holds it against file and library. `--kind citations` is who cites whom,
    `--kind ledger` all that came in and what became of it, with counts that add up. What is under embargo
    is left out. Exit code 1 when bytes of a document could not be had.

    \b
    fonds export > library.jsonl
    fonds export --format parquet --out library.parquet --kind pdf
    fonds export 'flood year:2024' --format csv --out floods.csv --no-text
    fonds export --kind ledger --format csv --out ledger.csv
    fonds export author:müller --format bibtex
    fonds export 'flood kind:story' --format wacz --out floods.wacz
    """
    if form == "parquet" and out is None:
        raise click.UsageError(TO_FILES)
    if kind in TABLES and (query or collection or limit or FORMS[form].rows is None):
        raise click.UsageError(f"{kind} {ALONE}")
    stores = app.stores().for_readers()
    text = " ".join(query) or ("" if FORMS[form].rows else "*")
    if limit is not None and not text:
        raise click.UsageError("--limit is for the documents of a QUERY; '*' finds all of them")
    found = None
    done = Written(Contents(), members=Members(stores.records) if out is not None else None)
    if kind is not None and kind in TABLES:
        pieces = _table(stores, FORMS[form], done, kind)
    elif text:
        found = _found(stores, text, kind, collection, Match(match))
        if found.total and not app.quiet:
            say(_promised(found.total, limit))
        pieces = _result(stores, FORMS[form], done, found, limit, with_text=not no_text)
    else:
        pieces = _library(stores, FORMS[form], done, kind, collection, with_text=not no_text)
    _write(out, form, done, pieces, stores.index)
    if not done.count:
        options = {
            "format": form, "out": out, "kind": kind, "collection": collection, "limit": limit,
            "match": match,
        }  # fmt: skip
        again = _command(app, options, no_text=no_text)
        for sentence in _nothing(stores, kind, collection, found, again):
            say(sentence)
    _say_missed(done.missed)
    if out is not None and not app.quiet:
        say(f"{_counted(done, form)} in {out}, and {out}{SUFFIX} beside it")
    return 1 if done.missed.count else 0


def _counted(done: Written, form: str) -> str:
    if FORMS[form].rows is not None:
        return how_many(done.count, "row")
    return how_many(done.count - done.missed.count, "document")


def _say_missed(missed: Missed) -> None:
    """Say which documents could not be written."""
    for one in missed.first[:MISSED_NAMED]:
        say(f"not in it: {one.id}: {one.why}")
    if missed.count > MISSED_NAMED:
        say(f"and {missed.count - MISSED_NAMED:,} more; the last record, {SUMMARY_URL}, names them")


def _write(
    out: str | None, form: str, done: Written, pieces: Iterator[bytes], index: Index
) -> None:
    """To standard output, or to a file with its manifest."""
    if out is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    digest = _write_file(Path(out), pieces)
    manifest = _manifest(Path(out), form, done, digest)
    if done.generation is not None:
        manifest = replace(manifest, generation=lasted(index, done.generation))
    write_manifest(Path(out), manifest)


def _found(
    stores: Stores, text: str, kind: str | None, collection: str | None, match: Match
) -> Found:
    """What a query finds. Raises click.UsageError for a query that is none."""
    query = SearchQuery(
        text,
        kinds=[Kind(kind)] if kind else [],
        collections=[collection] if collection else [],
        match=match,
    )
    try:
        return found_now(stores.index, query)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _promised(total: int, limit: int | None) -> str:
    if limit is not None and limit < total:
        return f"{how_many(total, 'document')} found; the first {limit:,} of them are written"
    written = "it is written" if total == 1 else "all of them are written"
    return f"{how_many(total, 'document')} found; {written}"


def _result(
    stores: Stores, form: Form, done: Written, found: Found, limit: int | None, *, with_text: bool
) -> Iterator[bytes]:
    done.asked, done.generation = asked_of(found, limit), found.generation
    # What comes while it is written is written too.
    documents = done.contents.noted(whole(stores.index, found.query, limit or sys.maxsize))
    if done.members is not None:
        documents = done.members.noted(documents)
    return written(form, stores, documents, with_text=with_text, missed=done.missed)


def _library(
    stores: Stores,
    form: Form,
    done: Written,
    kind: str | None,
    collection: str | None,
    *,
    with_text: bool,
) -> Iterator[bytes]:
    def counted() -> Iterator[dict[str, object]]:
        for row in exported(stores, with_text=with_text):
            if kind in (None, row["kind"]) and collection in (None, row["collection"]):
                done.rows += 1
                yield row

    return form.rows(counted(), FIELDS) if form.rows else iter(())


def _table(stores: Stores, form: Form, done: Written, name: str) -> Iterator[bytes]:
    table = TABLES[name]
    done.columns = table.columns

    def counted() -> Iterator[dict[str, object]]:
        for row in table.rows(stores):
            done.rows += 1
            yield row

    return form.rows(counted(), table.columns) if form.rows else iter(())


def _manifest(path: Path, form: str, done: Written, digest: str) -> Manifest:
    from fonds.wiring.backends import now

    return Manifest(
        file=path.name,
        format=form,
        rows=done.count,
        sha256=digest,
        fields=list(done.columns) if FORMS[form].rows is not None else [],
        written_at=now(),
        fonds=__version__,
        asked=done.asked,
        documents_sha256=done.contents.sha256hex if done.asked else None,
        extractors=list(done.members.extractors) if done.members else (),
        documents=done.members.lines if done.members and done.asked else None,
    )


def _command(app: App, options: Mapping[str, object], *, no_text: bool) -> str:
    """Return the command line of an export with these options, up to its query."""
    named = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return app.told(shlex.join(["export", *named, *(["--no-text"] if no_text else []), "--"]))


def _nothing(
    stores: Stores, kind: str | None, collection: str | None, found: Found | None, command: str
) -> Iterator[str]:
    """Return sentences that say why an export has no rows. `command` exports another query."""
    if kind is not None and kind in TABLES:
        yield f"0 rows: {TABLES[kind].empty}"
    elif found is not None:
        yield from _nothing_found(stores, found.query, command)
    elif collection is not None and collection not in (known := _collections(stores)):
        yield f"0 rows: {no_such('collection', collection, known)}"
    else:
        what = f"no file of the kind {kind}" if kind else "no file"
        where = f"in the collection {collection}" if collection else "here"
        yield f"0 rows: {what} is {where}"


def _collections(stores: Stores) -> list[str]:
    return sorted(name for (name,) in stores.records.count(EntryRow, ("collection",)))


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
