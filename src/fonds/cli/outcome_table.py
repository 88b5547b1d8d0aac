"""Number of records per outcome, as a line and as a table."""

from __future__ import annotations

from rich.table import Table

from fonds.failures.accounting.tallies import OutcomeTally
from fonds.model.disposition import Reason, Weight

COLOURS = {
    Weight.WITHOUT_TEXT: "green",
    Weight.SKIPPED: "blue",
    Weight.REJECTED: "yellow",
    Weight.FAILED: "red",
}
WEIGHTS = (Weight.SKIPPED, Weight.REJECTED, Weight.FAILED)


def format_tally(tally: OutcomeTally) -> str:
    """Return the number of records per outcome as one line.

    The outcomes have the names that the summary of a pipeline run uses, such as `stored` and
    `failed`.
    """
    counts = [(str(weight), sum(tally.filter_reasons(weight).values())) for weight in WEIGHTS]
    return " · ".join(f"{count:,} {name}" for name, count in [("stored", tally.done), *counts])


def build_summary_table(tally: OutcomeTally) -> Table:
    """Return a table of the outcomes of records, with their reasons.

    Received = stored (with or without text) + skipped + rejected + failed + in progress.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(style="dim", overflow="fold")
    table.add_row(
        f"{tally.searchable_count:,}", "[green]stored[/green]", "searchable files and stories"
    )
    for weight, colour in COLOURS.items():
        for name, count in tally.filter_reasons(weight).items():
            label = f"[{colour}]{weight}[/{colour}] {name}"
            table.add_row(f"{count:,}", label, Reason(name).explanation)
    if tally.pending:
        table.add_row(f"{tally.pending:,}", "in progress", "not finished yet")
    return table
