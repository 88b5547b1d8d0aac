"""A line of progress on a terminal: what entered, what became of it, how fast; nothing elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

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
from fonds.library.accounting import tally
from fonds.ports import Records
from fonds.runtime.intake import Entered

EVERY_S = 1.0
SHARE_MAX = 0.05


class _Rate(ProgressColumn):
    """Records settled a second."""

    def render(self, task: Task) -> Text:
        """The rate, or nothing before there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class Progress:
    """Shows the tally of the inputs entered so far, about once a second and never for long."""

    def __init__(self, records: Records, entered: Entered, pipeline: str, *, shown: bool) -> None:
        self._records = records
        self._entered = entered
        self._pipeline = pipeline
        screen = console(stderr=True)
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
        self._due = 0.0

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
        started = time.monotonic()
        if self._bar.disable or started < self._due:
            return
        counted = tally(self._records, list(self._entered.input_ids), self._pipeline)
        took_s = time.monotonic() - started
        self._due = started + max(EVERY_S, took_s / SHARE_MAX)
        refused = sum(counted.dropped.values())
        failed = sum(counted.quarantined.values())
        words = f"{counted.done:,} kept · {refused:,} dropped · {failed:,} failed"
        ended = counted.received - counted.pending
        self._bar.update(self._task, description=words, completed=ended, total=counted.received)
