"""What commands that add sources have in common: options, and what is told of those that were added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from fonds.cli.context import App, console, echo_json
from fonds.cli.sources.link_options import link_pipeline_option, tls_option
from fonds.model.rows import SourceRow
from fonds.sources.following.editing import Wanted

_OPTIONS: list[Callable[[Any], Any]] = [
    click.option("--collection", metavar="NAME", help="Collection its stories belong to."),
    link_pipeline_option("queue-fetcher", "The pipeline its links go into."),
    tls_option,
]


def wanted_options(function: Any) -> Any:
    """The options of commands that add sources."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def told_wanted(
    app: App, flags: dict[str, Any], kind: str = "feed", title: str = "", folder: str = ""
) -> Wanted:
    """What a person said of sources to be followed, with the settings where nothing was said."""
    settings = app.settings(collection=flags["collection"])
    return Wanted(kind, title, folder, settings.collection, flags["pipeline"], flags["tls"])


def tell_added(app: App, fresh: list[SourceRow], known: int, refused: Mapping[str, str]) -> None:
    """Tell which sources are new, how many were known, and which are none."""
    if app.json:
        ids = [{"source_id": row.source_id, "url": row.url} for row in fresh]
        echo_json({"added": ids, "known": known, "refused": refused})
        return
    screen = console()
    for row in fresh:
        screen.print(f"{row.source_id}  {row.url}", markup=False)
    for url, why in refused.items():
        screen.print(f"refused: {url}: {why}", markup=False)
    known_told = f"; {known:,} were followed already" if known else ""
    noun = "source" if len(fresh) == 1 else "sources"
    screen.print(f"{len(fresh):,} {noun} added{known_told}.")
