"""`fonds catchup`: reprocess files that are unread, failed, or read by an older extractor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape

from fonds.audit.repair.reindex import rebuild_derived_rows
from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    pipeline_option,
)
from fonds.cli.names import CommandGroup, SuggestingChoice
from fonds.cli.pipeline_run import RunAnswer, run_and_report
from fonds.config import Settings
from fonds.derivatives.kind import DerivativeKind, RereadPlan
from fonds.derivatives.kinds import KINDS
from fonds.ingest.catch_up import CatchUpCount, CatchUpSelection
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.ports import Stores
from fonds.stores.home_lock import HomeLock


class KindAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a kind of derivative, such as extracted text."""

    kind: Annotated[str, Meta(description="name of the kind")]
    table: Annotated[str, Meta(description="table of the rows")]
    made_by: Annotated[str, Meta(description="step that stores it")]
    read_by: Annotated[
        str | None,
        Meta(description="step that computes it; null if it is computed with another kind"),
    ]


class DryRunAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of files that `fonds catchup` would read."""

    files: Annotated[int, Meta(description="number of files that would be read")]
    by_status: Annotated[
        Mapping[str, int], Meta(description="number of these files, by current status")
    ]


class DerivedRowsAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of database rows that were derived from stored texts."""

    remade: Annotated[int, Meta(description="number of rows derived from stored texts")]


@click.group("catchup", cls=CommandGroup, invoke_without_command=True)
@click.option(
    "--list",
    "listed",
    is_flag=True,
    help="List the kinds of derivatives and how they are computed.",
)
@click.pass_context
def catchup(ctx: click.Context, /, listed: bool, **flags: object) -> int | None:
    """Reprocess files that are already in the library.

    There is one command per kind of derivative.

    \b
    fonds catchup --list
    fonds catchup pdf
    """
    ctx.obj = ctx.obj.with_flags(**flags)
    if listed:
        _list_kinds(ctx.obj)
        ctx.exit(0)
    if ctx.invoked_subcommand is None:
        raise click.UsageError("Name a kind. `fonds catchup --list` lists them.", ctx)
    return None


catchup.params += build_global_options()
catchup.answers = {"one for each kind, with --list": KindAnswer}


def _list_kinds(app: App) -> None:
    for kind in KINDS:
        if app.is_json:
            read_by = kind.reading.step if kind.reading else None
            echo_json(KindAnswer(kind.name, kind.row.TABLE, kind.step, read_by))
        elif kind.reading:
            open_console().print(
                f"{kind.name}: computed by {kind.reading.step}, stored by {kind.step}"
            )
        else:
            how = "derived from stored texts" if kind.rebuild else "computed with another kind"
            open_console().print(f"{kind.name}: stored by {' and '.join(kind.sinks)}, {how}")


def _build_command(kind: DerivativeKind, reading: RereadPlan) -> click.Command:
    """Return the subcommand of `fonds catchup` that reads files again for one derivative kind."""

    def run(app: App, **arguments: Any) -> int:
        return _catch_up(app, kind, **arguments)

    title = kind.title[:1].upper() + kind.title[1:]
    run.__doc__ = f"""{title}: process files that have none, a failed one, or one by another extractor.

    The extractor changes when one of its programs or limits changes; `fonds doctor` shows its name. A
    failure never replaces a success. Files that were refused are read again only with --reextract. If
    interrupted, run the same command again. Exit codes are those of `fonds ingest`.

    \b
    fonds catchup {kind.name}
    fonds catchup {kind.name} --dry-run
    fonds catchup {kind.name} --reextract --status {reading.statuses[0]}
    fonds catchup {kind.name} --reextract --older-than 365 --enter-only
    """
    for option in reversed(_build_options(reading)):
        run = option(run)
    answers = {
        "one, when the work is done": RunAnswer,
        "one, with --enter-only": CatchUpCount,
        "one, with --dry-run": DryRunAnswer,
    }
    return command(kind.name, answers=answers)(run)


def _build_derive_command(kind: DerivativeKind) -> click.Command:
    """Return the subcommand of `fonds catchup` for a derivative kind that is derived from stored
    texts.
    """

    def run(app: App) -> int:
        stores = app.open_stores(app.load_settings())
        with HomeLock(app.home):
            n_rows = rebuild_derived_rows(stores.records, stores.blobs, [kind])
        if app.is_json:
            echo_json(DerivedRowsAnswer(n_rows))
        else:
            open_console().print(
                f"{pluralize(n_rows, 'row')} derived from stored texts: {kind.title}."
            )
        return 0

    title = kind.title[:1].upper() + kind.title[1:]
    run.__doc__ = f"""{title}: derive what is missing or outdated from the stored texts.

    No file is read again and no message is sent. Searching continues to work, but no other command may
    work on the home at the same time. If interrupted, run the same command again.

    \b
    fonds catchup {kind.name}
    fonds catchup {kind.name} --json
    """
    return command(kind.name, answers={"one": DerivedRowsAnswer})(run)


