"""`fonds failures`: list what is in quarantine and why, retry it, accept it, or annotate it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.console import Console
from rich.markup import escape

from fonds.cli.acts import find_local_user, record_act
from fonds.cli.context import App, command, echo_json, open_console, pipeline_option, print_note
from fonds.cli.inputs import resolve_paths
from fonds.cli.names import SuggestingChoice
from fonds.cli.pipeline_run import RetriedAnswer, run_and_report
from fonds.cli.time_format import format_time
from fonds.config import Settings
from fonds.failures.decisions import (
    NOTE_MAX_CHARS,
    FailureAct,
    accept,
    list_pipelines,
    list_settled_notes,
    list_unread_inputs,
    retry,
    set_note,
)
from fonds.failures.entries import FailureList, FailureQuery, list_failed_entries, list_failures
from fonds.failures.groups import FailureGroup
from fonds.failures.refusals import RefusedGroup, count_refused, list_refused_entries
from fonds.failures.retries import RetryGroup
from fonds.model.disposition import Reason
from fonds.model.message import Subscription
from fonds.model.rows import EntryRow, FailureNoteRow, InputRow
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.ports import Records, Stores
from fonds.stores.home_lock import HomeLock
from fonds.wiring.backends import are_stores_shared
from fonds.wiring.flavours import list_readers
from fonds.wiring.pipeline_names import check_names
from fonds.wiring.stores import get_utc_now


class UnreadInputAnswer(msgspec.Struct, frozen=True):
    """JSON answer: an input that was not read to its end."""

    input: Annotated[InputRow, Meta(description="the input, with its error")]


class ReasonCountAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of records with one reason that are only counted, not listed one by
    one.
    """

    reason: Annotated[str, Meta(description="reason; see docs/reasons.md")]
    count: Annotated[int, Meta(description="number of records")]
    counted_at: Annotated[
        str | msgspec.UnsetType,
        Meta(description="`source` if a source counted them without a row for each"),
    ] = msgspec.UNSET


class RetryGroupAnswer(msgspec.Struct, frozen=True):
    """JSON answer: messages that failed and wait for their next attempt."""

    retries: Annotated[
        RetryGroup, Meta(description="the messages; `first` is the one that is due first")
    ]


class SettledNoteAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a user's note on a failure group that has no failures left."""

    settled: Annotated[FailureNoteRow, Meta(description="the note")]


class NotedAnswer(msgspec.Struct, frozen=True):
    """JSON answer: the user's note that `fonds failures note` wrote on a failure group, or
    cleared.
    """

    noted: Annotated[FailureNoteRow | None, Meta(description="the note; null if it was cleared")]


class AcceptedAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of failed messages that `fonds failures accept` accepted as final."""

    accepted: Annotated[int, Meta(description="number of messages accepted as final")]


def set_group_note(
    app: App, records: Records, query: FailureQuery, note: str | None, owner: str | None
) -> int:
    """Set or clear a user's note on a failure group, and print it. Return the exit code, 0.

    `query` selects the group. Raises click.UsageError if the group or the note is missing, or if
    several pipelines have the group.
    """
    if not query.group or query.step or query.reason or query.keys:
        raise click.UsageError(
            "Name a group with --group. Add --pipeline if several pipelines have it."
        )
    if note is None and owner is None:
        raise click.UsageError("Give --note or --owner. An empty value for both clears the note.")
    pipelines = [query.pipeline] if query.pipeline else list_pipelines(records, query.group)
    if len(pipelines) != 1:
        problem = (
            f"several pipelines have it ({', '.join(pipelines)}); add --pipeline"
            if pipelines
            else "not found"
        )
        raise click.UsageError(f"group {query.group}: {problem}")
    with record_act(records, f"fonds failures note --group {query.group}"):
        try:
            row = set_note(
                records, pipelines[0], query.group,
                note=note or "", owner=owner or "", author=find_local_user(), moment=get_utc_now(),
            )  # fmt: skip
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if app.is_json:
        echo_json(NotedAnswer(row))
    else:
        description = format_note(row) if row else "note cleared"
        open_console().print(f"group {query.group}: {description}", markup=False)
    return 0


def format_note(row: FailureNoteRow) -> str:
    """Return a user's note on a failure group in one line, with assignee, author and date."""
    return "; ".join(_iter_parts(row))


