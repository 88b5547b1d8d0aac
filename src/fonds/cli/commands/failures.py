"""`fonds failures`: what is in quarantine and why, and trying it again."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, pipeline_option
from fonds.cli.work import work_off
from fonds.config import Settings
from fonds.library.accounting import failure_groups, outcomes
from fonds.model.disposition import Reason
from fonds.model.message import Message
from fonds.runtime.binding import stage_of
from fonds.runtime.homelock import HomeLock
from fonds.runtime.quarantine import release

RETRY = "retry"


@command("failures")
@click.argument("action", required=False, type=click.Choice([RETRY]))
@pipeline_option
@click.option("--reason", type=click.Choice([str(reason) for reason in Reason]), metavar="REASON")
@click.option("--step", metavar="STEP", help="Only what failed at this step.")
@click.option("--key", multiple=True, metavar="SHA1|ID", help="Only this file or capture.")
@click.option(
    "--list", "listed", is_flag=True, help="One line for each failure, not for each reason."
)
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True)
def failures(
    app: App,
    action: str | None,
    reason: str | None,
    step: str | None,
    key: tuple[str, ...],
    listed: bool,
    limit: int,
    **flags: Any,
) -> int:
    """Show what failed, grouped by step and reason; `retry` works it off again.

    Nothing that failed is lost: its message waits, whole, until it is tried again.

    \b
    fonds failures
    fonds failures --list --reason broken-pdf
    fonds failures retry --reason missing-source
    """
    if action == RETRY:
        return _retry(app, app.settings(**flags), reason, step, key)
    pipeline = flags["pipeline"]
    if listed:
        _print_list(app, pipeline, reason, step, limit)
    else:
        _print_groups(app, pipeline, reason, step)
    return 0


def _print_groups(app: App, pipeline: str | None, reason: str | None, step: str | None) -> None:
    groups = [
        group
        for group in failure_groups(app.stores().records, pipeline)
        if reason in (None, group.reason) and step in (None, group.step)
    ]
    if app.json:
        for group in groups:
            echo_json(group)
        return
    screen = console()
    if not groups:
        screen.print("Nothing has failed.")
        return
    for group in groups:
        screen.print(
            f"[bold]{group.count:,}[/bold] [red]{group.reason}[/red] at {group.step}: "
            f"{group.reason.explanation}"
        )
        if group.sample:
            screen.print(
                f"   [dim]for example {escape(group.sample.place or group.sample.url)}[/dim]"
            )
    screen.print("\nNext: fonds failures --list   or   fonds failures retry --reason REASON")


def _print_list(
    app: App, pipeline: str | None, reason: str | None, step: str | None, limit: int
) -> None:
    where = {"outcome": "quarantined"}
    where |= {"reason": reason} if reason else {}
    where |= {"step": step} if step else {}
    where |= {"pipeline": pipeline} if pipeline else {}
    screen = console()
    for row in outcomes(app.stores().records, where, count_max=limit):
        if app.json:
            echo_json(row)
        else:
            detail = " ".join((row.detail or "").split())[:200]
            screen.print(
                f"[red]{row.reason}[/red] {escape(row.place or row.url)}  [dim]{escape(detail)}[/dim]"
            )


def _retry(
    app: App, settings: Settings, reason: str | None, step: str | None, keys: tuple[str, ...]
) -> int:
    stores = app.stores(settings)

    def wanted(message: Message) -> bool:
        fits = reason in (None, message.headers.get("reason"))
        return fits and (not keys or bool({message.about, message.entry, message.id} & set(keys)))

    from fonds.wiring.backends import all_shared, readers_of

    with HomeLock(app.home, shared=all_shared(settings)) as lock:
        from fonds.wiring.steps import now

        count = sum(
            release(stores.queue, stores.ledger, one, wanted, now)
            for one in readers_of(settings)
            if step in (None, stage_of(one)[1])
        )
        if not count:
            if not app.json:
                console().print("Nothing in quarantine fits; `fonds failures` shows what there is.")
            return 0
        return work_off(app, settings, stores, lock, lambda intake, entered: None)
