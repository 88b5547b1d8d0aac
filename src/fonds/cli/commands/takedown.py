"""`fonds takedown`: files purged out of the library and refused from then on, and which those are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fonds.cli.context import App, command, console, echo_json, say
from fonds.cli.names import Name
from fonds.cli.working.files_named import checked_note, files_named
from fonds.model.rows import TakedownRow
from fonds.model.takedown import ReasonClass
from fonds.process_identity import logged_in

if TYPE_CHECKING:
    from fonds.library.tracing.traces import Traces


@command("takedown")
@click.argument("keys", nargs=-1, metavar="[SHA1]…")
@click.option(
    "--reason",
    type=Name("reason", map(str, ReasonClass)),
    metavar="CLASS",
    help=f"Why, which everybody is told: {', '.join(map(str, ReasonClass))}.",
)
@click.option("--note", default="", help="Who asked for it and how; shown by this command alone.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def takedown(
    app: App, keys: tuple[str, ...], reason: str | None, note: str, dry_run: bool, yes: bool
) -> int:
    """Purge files out of every store, and refuse their bytes; without SHA-1s, list what was taken down.

    Their addresses answer with the class of the reason and the date. Broken off, it goes on when it is said
    again. Exit code 1 while messages about a file are under way: say it again when they have ended.

    \b
    fonds takedown 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b --reason copyright --dry-run
    fonds takedown
    """
    if not keys:
        if reason or note or dry_run or yes:
            raise click.UsageError("say which files, by their SHA-1s")
        return _list(app)
    files = files_named(keys)
    if not dry_run and reason is None:
        raise click.UsageError("say why: --reason CLASS")
    if app.json and not (dry_run or yes):
        raise click.UsageError(
            "with --json nobody is asked: say --yes, or look first with --dry-run"
        )
    checked_note(note)
    from fonds.library.tracing.traces import traces
    from fonds.wiring.recurring.collections import tables_there

    settings = app.settings()
    stores = app.stores(settings)
    tables = tables_there(stores, settings)
    found = [traces(stores, tables, sha1hex) for sha1hex in files]
    if dry_run or not app.json:
        _print_traces(app, found)
    if dry_run:
        return 0
    if not yes:
        click.confirm(f"Take {len(files):,} down? This cannot be undone", abort=True)
    return _take_down(app, files, reason or "", note)


def _take_down(app: App, files: Sequence[str], reason: str, note: str) -> int:
    from fonds.library.tracing.takedown import TakingDown
    from fonds.runtime.homelock import HomeLock
    from fonds.wiring.backends import all_shared, readers_of
    from fonds.wiring.recurring.collections import changes_there
    from fonds.wiring.steps import now

    settings = app.settings()
    stores = app.stores(settings)
    code = 0
    with HomeLock(app.home, shared=all_shared(settings)):
        act = TakingDown(stores, changes_there(stores, settings), list(readers_of(settings)), now)
        for sha1hex in files:
            row = act(TakedownRow(sha1hex, reason, note, logged_in(), now(), {}))
            if app.json:
                echo_json(_told(row))
            elif row.finished:
                console().print(f"{sha1hex} is taken down.")
            if row.finished is None:
                say(f"{sha1hex}: messages about it are under way; say it again when they ended")
                code = 1
    return code


def _print_traces(app: App, found: Sequence[Traces]) -> None:
    for one in found:
        if app.json:
            echo_json(one)
            continue
        lines = [
            one.sha1hex,
            f"   captures: {one.captures:,}; records in WARCs of ours, which stay there: {one.own_records:,}",
            f"   rows: {sum(one.rows.values()):,} in {', '.join(one.rows) or 'no table'};"
            f" of the journal: {one.table_rows:,}",
            f"   blobs: {len(one.blobs):,}; documents in the index: {len(one.documents):,}",
            f"   collections: {', '.join(one.collections) or 'none'}",
            f"   messages on the books: {one.books:,}; under way: {one.under_way:,}",
        ]
        console().print("\n".join(lines), markup=False)


def _told(row: TakedownRow) -> dict[str, object]:
    return {
        "sha1hex": row.sha1hex,
        "reason_class": row.reason_class,
        "note": row.note,
        "made_by": row.made_by,
        "row_created": row.row_created,
        "finished": row.finished,
    }


def _list(app: App) -> int:
    count = 0
    for row in app.stores().records.find(TakedownRow, order=("row_created",)):
        count += 1
        if app.json:
            echo_json(_told(row))
        else:
            state = "" if row.finished else "  NOT FINISHED: say it again"
            who = f"{row.row_created:%Y-%m-%d}  {row.reason_class}  by {row.made_by}"
            console().print(f"{row.sha1hex}  {who}  {row.note}{state}", markup=False)
    if not count and not app.json:
        console().print("Nothing was taken down.")
    return 0