def _build_options(reading: RereadPlan) -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    return [
        click.option(
            "--reextract", is_flag=True, help="Also process files that this extractor has read."
        ),
        click.option(
            "--status",
            "statuses",
            multiple=True,
            type=SuggestingChoice("status", reading.statuses),
            metavar="STATUS",
            help="With --reextract: only files with this status; repeatable.",
        ),
        click.option(
            "--made-by",
            default="",
            metavar="NAME",
            help=(
                "With --reextract: only files whose extractor name starts with this, "
                "such as fonds-pdf/1."
            ),
        ),
        click.option(
            "--older-than",
            type=click.FloatRange(0),
            metavar="DAYS",
            help="With --reextract: only files extracted more than this many days ago.",
        ),
        pipeline_option,
        click.option(
            "--enter-only", is_flag=True, help="Send the work and leave it to the workers."
        ),
        click.option("--dry-run", is_flag=True, help="Only count the files that would be read."),
    ]


def _catch_up(
    app: App,
    kind: DerivativeKind,
    *,
    reextract: bool,
    statuses: tuple[str, ...],
    made_by: str,
    older_than: float | None,
    enter_only: bool,
    dry_run: bool,
    **flags: Any,
) -> int:
    if (statuses or made_by or older_than is not None) and not reextract:
        raise click.UsageError("--status, --made-by and --older-than need --reextract.")
    # Imported here because the pipelines, the readers and the stores are slow to import.
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.pipelines import send_catchup
    from fonds.wiring.readers import name_extractors
    from fonds.wiring.stores import get_utc_now

    settings = app.load_settings(**flags)
    names = name_extractors(settings)
    selection = CatchUpSelection(
        kind=kind,
        extractor=kind.reading.extractor(names) if kind.reading else "",
        rereads=reextract,
        statuses=frozenset(statuses),
        made_by=made_by,
        before_time=None if older_than is None else get_utc_now() - timedelta(days=older_than),
    )
    stores = app.open_stores(settings)
    if dry_run:
        return _print_counts(app, stores, selection)
    with HomeLock(app.home, is_shared=enter_only or are_stores_shared(settings)) as lock:
        if enter_only:
            counts = send_catchup(stores, settings, selection, _ignore_progress, _return_false)
            return _print_result(app, selection, counts)
        return _run_catchup(app, settings, stores, lock, selection)


def _run_catchup(
    app: App, settings: Settings, stores: Stores, lock: HomeLock, selection: CatchUpSelection
) -> int:
    """Read the selected stored files again: one thread sends them to the pipeline, other threads
    process them.

    Returns the exit code when all files are processed. The printed summary covers all inputs that
    have a selected file.
    """
    # Imported here because the pipelines are slow to import.
    from fonds.wiring.pipelines import send_catchup

    def feed(intake: Intake, intake_counts: IntakeCounts) -> None:
        def note(sent_counts: CatchUpCount, captures: Sequence[EntryRow]) -> None:
            intake_counts.input_ids |= {row.input_id for row in captures}

        counts = send_catchup(stores, settings, selection, note, intake.stopping)
        if counts.sent and not app.is_json:
            open_console().print(_format_result(selection, counts))

    nothing = (
        f"Nothing to do: every {selection.kind.title} was read by this extractor or "
        "failed permanently."
    )
    return run_and_report(app, settings, stores, lock, feed, nothing)


def _print_counts(app: App, stores: Stores, selection: CatchUpSelection) -> int:
    """Print how many files would be read, by their current status. Return the exit code, 0."""
    counts_by_status = selection.count_by_status(stores.records)
    if app.is_json:
        echo_json(DryRunAnswer(sum(counts_by_status.values()), counts_by_status))
        return 0
    screen = open_console()
    screen.print(f"[bold]{sum(counts_by_status.values()):,}[/bold] files would be read.")
    for status, count in sorted(counts_by_status.items()):
        screen.print(f"  {count:,} {escape(status) or 'never read'}")
    return 0


def _print_result(app: App, selection: CatchUpSelection, counts: CatchUpCount) -> int:
    if app.is_json:
        echo_json(counts)
    else:
        open_console().print(
            f"{_format_result(selection, counts)} `{app.format_command('status')}` shows "
            "the progress."
        )
    return 0


def _format_result(selection: CatchUpSelection, counts: CatchUpCount) -> str:
    sent_text = pluralize(counts.sent, "file will", "files will")
    message = f"{sent_text} be read for {selection.kind.name}; {counts.examined:,} examined."
    if counts.in_flight:
        message += f" {counts.in_flight:,} are already in progress."
    if counts.lost:
        message += f" The bytes of {counts.lost:,} files cannot be located."
    return message


def _return_false() -> bool:
    return False


def _ignore_progress(counts: CatchUpCount, captures: Sequence[EntryRow]) -> None:
    """Ignore the progress. Callback for files that are only sent to the queue, for workers
    elsewhere to read.
    """


for _kind in KINDS:
    if _kind.reading is not None:
        catchup.add_command(_build_command(_kind, _kind.reading))
    elif _kind.rebuild is not None:
        catchup.add_command(_build_derive_command(_kind))
