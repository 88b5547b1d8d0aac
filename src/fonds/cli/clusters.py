"""`fonds clusters`: show and curate the clusters of a collection, and compare two clusterings.

Curation means naming and pinning themes, and excluding documents that do not belong in a theme.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
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
from fonds.cli.json_answers import build_answer
from fonds.cli.names import CommandGroup
from fonds.grouping.changes import curation
from fonds.grouping.changes.curation import ExclusionResult
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.names import CollectionName
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusterings import list_clusterings
from fonds.grouping.views.clusters import (
    ClusterMembers,
    ClusterView,
    LevelView,
    load_cluster_members,
)
from fonds.grouping.views.clusters import load_clusters as read_clusters
from fonds.grouping.views.curation import CuratedTheme
from fonds.grouping.views.lineage import ClusterChange, ClusteringChanges, compare_clusterings
from fonds.model.encoding import pluralize
from fonds.model.suggestions import format_unknown_name
from fonds.wiring.collections import open_collection_writer, open_tables


class ThemeAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a theme (cluster of documents) that was renamed, pinned or unpinned."""

    id: Annotated[str, Meta(description="id of the theme, which rebuilds keep")]
    label: Annotated[str, Meta(description="generated label")]
    name: Annotated[str, Meta(description="name given by a person; empty for none")]
    pinned: Annotated[bool, Meta(description="whether the theme is listed first")]


_conf = click.option(
    "--conf", default="DEFAULT", show_default=True, help="Configuration of the clustering."
)
_collection = click.argument("name", metavar="COLLECTION")
_theme = click.argument("theme")
_documents = click.argument("documents", metavar="DOCUMENT...", nargs=-1, required=True)


@command("rename", answers={"one": ThemeAnswer})
@_collection
@_theme
@click.argument("called", metavar="NAME")
@_conf
def rename(app: App, name: str, theme: str, called: str, conf: str) -> int:
    """Rename a theme. Rebuilds keep the name, and the generated label stays next to it.

    An empty NAME removes the name. THEME is a cluster's label, id or name. For a cluster that no
    longer exists, use its id.

    \b
    fonds clusters rename news/floods 'river, dam, rain' 'The floods of May'
    fonds clusters rename news/floods 'The floods of May' ''
    """

    def done(writer: CollectionWriter, collection: CollectionName) -> CuratedTheme:
        return curation.rename(writer, collection, conf, theme, called)

    return _print_theme(app, _change_collection(app, name, conf, "rename", done))


@command("pin", answers={"one": ThemeAnswer})
@_collection
@_theme
@_conf
def pin(app: App, name: str, theme: str, conf: str) -> int:
    """Pin a theme to the top of the list, whatever its size.

    \b
    fonds clusters pin news/floods 'river, dam, rain'
    """
    return _print_theme(
        app, _change_collection(app, name, conf, "pin", _set_pinned(theme, conf, is_pinned=True))
    )


@command("unpin", answers={"one": ThemeAnswer})
@_collection
@_theme
@_conf
def unpin(app: App, name: str, theme: str, conf: str) -> int:
    """Unpin a theme, so that it is listed by its size again.

    \b
    fonds clusters unpin news/floods 'river, dam, rain'
    """
    return _print_theme(
        app, _change_collection(app, name, conf, "unpin", _set_pinned(theme, conf, is_pinned=False))
    )


@command("exclude", answers={"one": ExclusionResult})
@_collection
@_theme
@_documents
@_conf
def exclude(app: App, name: str, theme: str, documents: tuple[str, ...], conf: str) -> int:
    """Exclude documents from a theme; rebuilds keep them out.

    Each document moves to the nearest other theme that accepts it. If there is none, it stays
    unclustered for the reason `excluded`.

    \b
    fonds clusters exclude news/floods 'river, dam, rain' DOCUMENT
    """

    def done(writer: CollectionWriter, collection: CollectionName) -> ExclusionResult:
        return curation.exclude(writer, collection, conf, theme, documents)

    return _print_documents(
        app, _change_collection(app, name, conf, "exclude", done), "removed from"
    )


@command("include", answers={"one": ExclusionResult})
@_collection
@_theme
@_documents
@_conf
def include(app: App, name: str, theme: str, documents: tuple[str, ...], conf: str) -> int:
    """Undo the exclusion of documents from a theme.

    They return to their former cluster, or to the one they belong to now.

    \b
    fonds clusters include news/floods 'river, dam, rain' DOCUMENT
    """

    def done(writer: CollectionWriter, collection: CollectionName) -> ExclusionResult:
        return curation.include(writer, collection, conf, theme, documents)

    return _print_documents(
        app, _change_collection(app, name, conf, "include", done), "included again in"
    )


