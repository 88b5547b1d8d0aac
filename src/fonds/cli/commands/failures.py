"""`fonds failures`: what is in quarantine and why, trying it again, and accepting it as final."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, pipeline_option, say
from fonds.cli.inbox import absolute_paths
from fonds.cli.names import Name
from fonds.cli.working.durations import shown_time
from fonds.cli.working.failure_notes import note_group, told_note
from fonds.cli.working.noted import noted
from fonds.cli.working.working_off import work_off
from fonds.config import Settings
from fonds.library.failures.deciding import (
    NOTE_CHARACTERS_MAX,
    Act,
    accept,
    retry,
    unread_inputs,
)
from fonds.library.failures.failed import Asked, Failed, failed, failed_entries
from fonds.library.failures.groups import FailureGroup
from fonds.library.failures.notes import settled_notes
from fonds.library.failures.refusals import refused, refused_entries
from fonds.library.failures.retries import RetryGroup
from fonds.model.disposition import Reason
from fonds.model.message import Subscription
from fonds.model.rows import EntryRow
from fonds.ports import Records, Stores
from fonds.runtime.homelock import HomeLock
from fonds.runtime.intake import Entered, Intake

LISTED = 50
DETAIL_CHARS = 200
NOTE = "note"


@command("failures")
@click.argument("action", required=False, type=Name("action", [*map(str, Act), NOTE]))
@pipeline_option
@click.option("--reason", type=Name("reason", map(str, Reason)), metavar="REASON")
@click.option("--step", metavar="STEP", help="Only what failed at this step.")
@click.option("--group", metavar="ID", help="Only this group of failures.")
@click.option("--key", multiple=True, metavar="SHA1|ID", help="Only this file or capture.")
@click.option(
    "--list", "listed", is_flag=True, help="One line for each failure, not for each reason."
)
@click.option(
    "--refused",
    "shows_refused",
    is_flag=True,
    help="Show what was refused, by reason and type; with --list each record.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    help="At most so many groups, or lines of --list [50; with --json all].",
)
@click.option(
    "--note",
    help="With accept: why it is final; with note: what is to be known of the group;"
    f" {NOTE_CHARACTERS_MAX} characters at most.",
)
@click.option("--owner", metavar="NAME", help="With note: whom the group is left to.")
@click.option("--yes", is_flag=True, help="With accept: do not ask.")
def failures(
    app: App,
    action: str | None,
    reason: str | None,
    step: str | None,
    group: str | None,
    key: tuple[str, ...],
    listed: bool,
    shows_refused: bool,
    limit: int | None,
    note: str | None,
    owner: str | None,
    yes: bool,
    **flags: Any,
) -> int:
    """Show what failed, in groups of one step, reason, cause and host; `retry` works it off again, `accept`
    takes it as final, `note` keeps a note on a group, for as long as it is not cleared.

    Nothing that failed is lost: its message waits, whole, until it is tried again or accepted. What could
    not be read, a file, folder or URL, is read again by `retry`, and by `fonds ingest` of the same path.

    \b
    fonds failures
    fonds failures --list --reason broken-pdf
    fonds failures --refused
    fonds failures retry --reason missing-source
    fonds failures accept --group 0123456789abcdef --note "password unknown"
    fonds failures note --group 0123456789abcdef --note "asked the archive" --owner Ann
    """
    asked = Asked(flags["pipeline"], step, reason, key, group)
    if shows_refused and (action or key or group):
        raise click.UsageError("--refused goes with --list, --reason, --step, --pipeline, --limit")
    if action:
        _check_no_list(action, limit, listed=listed)
    _check_words(action, note, owner, yes=yes)
    if action == NOTE:
        return note_group(app, _checked(app.stores().records, asked), asked, note, owner)
    if action == Act.RETRY:
        return _retry(app, app.settings(**flags), asked)
    if action == Act.ACCEPT:
        return _accept(app, app.settings(**flags), asked, note or "", yes=yes)
    records = _checked(app.stores().records, asked)
    if limit is None and not app.json:
        limit = LISTED
    if shows_refused:
        _print_refused(app, records, asked, limit, listed=listed)
    elif listed:
        _print_list(app, records, asked, limit)
    else:
        _print_groups(app, records, asked, limit)
        _tell_settled(app, records)
    return 0


def _check_no_list(action: str, limit: int | None, *, listed: bool) -> None:
    if listed:
        raise click.UsageError(f"{action} does something, --list lists: give one of the two")
    if limit is not None:
        raise click.UsageError("--limit is for lists")


def _check_words(action: str | None, note: str | None, owner: str | None, *, yes: bool) -> None:
    if yes and action != Act.ACCEPT:
        raise click.UsageError("--yes goes with accept")
    if note is not None and action not in (Act.ACCEPT, NOTE):
        raise click.UsageError("--note goes with accept and with note")
    if owner is not None and action != NOTE:
        raise click.UsageError("--owner goes with note")


def _checked(records: Records, asked: Asked) -> Records:
    """The records, in which such names are known. Raises click.UsageError for others."""
    from fonds.wiring.known import check_names

    try:
        check_names(records, pipeline=asked.pipeline, step=asked.step)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return records


def _print_groups(app: App, records: Records, asked: Asked, limit: int | None) -> None:
    found = failed(records, asked, count_max=limit, with_retries=True)
    if app.json:
        _echo_groups(found)
        return
    screen = console()
    if found.accepted:
        noun = "failure was" if found.accepted == 1 else "failures were"
        screen.print(f"{found.accepted:,} {noun} accepted as final.")
    if not found.total and not found.inputs:
        if not found.retries:
            screen.print(_nothing(found, asked))
        for retries in found.retries:
            _print_retries(screen, retries)
        return
    _print_found(screen, found)
    _say_groups(found)
    if found.groups:
        helps = any(one.reason.again for one in found.groups)
        then = app.told(f"failures {'retry' if helps else 'accept'} --group ID")
        screen.print(f"\nNext: {app.told('failures --list')}   or   {then}", markup=False)


def _echo_groups(found: Failed) -> None:
    for group in found.groups:
        echo_json(group)
    for name, count in found.counted.items():
        echo_json({"reason": name, "count": count, "counted_at": "source"})
    for row in found.inputs:
        echo_json({"input": row})
    if found.accepted:
        echo_json({"reason": str(Reason.ACCEPTED), "count": found.accepted})
    for retries in found.retries:
        echo_json({"retries": retries})
    _say_groups(found)
    _say_shown(len(found.inputs), found.inputs_total, "inputs that were not read to the end")


def _tell_settled(app: App, records: Records) -> None:
    """The notes on what is settled, for as long as nobody clears them."""
    for row in settled_notes(records):
        if app.json:
            echo_json({"settled": row})
        else:
            told = f"{row.failure_group} ({row.reason} at {row.step}): {told_note(row)}"
            console().print(f"Noted, and nothing of it is left: {told}", markup=False)


def _nothing(found: Failed, asked: Asked) -> str:
    if asked != Asked():
        return "Nothing like this has failed."
    return "Nothing needs someone." if found.accepted else "Nothing has failed."


def _print_found(screen: Console, found: Failed) -> None:
    for group in found.groups:
        _print_group(screen, group)
    for name, count in found.counted.items():
        explained = Reason(name).explanation
        screen.print(f"[bold]{count:,}[/bold] [red]{name}[/red] at the source: {explained}")
        screen.print("   [dim]counted while reading: mend the input, and take it in again[/dim]")
    for retries in found.retries:
        _print_retries(screen, retries)
    if found.inputs:
        noun = "input" if found.inputs_total == 1 else "inputs"
        screen.print(f"[bold]{found.inputs_total:,}[/bold] {noun} could not be read to the end:")
    for row in found.inputs:
        screen.print(f"   {escape(row.path)}: {escape(_line(row.error or ''))}")
    _say_shown(len(found.inputs), found.inputs_total, "of them")


def _print_group(screen: Console, group: FailureGroup) -> None:
    screen.print(
        f"[bold]{group.count:,}[/bold] [red]{group.reason}[/red] at {escape(group.step)}: "
        f"{group.reason.explanation}"
    )
    if group.cause:
        screen.print(f"   {escape(group.cause)}")
    if group.note:
        screen.print(f"   [yellow]{escape(told_note(group.note))}[/yellow]")
    if group.sample:
        screen.print(f"   [dim]for example {escape(group.sample.place or group.sample.url)}[/dim]")
    days = [f"{at:%Y-%m-%d}" for at in (group.first_at, group.last_at) if at]
    again = f"try again {group.reason.again}" if group.reason.again else "trying again cannot help"
    facts = ["group " + group.group, group.host, " to ".join(dict.fromkeys(days)), again]
    screen.print(f"   [dim]{escape(' · '.join(filter(None, facts)))}[/dim]")


def _print_retries(screen: Console, found: RetryGroup) -> None:
    first, known = found.first, Reason(found.reason).explanation if found.reason else ""
    screen.print(
        f"[bold]{found.count:,}[/bold] [yellow]{found.reason}[/yellow] at {escape(found.step)}, "
        f"to be tried again: {known}"
    )
    screen.print(f"   [dim]for example {escape(first.url)}: {escape(_line(first.detail))}[/dim]")
    facts = [f"attempt {first.attempt} failed", f"next attempt {shown_time(first.next_attempt_at)}"]
    screen.print(f"   [dim]{' · '.join(facts)}[/dim]")


def _say_groups(found: Failed) -> None:
    total = found.groups_total
    _say_shown(len(found.groups), total, f"groups, the largest; --limit {total} shows all")


def _print_refused(
    app: App, records: Records, asked: Asked, limit: int | None, *, listed: bool
) -> None:
    found = refused(records, asked.pipeline, asked.step, asked.reason)
    if listed:
        rows = refused_entries(records, asked.pipeline, asked.step, asked.reason, limit)
        _print_entries(app, rows)
        _say_shown(len(rows), found.total, f"refused records; --limit {found.total} shows all")
    else:
        groups = found.groups[:limit]
        for group in groups:
            if app.json:
                echo_json(group)
            else:
                kind = f" {group.type}" if group.type else ""
                console().print(
                    f"{group.count:>9,}  [yellow]{group.reason}[/yellow]{escape(kind)}"
                    f"  [dim]{group.reason.explanation}[/dim]"
                )
        _say_shown(len(groups), len(found.groups), "groups; --limit shows more")
    for name, count in found.counted.items():
        if app.json:
            echo_json({"reason": name, "count": count, "counted_at": "source"})
        else:
            say(f"{count:,} {name} more, counted by sources without a row for each")
    if not (found.groups or found.counted or app.json):
        console().print("Nothing was refused.")


def _print_entries(app: App, rows: Iterable[EntryRow]) -> None:
    for row in rows:
        if app.json:
            echo_json(row)
        else:
            console().print(
                f"[yellow]{row.reason}[/yellow] {escape(row.place or row.url)}"
                f"  [dim]{escape(_line(row.detail or ''))}[/dim]"
            )


def _print_list(app: App, records: Records, asked: Asked, limit: int | None) -> None:
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
    from fonds.wiring.backends import all_shared
    from fonds.wiring.pipelines import named_source

    stores, readers, now = _opened(app, settings, asked)
    with HomeLock(app.home, shared=all_shared(settings)) as lock:
        inputs = [
            row for row in unread_inputs(stores.records, asked) if row.pipeline == settings.pipeline
        ]
        with noted(stores.records, _act("retry", asked)):
            retried = retry(stores, readers, asked, now)
        if not retried.count and not inputs:
            _say_nothing(app)
            return 0
        paths = [row.path for row in inputs]
        source = named_source(paths, app.home, settings)
        ids = [row.input_id for row in inputs]
        retried = replace(retried, count=retried.count + len(ids), inputs=ids)

        def feed(intake: Intake, entered: Entered) -> None:
            if paths:
                intake.run(source, entered, absolute_paths(paths))

        return work_off(app, settings, stores, lock, feed, retried=retried)


def _accept(app: App, settings: Settings, asked: Asked, note: str, *, yes: bool) -> int:
    """End what fits as accepted, after asking; nothing is worked off."""
    if asked == Asked(asked.pipeline):
        raise click.UsageError("say which: --group, --key, --reason or --step")
    if len(note) > NOTE_CHARACTERS_MAX:
        raise click.UsageError(f"--note has at most {NOTE_CHARACTERS_MAX} characters")
    stores, readers, now = _opened(app, settings, asked)
    total = failed_entries(stores.records, asked, count_max=0)[1]
    if total and not yes and not app.json:
        click.confirm(f"Accept {total:,} as final? They cannot be tried again", abort=True)
    with noted(stores.records, _act("accept", asked)):
        count = accept(stores, readers, asked, now, note)
    if app.json:
        echo_json({"accepted": count})
    elif count:
        console().print(f"{count:,} {'message' if count == 1 else 'messages'} accepted as final.")
    else:
        _say_nothing(app)
    return 0


def _act(what: str, asked: Asked) -> str:
    """The command, as far as it says which failures; of many keys how many."""
    flags = {"failure_group": "group"}
    said = [f"--{flags.get(name, name)} {value}" for name, value in asked.named().items()]
    keys = [f"--key {asked.keys[0]}"] if len(asked.keys) == 1 else []
    keys = [f"of {len(asked.keys):,} keys"] if len(asked.keys) > 1 else keys
    return " ".join(["fonds failures", what, *said, *keys])


def _opened(
    app: App, settings: Settings, asked: Asked
) -> tuple[Stores, Iterable[Subscription], Callable[[], datetime]]:
    from fonds.wiring.backends import now, readers_of

    stores = app.stores(settings)
    _checked(stores.records, asked)
    return stores, readers_of(settings), now


def _say_nothing(app: App) -> None:
    if not app.json:
        told = app.told("failures")
        console().print(f"Nothing in quarantine fits; `{told}` shows what there is.")
