"""`fonds reindex`: rebuild the full-text index from the other stores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fonds.audit.repair.reindex import ReindexResult
from fonds.audit.repair.reindex import reindex as work_through
from fonds.cli.context import App, command, echo_json, open_console
from fonds.cli.json_answers import build_answer
from fonds.config import Settings
from fonds.derivatives.kinds import count_expected
from fonds.model.encoding import pluralize
from fonds.ports import Records, Stores
from fonds.stores.home_lock import HomeLock

TEXTLESS_NAMES_MAX = 5


class ReindexAnswer(msgspec.Struct, frozen=True):
    """JSON answer: result of rebuilding the full-text index."""

    indexed: Annotated[int, Meta(description="number of documents in the index")]
    removed: Annotated[int, Meta(description="number of documents removed from the index")]
    remade: Annotated[int, Meta(description="number of derived rows that were rebuilt")]
    seconds: Annotated[float, Meta(description="duration in seconds")]


@command("reindex", answers={"one": ReindexAnswer})
def reindex(app: App) -> int:
    """Rebuild the full-text index from the stored records and texts.

    Use it if the index is damaged, lost, or made by another version. An unusable index is moved
    aside first. Missing rows for finding near-duplicates are also rebuilt. Records and texts are
    not changed.

    Searching continues to work, but no other command may work on the home at the same time. If
    interrupted, run it again. The exit code is 0 if every document is indexed with its text, and 1
    if a text is missing.

    \b
    fonds reindex
    fonds reindex --json
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.stores import close_stores

    started_s = time.monotonic()
    settings = app.load_settings()
    stores = app.open_stores(settings)
    with HomeLock(app.home):
        stores, result = rebuild_index(app, settings, stores)
        close_stores(stores)
    seconds = time.monotonic() - started_s
    _report_textless(result)
    if app.is_json:
        echo_json(build_answer(ReindexAnswer, result, seconds=round(seconds, 3)))
    else:
        open_console().print(
            f"{pluralize(result.indexed, 'document')} in the index, "
            f"{result.removed:,} removed; "
            f"{pluralize(result.remade, 'row')} rebuilt; {seconds:,.1f} s."
        )
    return 1 if result.textless else 0


def rebuild_index(app: App, settings: Settings, stores: Stores) -> tuple[Stores, ReindexResult]:
    """Rebuild the full-text index from the other stores. Return the stores and the result.

    The index is rebuilt in place. If it is unusable, or contains documents that no other store has,
    it is moved aside and an empty one is filled. The returned stores then have the new index.
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.stores import set_index_aside

    with _show_progress(app, stores.records) as tick:
        first = work_through(stores.records, stores.blobs, stores.index, tick)
    if first.fault is None and not first.strays:
        return stores, first
    stores, old_folder = set_index_aside(stores, app.home, settings)
    note = (
        str(first.fault)
        if first.fault
        else "The old index contained documents that no other store has."
    )
    open_console(stderr=True).print(
        f"{escape(note)}\nIt was moved to {escape(str(old_folder))}; delete that folder "
        "when you no longer need it. A new index is being built."
    )
    with _show_progress(app, stores.records) as tick:
        second = work_through(stores.records, stores.blobs, stores.index, tick)
    if second.fault is not None:
        raise second.fault
    second.removed += first.removed + first.strays
    return stores, second


@contextmanager
def _show_progress(app: App, records: Records) -> Iterator[Callable[[int], None]]:
    """Context manager that shows the number of indexed documents on a terminal, and nothing
    elsewhere.

    Yields the function to call with that number.
    """
    screen = open_console(stderr=True)
    is_visible = screen.is_terminal and not (app.is_json or app.is_quiet)
    columns = (
        TextColumn("indexing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not is_visible, transient=True) as bar:
        task = bar.add_task("indexing", total=count_expected(records))

        def tick(indexed_count: int) -> None:
            bar.update(task, completed=indexed_count)

        yield tick


def _report_textless(result: ReindexResult) -> None:
    if not result.textless:
        return
    sample = ", ".join(result.textless[:TEXTLESS_NAMES_MAX])
    open_console(stderr=True).print(
        f"The texts of {pluralize(len(result.textless), 'file')} are missing from the "
        f"blobs (among them {sample}), so they are indexed without text. `fonds audit` "
        "lists what is missing."
    )