def _set_pinned(
    theme: str, conf: str, *, is_pinned: bool
) -> Callable[[CollectionWriter, CollectionName], CuratedTheme]:

    return lambda writer, name: curation.pin(writer, name, conf, theme, is_pinned=is_pinned)


def _change_collection(
    app: App,
    name: str,
    conf: str,
    label: str,
    act: Callable[[CollectionWriter, CollectionName], Any],
) -> Any:
    stores = app.open_stores()
    writer = open_collection_writer(stores, app.load_settings())
    collection = require_collection(writer.tables, name)
    find_built_configuration(writer.tables, collection, conf)
    with (
        convert_usage_errors(),
        record_act(stores.records, f"fonds clusters {label} {collection.name}"),
    ):
        return act(writer, collection.name)


def _print_theme(app: App, curated_theme: CuratedTheme) -> int:
    if app.is_json:
        is_pinned = curated_theme.pinned is not None
        echo_json(build_answer(ThemeAnswer, curated_theme, pinned=is_pinned))
        return 0
    name_prefix = f"“{escape(curated_theme.name)}”, labelled " if curated_theme.name else ""
    pin_suffix = ", pinned" if curated_theme.pinned is not None else ""
    open_console().print(
        f"{curated_theme.id}: {name_prefix}{escape(curated_theme.label)}{pin_suffix}"
    )
    return 0


def _print_documents(app: App, result: ExclusionResult, label: str) -> int:
    if app.is_json:
        echo_json(result)
        return 0
    noun = "document" if result.documents == 1 else "documents"
    open_console().print(f"{result.documents:,} {noun} {label} {escape(result.label or result.id)}")
    return 0


TERMS_MAX = 6


@click.group("clusters", cls=CommandGroup, default_command="show")
@click.pass_context
def clusters(ctx: click.Context, /, **flags: Any) -> None:
    """Show and curate the themes of a collection.

    Curate means: rename or pin themes, and exclude documents.

    COLLECTION is NAMESPACE/KEY. Without a subcommand, the collection is shown: `fonds clusters
    news/floods`.

    \b
    fonds clusters news/floods
    fonds clusters show news/floods 'river, dam, rain' --limit 50
    fonds clusters rename news/floods 'river, dam, rain' 'The floods of May'
    fonds clusters pin news/floods 'The floods of May'
    fonds clusters exclude news/floods 'The floods of May' DOCUMENT
    """
    ctx.obj = ctx.obj.with_flags(**flags)


clusters.params += build_global_options()


@command(
    "show",
    answers={
        "one": LevelView,
        "one, with LABEL": ClusterMembers,
        "one, with --changes": ClusteringChanges,
    },
)
@click.argument("name", metavar="COLLECTION")
@click.argument("label", required=False)
@click.option(
    "--conf", default="DEFAULT", show_default=True, help="Configuration of the clustering."
)
@click.option(
    "--at", "timestamp", type=click.IntRange(0), help="Time of the clustering [the newest]."
)
@click.option(
    "--level",
    type=click.IntRange(0, 10),
    default=0,
    help="Level of the clustering: 0 for the main level, then one for each of `granularities`.",
)
@click.option("--changes", is_flag=True, help="Compare with the previous clustering.")
@click.option("--unclustered", is_flag=True, help="LABEL is a reason: show unclustered documents.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--after", help="Start after this document; the previous page shows the value.")
def show(
    app: App,
    name: str,
    label: str | None,
    conf: str,
    timestamp: int | None,
    level: int,
    changes: bool,
    unclustered: bool,
    limit: int,
    after: str | None,
) -> int:
    """Show the themes of a collection, or one theme.

    Themes are listed largest first, and the documents of a theme nearest first.

    LABEL is a cluster's label, id or name, or a reason why documents are unclustered: outlier,
    short, language, empty or excluded. With --unclustered, LABEL is always a reason, even if a
    cluster has the same name.

    \b
    fonds clusters news/floods
    fonds clusters news/floods 'river, dam, rain' --limit 50
    fonds clusters news/floods outlier --unclustered
    fonds clusters news/floods --changes
    """
    tables = open_tables(app.open_stores(), app.load_settings())
    collection = require_collection(tables, name)
    find_built_configuration(tables, collection, conf)
    if changes:
        return _print_changes(app, tables, collection.name, conf, timestamp)
    level_view = read_clusters(tables, collection.name, conf, timestamp, level=level)
    if level_view is None:
        timestamps = [item.timestamp for item in list_clusterings(tables, collection.name, conf)]
        raise click.UsageError(
            format_unknown_name(
                "clustering of the time", str(timestamp or level), map(str, timestamps)
            )
        )
    if label is None:
        return _print_all(app, level_view, limit)
    try:
        page = load_cluster_members(
            tables, collection.name, label, conf, level_view.timestamp,
            level=level, is_reason=unclustered, after=after or "", count_max=limit,
        )  # fmt: skip
    except ValueError as error:
        raise click.UsageError(f"--after {after}: {error}.") from error
    if page is None:
        labels = [
            *(item.label for item in level_view.clusters if not unclustered),
            *level_view.unclustered,
        ]
        raise click.UsageError(format_unknown_name("cluster", label, labels))
    return _print_cluster(app, page)


