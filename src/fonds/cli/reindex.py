"""`fonds reindex`: build the full-text index again from the other stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fonds.audit.repair.reindex import ReindexResult
from fonds.audit.repair.reindex import reindex as work_through
from fonds.cli.context import App, command, echo_json, open_console
from fonds.config import Settings
from fonds.derivatives.kinds import count_expected
from fonds.model.encoding import pluralize
from fonds.ports import Records, Stores
from fonds.stores.home_lock import HomeLock

TEXTLESS_NAMES_MAX = 5


@command("reindex")
def reindex(app: App) -> int:
    """Build the full-text index again from the records and the texts, which stay as they are; and the rows
    by which near-duplicates are found, where they are missing.

    For an index that is damaged, was lost, or was made by another version. One that cannot be used is
    moved aside first. Nothing else may work on the home meanwhile; searching goes on. Interrupted,
    start it again. Exit code 0 when every document is in the index whole, 1 when a text was not found.

    \b
    fonds reindex
    fonds reindex --json
    """
    from fonds.wiring.stores import close_stores

    started = time.monotonic()
    settings = app.load_settings()
    stores = app.open_stores(settings)
    with HomeLock(app.home):
        stores, done = rebuild_index(app, settings, stores)
        close_stores(stores)
    seconds = time.monotonic() - started
    _report_textless(done)
    if app.is_json:
        rounded = round(seconds, 3)
        told = {"indexed": done.indexed, "removed": done.removed, "remade": done.remade}
        echo_json({**told, "seconds": rounded})
    else:
        open_console().print(
            f"{pluralize(done.indexed, 'document is', 'documents are')} in the index,"
            f" {done.removed:,} were removed, {pluralize(done.remade, 'row was', 'rows were')} made again;"
            f" {seconds:,.1f} s."
        )
    return 1 if done.textless else 0


def rebuild_index(app: App, settings: Settings, stores: Stores) -> tuple[Stores, ReindexResult]:
    """In place; where the index cannot be used, or holds what nothing else knows, from an empty one."""
    from fonds.wiring.stores import set_index_aside

    with _show_progress(app, stores.records) as tick:
        first = work_through(stores.records, stores.blobs, stores.index, tick)
    if first.fault is None and not first.strays:
        return stores, first
    stores, aside = set_index_aside(stores, app.home, settings)
    why = str(first.fault) if first.fault else "The index held documents no other store knows."
    open_console(stderr=True).print(
        f"{escape(why)}\nIt lies in {escape(str(aside))} now; delete that folder when you like."
        " An empty index takes its place and is being filled."
    )
    with _show_progress(app, stores.records) as tick:
        second = work_through(stores.records, stores.blobs, stores.index, tick)
    if second.fault is not None:
        raise second.fault
    second.removed += first.removed + first.strays
    return stores, second


@contextmanager
def _show_progress(app: App, records: Records) -> Iterator[Callable[[int], None]]:
    """A line of progress on a terminal; nothing elsewhere."""
    screen = open_console(stderr=True)
    shown = screen.is_terminal and not (app.is_json or app.is_quiet)
    columns = (
        TextColumn("indexing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not shown, transient=True) as bar:
        task = bar.add_task("indexing", total=count_expected(records))

        def tick(indexed: int) -> None:
            bar.update(task, completed=indexed)

        yield tick


def _report_textless(result: ReindexResult) -> None:
    if not result.textless:
        return
    among = ", ".join(result.textless[:TEXTLESS_NAMES_MAX])
    open_console(stderr=True).print(
        f"The texts of {pluralize(len(result.textless), 'file')} are missing from the blobs"
        f" (among them {among}):"
        " they are indexed without. `fonds audit` names what is missing."
    )
