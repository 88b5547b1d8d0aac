"""What people decide about themes, as commands: names, pins, documents that do not belong in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from fonds.cli.collections.asking import built, there, usage
from fonds.cli.context import App, command, console, echo_json
from fonds.cli.working.noted import noted
from fonds.wiring.recurring.collections import open_changes

if TYPE_CHECKING:
    from fonds.collections.changing.curating.excluding import Excluded
    from fonds.collections.changing.writing import Changes
    from fonds.collections.names import Name
    from fonds.collections.reading.curated import Curated

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
    from fonds.collections.changing.curating.naming import rename as act

    def done(changes: Changes, collection: Name) -> Curated:
        return act(changes, collection, conf, theme, called)

    return _theme_told(app, _do(app, name, conf, "rename", done))


@command("pin")
@_collection
@_theme
@_conf
def pin(app: App, name: str, theme: str, conf: str) -> int:
    """Put a theme before the others in the list, whatever its size.

    \b
    fonds clusters pin news/floods 'river, dam, rain'
    """
    return _theme_told(app, _do(app, name, conf, "pin", _pinned(theme, conf, pinned=True)))


@command("unpin")
@_collection
@_theme
@_conf
def unpin(app: App, name: str, theme: str, conf: str) -> int:
    """Let a theme stand by its size again.

    \b
    fonds clusters unpin news/floods 'river, dam, rain'
    """
    return _theme_told(app, _do(app, name, conf, "unpin", _pinned(theme, conf, pinned=False)))


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
    from fonds.collections.changing.curating.excluding import exclude as act

    def done(changes: Changes, collection: Name) -> Excluded:
        return act(changes, collection, conf, theme, documents)

    return _documents_told(app, _do(app, name, conf, "exclude", done), "taken out of")


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
    from fonds.collections.changing.curating.excluding import include as act

    def done(changes: Changes, collection: Name) -> Excluded:
        return act(changes, collection, conf, theme, documents)

    return _documents_told(app, _do(app, name, conf, "include", done), "no longer kept out of")


def _pinned(theme: str, conf: str, *, pinned: bool) -> Callable[[Changes, Name], Curated]:
    from fonds.collections.changing.curating.naming import pin as act

    return lambda changes, name: act(changes, name, conf, theme, pinned=pinned)


def _do(app: App, name: str, conf: str, what: str, act: Callable[[Changes, Name], Any]) -> Any:
    stores = app.stores()
    changes = open_changes(stores, app.settings())
    one = there(changes.tables, name)
    built(changes.tables, one, conf)
    with usage(), noted(stores.records, f"fonds clusters {what} {one.name}"):
        return act(changes, one.name)


def _theme_told(app: App, one: Curated) -> int:
    if app.json:
        pinned = one.pinned is not None
        echo_json({"id": one.id, "label": one.label, "name": one.name, "pinned": pinned})
        return 0
    named = f"“{escape(one.name)}”, labelled " if one.name else ""
    beside = ", pinned" if one.pinned is not None else ""
    console().print(f"{one.id}: {named}{escape(one.label)}{beside}")
    return 0


def _documents_told(app: App, one: Excluded, what: str) -> int:
    if app.json:
        echo_json(one)
        return 0
    noun = "document" if one.documents == 1 else "documents"
    console().print(f"{one.documents:,} {noun} {what} {escape(one.label or one.id)}")
    return 0
