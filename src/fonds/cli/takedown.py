"""`fonds takedown`: purge files from the library and refuse them from then on, or list
takedowns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fonds.cli.acts import list_export_paths, parse_sha1s, record_act, validate_note
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
    from fonds.config import Settings
    from fonds.ports import Records, Stores
    from fonds.restrictions.warc_records import OwnWarc

REPORT_EVERY_S = 10.0
PATHS_MAX = 20
"""Maximum number of paths in a sentence."""


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
@click.option(
    "--apply",
    "applies_list",
    is_flag=True,
    help="Take down the files of the list that `takedown_list` names which this library has, for "
    "example because it was restored from a backup.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def takedown(
    app: App,
    keys: tuple[str, ...],
    reason: str | None,
    note: str,
    everywhere: bool,
    applies_list: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Purge files from every store and refuse them in future.

    Without SHA-1s, list the takedowns. The URLs of a removed file show the reason and the date. In
    WARC files that Fonds wrote, the records are replaced by tombstones of the same length. Imported
    WARC files and other inputs are not changed; they are named. At the end, the files of all stores
    are rewritten, so that no deleted bytes remain in them. In a large library this takes
    minutes, so take several files down at once.

    If interrupted, run the same command again to resume. The exit code is 1 if messages about a
    file are in progress, or if a WARC is being written or cannot be rewritten. Run the command
    again later.

    \b
    fonds takedown 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b --reason copyright --dry-run
    fonds takedown
    """
    if not keys and not applies_list:
        if reason or note or everywhere or dry_run or yes:
            raise click.UsageError("Name the files by their SHA-1s.")
        return _list_takedowns(app)
    files = parse_sha1s(keys)
    _check_options(files, reason, applies_list=applies_list, dry_run=dry_run)
    if app.is_json and not (dry_run or yes):
        raise click.UsageError(
            "--json does not ask for confirmation. Add --yes, or use --dry-run first."
        )
    validate_note(note)
    # Imported here because the collections are slow to import.
    from fonds.wiring.collections import find_tables

    settings = app.load_settings()
    stores = app.open_stores(settings, applies_takedowns=True)
    if applies_list:
        rows = _find_missing_takedowns(stores.records, settings)
    else:
        rows = [
            TakedownRow(sha1hex, reason or "", note, find_login_name(), get_utc_now())
            for sha1hex in files
        ]
    if not rows:
        print_note("This library has all takedowns of the list.")
        return 0
    tables = find_tables(stores, settings)
    traces = [find_traces(stores, tables, row.sha1hex) for row in rows]
    if dry_run or not app.is_json:
        _print_traces(app, traces)
    if dry_run:
        return 0
    if not yes:
        click.confirm(
            f"Take down {pluralize(len(rows), 'file')}? This cannot be undone", abort=True
        )
    return _purge_files(
        app,
        settings,
        stores,
        rows,
        list(dict.fromkeys(path for found in traces for path in found.inputs)),
        searches_all_warcs=everywhere,
    )


def _check_options(
    files: Sequence[str], reason: str | None, *, applies_list: bool, dry_run: bool
) -> None:
    if files and applies_list:
        raise click.UsageError("--apply takes the files from the list. Give no SHA-1s.")
    if files and not dry_run and reason is None:
        raise click.UsageError("Give the reason with --reason CLASS.")


def apply_takedown_list(app: App, settings: Settings) -> None:
    """Apply the takedowns of the list outside the library that the library does not have.

    Raises ConfigurationError if the list is invalid.
    """
    if not settings.takedown_list:
        return
    # Imported here because the stores are slow to import.
    from fonds.wiring.stores import close_stores, open_stores

    app.require_home()
    stores = open_stores(app.home, settings)
    try:
        rows = _find_missing_takedowns(stores.records, settings)
        if rows:
            print_note(f"Applying {pluralize(len(rows), 'takedown')} of {settings.takedown_list}")
            _purge_files(app, settings, stores, rows, (), searches_all_warcs=False)
    finally:
        close_stores(stores)


def _find_missing_takedowns(records: Records, settings: Settings) -> list[TakedownRow]:
    """Return the takedowns of the list outside the library that the library does not have.

    Raises click.UsageError if there is no list, and ConfigurationError if it is invalid.
    """
    # Imported here because the stores are slow to import.
    from fonds.restrictions.takedown_list import find_missing_takedowns
    from fonds.wiring.stores import find_takedown_list

    path = find_takedown_list(settings)
    if path is None:
        raise click.UsageError("Name the list of takedowns in the setting takedown_list.")
    return find_missing_takedowns(records, path)


def _purge_files(
    app: App,
    settings: Settings,
    stores: Stores,
    rows: Sequence[TakedownRow],
    inputs: Sequence[str],
    *,
    searches_all_warcs: bool,
) -> int:
    """Take files down. Return the exit code.

    - `rows`: a new row of `takedowns` for each file.
    - `inputs`: paths and URLs of inputs that contain the files, which are not changed.
    - `searches_all_warcs`: whether to search the indexes of all WARCs of the library.
    """
    # Imported here because the audit and the collections are slow to import.
    from fonds.audit.repair.cleanup import recover
    from fonds.wiring.collections import create_takedown

    code = 0
    with HomeLock(app.home, is_shared=are_stores_shared(settings)):
        # A WARC that a killed process left open would otherwise block the takedown forever.
        recover(stores)
        act = create_takedown(
            stores, settings, print_note, _ProgressReporter(app), scans_all_warcs=searches_all_warcs
        )
        removed_rows: list[TakedownRow] = []
        for row in rows:
            description = f"fonds takedown {row.sha1hex} --reason {row.reason_class}"
            with record_act(stores.records, description):
                removed_rows.append(act(row))
        finished_rows, remains = act.finish(removed_rows)
        for row in finished_rows:
            if app.is_json:
                echo_json(build_answer(TakedownAnswer, row))
            elif row.finished:
                open_console().print(f"{row.sha1hex} was taken down.")
            if row.finished is None:
                remaining_count = len(row.rest.warcs)
                problem = (
                    f"{remaining_count:,} of the library's WARCs still contain it"
                    if remaining_count
                    else "messages about it are in progress"
                )
                print_note(f"{row.sha1hex}: {problem}. Run the command again later.")
                code = 1
        for sentence in (*_describe_outside(stores.records, inputs), *remains):
            print_note(sentence)
    return code


def _describe_outside(records: Records, inputs: Sequence[str]) -> Iterator[str]:
    """Yield sentences about places outside the library that may still contain the files."""
    if inputs:
        yield f"These inputs still contain the files: {_join(inputs)}."
    exports = list_export_paths(records)
    if exports:
        yield f"Earlier exports may contain them: {_join(exports)}."
    yield "Backups of the library and other copies still contain them."


def _join(paths: Sequence[str]) -> str:
    """Join the first paths for a sentence."""
    more = f", and {len(paths) - PATHS_MAX:,} more" if len(paths) > PATHS_MAX else ""
    return ", ".join(paths[:PATHS_MAX]) + more


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
        if found_traces.inputs:
            lines.append(f"   not changed: {_join(found_traces.inputs)}")
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
    stores = app.open_stores(applies_takedowns=True)
    for row in stores.records.find(TakedownRow, order=("row_created",)):
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
