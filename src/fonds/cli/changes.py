"""`fonds changes`: silent edits, which are stories of which a later version has another headline or text."""

from __future__ import annotations

from collections.abc import Mapping

import click
from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.names import SuggestingChoice
from fonds.viewer.edits import Edit, EditKind, edit, load_window

LISTED = 30
_STYLES = {"added": "green", "removed": "red"}
_SIGNS = {"added": "+", "removed": "−"}


@command("changes")
@click.option("--site", metavar="SITE", default="", help="Only stories of this site.")
@click.option(
    "--change",
    type=SuggestingChoice("change", map(str, EditKind)),
    default=str(EditKind.EDITED),
    metavar="CHANGE",
    help="edited [default], same-text, other-extractor or unknown.",
)
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=LISTED, help=f"At most so many [{LISTED}]."
)
def changes(app: App, site: str, change: str, limit: int) -> int:
    """List stories that were edited after they were captured, the newest first, with the words that went and
    came.

    Each version is held against the one captured before it. Versions with the same headline and text, those
    read by different programs, and those of which a text is missing are no edits; they are counted, and
    `--change` lists them instead.

    \b
    fonds changes
    fonds changes --site daily.example --json
    """
    stores = app.open_stores().for_readers()
    counts, walked, shown = dict.fromkeys(map(str, EditKind), 0), 0, 0
    after: Mapping[str, object] | None = None
    while True:
        found = load_window(stores, site.strip().lower(), after)
        walked += found.walked
        for one in found.later:
            counts[one.change] += 1
            if one.change == change and shown < limit:
                shown += 1
                _print(app, open_console(), edit(one))
        after = found.last
        if after is None or shown == limit:
            break
    if app.is_json:
        echo_json({"walked": walked, "counts": counts, "complete": after is None})
    elif not walked:
        of_site = f" of the site {site!r}" if site else ""
        open_console().print(f"No story{of_site} is here.", markup=False)
    else:
        open_console().print(", ".join(f"{counts[one]:,} {one}" for one in EditKind), markup=False)
    if counts[change] > shown or after is not None:
        print_note(f"{shown:,} listed, of {walked:,} versions looked at; --limit shows more")
    return 0


def _print(app: App, screen: Console, edit: Edit) -> None:
    if app.is_json:
        echo_json(edit)
        return
    screen.print(f"[bold]{escape(edit.title or edit.url)}[/bold]")
    facts = (edit.site or "no site", f"{edit.since_captured} and {edit.captured}", edit.summary)
    screen.print(f"   [dim]{escape(' · '.join(filter(None, facts)))}[/dim]")
    for each in (*edit.headline, *edit.text):
        if each.kind in _SIGNS and each.text.strip():
            text = escape(" ".join(each.text.split()))
            screen.print(f"   [{_STYLES[each.kind]}]{_SIGNS[each.kind]} {text}[/]")
    screen.print(f"   [dim]{escape(app.format_command(f'show {edit.sha1hex}'))}[/dim]")
