"""`fonds status`: what the library holds, and what is waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta
from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, echo_json, open_console, pipeline_option
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.outcome_table import build_summary_table
from fonds.failures.accounting.tallies import (
    OutcomeTally,
    count_entries,
    count_files_by_type,
    find_newest_input,
)
from fonds.failures.accounting.workload import (
    is_overdue,
    iter_workers,
)
from fonds.isolation.process_identity import format_identity
from fonds.model.encoding import pluralize
from fonds.model.message import Depth
from fonds.model.rows import WorkerRow
from fonds.search.scan import get_generation

StatusAnswer = define_answer(
    "StatusAnswer",
    OutcomeTally,
    home=Annotated[str, Meta(description="folder of the library")],
    pipeline=Annotated[str | None, Meta(description="pipeline that is counted; null for all")],
    files=Annotated[Mapping[str, int], Meta(description="number of distinct files, by media type")],
    searchable=Annotated[int, Meta(description="number of documents in the index")],
    generation=Annotated[str | None, Meta(description="generation of the index; null if unknown")],
    workers=Annotated[
        Sequence[WorkerRow], Meta(description="running processes, newest heartbeat first")
    ],
    newest_input_at=Annotated[datetime | None, Meta(description="when the last input was read")],
    queues=Annotated[
        Mapping[str, Depth], Meta(description="number of messages, by subscription and state")
    ],
)
"""JSON answer: what the library contains and how many messages are waiting."""


@command("status", answers={"one": StatusAnswer})
@pipeline_option
def status(app: App, **flags: Any) -> int:
    """Show what the library holds and what is waiting.

    \b
    fonds status
    fonds status --json
    """
    # Imported here because the pipelines are slow to import.
    from fonds.wiring.pipeline_names import list_used_readers

    settings = app.load_settings(**flags)
    records, queue = app.open_records(settings), app.open_queue(settings)
    index = app.open_index(settings)
    pipeline: str | None = flags["pipeline"]
    tally, kinds = (
        count_entries(records, None, pipeline),
        count_files_by_type(records),
    )
    depths = {
        reader.name: queue.get_depth(reader)
        for readers in list_used_readers(records, queue, settings, pipeline).values()
        for reader in readers
    }
    indexed_count, generation = index.count(), get_generation(index)
    workers = list(iter_workers(records, pipeline))
    if app.is_json:
        answer = build_answer(
            StatusAnswer,
            tally,
            home=str(app.home),
            pipeline=pipeline,
            files=dict(kinds),
            searchable=indexed_count,
            generation=generation,
            workers=workers,
            newest_input_at=find_newest_input(records),
            queues=depths,
        )
        echo_json(answer)
        return 0
    screen = open_console()
    screen.print(f"[bold]{escape(str(app.home))}[/bold]")
    suffix = (
        (f" into the pipeline {pipeline}; the numbers below the table are for all pipelines")
        if pipeline
        else ""
    )
    screen.print(f"{pluralize(tally.received, 'record')} ingested{suffix}")
    screen.print(build_summary_table(tally))
    screen.print(
        f"{pluralize(indexed_count, 'document')} in the index, generation {generation or 'unknown'}"
    )
    for mime, count in kinds:
        screen.print(f"{pluralize(count, 'file')} of type {mime}")
    _print_waiting(screen, depths)
    _print_workers(screen, workers)
    return 0


def _print_waiting(screen: Console, depths: Mapping[str, Depth]) -> None:
    for name, depth in depths.items():
        if depth.pending:
            screen.print(
                f"{name}: {depth.ready} ready, {depth.in_hand} in progress, {depth.delayed} delayed"
            )


def _print_workers(screen: Console, workers: Sequence[WorkerRow]) -> None:
    """Print one line per worker process, with its pipeline steps and the time of its last
    heartbeat. Steps that wait for something have a further line with the cause.
    """
    by_process: dict[str, list[WorkerRow]] = {}
    for row in workers:
        by_process.setdefault(row.worker, []).append(row)
    now = datetime.now(UTC)
    for worker, rows in by_process.items():
        first_row, steps = rows[0], ", ".join(sorted(row.step for row in rows))
        state = "silent since" if is_overdue(first_row, now) else "running, seen"
        screen.print(
            escape(
                f"{format_identity(worker)}: {state} {first_row.seen:%Y-%m-%d %H:%M:%S} UTC;"
                f" {first_row.pipeline}: {steps}"
            )
        )
        for row in rows:
            if row.trouble:
                screen.print(escape(f"  {row.step} waits: {row.trouble}"))