def _iter_parts(row: FailureNoteRow) -> Iterator[str]:
    if row.note:
        yield row.note
    if row.owner:
        yield f"assigned to {row.owner}"
    yield f"noted by {row.noted_by}, {row.noted_at:%Y-%m-%d}"


LISTED = 50
DETAIL_CHARS = 200
NOTE = "note"


@command(
    "failures",
    answers={
        "one for each group, largest first": FailureGroup,
        "one for each reason that sources counted, and for what was accepted": ReasonCountAnswer,
        "one for each input that was not read to its end": UnreadInputAnswer,
        "one for each pipeline, step and reason of messages that are retried": RetryGroupAnswer,
        "one for each note on a group without failures": SettledNoteAnswer,
        "one for each reason and type, with --refused": RefusedGroup,
        "one for each failure or rejected record, with --list": EntryRow,
        "one, for `failures note`": NotedAnswer,
        "one, for `failures accept`": AcceptedAnswer,
        "one, for `failures retry`": RetriedAnswer,
    },
)
@click.argument(
    "action", required=False, type=SuggestingChoice("action", [*map(str, FailureAct), NOTE])
)
@pipeline_option
@click.option("--reason", type=SuggestingChoice("reason", map(str, Reason)), metavar="REASON")
@click.option("--step", metavar="STEP", help="Only failures at this step.")
@click.option("--group", metavar="ID", help="Only this group of failures.")
@click.option("--key", multiple=True, metavar="SHA1|ID", help="Only this file or capture.")
@click.option("--list", "listed", is_flag=True, help="Show one line per failure.")
@click.option(
    "--refused",
    "shows_refused",
    is_flag=True,
    help="Show rejected records by reason and type; with --list each record.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    help="Maximum number of groups or lines [50; with --json all].",
)
@click.option(
    "--note",
    help=(
        "With accept: why the failure is final. With note: text for the group. At most "
        f"{NOTE_MAX_CHARS} characters."
    ),
)
@click.option("--owner", metavar="NAME", help="With note: who handles the group.")
@click.option("--yes", is_flag=True, help="With accept: do not ask for confirmation.")
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
    """Show failures, grouped by step, reason, cause and host.

    `retry` processes them again, `accept` marks them as final, and `note` keeps a note on a group
    until it is cleared.

    Nothing that failed is lost: its message stays in quarantine until it is retried or accepted. An
    input that could not be read (a file, folder or URL) is read again by `retry`, and by `fonds
    ingest` with the same path.

    \b
    fonds failures
    fonds failures --list --reason broken-pdf
    fonds failures --refused
    fonds failures retry --reason missing-source
    fonds failures accept --group 0123456789abcdef --note "password unknown"
    fonds failures note --group 0123456789abcdef --note "asked the archive" --owner Ann
    """
    query = FailureQuery(flags["pipeline"], step, reason, key, group)
    if shows_refused and (action or key or group):
        raise click.UsageError(
            "--refused works only with --list, --reason, --step, --pipeline and --limit."
        )
    if action:
        _check_no_list(action, limit, shows_list=listed)
    _check_words(action, note, owner, yes=yes)
    if action == NOTE:
        return set_group_note(
            app, _validate_query(app.open_stores().records, query), query, note, owner
        )
    if action == FailureAct.RETRY:
        return _retry(app, app.load_settings(**flags), query)
    if action == FailureAct.ACCEPT:
        return _accept(app, app.load_settings(**flags), query, note or "", yes=yes)
    records = _validate_query(app.open_stores().records, query)
    if limit is None and not app.is_json:
        limit = LISTED
    if shows_refused:
        _print_refused(app, records, query, limit, shows_list=listed)
    elif listed:
        _print_list(app, records, query, limit)
    else:
        _print_groups(app, records, query, limit)
        _print_settled_notes(app, records)
    return 0


