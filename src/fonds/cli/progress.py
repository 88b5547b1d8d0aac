"""Progress: a line on a terminal that changes, elsewhere one now and then, in the words of the summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from fonds.cli.context import App, open_console
from fonds.cli.live_view import format_time
from fonds.failures.accounting.tallies import OutcomeTally, count_entries
from fonds.failures.retries import Retry
from fonds.model.disposition import Reason, Weight
from fonds.model.encoding import pluralize
from fonds.pipelines.runtime.intake import IntakeCounts
from fonds.ports import Records

EVERY_S = 1.0
PLAIN_EVERY_S = 30.0
"""Where lines are kept, as in a log, they come so often."""

SHARE_MAX = 0.05
WEIGHTS = (Weight.SET_ASIDE, Weight.REFUSED, Weight.FAILED)


class _RateColumn(ProgressColumn):
    """Records settled a second."""

    def render(self, task: Task) -> Text:
        """The rate, or nothing before there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class ProgressBar:
    """Shows the tally of the inputs entered so far, on standard error and never for long."""

    def __init__(
        self,
        records: Records,
        entered: IntakeCounts,
        pipeline: str,
        *,
        is_visible: bool,
        screen: Console | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`screen` None: standard error; `seconds` only run forward."""
        self._records = records
        self._entered = entered
        self._pipeline = pipeline
        self._screen = screen = screen or open_console(stderr=True)
        self._seconds = seconds
        self._is_visible, self._every_s = (
            is_visible,
            EVERY_S if screen.is_terminal else PLAIN_EVERY_S,
        )
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
            console=screen,
            disable=not (is_visible and screen.is_terminal),
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._next_refresh_s = 0.0 if screen.is_terminal else seconds() + PLAIN_EVERY_S

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def tick(self) -> None:
        """Refresh the line if it is time; counting takes a twentieth of the time at most."""
        started = self._seconds()
        if not self._is_visible or started < self._next_refresh_s:
            return
        counted = count_entries(self._records, list(self._entered.input_ids), self._pipeline)
        took_s = self._seconds() - started
        self._next_refresh_s = started + max(self._every_s, took_s / SHARE_MAX)
        words, ended = format_tally(counted), counted.received - counted.pending
        if self._bar.disable:
            self._screen.print(f"{ended:,} of {counted.received:,} so far: {words}")
        self._bar.update(self._task, description=words, completed=ended, total=counted.received)


def format_tally(tally: OutcomeTally) -> str:
    """How many ended which way, as the summary names it."""
    weighed = [(str(weight), sum(tally.filter_reasons(weight).values())) for weight in WEIGHTS]
    return " · ".join(f"{count:,} {name}" for name, count in [("kept", tally.done), *weighed])


# What people read after a run: what was kept, what was dropped and why, and what to type next.


DETAIL_CHARS = 200
INTERRUPTED = "Interrupted before anything came in: run the same command again."


def print_summary(
    app: App,
    screen: Console,
    tally: OutcomeTally,
    entered: IntakeCounts,
    seconds: float,
    pending_count: int,
    is_interrupted: bool,
    empty_message: str,
    *,
    retried: int | None = None,
) -> None:
    """Print the counts of one run. `empty_message` is the sentence for a run that found nothing to do.
    `retried` is how many messages were tried again, None for a run that takes something in."""
    if tally.received == 0:
        _print_nothing_new(screen, entered, INTERRUPTED if is_interrupted else empty_message)
        return
    failing = len(entered.still_failing) if retried is None else 0
    came = tally.received - failing
    if retried is not None:
        again = pluralize(retried, "message")
        screen.print(
            f"[bold]{again} retried[/bold] in {seconds:,.1f} s, of {pluralize(came, 'record')}."
        )
    elif came:
        rate = came / seconds if seconds else 0.0
        screen.print(
            f"[bold]{pluralize(came, 'record')} came in[/bold] in {seconds:,.1f} s"
            f" ({rate:,.0f} a second)."
        )
    if failing:
        nothing_else = "" if came else "Nothing new: "
        verbs = "failed before and still fails" if failing == 1 else "failed before and still fail"
        screen.print(f"{nothing_else}{pluralize(failing, 'record')} {verbs}.")
    screen.print(build_summary_table(tally))
    if entered.known_count:
        screen.print(
            f"{entered.known_count:,} more were here already from earlier runs and were left alone."
        )
    if is_interrupted or pending_count:
        screen.print(
            f"{tally.pending:,} are still in flight: [bold]run the same command again[/bold]."
            if is_interrupted or retried is not None
            else f"{tally.pending:,} are still in flight. `{app.format_command('run')}`, or the same command,"
            " goes on with what is due."
        )
    print_next(app, screen, tally)


def print_retries(screen: Console, retries: Sequence[Retry]) -> None:
    """Why messages wait, and until when."""
    for one in retries:
        why = f"{one.reason}: {' '.join(one.detail.split())[:DETAIL_CHARS]}"
        at = format_time(one.next_attempt_at)
        screen.print(f"{one.url} waits: {why}. Next attempt {at}.", markup=False)


def _print_nothing_new(screen: Console, entered: IntakeCounts, empty_message: str) -> None:
    if entered.known_count or entered.known_input_count:
        screen.print(
            f"Nothing new: {pluralize(entered.known_count, 'record')} of"
            f" {pluralize(entered.known_input_count, 'file')} are here already."
        )
    else:
        screen.print(empty_message)


def build_summary_table(tally: OutcomeTally) -> Table:
    """Received = kept, with or without text, + set aside + refused + failed + in flight, with the reasons."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(style="dim", overflow="fold")
    table.add_row(
        f"{tally.searchable_count:,}", "[green]kept[/green]", "files and stories, searchable"
    )
    colours = {
        Weight.KEPT: "green",
        Weight.SET_ASIDE: "blue",
        Weight.REFUSED: "yellow",
        Weight.FAILED: "red",
    }
    for weight, colour in colours.items():
        for name, count in tally.filter_reasons(weight).items():
            label = f"[{colour}]{weight}[/{colour}] {name}"
            table.add_row(f"{count:,}", label, Reason(name).explanation)
    if tally.pending:
        table.add_row(f"{tally.pending:,}", "in flight", "not settled yet")
    return table


def print_next(app: App, screen: Console, tally: OutcomeTally) -> None:
    """What one may want to type next."""
    said = []
    if tally.done:
        said.append((app.format_command('search "some words"'), "to find something"))
        said.append((app.format_command("serve"), "to look at it in a browser"))
    if tally.quarantined:
        said.append((app.format_command("failures"), "to see what failed, and try it again"))
    width = max((len(words) for words, _ in said), default=0)
    for number, (words, why) in enumerate(said):
        head = "      " if number else "\nNext: "
        screen.print(f"{head}{words:<{width}}  {why}", markup=False)
