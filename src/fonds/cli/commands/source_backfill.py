"""`fonds sources backfill`: have what a source listed in days of before read, too."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from fonds.cli.context import App, command, console, echo_json
from fonds.cli.names import DAY
from fonds.cli.working.noted import local_user, noted
from fonds.sources.following.backfill import wishes
from fonds.sources.following.editing import found


@command("backfill")
@click.argument("name", metavar="SOURCE")
@click.option("--from", "first", type=DAY, metavar="DATE", help="The first day, in UTC.")
@click.option("--to", "last", type=DAY, metavar="DATE", help="The last day, in UTC; else today.")
@click.option("--undated", is_flag=True, help="Take entries that say no day, too.")
@click.option("--stop", is_flag=True, help="Go on no more with the one that was asked for.")
def backfill(
    app: App,
    name: str,
    first: datetime | None,
    last: datetime | None,
    undated: bool,
    stop: bool,
) -> int:
    """Have what a source published on these days taken in, as far as it offers older pages: the archives or
    further pages of a feed, the sitemaps of an index. `fonds run` reads them page by page, between its polls;
    `fonds sources show` tells how far it is.

    \b
    fonds sources backfill https://example.org/feed.xml --from 2025-01-01 --to 2025-06-30
    fonds sources backfill https://example.org/feed.xml --stop
    """
    if stop is (first is not None) or (stop and (last is not None or undated)):
        raise click.UsageError("Say from which day on: --from DATE. Or --stop, alone.")
    records = app.stores().records
    row, now = found(records, name), datetime.now(UTC)
    if first is None:
        with noted(records, f"fonds sources backfill --stop {row.url}"):
            was_on = wishes.stop(records, row, now)
        if app.json:
            echo_json({"source": row.url, "stopped": was_on})
        else:
            told = "stopped" if was_on else "no backfill was going on"
            console().print(f"{told}: {row.url}", markup=False)
        return 0
    try:
        days = wishes.checked_days(first.date(), last.date() if last else None, now)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    with noted(records, f"fonds sources backfill {row.url} {days[0]} to {days[1]}"):
        wishes.ask(records, row, days, local_user(), now, takes_undated=undated)
    if app.json:
        echo_json({"source": row.url, "first": days[0], "last": days[1], "undated": undated})
    else:
        console().print(f"to be backfilled from {days[0]} to {days[1]}: {row.url}", markup=False)
    return 0
