"""`fonds clusters`: the clusters of a collection, one of them, and what changed between two clusterings."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.cli.collections.asking import built, there, usage
from fonds.cli.collections.curating import exclude, include, pin, rename, unpin
from fonds.cli.context import App, command, console, echo_json, global_options, say
from fonds.cli.names import Commands
from fonds.collections.names import Name
from fonds.collections.reading.clusterings import clusterings
from fonds.collections.reading.clusters import (
    Cluster,
    Clusters,
    Members,
    cluster,
    members,
    members_apart,
)
from fonds.collections.reading.clusters import clusters as read_clusters
from fonds.collections.reading.lineage import Change, changes_between
from fonds.collections.tables import Tables
from fonds.model.names import no_such
from fonds.model.numbers import how_many
from fonds.wiring.recurring.collections import open_tables

TERMS_SHOWN = 6


@click.group("clusters", cls=Commands, otherwise="show")
@click.pass_context
def clusters(ctx: click.Context, /, **flags: Any) -> None:
    """Show the themes of a collection, and decide about them: names, pins, documents that do not belong.

    COLLECTION is NAMESPACE/KEY. Without a command it is shown: `fonds clusters news/floods`.

    \b
    fonds clusters news/floods
    fonds clusters show news/floods 'river, dam, rain' --limit 50
    fonds clusters rename news/floods 'river, dam, rain' 'The floods of May'
    fonds clusters pin news/floods 'The floods of May'
    fonds clusters exclude news/floods 'The floods of May' DOCUMENT
    """
    ctx.obj = ctx.obj.with_flags(**flags)


clusters.params += global_options()


@command("show")
@click.argument("name", metavar="COLLECTION")
@click.argument("label", required=False)
@click.option(
    "--conf", default="DEFAULT", show_default=True, help="The configuration it was grouped by."
)
@click.option(
    "--at", "timestamp", type=click.IntRange(0), help="The clustering of this time, not the newest."
)
@click.option("--level", type=click.IntRange(0, 10), default=0, help="Another granularity.")
@click.option(
    "--changes", is_flag=True, help="What became of the clusters of the clustering before."
)
@click.option("--apart", is_flag=True, help="LABEL is why documents are in none, not a cluster's.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--after", help="Begin behind this; the last page of a cluster tells what to give.")
def show(
    app: App,
    name: str,
    label: str | None,
    conf: str,
    timestamp: int | None,
    level: int,
    changes: bool,
    apart: bool,
    limit: int,
    after: str | None,
) -> int:
    """Show the themes of a collection, the largest first; or the documents of one, the nearest first.

    LABEL is a cluster's label, id or name, or why documents are in none: outlier, short, language, empty;
    with --apart it is that even where a cluster is called so.

    \b
    fonds clusters news/floods
    fonds clusters news/floods 'river, dam, rain' --limit 50
    fonds clusters news/floods outlier --apart
    fonds clusters news/floods --changes
    """
    tables = open_tables(app.stores(), app.settings())
    one = there(tables, name)
    built(tables, one, conf)
    if changes:
        return _changes(app, tables, one.name, conf, timestamp)
    found = read_clusters(tables, one.name, conf, timestamp, level=level)
    if found is None:
        known = [each.timestamp for each in clusterings(tables, one.name, conf)]
        raise click.UsageError(
            no_such("clustering of the time", str(timestamp or level), map(str, known))
        )
    if label is None:
        return _all(app, found, limit)
    chosen = None
    if not apart:
        chosen = cluster(tables, one.name, label, conf, timestamp, level=level)
    with usage():
        page = _members(tables, found, label, _place(after), limit, is_reason=chosen is None)
    if page is None:
        labels = [*(each.label for each in found.clusters if not apart), *found.apart]
        raise click.UsageError(no_such("cluster", label, labels))
    return _one(app, label, chosen, page)


def _members(
    tables: Tables,
    found: Clusters,
    label: str,
    after: bytes | None,
    limit: int,
    *,
    is_reason: bool,
) -> Members | None:
    name, conf, at = found.name, found.conf, found.timestamp
    if is_reason:
        return members_apart(
            tables, name, conf, at, reason=label, after=after, count_max=limit
        )  # fmt: skip
    return members(
        tables, name, label, conf, at, level=found.level, after=after, count_max=limit
    )  # fmt: skip


def _all(app: App, found: Clusters, limit: int) -> int:
    if app.json:
        echo_json(found)
        return 0
    screen = console()
    total = sum(one.size for one in found.clusters)
    apart = ", ".join(f"{count:,} {reason}" for reason, count in found.apart.items() if count)
    screen.print(
        f"{how_many(total, 'document')} in {how_many(len(found.clusters), 'cluster')}"
        + (f"; in none: {apart}" if apart else "")
    )
    for one in sorted(found.clusters, key=lambda each: not each.pinned)[:limit]:
        screen.print(
            f"\n[bold]{escape(one.called)}[/bold]  {one.size:,}  [dim]{_beside(one)}[/dim]"
        )
        _terms(screen, one)
        for member in one.top:
            screen.print(f"   {member.score:.2f}  {escape(member.title or member.id)}")
    if len(found.clusters) > limit:
        say(f"{limit:,} of {len(found.clusters):,} clusters shown; more: --limit")
    return 0


def _one(app: App, label: str, chosen: Cluster | None, page: Members) -> int:
    after = None if page.after is None else base64.urlsafe_b64encode(page.after).decode()
    if app.json:
        echo_json({"cluster": chosen, "label": label, "members": page.members, "after": after})
        return 0
    screen = console()
    if chosen is not None:
        screen.print(
            f"[bold]{escape(chosen.called)}[/bold]  {chosen.size:,}  [dim]{_beside(chosen)}[/dim]"
        )
        _terms(screen, chosen)
    table = Table("Score", "Document", "Title", box=None, pad_edge=False)
    for member in page.members:
        table.add_row(f"{member.score:.2f}", escape(member.id), escape(member.title or member.url))
    screen.print(table)
    if after:
        say(f"more behind these: --after {after}")
    return 0


def _changes(app: App, tables: Tables, name: Name, conf: str, timestamp: int | None) -> int:
    times = [one.timestamp for one in clusterings(tables, name, conf)]
    before = timestamp if timestamp is not None else times[1] if len(times) > 1 else None
    found = None if before is None else changes_between(tables, name, conf, before=before)
    if before is None:
        say(f"{name} was grouped by {conf} once; there is nothing to compare it with.")
        return 0
    if found is None:
        raise click.UsageError(no_such("clustering of the time", str(before), map(str, times)))
    if app.json:
        echo_json(found)
        return 0
    screen = console()
    screen.print(f"since {before}: {found.stayed:.0%} of the documents stayed where they were")
    table = Table("Change", "Before", "Now", box=None, pad_edge=False)
    for change in found.changes:
        table.add_row(change.change, *_sides(change))
    screen.print(table)
    return 0


def _sides(change: Change) -> tuple[str, str]:
    before, after = (
        " + ".join(f"{escape(one.name or one.label)} ({one.size:,})" for one in sides)
        for sides in (change.before, change.after)
    )
    return before or "-", after or "-"


def _beside(one: Cluster) -> str:
    """The id, the label of one a person named, and whether it is pinned."""
    labelled = f" labelled {escape(one.label)}" if one.name else ""
    return f"{one.id}{labelled}{' pinned' if one.pinned else ''}"


def _terms(screen: Console, one: Cluster) -> None:
    told = ", ".join(term for term, _ in one.terms[:TERMS_SHOWN])
    screen.print(f"   [dim]{escape(told)}[/dim]")


def _place(after: str | None) -> bytes | None:
    try:
        return None if after is None else base64.urlsafe_b64decode(after.encode())
    except (binascii.Error, ValueError) as error:
        raise click.UsageError(f"--after {after}: that is no place a page told of") from error


for _command in (show, rename, pin, unpin, exclude, include):
    clusters.add_command(_command)
