"""`fonds group`: the clusters of a collection built anew."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from fonds.cli.collection_arguments import convert_usage_errors, require_collection
from fonds.cli.context import App, command, echo_json, open_console
from fonds.cli.table_options import workers_option
from fonds.model.encoding import pluralize
from fonds.wiring.collections import count_rebuild_threads, create_collector, open_changes

if TYPE_CHECKING:
    from fonds.config import Settings
    from fonds.grouping.names import CollectionName
    from fonds.grouping.rebuild.rebuild import RebuildPasses

REPORT_EVERY_S = 2.0


@command("group")
@click.argument("name", metavar="COLLECTION")
@click.option(
    "--conf",
    default="DEFAULT",
    show_default=True,
    help="The configuration; see `fonds configuration`.",
)
@click.option(
    "--engine",
    metavar="URL",
    help="Have documents read and places written by processes (`local`) or Spark (`spark://host:7077`).",
)
@workers_option
def group(app: App, name: str, conf: str, engine: str | None, workers: int) -> int:
    """Build the clusters of a collection anew, by a configuration. What is served stays until it is complete.

    What fits the collection's rule is taken in first. How far it is is told on standard error. With an
    engine the texts are read, counted and put into their clusters by many processes; the clusters are the
    same.

    \b
    fonds group news/floods
    fonds group news/floods --conf stories
    fonds group news/floods --engine local --workers 8
    """
    settings = app.load_settings()
    stores = app.open_stores()
    changes = open_changes(stores, settings)
    one = require_collection(changes.tables, name)
    if one.query:
        create_collector(stores, changes).run(one.name)
    from fonds.grouping.rebuild.rebuild import rebuild

    told = _ProgressReporter(quiet=app.is_quiet)
    with convert_usage_errors():
        passes = _build_passes(app, settings, one.name, conf, engine, workers)
        made = rebuild(
            changes,
            one.name,
            conf,
            threads=count_rebuild_threads(settings),
            progress=told,
            passes=passes,
        )
    if app.is_json:
        echo_json({"collection": str(one.name), "conf": conf, "rebuilt": made})
        return 0
    open_console().print(
        f"{pluralize(made.documents, 'document')} in {pluralize(made.clusters, 'cluster')},"
        f" {made.unclustered:,} in none; {made.caught_up:,} came meanwhile."
        f" `fonds clusters {one.name}` shows them.",
        markup=False,
    )
    return 0


def _build_passes(
    app: App, settings: Settings, name: CollectionName, conf: str, engine: str | None, workers: int
) -> RebuildPasses | None:
    """The passes over all documents by the engine that was named; None for those made here."""
    if engine is None:
        return None
    from fonds.wiring.jobs import build_rebuild_passes

    return build_rebuild_passes(name, conf, engine, app.home, settings, workers=workers)


class _ProgressReporter:
    """Tells of each stage as it begins, and how far it is every two seconds: a line each."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._stage = ""
        self._reported_s = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now_s = time.monotonic()
        if self._quiet or (stage == self._stage and now_s - self._reported_s < REPORT_EVERY_S):
            return
        self._stage, self._reported_s = stage, now_s
        far = f" {done:,} of {total:,}" if done and total else f" {done:,}" if done else ""
        sys.stderr.write(f"{stage}{far}\n")
        sys.stderr.flush()
