"""`fonds sources mute` and `unmute`: that what ails a source needs nobody, and that it does again."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from fonds.cli.context import App, command, console, echo_json
from fonds.cli.working.noted import noted
from fonds.sources.following import muting
from fonds.sources.following.editing import found


@command("mute")
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="When it ends, in UTC: a day, from its beginning on, or a moment; else once it is well again.",
)
@click.option("--note", default="", help="Why, for whoever looks at the source.")
def mute(app: App, names: tuple[str, ...], until: datetime | None, note: str) -> int:
    """Say that what ails these needs nobody. They are polled as before, stand last in the list with a mark,
    and are not counted among what needs someone.

    \b
    fonds sources mute https://example.org/feed.xml --note "they move house"
    fonds sources mute https://example.org/feed.xml --until 2027-01-31
    """
    now = datetime.now(UTC)
    ends = until.replace(tzinfo=UTC) if until else None
    records = app.stores().records
    rows = [found(records, name) for name in names]
    for row in rows:
        with noted(records, f"fonds sources mute {row.url}"):
            muting.mute(records, row, ends, note, now)
        if not app.json:
            told = f"until {ends:%Y-%m-%d %H:%M}" if ends else "until it is well again"
            console().print(f"muted {told}: {row.url}", markup=False)
    if app.json:
        echo_json({"muted": [row.url for row in rows], "until": ends})
    return 0


@command("unmute")
@click.argument("names", nargs=-1, required=True, metavar="SOURCE…")
def unmute(app: App, names: tuple[str, ...]) -> int:
    """Count these again among what needs someone, when something ails them.

    \b
    fonds sources unmute https://example.org/feed.xml
    """
    records = app.stores().records
    rows = [found(records, name) for name in names]
    for row in rows:
        with noted(records, f"fonds sources unmute {row.url}"):
            muting.unmute(records, row)
        if not app.json:
            console().print(f"no longer muted: {row.url}", markup=False)
    if app.json:
        echo_json({"unmuted": [row.url for row in rows]})
    return 0