def _check_no_list(action: str, limit: int | None, *, shows_list: bool) -> None:
    if shows_list:
        raise click.UsageError(f"--list cannot be combined with {action}.")
    if limit is not None:
        raise click.UsageError("--limit works only with lists.")


def _check_words(action: str | None, note: str | None, owner: str | None, *, yes: bool) -> None:
    if yes and action != FailureAct.ACCEPT:
        raise click.UsageError("--yes works only with accept.")
    if note is not None and action not in (FailureAct.ACCEPT, NOTE):
        raise click.UsageError("--note works only with accept and note.")
    if owner is not None and action != NOTE:
        raise click.UsageError("--owner works only with note.")


def _validate_query(records: Records, query: FailureQuery) -> Records:
    """Check that the pipeline and step of a query exist. Return `records` unchanged.

    Raises click.UsageError for an unknown pipeline or step.
    """
    try:
        check_names(records, pipeline=query.pipeline, step=query.step)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return records


def _print_groups(app: App, records: Records, query: FailureQuery, limit: int | None) -> None:
    failure_list = list_failures(records, query, count_max=limit, with_retries=True)
    if app.is_json:
        _echo_groups(failure_list)
        return
    screen = open_console()
    if failure_list.accepted:
        noun = "failure was" if failure_list.accepted == 1 else "failures were"
        screen.print(f"{failure_list.accepted:,} {noun} accepted as final.")
    if not failure_list.total and not failure_list.inputs:
        if not failure_list.retries:
            screen.print(_explain_empty(failure_list, query))
        for retries in failure_list.retries:
            _print_retries(screen, retries)
        return
    _print_found(screen, failure_list)
    _print_group_total(failure_list)
    if failure_list.groups:
        is_retryable = any(group.reason.retry_hint for group in failure_list.groups)
        next_command = app.format_command(
            f"failures {'retry' if is_retryable else 'accept'} --group ID"
        )
        screen.print(
            f"\nNext: {app.format_command('failures --list')}   or   {next_command}", markup=False
        )


def _echo_groups(failures: FailureList) -> None:
    for group in failures.groups:
        echo_json(group)
    for name, count in failures.counted.items():
        echo_json(ReasonCountAnswer(name, count, "source"))
    for row in failures.inputs:
        echo_json(UnreadInputAnswer(row))
    if failures.accepted:
        echo_json(ReasonCountAnswer(str(Reason.ACCEPTED), failures.accepted))
    for retries in failures.retries:
        echo_json(RetryGroupAnswer(retries))
    _print_group_total(failures)
    _print_shown_count(
        len(failures.inputs), failures.inputs_total, "inputs that were not read to the end"
    )


def _print_settled_notes(app: App, records: Records) -> None:
    """Print the users' notes on failure groups that have no failures left."""
    for row in list_settled_notes(records):
        if app.is_json:
            echo_json(SettledNoteAnswer(row))
        else:
            description = f"{row.failure_group} ({row.reason} at {row.step}): {format_note(row)}"
            open_console().print(f"Note without failures: {description}", markup=False)


def _explain_empty(failures: FailureList, query: FailureQuery) -> str:
    if query != FailureQuery():
        return "No failures match."
    return "No open failures." if failures.accepted else "No failures."


def _print_found(screen: Console, failures: FailureList) -> None:
    for group in failures.groups:
        _print_group(screen, group)
    for name, count in failures.counted.items():
        explanation = Reason(name).explanation
        screen.print(f"[bold]{count:,}[/bold] [red]{name}[/red] at the source: {explanation}")
        screen.print("   [dim]counted while reading; fix the input and ingest it again[/dim]")
    for retries in failures.retries:
        _print_retries(screen, retries)
    if failures.inputs:
        noun = "input" if failures.inputs_total == 1 else "inputs"
        screen.print(f"[bold]{failures.inputs_total:,}[/bold] {noun} could not be read to the end:")
    for row in failures.inputs:
        screen.print(f"   {escape(row.path)}: {escape(_shorten_line(row.error or ''))}")
    _print_shown_count(len(failures.inputs), failures.inputs_total, "of them")


