"""`fonds changes`: list stories whose headline or text was silently edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import click
import msgspec
from msgspec import Meta
from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.names import SuggestingChoice
from fonds.viewer.edits import Edit, EditKind, build_edit, load_window

LISTED = 30
_STYLES = {"added": "green", "removed": "red"}
_SIGNS = {"added": "+", "removed": "−"}


class EditCountAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of examined story versions, by change."""

    walked: Annotated[int, Meta(description="number of versions examined")]
    counts: Annotated[
        Mapping[str, int], Meta(description="number of later versions among them, by change")
    ]
    complete: Annotated[bool, Meta(description="whether these are all versions")]


@command(
    "changes",
    answers={
        "one for each later version, newest first, as in `/api/changes`": Edit,
        "last": EditCountAnswer,
    },
)
@click.option("--site", metavar="SITE", default="", help="Only stories of this site.")
@click.option(
    "--change",
    type=SuggestingChoice("change", map(str, EditKind)),
    default=str(EditKind.EDITED),
    metavar="CHANGE",
    help="edited [default], same-text, other-extractor or unknown.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=LISTED,
    help=f"Maximum number of changes [{LISTED}].",
)
def changes(app: App, site: str, change: str, limit: int) -> int:
    """List stories that were edited after capture, newest first.

    For each edit, the removed and added words are shown. Each version is compared with the one
    captured before it. Versions with the same headline and text, versions read by different
    extractors, and versions with a missing text are not edits. They are counted, and `--change`
    lists them instead.

    \b
    fonds changes
    fonds changes --site daily.example --json
    """
    stores = app.open_stores().for_readers()
    counts, walked_count, shown_count = dict.fromkeys(map(str, EditKind), 0), 0, 0
    cursor: Mapping[str, object] | None = None
    while True:
        window = load_window(stores, site.strip().lower(), cursor)
        walked_count += window.walked
        for version in window.later:
            counts[version.change] += 1
            if version.change == change and shown_count < limit:
                shown_count += 1
                _print(app, open_console(), build_edit(version))
        cursor = window.last
        if cursor is None or shown_count == limit:
            break
    if app.is_json:
        echo_json(EditCountAnswer(walked_count, counts, cursor is None))
    elif not walked_count:
        of_site = f" of the site {site!r}" if site else ""
        open_console().print(f"No changed story{of_site}.", markup=False)
    else:
        open_console().print(
            ", ".join(f"{counts[version]:,} {version}" for version in EditKind), markup=False
        )
    if counts[change] > shown_count or cursor is not None:
        print_note(f"{shown_count:,} shown, {walked_count:,} versions examined; --limit shows more")
    return 0


def _print(app: App, screen: Console, edit: Edit) -> None:
    if app.is_json:
        echo_json(edit)
        return
    screen.print(f"[bold]{escape(edit.title or edit.url)}[/bold]")
    facts = (edit.site or "no site", f"{edit.since_captured} and {edit.captured}", edit.summary)
    screen.print(f"   [dim]{escape(' · '.join(filter(None, facts)))}[/dim]")
    for part in (*edit.headline, *edit.text):
        if part.kind in _SIGNS and part.text.strip():
            text = escape(" ".join(part.text.split()))
            screen.print(f"   [{_STYLES[part.kind]}]{_SIGNS[part.kind]} {text}[/]")
    screen.print(f"   [dim]{escape(app.format_command(f'show {edit.sha1hex}'))}[/dim]")
