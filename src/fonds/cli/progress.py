"""Progress and summary of a pipeline run.

On a terminal, progress is a line that is updated in place. Elsewhere it is a new line every 30
seconds.
"""

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
from rich.text import Text

from fonds.cli.context import App, open_console
from fonds.cli.outcome_table import build_summary_table, format_tally
from fonds.cli.time_format import format_time
from fonds.failures.accounting.tallies import OutcomeTally, count_entries
from fonds.failures.retries import Retry
from fonds.model.encoding import pluralize
from fonds.pipelines.runtime.intake import IntakeCounts
from fonds.ports import Records

EVERY_S = 1.0
PLAIN_EVERY_S = 30.0
"""Seconds between progress lines where each line is kept, for example in a log."""

SHARE_MAX = 0.05


class _RateColumn(ProgressColumn):
    """Column of the progress bar: number of records per second that get an outcome."""

    def render(self, task: Task) -> Text:
        """Return the rate of a task in records per second; empty as long as it is unknown."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class ProgressBar:
    """Context manager that shows on standard error how many records of a pipeline run have an
    outcome already.

    Counting the records never takes more than a twentieth of the time.
    """

    def __init__(
        self,
        records: Records,
        intake_counts: IntakeCounts,
        pipeline: str,
        *,
        is_visible: bool,
        screen: Console | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the progress bar without showing it.

        - `intake_counts`: counts of the inputs entered so far; the caller updates it.
        - `pipeline`: pipeline whose records are counted.
        - `screen`: console to write to; None for standard error.
        - `seconds`: a monotonic clock.
        """
        self._records = records
        self._intake_counts = intake_counts
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
        """Count the records that have an outcome, and refresh the progress line, if that is due."""
        started_s = self._seconds()
        if not self._is_visible or started_s < self._next_refresh_s:
            return
        tally = count_entries(self._records, list(self._intake_counts.input_ids), self._pipeline)
        took_s = self._seconds() - started_s
        self._next_refresh_s = started_s + max(self._every_s, took_s / SHARE_MAX)
        tally_text, ended_count = format_tally(tally), tally.received - tally.pending
        if self._bar.disable:
            self._screen.print(f"{ended_count:,} of {tally.received:,} so far: {tally_text}")
        self._bar.update(
            self._task, description=tally_text, completed=ended_count, total=tally.received
        )


DETAIL_CHARS = 200
INTERRUPTED = "Interrupted before anything was read. Run the same command again."


def print_summary(
    app: App,
    screen: Console,
    tally: OutcomeTally,
    intake_counts: IntakeCounts,
    seconds: float,
    pending_count: int,
    is_interrupted: bool,
    empty_message: str,
    *,
    retried_count: int | None = None,
) -> None:
    """Print how many records a pipeline run processed, and with which outcomes.

    - `tally`: number of records per outcome.
    - `intake_counts`: counts of the inputs that were read.
    - `seconds`: duration of the run.
    - `pending_count`: number of messages that are still in the queue.
    - `empty_message`: printed if the run found nothing to do.
    - `retried_count`: number of retried messages; None for a run that ingests.
    """
    if tally.received == 0:
        _print_nothing_new(screen, intake_counts, INTERRUPTED if is_interrupted else empty_message)
        return
    failing = len(intake_counts.still_failing) if retried_count is None else 0
    received_count = tally.received - failing
    if retried_count is not None:
        retried_text = pluralize(retried_count, "message")
        screen.print(
            f"[bold]{retried_text} retried[/bold] in {seconds:,.1f} s, for "
            f"{pluralize(received_count, 'record')}."
        )
    elif received_count:
        rate = received_count / seconds if seconds else 0.0
        screen.print(
            f"[bold]{pluralize(received_count, 'record')} ingested[/bold] in "
            f"{seconds:,.1f} s ({rate:,.0f} per second)."
        )
    if failing:
        nothing_else = "" if received_count else "Nothing new: "
        verbs = "failed before and still fails" if failing == 1 else "failed before and still fail"
        screen.print(f"{nothing_else}{pluralize(failing, 'record')} {verbs}.")
    screen.print(build_summary_table(tally))
    if intake_counts.known_count:
        screen.print(f"{intake_counts.known_count:,} more were already ingested by earlier runs.")
    if is_interrupted or pending_count:
        screen.print(
            f"{tally.pending:,} are still in progress: [bold]run the same command again[/bold]."
            if is_interrupted or retried_count is not None
            else (
                f"{tally.pending:,} are still in progress. Run "
                f"`{app.format_command('run')}` or the same command again to continue."
            )
        )
    print_next(app, screen, tally)


def print_retries(screen: Console, retries: Sequence[Retry]) -> None:
    """Print for each message that waits for its next attempt why it waits, and until when."""
    for message in retries:
        reason_text = f"{message.reason}: {' '.join(message.detail.split())[:DETAIL_CHARS]}"
        next_attempt = format_time(message.next_attempt_at)
        screen.print(
            f"{message.url} waits: {reason_text}. Next attempt {next_attempt}.", markup=False
        )


def _print_nothing_new(screen: Console, intake_counts: IntakeCounts, empty_message: str) -> None:
    if intake_counts.known_count or intake_counts.known_input_count:
        screen.print(
            f"Nothing new: {pluralize(intake_counts.known_count, 'record')} of "
            f"{pluralize(intake_counts.known_input_count, 'file')} are already ingested."
        )
    else:
        screen.print(empty_message)


def print_next(app: App, screen: Console, tally: OutcomeTally) -> None:
    """Print which commands the user may run next, by the outcomes of a pipeline run."""
    suggestions = []
    if tally.done:
        suggestions.append((app.format_command('search "some words"'), "search the library"))
        suggestions.append((app.format_command("serve"), "open it in a browser"))
    if tally.quarantined:
        suggestions.append((app.format_command("failures"), "see what failed, and retry it"))
    width = max((len(words) for words, _ in suggestions), default=0)
    for number, (words, purpose) in enumerate(suggestions):
        lead = "      " if number else "\nNext: "
        screen.print(f"{lead}{words:<{width}}  {purpose}", markup=False)
