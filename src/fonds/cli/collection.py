"""`fonds collection`: create, list, fill and delete collections of documents to be grouped."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import Annotated, Any, BinaryIO

import click
import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.acts import record_act
from fonds.cli.collection_arguments import (
    convert_usage_errors,
    parse_name,
    read_lines,
    require_collection,
)
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
from fonds.grouping.changes import lifecycle as changing
from fonds.grouping.changes.lifecycle import CollectionRule, validate_rule
from fonds.grouping.changes.writer import PutCounts
from fonds.grouping.document import Document
from fonds.grouping.names import validate_name
from fonds.grouping.views.clusterings import (
    ClusteringView,
    CollectionView,
    RebuildProgress,
    iter_collections,
    list_clusterings,
    list_progress,
)
from fonds.model.encoding import pluralize
from fonds.model.suggestions import format_unknown_name
from fonds.stores.home_lock import create_home
from fonds.wiring.collections import create_collector, open_collection_writer, open_tables

TERMS_MAX = 100_000


CollectionAnswer = define_answer(
    "CollectionAnswer",
    CollectionView,
    collection=Annotated[str, Meta(description="name of the collection: NAMESPACE/KEY")],
)
"""JSON answer: a collection, with the name that other commands take."""

CollectionDetailAnswer = define_answer(
    "CollectionDetailAnswer",
    CollectionAnswer,
    clusterings=Annotated[Sequence[ClusteringView], Meta(description="stored clusterings")],
    building=Annotated[Sequence[RebuildProgress], Meta(description="rebuilds in progress")],
)
"""JSON answer: a collection with its clusterings and rebuilds."""


class CreatedCollectionAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a collection that was created or changed."""

    collection: Annotated[str, Meta(description="name of the collection: NAMESPACE/KEY")]
    new: Annotated[bool, Meta(description="whether the collection was created")]
    put: Annotated[int, Meta(description="number of documents added by the query")]


class AddedDocumentsAnswer(msgspec.Struct, frozen=True):
    """JSON answer: numbers of documents that were added to a collection."""

    added: Annotated[int, Meta(description="number of new documents")]
    replaced: Annotated[int, Meta(description="number of documents that replaced others")]
    unchanged: Annotated[int, Meta(description="number of documents that existed already")]
    refused: Annotated[int, Meta(description="number of lines that are not documents")]


class RemovedDocumentsAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of documents that were removed from a collection."""

    removed: Annotated[int, Meta(description="number of documents removed")]
    absent: Annotated[int, Meta(description="number of documents that were not in the collection")]


class DeletedCollectionAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a collection that was deleted."""

    deleted: Annotated[str, Meta(description="name of the collection: NAMESPACE/KEY")]
    documents: Annotated[int, Meta(description="number of documents in it")]


class TermFrequency(msgspec.Struct, frozen=True):
    """Number of documents in a collection that contain a term."""

    term: str
    documents: int


class FrequenciesAnswer(msgspec.Struct, frozen=True):
    """JSON answer: document frequencies of the terms of a collection."""

    collection: Annotated[str, Meta(description="name of the collection: NAMESPACE/KEY")]
    documents: Annotated[int, Meta(description="number of documents counted")]
    terms: Annotated[int, Meta(description="number of distinct terms")]
    most: Annotated[Sequence[TermFrequency], Meta(description="the most frequent terms")]


@command("frequencies", answers={"one": FrequenciesAnswer})
@click.argument("name", metavar="COLLECTION")
@click.option(
    "--conf", default="DEFAULT", show_default=True, help="Configuration whose filters apply."
)
@click.option(
    "--count",
    type=click.IntRange(1, TERMS_MAX),
    default=50,
    show_default=True,
    help="Number of terms to show.",
)
@engine_option
@workers_option
def frequencies(app: App, name: str, conf: str, count: int, engine: str, workers: int) -> int:
    """Count the documents that contain each term.

    The most frequent terms come first.

    Terms are the ones that grouping uses: case-folded words without stop words. Each near-duplicate
    counts.

    \b
    fonds collection frequencies news/floods
    fonds collection frequencies news/floods --count 1000 --json --engine spark://master:7077
    """
    # Imported here because scikit-learn is slow to import.
    from fonds.wiring.grouping_jobs import count_document_frequencies

    settings = app.load_settings()
    tables = open_tables(app.open_stores(), settings)
    collection_view = require_collection(tables, name)
    with convert_usage_errors():
        documents, counts = count_document_frequencies(
            tables, collection_view.name, conf, engine, app.home, settings, workers=workers
        )
    terms = list(counts)
    total, most_frequent = len(terms), nlargest(count, terms, key=lambda term: term[1])
    if app.is_json:
        rows = [TermFrequency(term, n_documents) for term, n_documents in most_frequent]
        echo_json(FrequenciesAnswer(str(collection_view.name), documents, total, rows))
        return 0
    screen = open_console()
    screen.print(
        f"{pluralize(documents, 'document')}, {pluralize(total, 'term')}. The most frequent:"
    )
    for term, n_documents in most_frequent:
        screen.print(f"{n_documents:>12,}  {escape(term)}")
    return 0


