"""`fonds takedown`: purge files from the library and refuse them from then on, or list
takedowns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fonds.cli.acts import parse_sha1s, record_act, validate_note
from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.names import SuggestingChoice
from fonds.isolation.process_identity import find_login_name
from fonds.model.encoding import pluralize
from fonds.model.restrictions import ReasonClass
from fonds.model.rows import TakedownRow
from fonds.restrictions.traces import TakedownTraces, find_traces
from fonds.stores.home_lock import HomeLock
from fonds.wiring.backends import are_stores_shared
from fonds.wiring.stores import get_utc_now

if TYPE_CHECKING:
    from fonds.restrictions.warc_records import OwnWarc

REPORT_EVERY_S = 10.0


TakedownAnswer = define_answer("TakedownAnswer", TakedownRow, omit=("rest",))
"""JSON answer: a file that was taken down."""


@command(
    "takedown",
    answers={
        "one for each file, with --dry-run": TakedownTraces,
        "one for each file that was taken down": TakedownAnswer,
    },
)
@click.argument("keys", nargs=-1, metavar="[SHA1]…")
@click.option(
    "--reason",
    type=SuggestingChoice("reason", map(str, ReasonClass)),
    metavar="CLASS",
    help=f"Published reason: {', '.join(map(str, ReasonClass))}.",
)
@click.option(
    "--note", default="", help="Who requested it and how; shown by this command and to curators."
)
@click.option(
    "--everywhere",
    is_flag=True,
    help="Search the index of every WARC of the library, not only those that rows refer to.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def takedown(
    app: App,
    keys: tuple[str, ...],
    reason: str | None,
    note: str,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Purge files from every store and refuse them in future.

    Without SHA-1s, list the takedowns. The URLs of a removed file show the reason and the date. In
    WARC files that Fonds wrote, the records are replaced by tombstones of the same length. Imported
    WARC files are not changed.

    If interrupted, run the same command again to resume. The exit code is 1 if messages about a
    file are in progress, or if a WARC is being written or cannot be rewritten. Run the command
    again later.

    \b
    fonds takedown 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b --reason copyright --dry-run
    fonds takedown
    """
    if not keys:
        if reason or note or everywhere or dry_run or yes:
            raise click.UsageError("Name the files by their SHA-1s.")
        return _list_takedowns(app)
    files = parse_sha1s(keys)
    if not dry_run and reason is None:
        raise click.UsageError("Give the reason with --reason CLASS.")
    if app.is_json and not (dry_run or yes):
        raise click.UsageError(
            "--json does not ask for confirmation. Add --yes, or use --dry-run first."
        )
    validate_note(note)
    # Imported here because the collections are slow to import.
    from fonds.wiring.collections import find_tables

    settings = app.load_settings()
    stores = app.open_stores(settings)
    tables = find_tables(stores, settings)
    traces = [find_traces(stores, tables, sha1hex) for sha1hex in files]
    if dry_run or not app.is_json:
        _print_traces(app, traces)
    if dry_run:
        return 0
    if not yes:
        click.confirm(
            f"Take down {pluralize(len(files), 'file')}? This cannot be undone", abort=True
        )
    return _purge_files(app, files, reason or "", note, searches_all_warcs=everywhere)


def _purge_files(
    app: App, files: Sequence[str], reason: str, note: str, *, searches_all_warcs: bool
) -> int:
    # Imported here because the audit and the collections are slow to import.
    from fonds.audit.repair.cleanup import recover
    from fonds.wiring.collections import create_takedown

    settings = app.load_settings()
    stores = app.open_stores(settings)
    code = 0
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        # A WARC that a killed process left open would otherwise block the takedown forever.
        recover(stores)
        act = create_takedown(
            stores, settings, print_note, _ProgressReporter(app), scans_all_warcs=searches_all_warcs
        )
        for sha1hex in files:
            with record_act(stores.records, f"fonds takedown {sha1hex} --reason {reason}"):
                row = act(TakedownRow(sha1hex, reason, note, find_login_name(), get_utc_now()))
            if app.is_json:
                echo_json(build_answer(TakedownAnswer, row))
            elif row.finished:
                open_console().print(f"{sha1hex} was taken down.")
            if row.finished is None:
                remaining_count = len(row.rest.warcs)
                problem = (
                    f"{remaining_count:,} of the library's WARCs still contain it"
                    if remaining_count
                    else "messages about it are in progress"
                )
                print_note(f"{sha1hex}: {problem}. Run the command again later.")
                code = 1
    return code


def _print_traces(app: App, traces: Sequence[TakedownTraces]) -> None:
    for found_traces in traces:
        if app.is_json:
            echo_json(found_traces)
            continue
        lines = [
            found_traces.sha1hex,
            (
                f"   captures: {found_traces.captures:,}; in the library's WARCs: "
                f"{found_traces.own_records:,}"
            ),
            (
                f"   rows: {sum(found_traces.rows.values()):,} in "
                f"{', '.join(found_traces.rows) or 'no table'}; in the journal: "
                f"{found_traces.table_rows:,}"
            ),
            f"   blobs: {len(found_traces.blobs):,}; documents in the index: {len(found_traces.documents):,}",
            f"   collections: {', '.join(found_traces.collections) or 'none'}",
            (
                f"   messages in the ledger: {found_traces.messages:,}; in progress: "
                f"{found_traces.in_flight:,}"
            ),
        ]
        lines += [f"   rewritten: {_format_warc(warc)}" for warc in found_traces.warcs]
        open_console().print("\n".join(lines), markup=False)


def _format_warc(warc: OwnWarc) -> str:
    if warc.size_bytes is None:
        return f"{warc.name}, which is missing"
    if warc.is_open:
        return f"{warc.name} ({warc.size_bytes:,} bytes), when it is no longer being written"
    count = "some" if warc.captures is None else f"{warc.captures:,}"
    noun = "capture" if warc.captures == 1 else "captures"
    return f"{warc.name} ({warc.size_bytes:,} bytes), {count} {noun} replaced"


class _ProgressReporter:
    """Prints progress every ten seconds while a takedown rewrites WARC files."""

    def __init__(self, app: App) -> None:
        self._silent = app.is_quiet or app.is_json
        self._reported_s = time.monotonic()

    def __call__(self, name: str, done_bytes: int) -> None:
        """Report the number of bytes processed in a WARC file, if a report is due."""
        if not self._silent and time.monotonic() - self._reported_s >= REPORT_EVERY_S:
            self._reported_s = time.monotonic()
            print_note(f"{name}: {done_bytes / 1e6:,.0f} MB")


def _list_takedowns(app: App) -> int:
    count = 0
    for row in app.open_stores().records.find(TakedownRow, order=("row_created",)):
        count += 1
        if app.is_json:
            echo_json(build_answer(TakedownAnswer, row))
        else:
            state = "" if row.finished else "  NOT FINISHED: run the command again"
            origin = f"{row.row_created:%Y-%m-%d}  {row.reason_class}  by {row.made_by}"
            open_console().print(f"{row.sha1hex}  {origin}  {row.note}{state}", markup=False)
    if not count and not app.is_json:
        open_console().print("No takedowns.")
    return 0