def _print_group(screen: Console, group: FailureGroup) -> None:
    screen.print(
        f"[bold]{group.count:,}[/bold] [red]{group.reason}[/red] at {escape(group.step)}: "
        f"{group.reason.explanation}"
    )
    if group.cause:
        screen.print(f"   {escape(group.cause)}")
    if group.note:
        screen.print(f"   [yellow]{escape(format_note(group.note))}[/yellow]")
    if group.sample:
        screen.print(f"   [dim]example: {escape(group.sample.place or group.sample.url)}[/dim]")
    days = [f"{moment:%Y-%m-%d}" for moment in (group.first_at, group.last_at) if moment]
    retry_text = (
        f"retry {group.reason.retry_hint}" if group.reason.retry_hint else "a retry cannot help"
    )
    facts = ["group " + group.group, group.host, " to ".join(dict.fromkeys(days)), retry_text]
    screen.print(f"   [dim]{escape(' · '.join(filter(None, facts)))}[/dim]")


def _print_retries(screen: Console, group: RetryGroup) -> None:
    first_failure, explanation = (
        group.first,
        Reason(group.reason).explanation if group.reason else "",
    )
    screen.print(
        f"[bold]{group.count:,}[/bold] [yellow]{group.reason}[/yellow] at "
        f"{escape(group.step)}, will be retried: {explanation}"
    )
    screen.print(
        f"   [dim]example: {escape(first_failure.url)}: {escape(_shorten_line(first_failure.detail))}[/dim]"
    )
    facts = [
        f"attempt {first_failure.attempt} failed",
        f"next attempt {format_time(first_failure.next_attempt_at)}",
    ]
    screen.print(f"   [dim]{' · '.join(facts)}[/dim]")


def _print_group_total(failures: FailureList) -> None:
    total = failures.groups_total
    _print_shown_count(
        len(failures.groups), total, f"groups, largest first; --limit {total} shows all"
    )


def _print_refused(
    app: App, records: Records, query: FailureQuery, limit: int | None, *, shows_list: bool
) -> None:
    refusals = count_refused(records, query.pipeline, query.step, query.reason)
    if shows_list:
        rows = list_refused_entries(records, query.pipeline, query.step, query.reason, limit)
        _print_entries(app, rows)
        _print_shown_count(
            len(rows), refusals.total, f"rejected records; --limit {refusals.total} shows all"
        )
    else:
        groups = refusals.groups[:limit]
        for group in groups:
            if app.is_json:
                echo_json(group)
            else:
                kind = f" {group.type}" if group.type else ""
                open_console().print(
                    f"{group.count:>9,}  [yellow]{group.reason}[/yellow]{escape(kind)}"
                    f"  [dim]{group.reason.explanation}[/dim]"
                )
        _print_shown_count(len(groups), len(refusals.groups), "groups; --limit shows more")
    for name, count in refusals.counted.items():
        if app.is_json:
            echo_json(ReasonCountAnswer(name, count, "source"))
        else:
            print_note(f"{count:,} {name} more, counted by sources without a row for each")
    if not (refusals.groups or refusals.counted or app.is_json):
        open_console().print("No rejected records.")


def _print_entries(app: App, rows: Iterable[EntryRow]) -> None:
    for row in rows:
        if app.is_json:
            echo_json(row)
        else:
            open_console().print(
                f"[yellow]{row.reason}[/yellow] {escape(row.place or row.url)}"
                f"  [dim]{escape(_shorten_line(row.detail or ''))}[/dim]"
            )


