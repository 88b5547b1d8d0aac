"""What people read after a run: what was kept, what was dropped and why, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from fonds.cli.context import App
from fonds.cli.working.durations import shown_time
from fonds.library.accounting import Tally
from fonds.library.failures.retries import Retry
from fonds.model.disposition import Reason, Weight
from fonds.model.numbers import how_many
from fonds.runtime.intake import Entered

DETAIL_CHARS = 200
INTERRUPTED = "Interrupted before anything came in: run the same command again."


def print_summary(
    app: App,
    screen: Console,
    counted: Tally,
    entered: Entered,
    seconds: float,
    pending: int,
    interrupted: bool,
    nothing: str,
    *,
    retried: int | None = None,
) -> None:
    """Print the counts of one run. `nothing` is the sentence for a run that found nothing to do. `retried` is
    how many messages were tried again, None for a run that takes something in."""
    if counted.received == 0:
        _print_nothing_new(screen, entered, INTERRUPTED if interrupted else nothing)
        return
    failing = len(entered.still_failing) if retried is None else 0
    came = counted.received - failing
    if retried is not None:
        again = how_many(retried, "message")
        screen.print(
            f"[bold]{again} retried[/bold] in {seconds:,.1f} s, of {how_many(came, 'record')}."
        )
    elif came:
        rate = came / seconds if seconds else 0.0
        screen.print(
            f"[bold]{how_many(came, 'record')} came in[/bold] in {seconds:,.1f} s"
            f" ({rate:,.0f} a second)."
        )
    if failing:
        nothing_else = "" if came else "Nothing new: "
        verbs = "failed before and still fails" if failing == 1 else "failed before and still fail"
        screen.print(f"{nothing_else}{how_many(failing, 'record')} {verbs}.")
    screen.print(summary_table(counted))
    if entered.known:
        screen.print(
            f"{entered.known:,} more were here already from earlier runs and were left alone."
        )
    if interrupted or pending:
        screen.print(
            f"{counted.pending:,} are still in flight: [bold]run the same command again[/bold]."
            if interrupted or retried is not None
            else f"{counted.pending:,} are still in flight. `{app.told('run')}`, or the same command,"
            " goes on with what is due."
        )
    print_next(app, screen, counted)


def print_retries(screen: Console, retries: Sequence[Retry]) -> None:
    """Why messages wait, and until when."""
    for one in retries:
        why = f"{one.reason}: {' '.join(one.detail.split())[:DETAIL_CHARS]}"
        at = shown_time(one.next_attempt_at)
        screen.print(f"{one.url} waits: {why}. Next attempt {at}.", markup=False)


def _print_nothing_new(screen: Console, entered: Entered, nothing: str) -> None:
    if entered.known or entered.inputs_known:
        screen.print(
            f"Nothing new: {how_many(entered.known, 'record')} of"
            f" {how_many(entered.inputs_known, 'file')} are here already."
        )
    else:
        screen.print(nothing)


def summary_table(counted: Tally) -> Table:
    """Received = kept, with or without text, + set aside + refused + failed + in flight, with the reasons."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(style="dim", overflow="fold")
    table.add_row(f"{counted.searchable:,}", "[green]kept[/green]", "files and stories, searchable")
    colours = {
        Weight.KEPT: "green",
        Weight.SET_ASIDE: "blue",
        Weight.REFUSED: "yellow",
        Weight.FAILED: "red",
    }
    for weight, colour in colours.items():
        for name, count in counted.weighing(weight).items():
            label = f"[{colour}]{weight}[/{colour}] {name}"
            table.add_row(f"{count:,}", label, Reason(name).explanation)
    if counted.pending:
        table.add_row(f"{counted.pending:,}", "in flight", "not settled yet")
    return table


def print_next(app: App, screen: Console, counted: Tally) -> None:
    """What one may want to type next."""
    said = []
    if counted.done:
        said.append((app.told('search "some words"'), "to find something"))
        said.append((app.told("serve"), "to look at it in a browser"))
    if counted.quarantined:
        said.append((app.told("failures"), "to see what failed, and try it again"))
    width = max((len(words) for words, _ in said), default=0)
    for number, (words, why) in enumerate(said):
        head = "      " if number else "\nNext: "
        screen.print(f"{head}{words:<{width}}  {why}", markup=False)
