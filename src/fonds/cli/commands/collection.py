"""`fonds collection`: documents that are grouped together, and what fills them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO

import click
from rich.markup import escape
from rich.table import Table

from fonds.cli.collections.asking import named, read_lines, there, usage
from fonds.cli.commands.collection_frequencies import frequencies
from fonds.cli.context import App, command, console, echo_json, global_options, say
from fonds.cli.inbox import file_named
from fonds.cli.names import Commands
from fonds.cli.working.noted import noted
from fonds.collections.changing import collections as changing
from fonds.collections.changing.writing import Put
from fonds.collections.collecting.rules import Rule, checked_rule
from fonds.collections.documents import Document
from fonds.collections.names import checked
from fonds.collections.reading.clusterings import (
    Collection,
    clusterings,
    collections,
    progress,
)
from fonds.model.names import no_such
from fonds.model.numbers import how_many
from fonds.runtime.homelock import make_home
from fonds.wiring.recurring.collections import collecting, open_changes, open_tables

AT_ONCE = 500
FAULTS_SHOWN = 20


@click.group("collection", cls=Commands)
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


collection.params += global_options()


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
    with usage():
        wanted = checked(named(name))
    make_home(app.home)
    stores = app.stores(make=True)
    changes = open_changes(stores, app.settings())
    if query or Rule(wanted, query).is_template:
        with usage():
            checked_rule(Rule(wanted, query), stores.index)
    template = wanted.key if Rule(wanted, query).is_template else ""
    with noted(stores.records, f"fonds collection create {wanted}"):
        is_new = changing.create(changes, wanted, query, template)
    done = collecting(stores, changes).run(wanted, again=True) if query else None
    put = 0 if done is None else done.put
    if app.json:
        echo_json({"collection": str(wanted), "new": is_new, "put": put})
        return 0
    console().print(
        f"{escape(str(wanted))} {'made' if is_new else 'changed'}: {how_many(put, 'document')} put."
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
    tables = open_tables(app.stores(), app.settings())
    table = Table(
        "Collection", "Documents", "Changed", "Rebuilt", "Query", box=None, pad_edge=False
    )
    count = 0
    for one in collections(tables, namespace):
        count += 1
        if app.json:
            echo_json(_facts(one))
            continue
        served = ", ".join(f"{each.conf} {moment(each.rebuilt)}" for each in one.served)
        table.add_row(
            escape(str(one.name)),
            f"{one.size:,}",
            moment(one.modified),
            served or "never",
            escape(one.query),
        )
    if not app.json:
        console().print(
            table if count else "There is no collection. `fonds collection create` makes one."
        )
    if namespace is not None and not count:
        names = dict.fromkeys(one.name.namespace for one in collections(tables))
        say(no_such("namespace", namespace, names))
    return 0


@command("show")
@click.argument("name", metavar="COLLECTION")
def show(app: App, name: str) -> int:
    """Show one collection: its rule, its clusterings, and how far a rebuild is.

    \b
    fonds collection show news/floods
    """
    stores = app.stores()
    changes = open_changes(stores, app.settings())
    one = there(changes.tables, name)
    made = clusterings(changes.tables, one.name)
    under_way = progress(changes.tables, changes.claims, one.name)
    if app.json:
        echo_json({**_facts(one), "clusterings": made, "rebuilding": under_way})
        return 0
    screen = console()
    screen.print(f"[bold]{escape(str(one.name))}[/bold]  {how_many(one.size, 'document')}")
    screen.print(f"changed {moment(one.modified)}; rule: {escape(one.query) or 'none'}")
    for each in made:
        stand = "served" if each.is_served else "kept"
        screen.print(
            f"{each.conf} {each.timestamp} ({moment(each.timestamp)}), {stand}:"
            f" {how_many(each.documents, 'document')} in {how_many(each.clusters, 'cluster')};"
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
    wanted = named(name)
    make_home(app.home)
    changes = open_changes(app.stores(make=True), app.settings())
    done, faults, batch = Put(), 0, list[Document]()

    def put() -> None:
        one = changes.put(wanted, batch)
        done.added += one.added
        done.replaced += one.replaced
        done.unchanged += one.unchanged
        batch.clear()

    for line in _lines(app, files):
        if isinstance(line, str):
            faults += 1
            if faults <= FAULTS_SHOWN:
                say(line)
            continue
        batch.append(line)
        if len(batch) >= AT_ONCE:
            put()
    put()
    _tell_added(app, done, faults)
    return 1 if faults else 0


@command("remove")
@click.argument("name", metavar="COLLECTION")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
def remove(app: App, name: str, ids: tuple[str, ...]) -> int:
    """Take documents out of a collection, and out of all its clusters.

    \b
    fonds collection remove survey/answers a17 a18
    """
    changes = open_changes(app.stores(), app.settings())
    one = there(changes.tables, name)
    count = changes.delete(one.name, ids)
    if app.json:
        echo_json({"removed": count, "absent": len(set(ids)) - count})
        return 0
    absent = len(set(ids)) - count
    console().print(f"{count:,} removed" + (f"; {absent:,} were not there." if absent else "."))
    return 0


@command("delete")
@click.argument("name", metavar="COLLECTION")
def delete(app: App, name: str) -> int:
    """Delete a collection with its documents and clusterings. What the library holds stays.

    \b
    fonds collection delete survey/answers
    """
    stores = app.stores()
    changes = open_changes(stores, app.settings())
    one = there(changes.tables, name)
    with noted(stores.records, f"fonds collection delete {one.name}"):
        changing.remove(changes, one.name)
    if app.json:
        echo_json({"deleted": str(one.name), "documents": one.size})
        return 0
    console().print(f"{escape(str(one.name))} deleted, with {how_many(one.size, 'document')}.")
    return 0


for each in (create, list_, show, add, remove, delete, frequencies):
    collection.add_command(each)


def moment(at: int | None) -> str:
    """A time in seconds for people."""
    return "never" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def _facts(one: Collection) -> dict[str, Any]:
    return {
        "collection": str(one.name),
        "namespace": one.name.namespace,
        "key": one.name.key,
        "size": one.size,
        "modified": one.modified,
        "query": one.query,
        "template": one.template,
        "served": one.served,
    }


def _lines(app: App, files: tuple[str, ...]) -> Iterator[Document | str]:
    for name in files:
        if name == "-":
            yield from read_lines(sys.stdin.buffer, "standard input")
            continue
        with file_named(name, app) as path:
            try:
                stream: BinaryIO = path.open("rb")
            except OSError as error:
                raise click.UsageError(f"{name}: {error.strerror}") from error
            with stream:
                yield from read_lines(stream, name)


def _tell_added(app: App, done: Put, faults: int) -> None:
    if app.json:
        echo_json(
            {
                "added": done.added,
                "replaced": done.replaced,
                "unchanged": done.unchanged,
                "refused": faults,
            }
        )
        return
    told = (
        f"{done.added:,} added, {done.replaced:,} replaced, {done.unchanged:,} were there already"
    )
    refused = how_many(faults, "line is not a document", "lines are not documents")
    console().print(f"{told}; {refused}." if faults else f"{told}.")