BATCH_SIZE = 500
FAULTS_MAX = 20


@click.group("collection", cls=CommandGroup)
@click.pass_context
def collection(ctx: click.Context, /, **flags: Any) -> None:
    """Manage collections of documents to be grouped.

    A collection contains the documents that match a search, or documents that you add.

    COLLECTION is NAMESPACE/KEY. `fonds group` builds the clusters of a collection, and `fonds
    clusters` shows them.

    \b
    fonds collection create news/floods --query 'kind:story flood date:2026-11'
    fonds collection create 'news/{month}' --query 'kind:story'
    fonds collection add survey/answers answers.jsonl
    fonds collection list
    """
    ctx.obj = ctx.obj.with_flags(**flags)


collection.params += build_global_options()


@command("create", answers={"one": CreatedCollectionAnswer})
@click.argument("name", metavar="COLLECTION")
@click.option(
    "--query", default="", help="Query whose results are added automatically; see `fonds search`."
)
def create(app: App, name: str, query: str) -> int:
    """Create a collection, or change the query of an existing one.

    Matching documents are added now and whenever they enter the library. The query is one of
    `fonds search`; date:2026-11 restricts it to a month. If the key contains {month}, {year},
    {language} or {kind}, there is one collection for each value.

    \b
    fonds collection create news/floods --query 'kind:story (flood OR "high water")'
    fonds collection create 'news/{language}' --query 'kind:story'
    fonds collection create survey/answers
    """
    with convert_usage_errors():
        collection_name = validate_name(parse_name(name))
    create_home(app.home)
    stores = app.open_stores(create=True)
    writer = open_collection_writer(stores, app.load_settings())
    if query or CollectionRule(collection_name, query).is_template:
        with convert_usage_errors():
            validate_rule(CollectionRule(collection_name, query), stores.index)
    template = collection_name.key if CollectionRule(collection_name, query).is_template else ""
    with record_act(stores.records, f"fonds collection create {collection_name}"):
        is_new = changing.create(writer, collection_name, query, template)
    result = (
        create_collector(stores, writer).run(collection_name, refetches=True) if query else None
    )
    n_added = 0 if result is None else result.put_count
    if app.is_json:
        echo_json(CreatedCollectionAnswer(str(collection_name), is_new, n_added))
        return 0
    state = "created" if is_new else "changed"
    open_console().print(
        f"{escape(str(collection_name))} {state}: {pluralize(n_added, 'document')} added."
    )
    return 0


@command("list", answers={"one for each collection": CollectionAnswer})
@click.argument("namespace", required=False)
def list_(app: App, namespace: str | None) -> int:
    """List collections with size, last change and clusterings.

    With NAMESPACE, list only the collections in it.

    \b
    fonds collection list
    fonds collection list news --json
    """
    tables = open_tables(app.open_stores(), app.load_settings())
    table = Table(
        "Collection", "Documents", "Changed", "Rebuilt", "Query", box=None, pad_edge=False
    )
    count = 0
    for view in iter_collections(tables, namespace):
        count += 1
        if app.is_json:
            echo_json(build_answer(CollectionAnswer, view, collection=str(view.name)))
            continue
        served_text = ", ".join(
            f"{clustering.conf} {format_seconds(clustering.rebuilt)}" for clustering in view.served
        )
        table.add_row(
            escape(str(view.name)),
            f"{view.size:,}",
            format_seconds(view.modified),
            served_text or "never",
            escape(view.query),
        )
    if not app.is_json:
        open_console().print(
            table if count else "No collections. Run `fonds collection create` to create one."
        )
    if namespace is not None and not count:
        names = dict.fromkeys(view.name.namespace for view in iter_collections(tables))
        print_note(format_unknown_name("namespace", namespace, names))
    return 0


@command("show", answers={"one": CollectionDetailAnswer})
@click.argument("name", metavar="COLLECTION")
def show(app: App, name: str) -> int:
    """Show a collection's query, clusterings and rebuilds.

    \b
    fonds collection show news/floods
    """
    stores = app.open_stores()
    writer = open_collection_writer(stores, app.load_settings())
    collection_view = require_collection(writer.tables, name)
    clusterings = list_clusterings(writer.tables, collection_view.name)
    rebuilds = list_progress(writer.tables, writer.leases, collection_view.name)
    if app.is_json:
        answer = build_answer(
            CollectionDetailAnswer,
            collection_view,
            collection=str(collection_view.name),
            clusterings=clusterings,
            building=rebuilds,
        )
        echo_json(answer)
        return 0
    screen = open_console()
    screen.print(
        f"[bold]{escape(str(collection_view.name))}[/bold]  {pluralize(collection_view.size, 'document')}"
    )
    screen.print(
        f"changed {format_seconds(collection_view.modified)}; rule: {escape(collection_view.query) or 'none'}"
    )
    for clustering in clusterings:
        state = "served" if clustering.is_served else "kept"
        screen.print(
            f"{clustering.conf} {clustering.timestamp} ({format_seconds(clustering.timestamp)}), {state}: "
            f"{pluralize(clustering.documents, 'document')} in "
            f"{pluralize(clustering.clusters, 'cluster')}; {clustering.later:,} added later, "
            f"{clustering.later_outliers:,} of them outliers"
        )
    for rebuild in rebuilds:
        screen.print(
            f"{rebuild.conf} is being rebuilt: {rebuild.stage} {rebuild.done:,} of {rebuild.total:,},"
            f" by {escape(rebuild.who or 'an unknown process')}"
        )
    return 0


