"""`fonds collection`: documents that are grouped together, and what fills them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nlargest
from typing import Any, BinaryIO

import click
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
from fonds.cli.names import CommandGroup
from fonds.cli.table_options import engine_option, workers_option
from fonds.grouping.changes import lifecycle as changing
from fonds.grouping.changes.lifecycle import CollectionRule, validate_rule
from fonds.grouping.changes.writer import PutCounts
from fonds.grouping.document import Document
from fonds.grouping.names import validate_name
from fonds.grouping.views.clusterings import (
    CollectionView,
    iter_collections,
    list_clusterings,
    list_progress,
)
from fonds.model.encoding import pluralize
from fonds.model.suggestions import format_unknown_name
from fonds.stores.home_lock import create_home
from fonds.wiring.collections import create_collector, open_changes, open_tables

# `fonds collection frequencies`: in how many documents of a collection each term stands.


TERMS_MAX = 100_000


@command("frequencies")
@click.argument("name", metavar="COLLECTION")
@click.option("--conf", default="DEFAULT", show_default=True, help="Whose filters hold.")
@click.option(
    "--count",
    type=click.IntRange(1, TERMS_MAX),
    default=50,
    show_default=True,
    help="How many terms are shown.",
)
@engine_option
@workers_option
def frequencies(app: App, name: str, conf: str, count: int, engine: str, workers: int) -> int:
    """Count in how many documents each term stands, those in most documents first.

    Terms are those grouping reads: folded words without function words. Near-duplicates count each.

    \b
    fonds collection frequencies news/floods
    fonds collection frequencies news/floods --count 1000 --json --engine spark://master:7077
    """
    from fonds.wiring.jobs import count_document_frequencies

    settings = app.load_settings()
    tables = open_tables(app.open_stores(), settings)
    one = require_collection(tables, name)
    with convert_usage_errors():
        documents, counts = count_document_frequencies(
            tables, one.name, conf, engine, app.home, settings, workers=workers
        )
    found = list(counts)
    total, most = len(found), nlargest(count, found, key=lambda told: told[1])
    if app.is_json:
        shown = [{"term": term, "documents": met} for term, met in most]
        echo_json(
            {"collection": str(one.name), "documents": documents, "terms": total, "most": shown}
        )
        return 0
    screen = open_console()
    screen.print(
        f"{pluralize(documents, 'document')}, {pluralize(total, 'term')}; in most documents stand:"
    )
    for term, met in most:
        screen.print(f"{met:>12,}  {escape(term)}")
    return 0


BATCH_SIZE = 500
FAULTS_MAX = 20


@click.group("collection", cls=CommandGroup)
@click.pass_context
def collection(ctx: click.Context, /, **flags: Any) -> None:
    """Say which documents are grouped together: those a search finds, or those you put.

    COLLECTION is NAMESPACE/KEY. `fonds group` makes clusters of one, `fonds clusters` shows them.

    \b
    fonds collection create news/floods --query 'kind:story flood published:2026-11'
    fonds collection create 'news/{month}' --query 'kind:story'
    fonds collection add survey/answers answers.jsonl
    fonds collection list
    """
    ctx.obj = ctx.obj.with_flags(**flags)


collection.params += build_global_options()


@command("create")
@click.argument("name", metavar="COLLECTION")
@click.option(
    "--query", default="", help="The search whose documents it takes in; see `fonds search`."
)
def create(app: App, name: str, query: str) -> int:
    """Make a collection, or give one another rule. What matches is taken in now, and whenever it comes.

    The query may say published:2026, published:2026-11 or published:2026-11-22. With {month}, {year},
    {language} or {kind} in its key there is one collection for each value.

    \b
    fonds collection create news/floods --query 'kind:story (flood OR "high water")'
    fonds collection create 'news/{language}' --query 'kind:story'
    fonds collection create survey/answers
    """
    with convert_usage_errors():
        wanted = validate_name(parse_name(name))
    create_home(app.home)
    stores = app.open_stores(create=True)
    changes = open_changes(stores, app.load_settings())
    if query or CollectionRule(wanted, query).is_template:
        with convert_usage_errors():
            validate_rule(CollectionRule(wanted, query), stores.index)
    template = wanted.key if CollectionRule(wanted, query).is_template else ""
    with record_act(stores.records, f"fonds collection create {wanted}"):
        is_new = changing.create(changes, wanted, query, template)
    done = create_collector(stores, changes).run(wanted, refetches=True) if query else None
    put = 0 if done is None else done.put
    if app.is_json:
        echo_json({"collection": str(wanted), "new": is_new, "put": put})
        return 0
    open_console().print(
        f"{escape(str(wanted))} {'made' if is_new else 'changed'}: {pluralize(put, 'document')} put."
    )
    return 0


@command("list")
@click.argument("namespace", required=False)
def list_(app: App, namespace: str | None) -> int:
    """Show the collections there are, or those of a namespace: documents, last change, clusterings.

    \b
    fonds collection list
    fonds collection list news --json
    """
    tables = open_tables(app.open_stores(), app.load_settings())
    table = Table(
        "Collection", "Documents", "Changed", "Rebuilt", "Query", box=None, pad_edge=False
    )
    count = 0
    for one in iter_collections(tables, namespace):
        count += 1
        if app.is_json:
            echo_json(_build_facts(one))
            continue
        served = ", ".join(f"{each.conf} {format_seconds(each.rebuilt)}" for each in one.served)
        table.add_row(
            escape(str(one.name)),
            f"{one.size:,}",
            format_seconds(one.modified),
            served or "never",
            escape(one.query),
        )
    if not app.is_json:
        open_console().print(
            table if count else "There is no collection. `fonds collection create` makes one."
        )
    if namespace is not None and not count:
        names = dict.fromkeys(one.name.namespace for one in iter_collections(tables))
        print_note(format_unknown_name("namespace", namespace, names))
    return 0


@command("show")
@click.argument("name", metavar="COLLECTION")
def show(app: App, name: str) -> int:
    """Show one collection: its rule, its clusterings, and how far a rebuild is.

    \b
    fonds collection show news/floods
    """
    stores = app.open_stores()
    changes = open_changes(stores, app.load_settings())
    one = require_collection(changes.tables, name)
    made = list_clusterings(changes.tables, one.name)
    under_way = list_progress(changes.tables, changes.leases, one.name)
    if app.is_json:
        echo_json({**_build_facts(one), "clusterings": made, "rebuilding": under_way})
        return 0
    screen = open_console()
    screen.print(f"[bold]{escape(str(one.name))}[/bold]  {pluralize(one.size, 'document')}")
    screen.print(f"changed {format_seconds(one.modified)}; rule: {escape(one.query) or 'none'}")
    for each in made:
        stand = "served" if each.is_served else "kept"
        screen.print(
            f"{each.conf} {each.timestamp} ({format_seconds(each.timestamp)}), {stand}:"
            f" {pluralize(each.documents, 'document')} in {pluralize(each.clusters, 'cluster')};"
            f" {each.later:,} came later, {each.later_outliers:,} of them out of reach"
        )
    for rebuild in under_way:
        screen.print(
            f"{rebuild.conf} is being rebuilt: {rebuild.stage} {rebuild.done:,} of {rebuild.total:,},"
            f" by {escape(rebuild.who or 'nobody: it died')}"
        )
    return 0


@command("add")
@click.argument("name", metavar="COLLECTION")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL|-...")
def add(app: App, name: str, files: tuple[str, ...]) -> int:
    """Put documents: JSON lines with id and text, and title, url, language and time (seconds since 1970).

    One with an id that is there replaces it. `-` reads standard input. A line that is none is told and left
    out, and the exit code is 1 then.

    \b
    fonds collection add survey/answers answers.jsonl
    """
    wanted = parse_name(name)
    create_home(app.home)
    changes = open_changes(app.open_stores(create=True), app.load_settings())
    done, faults, batch = PutCounts(), 0, list[Document]()

    def put() -> None:
        one = changes.put(wanted, batch)
        done.added += one.added
        done.replaced += one.replaced
        done.unchanged += one.unchanged
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
    _print_added(app, done, faults)
    return 1 if faults else 0


@command("remove")
@click.argument("name", metavar="COLLECTION")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
def remove(app: App, name: str, ids: tuple[str, ...]) -> int:
    """Take documents out of a collection, and out of all its clusters.

    \b
    fonds collection remove survey/answers a17 a18
    """
    changes = open_changes(app.open_stores(), app.load_settings())
    one = require_collection(changes.tables, name)
    count = changes.delete(one.name, ids)
    if app.is_json:
        echo_json({"removed": count, "absent": len(set(ids)) - count})
        return 0
    absent = len(set(ids)) - count
    open_console().print(
        f"{count:,} removed" + (f"; {absent:,} were not there." if absent else ".")
    )
    return 0


@command("delete")
@click.argument("name", metavar="COLLECTION")
def delete(app: App, name: str) -> int:
    """Delete a collection with its documents and clusterings. What the library holds stays.

    \b
    fonds collection delete survey/answers
    """
    stores = app.open_stores()
    changes = open_changes(stores, app.load_settings())
    one = require_collection(changes.tables, name)
    with record_act(stores.records, f"fonds collection delete {one.name}"):
        changing.remove(changes, one.name)
    if app.is_json:
        echo_json({"deleted": str(one.name), "documents": one.size})
        return 0
    open_console().print(
        f"{escape(str(one.name))} deleted, with {pluralize(one.size, 'document')}."
    )
    return 0


for each in (create, list_, show, add, remove, delete, frequencies):
    collection.add_command(each)


def format_seconds(seconds: int | None) -> str:
    """A time in seconds for people."""
    return (
        "never" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    )


def _build_facts(collection: CollectionView) -> dict[str, Any]:
    return {
        "collection": str(collection.name),
        "namespace": collection.name.namespace,
        "key": collection.name.key,
        "size": collection.size,
        "modified": collection.modified,
        "query": collection.query,
        "template": collection.template,
        "served": collection.served,
    }


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
        echo_json(
            {
                "added": counts.added,
                "replaced": counts.replaced,
                "unchanged": counts.unchanged,
                "refused": faults,
            }
        )
        return
    told = f"{counts.added:,} added, {counts.replaced:,} replaced, {counts.unchanged:,} were there already"
    refused = pluralize(faults, "line is not a document", "lines are not documents")
    open_console().print(f"{told}; {refused}." if faults else f"{told}.")
