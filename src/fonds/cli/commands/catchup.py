"""`fonds catchup`: extract what never was, what failed, and what an older extractor read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import click
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, global_options, pipeline_option
from fonds.cli.work import work_off
from fonds.config import Settings
from fonds.library.catchup import CatchUp, Sent, Wanted
from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.pdf import PdfStatus
from fonds.model.rows import EntryRow
from fonds.ports import Stores
from fonds.runtime.binding import stage_of
from fonds.runtime.homelock import HomeLock
from fonds.runtime.intake import Entered, Intake, Marks, wait_for_room

STEP = "extract_pdf"


@click.group("catchup")
@click.pass_context
def catchup(ctx: click.Context, /, **flags: object) -> None:
    """Do for what is here already what is done for new captures.

    \b
    fonds catchup pdf
    """
    ctx.obj = ctx.obj.with_flags(**flags)


catchup.params += global_options()


@command("pdf")
@click.option("--reextract", is_flag=True, help="Also what this very extractor has read.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([str(one) for one in PdfStatus]),
    metavar="STATUS",
    help="With --reextract: only with this status; may be given several times.",
)
@click.option(
    "--made-by",
    default="",
    metavar="NAME",
    help="With --reextract: only by an extractor whose name begins so, as fonds-pdf/1.",
)
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="With --reextract: only what was extracted longer ago.",
)
@pipeline_option
@click.option("--enter-only", is_flag=True, help="Send the work and leave it to workers.")
@click.option("--dry-run", is_flag=True, help="Only count what would be extracted.")
def pdf(
    app: App,
    reextract: bool,
    statuses: tuple[str, ...],
    made_by: str,
    older_than: float | None,
    enter_only: bool,
    dry_run: bool,
    **flags: Any,
) -> int:
    """Extract the PDFs that have no extraction, a failed one, or one by another extractor.

    An extractor is another when a program in it or a limit has changed: `fonds doctor` shows its name. A
    success is never overwritten by a failure. Interrupted, start it again. Exit codes are those of
    `fonds ingest`.

    \b
    fonds catchup pdf
    fonds catchup pdf --dry-run
    fonds catchup pdf --reextract --status error-timeout --status encrypted
    fonds catchup pdf --reextract --older-than 365 --enter-only
    """
    if (statuses or made_by or older_than is not None) and not reextract:
        raise click.UsageError("--status, --made-by and --older-than go with --reextract")
    from fonds.wiring.backends import all_shared
    from fonds.wiring.readers import pdf_extractor
    from fonds.wiring.steps import now

    settings = app.settings(**flags)
    wanted = Wanted(
        extractor=pdf_extractor(settings),
        again=reextract,
        statuses=frozenset(statuses),
        made_by=made_by,
        before=None if older_than is None else now() - timedelta(days=older_than),
    )
    stores = app.stores(settings)
    if dry_run:
        return _counted(app, stores, wanted)
    with HomeLock(app.home, shared=enter_only or all_shared(settings)):
        if enter_only:
            return _told(app, _send(stores, settings, wanted, _never, _nothing))
        return _work(app, settings, stores, wanted)


def _work(app: App, settings: Settings, stores: Stores, wanted: Wanted) -> int:
    """Send in one thread, extract in the others; the account is that of the inputs concerned."""

    def feed(intake: Intake, entered: Entered) -> None:
        def note(sent: Sent, captures: Sequence[EntryRow]) -> None:
            entered.input_ids |= {row.input_id for row in captures}

        done = _send(stores, settings, wanted, intake.stopping, note)
        if done.sent and not app.json:
            console().print(_sentence(done))

    nothing = "Every PDF has an extraction by this extractor, or failed for good."
    return work_off(app, settings, stores, feed, nothing)


def _send(
    stores: Stores,
    settings: Settings,
    wanted: Wanted,
    stopping: Callable[[], bool],
    tick: Callable[[Sent, Sequence[EntryRow]], None],
) -> Sent:
    from fonds.wiring.backends import readers_of
    from fonds.wiring.steps import now

    reader = _extracting(readers_of(settings), settings.pipeline)
    marks = Marks(settings.queue_high, settings.queue_low)

    def room() -> bool:
        wait_for_room(stores.queue, reader, marks, stopping)
        return not stopping()

    sender = CatchUp(
        stores.queue,
        stores.records,
        stores.ledger,
        stores.table,
        stores.journal,
        reader,
        wanted,
        now,
        room,
    )
    return sender.run(tick)


def _extracting(readers: Sequence[Subscription], pipeline: str) -> Subscription:
    found = next((one for one in readers if stage_of(one)[1] == STEP), None)
    if found is None:
        raise ConfigurationError(f"the pipeline {pipeline!r} extracts no PDFs; choose another")
    return found


def _counted(app: App, stores: Stores, wanted: Wanted) -> int:
    """How many files are wanted, by the status they have now."""
    counts = wanted.count(stores.records)
    if app.json:
        echo_json({"wanted": sum(counts.values()), "by_status": counts})
        return 0
    screen = console()
    screen.print(f"[bold]{sum(counts.values()):,}[/bold] PDFs would be extracted.")
    for status, count in sorted(counts.items()):
        screen.print(f"  {count:,} {escape(status) or 'never extracted'}")
    return 0


def _told(app: App, done: Sent) -> int:
    if app.json:
        echo_json(done)
    else:
        console().print(f"{_sentence(done)} `fonds status` shows how they fare.")
    return 0


def _sentence(done: Sent) -> str:
    words = f"{done.sent:,} PDFs are to be extracted; {done.seen:,} were looked at."
    if done.on_their_way:
        words += f" {done.on_their_way:,} are on their way from before."
    if done.lost:
        words += f" Of {done.lost:,} nobody knows where their bytes are."
    return words


def _never() -> bool:
    return False


def _nothing(sent: Sent, captures: Sequence[EntryRow]) -> None:
    """The tick of those who show nothing."""


catchup.add_command(pdf)
