"""`fonds status`: what there is, and what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, pipeline_option
from fonds.cli.working.summary import summary_table
from fonds.library.accounting import account, files_by_type, newest_input, tally
from fonds.library.searching.whole import generation_now
from fonds.library.tracing.working.workers import is_overdue, workers
from fonds.model.message import Depth
from fonds.model.numbers import how_many
from fonds.model.rows import WorkerRow
from fonds.process_identity import in_words


@command("status")
@pipeline_option
def status(app: App, **flags: Any) -> int:
    """Tell how much there is and what waits.

    \b
    fonds status
    fonds status --json
    """
    from fonds.wiring.known import used_readers

    settings = app.settings(**flags)
    stores = app.stores(settings)
    chosen: str | None = flags["pipeline"]
    counted, kinds = tally(stores.records, None, chosen), files_by_type(stores.records)
    depths = {
        one.name: stores.queue.depth(one)
        for readers in used_readers(stores, settings, chosen).values()
        for one in readers
    }
    indexed, generation = stores.index.count(), generation_now(stores.index)
    working = list(workers(stores.records, chosen))
    if app.json:
        told = {"home": str(app.home), "pipeline": chosen, **account(counted)}
        told |= {"files": dict(kinds), "searchable": indexed, "generation": generation}
        told |= {"workers": working}
        echo_json({**told, "newest_input_at": newest_input(stores.records), "queues": depths})
        return 0
    screen = console()
    screen.print(f"[bold]{escape(str(app.home))}[/bold]")
    into = f" into the pipeline {chosen}; what follows the table is of all" if chosen else ""
    screen.print(f"{how_many(counted.received, 'record')} came in{into}")
    screen.print(summary_table(counted))
    screen.print(
        f"{how_many(indexed, 'document')} in the index, generation {generation or 'unknown'}"
    )
    for mime, count in kinds:
        screen.print(f"{how_many(count, 'file')} of type {mime}")
    _print_waiting(screen, depths)
    _print_workers(screen, working)
    return 0


def _print_waiting(screen: Console, depths: Mapping[str, Depth]) -> None:
    for name, depth in depths.items():
        if depth.pending:
            screen.print(
                f"{name}: {depth.ready} ready, {depth.in_hand} in hand, {depth.delayed} delayed"
            )


def _print_workers(screen: Console, working: Sequence[WorkerRow]) -> None:
    """Each process once, with its steps."""
    by_process: dict[str, list[WorkerRow]] = {}
    for row in working:
        by_process.setdefault(row.worker, []).append(row)
    now = datetime.now(UTC)
    for worker, rows in by_process.items():
        first, steps = rows[0], ", ".join(sorted(row.step for row in rows))
        state = "silent since" if is_overdue(first, now) else "at work, seen"
        screen.print(
            escape(
                f"{in_words(worker)}: {state} {first.seen:%Y-%m-%d %H:%M:%S} UTC; {first.pipeline}: {steps}"
            )
        )
