"""`fonds timetable`: list recurring tasks with their last run, result and next run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, echo_json, open_console
from fonds.model.rows import TimetableRow

COLUMNS = ("task", "recurs", "last started", "ended", "due next")
ERROR_MAX_CHARS = 200


class TimetableAnswer(msgspec.Struct, frozen=True):
    """JSON answer: all recurring tasks with their last and next runs."""

    tasks: Annotated[Sequence[TimetableRow], Meta(description="the recurring tasks")]
    now: Annotated[datetime, Meta(description="time of the answer")]


@command("timetable", answers={"one": TimetableAnswer})
def timetable(app: App) -> int:
    """List recurring tasks with their last run, result and next run. Times are UTC.

    `fonds run` runs the tasks that are due. If several processes run, only one of them runs a task.

    \b
    fonds timetable
    fonds timetable --json
    """
    rows = list(app.open_stores().records.find(TimetableRow))
    if app.is_json:
        echo_json(TimetableAnswer(rows, datetime.now(UTC)))
        return 0
    screen = open_console()
    if not rows:
        screen.print("No recurring tasks yet. `fonds run` creates them when it starts.")
        return 0
    table = Table(*COLUMNS, box=None, pad_edge=False)
    for row in rows:
        name = f"{row.name} ({row.pipeline})" if row.pipeline else row.name
        times = (_format_time(row.last_started), _format_result(row), _format_time(row.next_due))
        table.add_row(escape(name), _format_schedule(row), *map(escape, times))
    screen.print(table)
    return 0


def _format_schedule(row: TimetableRow) -> str:
    if row.daily_at:
        return f"daily at {row.daily_at}"
    for unit_s, unit_symbol in ((86_400, "d"), (3600, "h"), (60, "min")):
        if row.every_s % unit_s == 0:
            return f"every {row.every_s // unit_s} {unit_symbol}"
    return f"every {row.every_s} s"


def _format_time(time_at: datetime | None) -> str:
    return "never" if time_at is None else f"{time_at:%Y-%m-%d %H:%M:%S}"


def _format_result(row: TimetableRow) -> str:
    if row.lease_holder is not None:
        return f"running: {row.lease_holder}"
    if row.last_error is not None:
        failure_text = f"failed {row.failures} times" if row.failures > 1 else "failed"
        ellipsis = "…" if len(row.last_error) > ERROR_MAX_CHARS else ""
        return f"{failure_text}: {row.last_error[:ERROR_MAX_CHARS]}{ellipsis}"
    return "never" if row.last_finished is None else f"ok, {_format_time(row.last_finished)}"
