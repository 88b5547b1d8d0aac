"""Options of commands that add sources or links, and the report about added sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta

from fonds.cli.context import App, echo_json, open_console
from fonds.cli.names import SuggestingChoice
from fonds.following.source_edits import SourceOptions
from fonds.model.entry import TlsCheck
from fonds.model.rows import SourceRow
from fonds.pipelines.flavours.registry import list_flavours_from
from fonds.pipelines.flavours.stages import LINKS

tls_option = click.option(
    "--tls",
    type=SuggestingChoice("TLS check", map(str, TlsCheck)),
    default=str(TlsCheck.FULL),
    show_default=True,
    help="How to check TLS: `old` accepts old TLS versions, `none` accepts any certificate.",
)


def build_pipeline_option(default: str, help_text: str) -> Callable[[Any], Any]:
    """Return the --pipeline option of a command, which offers the pipelines that begin with
    links.
    """
    return click.option(
        "--pipeline",
        type=SuggestingChoice("pipeline that starts with links", list_flavours_from(LINKS)),
        default=default,
        show_default=True,
        help=help_text,
    )


_OPTIONS: list[Callable[[Any], Any]] = [
    click.option("--collection", metavar="NAME", help="Collection of its stories."),
    build_pipeline_option("queue-fetcher", "Pipeline that receives its links."),
    tls_option,
]


def add_source_options(function: Any) -> Any:
    """Decorator that adds the options --collection, --pipeline and --tls to a command function."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def build_source_options(
    app: App, flags: dict[str, Any], kind: str = "feed", title: str = "", folder: str = ""
) -> SourceOptions:
    """Return the properties of a new source, such as collection and pipeline, from a command's
    options.

    - `flags`: values of the options that all commands for sources share, by name.

    If no collection is given, it comes from the settings.
    """
    settings = app.load_settings(collection=flags["collection"])
    return SourceOptions(kind, title, folder, settings.collection, flags["pipeline"], flags["tls"])


class AddedSource(msgspec.Struct, frozen=True):
    """Source that was added, in a JSON answer."""

    source_id: str
    url: str


class AddedSourcesAnswer(msgspec.Struct, frozen=True):
    """JSON answer: the sources (feeds, sitemaps, pages) that were added, and those that were
    not.
    """

    added: Annotated[Sequence[AddedSource], Meta(description="the new sources")]
    known: Annotated[int, Meta(description="number of sources that were followed before")]
    refused: Annotated[
        Mapping[str, str], Meta(description="why other entries are no sources, by URL")
    ]


def report_added(
    app: App, new_rows: list[SourceRow], known_count: int, refused_urls: Mapping[str, str]
) -> None:
    """Print the sources that were added.

    Also print the number of URLs that were followed already, and the refused URLs with reasons.
    """
    if app.is_json:
        added_sources = [AddedSource(row.source_id, row.url) for row in new_rows]
        echo_json(AddedSourcesAnswer(added_sources, known_count, refused_urls))
        return
    screen = open_console()
    for row in new_rows:
        screen.print(f"{row.source_id}  {row.url}", markup=False)
    for url, why in refused_urls.items():
        screen.print(f"refused: {url}: {why}", markup=False)
    known_note = f"; {known_count:,} already followed" if known_count else ""
    noun = "source" if len(new_rows) == 1 else "sources"
    screen.print(f"{len(new_rows):,} {noun} added{known_note}.")
