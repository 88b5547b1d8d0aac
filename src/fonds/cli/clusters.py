"""`fonds clusters`: the clusters of a collection, one of them, and what changed between two clusterings."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.cli.acts import record_act
from fonds.cli.collection_arguments import (
    convert_usage_errors,
    find_built_configuration,
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
from fonds.cli.names import CommandGroup
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusterings import list_clusterings
from fonds.grouping.views.clusters import (
    ClusterView,
    LevelView,
    MemberPage,
    find_cluster,
    list_members,
    unclustered_members,
)
from fonds.grouping.views.clusters import load_clusters as read_clusters
from fonds.grouping.views.lineage import ClusterChange, compare_clusterings
from fonds.model.encoding import pluralize
from fonds.model.suggestions import format_unknown_name
from fonds.wiring.collections import open_changes, open_tables

if TYPE_CHECKING:
    from fonds.grouping.changes.curation import ExclusionResult
    from fonds.grouping.changes.writer import CollectionWriter
    from fonds.grouping.names import CollectionName
    from fonds.grouping.views.curation import CuratedTheme


# What people decide about themes, as commands: names, pins, documents that do not belong in one.


_conf = click.option(
    "--conf", default="DEFAULT", show_default=True, help="The configuration it was grouped by."
)
_collection = click.argument("name", metavar="COLLECTION")
_theme = click.argument("theme")
_documents = click.argument("documents", metavar="DOCUMENT...", nargs=-1, required=True)


@command("rename")
@_collection
@_theme
@click.argument("called", metavar="NAME")
@_conf
def rename(app: App, name: str, theme: str, called: str, conf: str) -> int:
    """Give a theme a name that rebuilds keep; the machine's label stays beside it.

    An empty one takes it back. THEME is a cluster's label, id or name; of one that is gone its id.

    \b
    fonds clusters rename news/floods 'river, dam, rain' 'The floods of May'
    fonds clusters rename news/floods 'The floods of May' ''
    """
    from fonds.grouping.changes.curation import (
        rename as act,
    )

    def done(changes: CollectionWriter, collection: CollectionName) -> CuratedTheme:
        return act(changes, collection, conf, theme, called)

    return _print_theme(app, _change_collection(app, name, conf, "rename", done))


@command("pin")
@_collection
@_theme
@_conf
def pin(app: App, name: str, theme: str, conf: str) -> int:
    """Put a theme before the others in the list, whatever its size.

    \b
    fonds clusters pin news/floods 'river, dam, rain'
    """
    return _print_theme(
        app, _change_collection(app, name, conf, "pin", _set_pinned(theme, conf, pinned=True))
    )


@command("unpin")
@_collection
@_theme
@_conf
def unpin(app: App, name: str, theme: str, conf: str) -> int:
    """Let a theme stand by its size again.

    \b
    fonds clusters unpin news/floods 'river, dam, rain'
    """
    return _print_theme(
        app, _change_collection(app, name, conf, "unpin", _set_pinned(theme, conf, pinned=False))
    )


@command("exclude")
@_collection
@_theme
@_documents
@_conf
def exclude(app: App, name: str, theme: str, documents: tuple[str, ...], conf: str) -> int:
    """Take documents out of a theme they do not belong in, for good: no rebuild puts them there again.

    Each goes to the nearest other theme that takes it, or into none for the reason `excluded`.

    \b
    fonds clusters exclude news/floods 'river, dam, rain' DOCUMENT
    """
    from fonds.grouping.changes.curation import exclude as act

    def done(changes: CollectionWriter, collection: CollectionName) -> ExclusionResult:
        return act(changes, collection, conf, theme, documents)

    return _print_documents(
        app, _change_collection(app, name, conf, "exclude", done), "taken out of"
    )


@command("include")
@_collection
@_theme
@_documents
@_conf
def include(app: App, name: str, theme: str, documents: tuple[str, ...], conf: str) -> int:
    """Take back that documents are excluded from a theme; they go to where they were, or belong now.

    \b
    fonds clusters include news/floods 'river, dam, rain' DOCUMENT
    """
    from fonds.grouping.changes.curation import include as act

    def done(changes: CollectionWriter, collection: CollectionName) -> ExclusionResult:
        return act(changes, collection, conf, theme, documents)

    return _print_documents(
        app, _change_collection(app, name, conf, "include", done), "no longer kept out of"
    )


def _set_pinned(
    theme: str, conf: str, *, pinned: bool
) -> Callable[[CollectionWriter, CollectionName], CuratedTheme]:
    from fonds.grouping.changes.curation import (
        pin as act,
    )

    return lambda changes, name: act(changes, name, conf, theme, pinned=pinned)


def _change_collection(
    app: App,
    name: str,
    conf: str,
    label: str,
    act: Callable[[CollectionWriter, CollectionName], Any],
) -> Any:
    stores = app.open_stores()
    changes = open_changes(stores, app.load_settings())
    one = require_collection(changes.tables, name)
    find_built_configuration(changes.tables, one, conf)
    with convert_usage_errors(), record_act(stores.records, f"fonds clusters {label} {one.name}"):
        return act(changes, one.name)


def _print_theme(app: App, curated_theme: CuratedTheme) -> int:
    if app.is_json:
        pinned = curated_theme.pinned is not None
        echo_json(
            {
                "id": curated_theme.id,
                "label": curated_theme.label,
                "name": curated_theme.name,
                "pinned": pinned,
            }
        )
        return 0
    named = f"“{escape(curated_theme.name)}”, labelled " if curated_theme.name else ""
    beside = ", pinned" if curated_theme.pinned is not None else ""
    open_console().print(f"{curated_theme.id}: {named}{escape(curated_theme.label)}{beside}")
    return 0


def _print_documents(app: App, result: ExclusionResult, label: str) -> int:
    if app.is_json:
        echo_json(result)
        return 0
    noun = "document" if result.documents == 1 else "documents"
    open_console().print(f"{result.documents:,} {noun} {label} {escape(result.label or result.id)}")
    return 0


TERMS_MAX = 6


@click.group("clusters", cls=CommandGroup, otherwise="show")
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


clusters.params += build_global_options()


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
    tables = open_tables(app.open_stores(), app.load_settings())
    one = require_collection(tables, name)
    find_built_configuration(tables, one, conf)
    if changes:
        return _print_changes(app, tables, one.name, conf, timestamp)
    found = read_clusters(tables, one.name, conf, timestamp, level=level)
    if found is None:
        known = [each.timestamp for each in list_clusterings(tables, one.name, conf)]
        raise click.UsageError(
            format_unknown_name("clustering of the time", str(timestamp or level), map(str, known))
        )
    if label is None:
        return _print_all(app, found, limit)
    chosen = None
    if not apart:
        chosen = find_cluster(tables, one.name, label, conf, timestamp, level=level)
    with convert_usage_errors():
        page = _find_members(
            tables, found, label, _decode_cursor(after), limit, is_reason=chosen is None
        )
    if page is None:
        labels = [*(each.label for each in found.clusters if not apart), *found.apart]
        raise click.UsageError(format_unknown_name("cluster", label, labels))
    return _print_cluster(app, label, chosen, page)


def _find_members(
    tables: Tables,
    level: LevelView,
    label: str,
    after: bytes | None,
    limit: int,
    *,
    is_reason: bool,
) -> MemberPage | None:
    name, conf, at = level.name, level.conf, level.timestamp
    if is_reason:
        return unclustered_members(
            tables, name, conf, at, reason=label, after=after, count_max=limit
        )  # fmt: skip
    return list_members(
        tables, name, label, conf, at, level=level.level, after=after, count_max=limit
    )  # fmt: skip


def _print_all(app: App, level: LevelView, limit: int) -> int:
    if app.is_json:
        echo_json(level)
        return 0
    screen = open_console()
    total = sum(one.size for one in level.clusters)
    apart = ", ".join(f"{count:,} {reason}" for reason, count in level.apart.items() if count)
    screen.print(
        f"{pluralize(total, 'document')} in {pluralize(len(level.clusters), 'cluster')}"
        + (f"; in none: {apart}" if apart else "")
    )
    for one in sorted(level.clusters, key=lambda each: not each.pinned)[:limit]:
        screen.print(
            f"\n[bold]{escape(one.display_name)}[/bold]  {one.size:,}  [dim]{_format_identity(one)}[/dim]"
        )
        _print_terms(screen, one)
        for member in one.top:
            screen.print(f"   {member.score:.2f}  {escape(member.title or member.id)}")
    if len(level.clusters) > limit:
        print_note(f"{limit:,} of {len(level.clusters):,} clusters shown; more: --limit")
    return 0


def _print_cluster(app: App, label: str, cluster: ClusterView | None, page: MemberPage) -> int:
    after = None if page.after is None else base64.urlsafe_b64encode(page.after).decode()
    if app.is_json:
        echo_json({"cluster": cluster, "label": label, "members": page.members, "after": after})
        return 0
    screen = open_console()
    if cluster is not None:
        screen.print(
            f"[bold]{escape(cluster.display_name)}[/bold]  {cluster.size:,} "
            f" [dim]{_format_identity(cluster)}[/dim]"
        )
        _print_terms(screen, cluster)
    table = Table("Score", "Document", "Title", box=None, pad_edge=False)
    for member in page.members:
        table.add_row(f"{member.score:.2f}", escape(member.id), escape(member.title or member.url))
    screen.print(table)
    if after:
        print_note(f"more behind these: --after {after}")
    return 0


def _print_changes(
    app: App, tables: Tables, name: CollectionName, conf: str, timestamp: int | None
) -> int:
    times = [one.timestamp for one in list_clusterings(tables, name, conf)]
    before = timestamp if timestamp is not None else times[1] if len(times) > 1 else None
    found = (
        None
        if before is None
        else compare_clusterings(tables, name, conf, previous_timestamp=before)
    )
    if before is None:
        print_note(f"{name} was grouped by {conf} once; there is nothing to compare it with.")
        return 0
    if found is None:
        raise click.UsageError(
            format_unknown_name("clustering of the time", str(before), map(str, times))
        )
    if app.is_json:
        echo_json(found)
        return 0
    screen = open_console()
    screen.print(f"since {before}: {found.stayed:.0%} of the documents stayed where they were")
    table = Table("Change", "Before", "Now", box=None, pad_edge=False)
    for change in found.changes:
        table.add_row(change.change, *_format_sides(change))
    screen.print(table)
    return 0


def _format_sides(change: ClusterChange) -> tuple[str, str]:
    before, after = (
        " + ".join(f"{escape(one.name or one.label)} ({one.size:,})" for one in sides)
        for sides in (change.before, change.after)
    )
    return before or "-", after or "-"


def _format_identity(cluster: ClusterView) -> str:
    """The id, the label of one a person named, and whether it is pinned."""
    labelled = f" labelled {escape(cluster.label)}" if cluster.name else ""
    return f"{cluster.id}{labelled}{' pinned' if cluster.pinned else ''}"


def _print_terms(screen: Console, cluster: ClusterView) -> None:
    told = ", ".join(term for term, _ in cluster.terms[:TERMS_MAX])
    screen.print(f"   [dim]{escape(told)}[/dim]")


def _decode_cursor(after: str | None) -> bytes | None:
    try:
        return None if after is None else base64.urlsafe_b64decode(after.encode())
    except (binascii.Error, ValueError) as error:
        raise click.UsageError(f"--after {after}: that is no place a page told of") from error


for _command in (show, rename, pin, unpin, exclude, include):
    clusters.add_command(_command)
