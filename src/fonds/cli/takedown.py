"""`fonds takedown`: files purged out of the library and refused from then on, and which those are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fonds.cli.acts import parse_sha1s, record_act, validate_note
from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.cli.names import SuggestingChoice
from fonds.isolation.process_identity import find_login_name
from fonds.model.restrictions import ReasonClass
from fonds.model.rows import TakedownRow

if TYPE_CHECKING:
    from fonds.restrictions.traces import TakedownTraces
    from fonds.restrictions.warc_records import OwnWarc

REPORT_EVERY_S = 10.0


@command("takedown")
@click.argument("keys", nargs=-1, metavar="[SHA1]…")
@click.option(
    "--reason",
    type=SuggestingChoice("reason", map(str, ReasonClass)),
    metavar="CLASS",
    help=f"Why, which everybody is told: {', '.join(map(str, ReasonClass))}.",
)
@click.option(
    "--note", default="", help="Who asked for it and how; shown by this command and to curators."
)
@click.option(
    "--everywhere",
    is_flag=True,
    help="Look for its records in the index of every WARC of ours, not in those rows lead to alone.",
)
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def takedown(
    app: App,
    keys: tuple[str, ...],
    reason: str | None,
    note: str,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Purge files out of every store, and refuse their bytes; without SHA-1s, list what was taken down.

    Their addresses answer with the class of the reason and the date. In WARCs that Fonds wrote their records
    are replaced by tombstones of the same length; what was taken in is not touched. Broken off, it goes on
    when it is said again. Exit code 1 while messages about a file are under way, or a WARC is written to or
    cannot be written anew: say it again when that is over.

    \b
    fonds takedown 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b --reason copyright --dry-run
    fonds takedown
    """
    if not keys:
        if reason or note or everywhere or dry_run or yes:
            raise click.UsageError("say which files, by their SHA-1s")
        return _list_takedowns(app)
    files = parse_sha1s(keys)
    if not dry_run and reason is None:
        raise click.UsageError("say why: --reason CLASS")
    if app.is_json and not (dry_run or yes):
        raise click.UsageError(
            "with --json nobody is asked: say --yes, or look first with --dry-run"
        )
    validate_note(note)
    from fonds.restrictions.traces import find_traces
    from fonds.wiring.collections import find_tables

    settings = app.load_settings()
    stores = app.open_stores(settings)
    tables = find_tables(stores, settings)
    found = [find_traces(stores, tables, sha1hex) for sha1hex in files]
    if dry_run or not app.is_json:
        _print_traces(app, found)
    if dry_run:
        return 0
    if not yes:
        click.confirm(f"Take {len(files):,} down? This cannot be undone", abort=True)
    return _purge_files(app, files, reason or "", note, everywhere=everywhere)


def _purge_files(
    app: App, files: Sequence[str], reason: str, note: str, *, everywhere: bool
) -> int:
    from fonds.audit.repair.cleanup import recover
    from fonds.stores.home_lock import HomeLock
    from fonds.wiring.collections import create_takedown
    from fonds.wiring.stores import are_stores_shared, get_utc_now

    settings = app.load_settings()
    stores = app.open_stores(settings)
    code = 0
    with HomeLock(app.home, shared=are_stores_shared(settings)):
        # A WARC that a killed process left open would wait for good.
        recover(stores)
        act = create_takedown(
            stores, settings, print_note, _ProgressReporter(app), everywhere=everywhere
        )
        for sha1hex in files:
            with record_act(stores.records, f"fonds takedown {sha1hex} --reason {reason}"):
                row = act(TakedownRow(sha1hex, reason, note, find_login_name(), get_utc_now()))
            if app.is_json:
                echo_json(_build_json(row))
            elif row.finished:
                open_console().print(f"{sha1hex} is taken down.")
            if row.finished is None:
                left = len(row.rest.warcs)
                told = (
                    f"{left:,} of our WARCs hold it still"
                    if left
                    else "messages about it are under way"
                )
                print_note(f"{sha1hex}: {told}; say it again when that is over")
                code = 1
    return code


def _print_traces(app: App, traces: Sequence[TakedownTraces]) -> None:
    for one in traces:
        if app.is_json:
            echo_json(one)
            continue
        lines = [
            one.sha1hex,
            f"   captures: {one.captures:,}; in WARCs of ours: {one.own_records:,}",
            f"   rows: {sum(one.rows.values()):,} in {', '.join(one.rows) or 'no table'};"
            f" of the journal: {one.table_rows:,}",
            f"   blobs: {len(one.blobs):,}; documents in the index: {len(one.documents):,}",
            f"   collections: {', '.join(one.collections) or 'none'}",
            f"   messages on the books: {one.books:,}; under way: {one.under_way:,}",
        ]
        lines += [f"   written anew: {_format_warc(warc)}" for warc in one.warcs]
        open_console().print("\n".join(lines), markup=False)


def _format_warc(warc: OwnWarc) -> str:
    if warc.size_bytes is None:
        return f"{warc.name}, which cannot be found now"
    if warc.is_open:
        return f"{warc.name} ({warc.size_bytes:,} bytes), when it is not written to any more"
    count = "some" if warc.captures is None else f"{warc.captures:,}"
    noun = "capture" if warc.captures == 1 else "captures"
    return f"{warc.name} ({warc.size_bytes:,} bytes), {count} {noun} replaced"


class _ProgressReporter:
    """A line every ten seconds while WARCs are written anew."""

    def __init__(self, app: App) -> None:
        self._silent = app.is_quiet or app.is_json
        self._reported_s = time.monotonic()

    def __call__(self, name: str, done_bytes: int) -> None:
        """So much of it was gone through."""
        if not self._silent and time.monotonic() - self._reported_s >= REPORT_EVERY_S:
            self._reported_s = time.monotonic()
            print_note(f"{name}: {done_bytes / 1e6:,.0f} MB")


def _build_json(row: TakedownRow) -> dict[str, object]:
    return {
        "sha1hex": row.sha1hex,
        "reason_class": row.reason_class,
        "note": row.note,
        "made_by": row.made_by,
        "row_created": row.row_created,
        "finished": row.finished,
    }


def _list_takedowns(app: App) -> int:
    count = 0
    for row in app.open_stores().records.find(TakedownRow, order=("row_created",)):
        count += 1
        if app.is_json:
            echo_json(_build_json(row))
        else:
            state = "" if row.finished else "  NOT FINISHED: say it again"
            who = f"{row.row_created:%Y-%m-%d}  {row.reason_class}  by {row.made_by}"
            open_console().print(f"{row.sha1hex}  {who}  {row.note}{state}", markup=False)
    if not count and not app.is_json:
        open_console().print("Nothing was taken down.")
    return 0