@command("add", answers={"one": AddedDocumentsAnswer})
@click.argument("name", metavar="COLLECTION")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL|-...")
def add(app: App, name: str, files: tuple[str, ...]) -> int:
    """Add documents to a collection from JSON lines.

    Each line has `id` and `text`, and optionally `title`, `url`, `language` and `time` (seconds
    since 1970). A document whose id exists already is replaced. `-` reads standard input. Invalid
    lines are reported and skipped; the exit code is then 1.

    \b
    fonds collection add survey/answers answers.jsonl
    """
    collection_name = parse_name(name)
    create_home(app.home)
    writer = open_collection_writer(app.open_stores(create=True), app.load_settings())
    counts, faults, batch = PutCounts(), 0, list[Document]()

    def put() -> None:
        batch_counts = writer.put(collection_name, batch)
        counts.added += batch_counts.added
        counts.replaced += batch_counts.replaced
        counts.unchanged += batch_counts.unchanged
        batch.clear()

    for line in _iter_documents(app, files):
        if isinstance(line, str):
            faults += 1
            if faults <= FAULTS_MAX:
                print_note(line)
            continue
        batch.append(line)
        if len(batch) >= BATCH_SIZE:
            put()
    put()
    _print_added(app, counts, faults)
    return 1 if faults else 0


@command("remove", answers={"one": RemovedDocumentsAnswer})
@click.argument("name", metavar="COLLECTION")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
def remove(app: App, name: str, ids: tuple[str, ...]) -> int:
    """Remove documents from a collection and from all its clusters.

    \b
    fonds collection remove survey/answers a17 a18
    """
    writer = open_collection_writer(app.open_stores(), app.load_settings())
    collection_view = require_collection(writer.tables, name)
    count = writer.delete(collection_view.name, ids)
    if app.is_json:
        echo_json(RemovedDocumentsAnswer(count, len(set(ids)) - count))
        return 0
    absent_count = len(set(ids)) - count
    open_console().print(
        f"{count:,} removed"
        + (f"; {absent_count:,} not in the collection." if absent_count else ".")
    )
    return 0


@command("delete", answers={"one": DeletedCollectionAnswer})
@click.argument("name", metavar="COLLECTION")
def delete(app: App, name: str) -> int:
    """Delete a collection with its documents and clusterings. The library is not changed.

    \b
    fonds collection delete survey/answers
    """
    stores = app.open_stores()
    writer = open_collection_writer(stores, app.load_settings())
    collection_view = require_collection(writer.tables, name)
    with record_act(stores.records, f"fonds collection delete {collection_view.name}"):
        changing.remove(writer, collection_view.name)
    if app.is_json:
        echo_json(DeletedCollectionAnswer(str(collection_view.name), collection_view.size))
        return 0
    open_console().print(
        f"{escape(str(collection_view.name))} deleted with "
        f"{pluralize(collection_view.size, 'document')}."
    )
    return 0


for each in (create, list_, show, add, remove, delete, frequencies):
    collection.add_command(each)


def format_seconds(seconds: int | None) -> str:
    """Return a time, given in Unix seconds, as date and time in UTC; `never` for None."""
    return (
        "never" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    )


def _iter_documents(app: App, files: tuple[str, ...]) -> Iterator[Document | str]:
    for name in files:
        if name == "-":
            yield from read_lines(sys.stdin.buffer, "standard input")
            continue
        with open_named_file(name, app) as path:
            try:
                stream: BinaryIO = path.open("rb")
            except OSError as error:
                raise click.UsageError(f"{name}: {error.strerror}") from error
            with stream:
                yield from read_lines(stream, name)


def _print_added(app: App, counts: PutCounts, faults: int) -> None:
    if app.is_json:
        echo_json(build_answer(AddedDocumentsAnswer, counts, refused=faults))
        return
    summary = (
        f"{counts.added:,} added, {counts.replaced:,} replaced, {counts.unchanged:,} unchanged"
    )
    refused_text = pluralize(faults, "line is not a document", "lines are not documents")
    open_console().print(f"{summary}; {refused_text}." if faults else f"{summary}.")
