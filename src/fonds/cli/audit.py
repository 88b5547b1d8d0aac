"""`fonds audit`: prove from the stores that nothing was lost, and name the remedy for each
fault.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fonds.audit import audit as auditing
from fonds.audit.bodies import DeepAudit
from fonds.cli.context import App, command, echo_json, open_console, pipeline_option
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.process import handle_stop_signals
from fonds.failures.accounting.tallies import count_files_by_type
from fonds.model.encoding import pluralize
from fonds.model.rows import DeepAuditRow
from fonds.ports import Stores
from fonds.wiring.audit_notes import store_audit_notes_separately
from fonds.wiring.catalog import find_catalog
from fonds.wiring.collections import find_collection_writer
from fonds.wiring.pipeline_names import list_used_readers
from fonds.wiring.stores import get_utc_now

REPORT_EVERY_S = 10.0
EXIT_INTERRUPTED = 130
PRINTED_MAX = 5
"""Maximum number of faults of one check that are printed, without `--all`."""


AuditAnswer = define_answer(
    "AuditAnswer",
    auditing.AuditReport,
    deep=Annotated[
        DeepAuditRow | msgspec.UnsetType,
        Meta(description="with --deep, the progress of the deep audit"),
    ],
)
"""JSON answer: the report of an audit."""


@command("audit", answers={"one": AuditAnswer})
@pipeline_option
@click.option("--deep", is_flag=True, help="Also read and hash every body, blob and document.")
@click.option(
    "--share",
    type=click.IntRange(1),
    metavar="FILES",
    help="With --deep: check at most this many files; the next run continues.",
)
@click.option("--all", "lists_all", is_flag=True, help="List all faults, not the first of a kind.")
def audit(app: App, deep: bool, share: int | None, lists_all: bool, **flags: Any) -> int:
    """Check that all input is accounted for and still present.

    Each fault is shown with its remedy, usually `fonds repair`. Rows, sizes and indexes are
    compared every time. With --deep, every body, blob and document is also read and hashed. An
    interrupted deep audit resumes where it stopped, and its faults are shown until they are
    repaired. `fonds run` does a share of it every day. Of many faults of one kind, the first five
    are shown with their number; --all shows all. The exit code is 0 if everything adds up and 1 if
    something is missing.

    \b
    fonds audit
    fonds audit --deep
    fonds audit --json | jq .faults
    """
    if share and not deep:
        raise click.UsageError("--share needs --deep.")
    settings = app.load_settings(**flags)
    stores = app.open_stores(settings)
    round_ = None
    if deep:
        notes_context = store_audit_notes_separately(stores, app.home, settings)
        stores = click.get_current_context().with_resource(notes_context)
        with stop_on_signals() as stop_event:
            round_ = run_deep_audit(app, stores, share, stop_event)
        if stop_event.is_set():
            _print_round(open_console(stderr=True), round_)
            return EXIT_INTERRUPTED
    pipelines = list_used_readers(stores.records, stores.queue, settings, flags["pipeline"])
    result = auditing.run_audit(
        stores,
        pipelines,
        collection_writer=find_collection_writer(stores, settings),
        catalog=find_catalog(stores, settings) if deep else None,
        faults_max=None if lists_all else auditing.FAULTS_MAX,
    )
    if app.is_json:
        report = auditing.build_report(result)
        echo_json(build_answer(AuditAnswer, report, deep=round_ or msgspec.UNSET))
        return 0 if result.is_balanced else 1
    screen = open_console()
    if round_ is not None:
        _print_round(screen, round_)
    print_audit(screen, result, lists_all=lists_all)
    return 0 if result.is_balanced else 1


def print_audit(screen: Console, result: auditing.AuditResult, *, lists_all: bool = False) -> None:
    """Print the result of an audit: message counts per step as a table, the faults with their
    remedies, and whether anything is wrong.

    Of the faults of one check, the first five are printed, unless `lists_all`.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("step")
    for name in ("in", "done", "dropped", "quarantined", "pending", "missing"):
        table.add_column(name, justify="right")
    for pipeline, steps in result.steps.items():
        for name, counts in steps.items():
            cells = (
                *(counts.received, counts.done, counts.dropped, counts.quarantined),
                *(counts.pending, counts.missing),
            )
            label = f"{pipeline}.{name}" if len(result.steps) > 1 else name
            table.add_row(label, *(f"{cell:,}" for cell in cells))
    screen.print(table)
    for check, faults in result.group_faults().items():
        printed_faults = faults if lists_all else faults[:PRINTED_MAX]
        for fault in printed_faults:
            screen.print(f"[red]fault[/red] {escape(fault.message)}")
        remaining_count = result.check_counts[check] - len(printed_faults)
        if remaining_count:
            screen.print(f"      and {remaining_count:,} more like it")
        screen.print(f"      [dim]{escape(check.remedy)}[/dim]")
    noun = "fault" if result.fault_count == 1 else "faults"
    verdict = "Everything adds up." if result.is_balanced else f"{result.fault_count:,} {noun}."
    screen.print(f"[bold]{verdict}[/bold]")


def run_deep_audit(
    app: App, stores: Stores, share: int | None, stop_event: threading.Event
) -> DeepAuditRow:
    """Continue the deep audit, which reads and hashes stored files. Return its progress.

    `share` is the maximum number of files to read; None continues to the end of the round. Setting
    `stop_event` stops the audit after the current files. Progress is printed every ten seconds, on
    a terminal or not.
    """
    total = sum(count for _, count in count_files_by_type(stores.records))
    said_s = time.monotonic()

    def tick(state: DeepAuditRow) -> None:
        nonlocal said_s
        if app.is_quiet or app.is_json or time.monotonic() - said_s < REPORT_EVERY_S:
            return
        said_s = time.monotonic()
        faults = pluralize(state.found, "fault")
        sys.stderr.write(f"{state.checked:,} of {pluralize(total, 'file')} read, {faults}\n")

    return DeepAudit(stores, get_utc_now, stop_event.is_set).run(share, tick)


def _print_round(screen: Console, state: DeepAuditRow) -> None:
    goes_on = "" if state.finished else "; the next `fonds audit --deep` continues"
    screen.print(
        f"{pluralize(state.checked, 'file was', 'files were')} read and hashed,"
        f" {pluralize(state.found, 'fault')}{goes_on}."
    )


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Context manager that yields an event which SIGINT and SIGTERM set. A deep audit stops on this
    event.
    """
    stop_event = threading.Event()
    with handle_stop_signals(lambda number: stop_event.set()):
        yield stop_event
