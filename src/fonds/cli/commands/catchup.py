"""`fonds catchup KIND`: read what never was, what failed, and what an older extractor read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import click
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, global_options, pipeline_option
from fonds.cli.names import Commands, Name
from fonds.cli.working.working_off import work_off
from fonds.config import Settings
from fonds.kinds import KINDS
from fonds.kinds.kind import DerivativeKind, Reading
from fonds.library.catchup.selection import Selection
from fonds.library.catchup.sending import CatchUpCount
from fonds.library.reindex import remake
from fonds.model.numbers import how_many
from fonds.model.rows import EntryRow
from fonds.ports import Stores
from fonds.runtime.homelock import HomeLock
from fonds.runtime.intake import Entered, Intake


@click.group("catchup", cls=Commands, invoke_without_command=True)
@click.option(
    "--list", "listed", is_flag=True, help="Name the kinds of derivatives and how each is made."
)
@click.pass_context
def catchup(ctx: click.Context, /, listed: bool, **flags: object) -> int | None:
    """Do for what is here already what is done for new captures: one command for each kind of derivative.

    \b
    fonds catchup --list
    fonds catchup pdf
    """
    ctx.obj = ctx.obj.with_flags(**flags)
    if listed:
        _list(ctx.obj)
        ctx.exit(0)
    if ctx.invoked_subcommand is None:
        raise click.UsageError("which kind? See `fonds catchup --list`", ctx)
    return None


catchup.params += global_options()


def _list(app: App) -> None:
    for kind in KINDS:
        told = {
            "kind": kind.name,
            "table": kind.row.TABLE,
            "made_by": kind.step,
            "read_by": kind.reading.step if kind.reading else None,
        }
        if app.json:
            echo_json(told)
        elif kind.reading:
            console().print(f"{kind.name}: read by {kind.reading.step}, kept by {kind.step}")
        else:
            how = "made of texts that are kept" if kind.made_again else "comes with another"
            console().print(f"{kind.name}: kept by {' and '.join(kind.sinks)}, {how}")


def _command(kind: DerivativeKind, reading: Reading) -> click.Command:
    """The command that catches up one kind."""

    def run(app: App, **arguments: Any) -> int:
        return _catch_up(app, kind, **arguments)

    title = kind.title[:1].upper() + kind.title[1:]
    run.__doc__ = f"""{title}: read the files that have none, a failed one, or one by another extractor.

    An extractor is another when a program in it or a limit has changed: `fonds doctor` shows its name. A
    success is never overwritten by a failure, and what a reading refused is not read again without
    --reextract. Interrupted, start it again. Exit codes are those of `fonds ingest`.

    \b
    fonds catchup {kind.name}
    fonds catchup {kind.name} --dry-run
    fonds catchup {kind.name} --reextract --status {reading.statuses[0]}
    fonds catchup {kind.name} --reextract --older-than 365 --enter-only
    """
    for option in reversed(_options(reading)):
        run = option(run)
    return command(kind.name)(run)


def _making(kind: DerivativeKind) -> click.Command:
    """The command for a kind that follows from what is kept."""

    def run(app: App) -> int:
        stores = app.stores(app.settings())
        with HomeLock(app.home):
            made = remake(stores.records, stores.blobs, [kind])
        if app.json:
            echo_json({"remade": made})
        else:
            console().print(
                f"{how_many(made, 'row was', 'rows were')} made of texts that are here: {kind.title}."
            )
        return 0

    title = kind.title[:1].upper() + kind.title[1:]
    run.__doc__ = f"""{title}: make what is missing, or was made otherwise, of the texts that are kept.

    No file is read again and no message is sent. Nothing else may work on the home meanwhile; searching goes
    on. Interrupted, start it again.

    \b
    fonds catchup {kind.name}
    fonds catchup {kind.name} --json
    """
    return command(kind.name)(run)


def _options(reading: Reading) -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    return [
        click.option("--reextract", is_flag=True, help="Also what this very extractor has read."),
        click.option(
            "--status",
            "statuses",
            multiple=True,
            type=Name("status", reading.statuses),
            metavar="STATUS",
            help="With --reextract: only with this status; may be given several times.",
        ),
        click.option(
            "--made-by",
            default="",
            metavar="NAME",
            help="With --reextract: only by an extractor whose name begins so, as fonds-pdf/1.",
        ),
        click.option(
            "--older-than",
            type=click.FloatRange(0),
            metavar="DAYS",
            help="With --reextract: only what was extracted longer ago.",
        ),
        pipeline_option,
        click.option("--enter-only", is_flag=True, help="Send the work and leave it to workers."),
        click.option("--dry-run", is_flag=True, help="Only count what would be read."),
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
        raise click.UsageError("--status, --made-by and --older-than go with --reextract")
    from fonds.wiring.backends import all_shared, now
    from fonds.wiring.pipelines import catch_up
    from fonds.wiring.readers import extractors

    settings = app.settings(**flags)
    names = extractors(settings)
    wanted = Selection(
        kind=kind,
        extractor=kind.reading.extractor(names) if kind.reading else "",
        again=reextract,
        statuses=frozenset(statuses),
        made_by=made_by,
        before=None if older_than is None else now() - timedelta(days=older_than),
    )
    stores = app.stores(settings)
    if dry_run:
        return _counted(app, stores, wanted)
    with HomeLock(app.home, shared=enter_only or all_shared(settings)) as lock:
        if enter_only:
            done = catch_up(stores, settings, wanted, _nothing, _never)
            return _told(app, wanted, done)
        return _work(app, settings, stores, lock, wanted)


def _work(app: App, settings: Settings, stores: Stores, lock: HomeLock, wanted: Selection) -> int:
    """Send in one thread, extract in the others; the account is that of the inputs concerned."""
    from fonds.wiring.pipelines import catch_up

    def feed(intake: Intake, entered: Entered) -> None:
        def note(sent: CatchUpCount, captures: Sequence[EntryRow]) -> None:
            entered.input_ids |= {row.input_id for row in captures}

        done = catch_up(stores, settings, wanted, note, intake.stopping)
        if done.sent and not app.json:
            console().print(_sentence(wanted, done))

    nothing = f"Every {wanted.kind.title} was read by this extractor, or failed for good."
    return work_off(app, settings, stores, lock, feed, nothing)


def _counted(app: App, stores: Stores, wanted: Selection) -> int:
    """How many files are wanted, by the status they have now."""
    counts = wanted.count(stores.records)
    if app.json:
        echo_json({"wanted": sum(counts.values()), "by_status": counts})
        return 0
    screen = console()
    screen.print(f"[bold]{sum(counts.values()):,}[/bold] files would be read.")
    for status, count in sorted(counts.items()):
        screen.print(f"  {count:,} {escape(status) or 'never read'}")
    return 0


def _told(app: App, wanted: Selection, done: CatchUpCount) -> int:
    if app.json:
        echo_json(done)
    else:
        console().print(f"{_sentence(wanted, done)} `{app.told('status')}` shows how they fare.")
    return 0


def _sentence(wanted: Selection, done: CatchUpCount) -> str:
    sent = how_many(done.sent, "file is", "files are")
    words = f"{sent} to be read for {wanted.kind.name}; {done.seen:,} were looked at."
    if done.on_their_way:
        words += f" {done.on_their_way:,} are on their way from before."
    if done.lost:
        words += f" Of {done.lost:,} nobody knows where their bytes are."
    return words


def _never() -> bool:
    return False


def _nothing(sent: CatchUpCount, captures: Sequence[EntryRow]) -> None:
    """The tick of those who show nothing."""


for _kind in KINDS:
    if _kind.reading is not None:
        catchup.add_command(_command(_kind, _kind.reading))
    elif _kind.made_again is not None:
        catchup.add_command(_making(_kind))