def _print_all(app: App, level: LevelView, limit: int) -> int:
    if app.is_json:
        echo_json(level)
        return 0
    screen = open_console()
    total = sum(cluster.size for cluster in level.clusters)
    reasons = ", ".join(
        f"{count:,} {reason}" for reason, count in level.unclustered.items() if count
    )
    screen.print(
        f"{pluralize(total, 'document')} in {pluralize(len(level.clusters), 'cluster')}"
        + (f"; unclustered: {reasons}" if reasons else "")
    )
    for cluster in sorted(level.clusters, key=lambda each: not each.pinned)[:limit]:
        screen.print(
            f"\n[bold]{escape(cluster.display_name)}[/bold]  {cluster.size:,}"
            f"  [dim]{_format_identity(cluster)}[/dim]"
        )
        _print_terms(screen, cluster)
        for member in cluster.top:
            screen.print(f"   {member.score:.2f}  {escape(member.title or member.id)}")
    if len(level.clusters) > limit:
        print_note(f"{limit:,} of {len(level.clusters):,} clusters shown; --limit shows more")
    return 0


def _print_cluster(app: App, page: ClusterMembers) -> int:
    if app.is_json:
        echo_json(page)
        return 0
    screen, cluster = open_console(), page.cluster
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
    if page.after:
        print_note(f"More: --after {page.after}")
    return 0


def _print_changes(
    app: App, tables: Tables, name: CollectionName, conf: str, timestamp: int | None
) -> int:
    times = [clustering.timestamp for clustering in list_clusterings(tables, name, conf)]
    previous_timestamp = (
        timestamp if timestamp is not None else times[1] if len(times) > 1 else None
    )
    comparison = (
        None
        if previous_timestamp is None
        else compare_clusterings(tables, name, conf, previous_timestamp=previous_timestamp)
    )
    if previous_timestamp is None:
        print_note(f"{name} has only one clustering by {conf}, so there is nothing to compare.")
        return 0
    if comparison is None:
        raise click.UsageError(
            format_unknown_name("clustering of the time", str(previous_timestamp), map(str, times))
        )
    if app.is_json:
        echo_json(comparison)
        return 0
    screen = open_console()
    screen.print(
        f"Since {previous_timestamp}: {comparison.stayed:.0%} of the documents stayed in their cluster"
    )
    table = Table("Change", "Before", "Now", box=None, pad_edge=False)
    for change in comparison.changes:
        table.add_row(change.change, *_format_sides(change))
    screen.print(table)
    return 0


def _format_sides(change: ClusterChange) -> tuple[str, str]:
    before_text, after_text = (
        " + ".join(
            f"{escape(cluster.name or cluster.label)} ({cluster.size:,})" for cluster in sides
        )
        for sides in (change.before, change.after)
    )
    return before_text or "-", after_text or "-"


def _format_identity(cluster: ClusterView) -> str:
    """Format a cluster's id for display.

    The generated label follows if a person renamed the cluster, and `pinned` if it is pinned.
    """
    label_suffix = f" labelled {escape(cluster.label)}" if cluster.name else ""
    return f"{cluster.id}{label_suffix}{' pinned' if cluster.pinned else ''}"


def _print_terms(screen: Console, cluster: ClusterView) -> None:
    terms = ", ".join(term for term, _ in cluster.terms[:TERMS_MAX])
    screen.print(f"   [dim]{escape(terms)}[/dim]")


for _command in (show, rename, pin, unpin, exclude, include):
    clusters.add_command(_command)
