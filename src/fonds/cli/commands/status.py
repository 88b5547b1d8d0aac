"""`fonds status` and `fonds audit`: what there is, and the proof that nothing was lost."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, console, echo_json
from fonds.cli.summary import summary_table
from fonds.library import audit as auditing
from fonds.library.accounting import files_by_type, newest_input, tally
from fonds.model.message import Depth


@command("status")
def status(app: App) -> int:
    """Tell how much there is and what waits.

    \b
    fonds status
    fonds status --json
    """
    from fonds.wiring.backends import every_reader

    settings = app.settings()
    stores = app.stores(settings)
    counted, kinds = tally(stores.records), files_by_type(stores.records)
    depths = {one.name: stores.queue.depth(one) for one in every_reader(settings)}
    indexed = stores.index.count()
    if app.json:
        newest = newest_input(stores.records)
        echo_json(
            {
                "home": str(app.home),
                "in": counted.received,
                "done": counted.done,
                "dropped": counted.dropped,
                "quarantined": counted.quarantined,
                "pending": counted.pending,
                "files": dict(kinds),
                "indexed": indexed,
                "newest": newest,
                "queues": depths,
            }
        )
        return 0
    screen = console()
    screen.print(f"[bold]{escape(str(app.home))}[/bold]")
    screen.print(f"{counted.received:,} records came in")
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


@command("audit")
def audit(app: App) -> int:
    """Prove from the stores that everything that came in is accounted for.

    Exit code 0 when everything adds up, 1 when something is missing.

    \b
    fonds audit
    fonds audit --json | jq .missing
    """
    from fonds.wiring.backends import every_reader

    settings = app.settings()
    found = auditing.audit(app.stores(settings), every_reader(settings))
    if app.json:
        echo_json(auditing.as_json(found))
        return 0 if found.balanced else 1
    screen = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("step")
    for name in ("in", "done", "dropped", "quarantined", "pending", "missing"):
        table.add_column(name, justify="right")
    for name, account in found.steps.items():
        cells = [*account.as_json().values(), account.missing]
        table.add_row(name, *(f"{cell:,}" for cell in cells))
    screen.print(table)
    for fault in found.missing:
        screen.print(f"[red]missing[/red] {escape(fault)}")
    verdict = "Everything adds up." if found.balanced else f"{found.missing_count:,} faults."
    screen.print(f"[bold]{verdict}[/bold]")
    return 0 if found.balanced else 1
