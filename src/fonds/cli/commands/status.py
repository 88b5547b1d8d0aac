"""`fonds status`: what there is, and what waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json, pipeline_option
from fonds.cli.working.summary import summary_table
from fonds.library.accounting import account, files_by_type, newest_input, tally
from fonds.model.message import Depth


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
    indexed = stores.index.count()
    if app.json:
        told = {"home": str(app.home), "pipeline": chosen, **account(counted)}
        told |= {"files": dict(kinds), "searchable": indexed}
        echo_json({**told, "newest_input_at": newest_input(stores.records), "queues": depths})
        return 0
    screen = console()
    screen.print(f"[bold]{escape(str(app.home))}[/bold]")
    into = f" into the pipeline {chosen}; what follows the table is of all" if chosen else ""
    screen.print(f"{counted.received:,} records came in{into}")
    screen.print(summary_table(counted))
    screen.print(f"{indexed:,} documents in the index")
    for mime, count in kinds:
        screen.print(f"{count:,} files of type {mime}")
    _print_waiting(screen, depths)
    return 0


def _print_waiting(screen: Console, depths: Mapping[str, Depth]) -> None:
    for name, depth in depths.items():
        if depth.pending:
            screen.print(
                f"{name}: {depth.ready} ready, {depth.in_hand} in hand, {depth.delayed} delayed"
            )
