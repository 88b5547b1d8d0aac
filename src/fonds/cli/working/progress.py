"""Progress: a line on a terminal that changes, elsewhere one now and then, in the words of the summary."""

from __future__ import annotations

import time
from collections.abc import Callable
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

from fonds.cli.context import console
from fonds.library.accounting import Tally, tally
from fonds.model.disposition import Weight
from fonds.ports import Records
from fonds.runtime.intake import Entered

EVERY_S = 1.0
PLAIN_EVERY_S = 30.0
"""Where lines are kept, as in a log, they come so often."""

SHARE_MAX = 0.05
WEIGHTS = (Weight.SET_ASIDE, Weight.REFUSED, Weight.FAILED)


class _Rate(ProgressColumn):
    """Records settled a second."""

    def render(self, task: Task) -> Text:
        """The rate, or nothing before there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class Progress:
    """Shows the tally of the inputs entered so far, on standard error and never for long."""

    def __init__(
        self,
        records: Records,
        entered: Entered,
        pipeline: str,
        *,
        shown: bool,
        screen: Console | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`screen` None: standard error; `seconds` only run forward."""
        self._records = records
        self._entered = entered
        self._pipeline = pipeline
        self._screen = screen = screen or console(stderr=True)
        self._seconds = seconds
        self._shown, self._every_s = shown, EVERY_S if screen.is_terminal else PLAIN_EVERY_S
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=screen,
            disable=not (shown and screen.is_terminal),
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._due = 0.0 if screen.is_terminal else seconds() + PLAIN_EVERY_S

    def __enter__(self) -> Progress:
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
        if not self._shown or started < self._due:
            return
        counted = tally(self._records, list(self._entered.input_ids), self._pipeline)
        took_s = self._seconds() - started
        self._due = started + max(self._every_s, took_s / SHARE_MAX)
        words, ended = in_words(counted), counted.received - counted.pending
        if self._bar.disable:
            self._screen.print(f"{ended:,} of {counted.received:,} so far: {words}")
        self._bar.update(self._task, description=words, completed=ended, total=counted.received)


def in_words(counted: Tally) -> str:
    """How many ended which way, as the summary names it."""
    weighed = [(str(weight), sum(counted.weighing(weight).values())) for weight in WEIGHTS]
    return " · ".join(f"{count:,} {name}" for name, count in [("kept", counted.done), *weighed])
