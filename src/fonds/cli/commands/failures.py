"""`fonds failures`: what is in quarantine and why, and trying it again."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, pipeline_option, say
from fonds.cli.names import Name
from fonds.cli.working.working_off import work_off
from fonds.config import Settings
from fonds.library.failed import Asked, Failed, failed, failed_entries
from fonds.model.disposition import Reason
from fonds.model.message import Message
from fonds.ports import Records
from fonds.runtime.binding import stage_of
from fonds.runtime.homelock import HomeLock
from fonds.runtime.quarantine import release

RETRY = "retry"
LISTED = 50
DETAIL_CHARS = 200


@command("failures")
@click.argument("action", required=False, type=Name("action", [RETRY]))
@pipeline_option
@click.option("--reason", type=Name("reason", map(str, Reason)), metavar="REASON")
@click.option("--step", metavar="STEP", help="Only what failed at this step.")
@click.option("--key", multiple=True, metavar="SHA1|ID", help="Only this file or capture.")
@click.option(
    "--list", "listed", is_flag=True, help="One line for each failure, not for each reason."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    help="With --list: at most so many lines [50; with --json all].",
)
def failures(
    app: App,
    action: str | None,
    reason: str | None,
    step: str | None,
    key: tuple[str, ...],
    listed: bool,
    limit: int | None,
    **flags: Any,
) -> int:
    """Show what failed, grouped by step and reason; `retry` works it off again.

    Nothing that failed is lost: its message waits, whole, until it is tried again.

    \b
    fonds failures
    fonds failures --list --reason broken-pdf
    fonds failures retry --reason missing-source
    """
    if limit is not None and not listed:
        raise click.UsageError("--limit goes with --list")
    asked = Asked(flags["pipeline"], step, reason, key)
    if action == RETRY:
        if listed:
            raise click.UsageError("retry tries again, --list lists: give one of the two")
        return _retry(app, app.settings(**flags), asked)
    records = _checked(app.stores().records, asked)
    if listed:
        _print_list(app, records, asked, limit)
    else:
        _print_groups(app, records, asked)
    return 0


def _checked(records: Records, asked: Asked) -> Records:
    """The records, in which such names are known. Raises click.UsageError for others."""
    from fonds.wiring.known import check_names

    try:
        check_names(records, pipeline=asked.pipeline, step=asked.step)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return records


def _print_groups(app: App, records: Records, asked: Asked) -> None:
    found = failed(records, asked)
    if app.json:
        for group in found.groups:
            echo_json(group)
        for name, count in found.counted.items():
            echo_json({"reason": name, "count": count, "counted_at": "source"})
        for row in found.inputs:
            echo_json({"input": row})
        _say_shown(len(found.inputs), found.inputs_total, "inputs that were not read to the end")
        return
    screen = console()
    if not found.total and not found.inputs:
        screen.print("Nothing like this has failed." if asked != Asked() else "Nothing has failed.")
        return
    _print_found(screen, found)
    if found.groups:
        retry = app.told("failures retry --reason REASON")
        screen.print(f"\nNext: {app.told('failures --list')}   or   {retry}", markup=False)


def _print_found(screen: Console, found: Failed) -> None:
    for group in found.groups:
        screen.print(
            f"[bold]{group.count:,}[/bold] [red]{group.reason}[/red] at {escape(group.step)}: "
            f"{group.reason.explanation}"
        )
        if group.sample:
            screen.print(
                f"   [dim]for example {escape(group.sample.place or group.sample.url)}[/dim]"
            )
    for name, count in found.counted.items():
        explained = Reason(name).explanation
        screen.print(f"[bold]{count:,}[/bold] [red]{name}[/red] at the source: {explained}")
        screen.print("   [dim]counted while reading: mend the input, and take it in again[/dim]")
    if found.inputs:
        noun = "input" if found.inputs_total == 1 else "inputs"
        screen.print(f"[bold]{found.inputs_total:,}[/bold] {noun} could not be read to the end:")
    for row in found.inputs:
        screen.print(f"   {escape(row.path)}: {escape(_line(row.error or ''))}")
    _say_shown(len(found.inputs), found.inputs_total, "of them")


def _print_list(app: App, records: Records, asked: Asked, limit: int | None) -> None:
    if limit is None and not app.json:
        limit = LISTED
    rows, total = failed_entries(records, asked, count_max=limit)
    screen = console()
    for row in rows:
        if app.json:
            echo_json(row)
        else:
            screen.print(
                f"[red]{row.reason}[/red] {escape(row.place or row.url)}"
                f"  [dim]{escape(_line(row.detail or ''))}[/dim]"
            )
    if not rows and not app.json:
        screen.print("Nothing like this waits in quarantine.")
    _say_shown(len(rows), total, f"failures; --limit {total} shows all")


def _line(text: str) -> str:
    """A text on one line, with an ellipsis where it was cut."""
    line = " ".join(text.split())
    return line if len(line) <= DETAIL_CHARS else line[: DETAIL_CHARS - 1] + "…"


def _say_shown(shown: int, total: int, what: str) -> None:
    if shown < total:
        say(f"{shown:,} of {total:,} {what}")


def _retry(app: App, settings: Settings, asked: Asked) -> int:
    stores = app.stores(settings)
    _checked(stores.records, asked)

    def wanted(message: Message) -> bool:
        fits = asked.reason in (None, message.headers.get("reason"))
        named = {message.about, message.entry, message.id}
        return fits and (not asked.keys or bool(named & set(asked.keys)))

    from fonds.wiring.backends import all_shared, readers_of

    with HomeLock(app.home, shared=all_shared(settings)) as lock:
        from fonds.wiring.steps import now

        count = sum(
            release(stores.queue, stores.ledger, one, wanted, now)
            for one in readers_of(settings)
            if asked.step in (None, stage_of(one)[1])
        )
        if not count:
            if not app.json:
                told = app.told("failures")
                console().print(f"Nothing in quarantine fits; `{told}` shows what there is.")
            return 0
        return work_off(app, settings, stores, lock, lambda intake, entered: None)
