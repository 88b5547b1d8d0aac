"""What commands that add sources have in common: options, and what is told of those that were added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from fonds.cli.context import App, console, echo_json
from fonds.cli.names import Name
from fonds.model.link import TlsCheck
from fonds.model.rows import SourceRow
from fonds.sources.following.editing import Wanted

_OPTIONS = [
    click.option("--collection", metavar="NAME", help="Collection its stories belong to."),
    click.option(
        "--pipeline",
        default="queue-fetcher",
        show_default=True,
        metavar="PIPELINE",
        help="The pipeline its links go into.",
    ),
    click.option(
        "--tls",
        type=Name("check of TLS", [str(one) for one in TlsCheck]),
        default="full",
        show_default=True,
        help="How strictly its servers' TLS is held to account; the story says so.",
    ),
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
    screen.print(f"{len(fresh):,} sources added{known_told}.")