def _print_list(app: App, records: Records, query: FailureQuery, limit: int | None) -> None:
    rows, total = list_failed_entries(records, query, count_max=limit)
    screen = open_console()
    for row in rows:
        if app.is_json:
            echo_json(row)
        else:
            screen.print(
                f"[red]{row.reason}[/red] {escape(row.place or row.url)}"
                f"  [dim]{escape(_shorten_line(row.detail or ''))}[/dim]"
            )
    if not rows and not app.is_json:
        screen.print("No failures in quarantine match.")
    _print_shown_count(len(rows), total, f"failures; --limit {total} shows all")


def _shorten_line(text: str) -> str:
    """Return a text as one line, cut with an ellipsis to at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= DETAIL_CHARS else line[: DETAIL_CHARS - 1] + "…"


def _print_shown_count(shown_count: int, total: int, action: str) -> None:
    if shown_count < total:
        print_note(f"{shown_count:,} of {total:,} {action}")


def _retry(app: App, settings: Settings, query: FailureQuery) -> int:
    # Imported here because the pipelines are slow to import.
    from fonds.wiring.pipelines import create_named_source

    stores, readers, now = _open_stores(app, settings, query)
    with HomeLock(app.home, is_shared=are_stores_shared(settings)) as lock:
        inputs = [
            row
            for row in list_unread_inputs(stores.records, query)
            if row.pipeline == settings.pipeline
        ]
        with record_act(stores.records, _build_command("retry", query)):
            retry_result = retry(stores, readers, query, now)
        if not retry_result.count and not inputs:
            _print_nothing(app)
            return 0
        paths = [row.path for row in inputs]
        source = create_named_source(paths, app.home, settings)
        ids = [row.input_id for row in inputs]
        retry_result = replace(retry_result, count=retry_result.count + len(ids), inputs=ids)

        def feed(intake: Intake, intake_counts: IntakeCounts) -> None:
            if paths:
                intake.run(source, intake_counts, resolve_paths(paths))

        return run_and_report(app, settings, stores, lock, feed, retry_result=retry_result)


def _accept(app: App, settings: Settings, query: FailureQuery, note: str, *, yes: bool) -> int:
    """Accept the matching quarantined messages as final, after the user confirms.

    No message is processed. Return the exit code, 0. Raises click.UsageError if the query selects
    all failures, or the note is too long.
    """
    if query == FailureQuery(query.pipeline):
        raise click.UsageError("Choose failures with --group, --key, --reason or --step.")
    if len(note) > NOTE_MAX_CHARS:
        raise click.UsageError(f"--note can have at most {NOTE_MAX_CHARS} characters.")
    stores, readers, now = _open_stores(app, settings, query)
    total = list_failed_entries(stores.records, query, count_max=0)[1]
    if total and not yes and not app.is_json:
        click.confirm(f"Accept {total:,} as final? They cannot be retried", abort=True)
    with record_act(stores.records, _build_command("accept", query)):
        count = accept(stores, readers, query, now, note)
    if app.is_json:
        echo_json(AcceptedAnswer(count))
    elif count:
        open_console().print(
            f"{count:,} {'message' if count == 1 else 'messages'} accepted as final."
        )
    else:
        _print_nothing(app)
    return 0


def _build_command(action: str, query: FailureQuery) -> str:
    """Return the command line of `fonds failures` for the action log.

    If the user selected several failures by key, the line has only the number of keys.
    """
    flags = {"failure_group": "group"}
    options = [f"--{flags.get(name, name)} {value}" for name, value in query.build_filter().items()]
    keys = [f"--key {query.keys[0]}"] if len(query.keys) == 1 else []
    keys = [f"of {len(query.keys):,} keys"] if len(query.keys) > 1 else keys
    return " ".join(["fonds failures", action, *options, *keys])


def _open_stores(
    app: App, settings: Settings, query: FailureQuery
) -> tuple[Stores, Iterable[Subscription], Callable[[], datetime]]:

    stores = app.open_stores(settings)
    _validate_query(stores.records, query)
    return stores, list_readers(settings), get_utc_now


def _print_nothing(app: App) -> None:
    if not app.is_json:
        hint = app.format_command("failures")
        open_console().print(f"Nothing in quarantine matches. Run `{hint}` to list failures.")
