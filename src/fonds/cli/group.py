"""`fonds group`: rebuild the clusters of a collection."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import click
import msgspec
from msgspec import Meta

from fonds.cli.collection_arguments import convert_usage_errors, require_collection
from fonds.cli.context import App, command, echo_json, open_console
from fonds.cli.table_options import workers_option
from fonds.grouping.rebuild.result import RebuildResult
from fonds.model.encoding import pluralize
from fonds.wiring.collections import count_rebuild_threads, create_collector, open_collection_writer

if TYPE_CHECKING:
    from fonds.config import Settings
    from fonds.grouping.names import CollectionName
    from fonds.grouping.rebuild.rebuild import RebuildPasses

REPORT_EVERY_S = 2.0


class RebuildAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a collection whose clusters were rebuilt."""

    collection: Annotated[str, Meta(description="name of the collection: NAMESPACE/KEY")]
    conf: Annotated[str, Meta(description="name of the configuration")]
    rebuilt: Annotated[
        RebuildResult,
        Meta(description="the new clustering; `caught_up` documents were added during the rebuild"),
    ]


@command("group", answers={"one": RebuildAnswer})
@click.argument("name", metavar="COLLECTION")
@click.option(
    "--conf",
    default="DEFAULT",
    show_default=True,
    help="Configuration; see `fonds configuration`.",
)
@click.option(
    "--engine",
    metavar="URL",
    help=(
        "Run reading and writing in local processes (`local`) or on Spark (`spark://host:7077`)."
    ),
)
@workers_option
def group(app: App, name: str, conf: str, engine: str | None, workers: int) -> int:
    """Rebuild the clusters of a collection.

    The current clustering is served until the new one is complete. Documents that match the
    collection's query are added first. Progress is shown on standard error. With --engine, many
    processes read the texts, count terms and assign documents; the resulting clusters are the same.

    \b
    fonds group news/floods
    fonds group news/floods --conf stories
    fonds group news/floods --engine local --workers 8
    """
    settings = app.load_settings()
    stores = app.open_stores()
    writer = open_collection_writer(stores, settings)
    collection = require_collection(writer.tables, name)
    if collection.query:
        create_collector(stores, writer).run(collection.name)
    # Imported here because scikit-learn is slow to import.
    from fonds.grouping.rebuild.rebuild import rebuild

    reporter = _ProgressReporter(quiet=app.is_quiet)
    with convert_usage_errors():
        passes = _build_passes(app, settings, collection.name, conf, engine, workers)
        result = rebuild(
            writer,
            collection.name,
            conf,
            threads=count_rebuild_threads(settings),
            progress=reporter,
            passes=passes,
        )
    if app.is_json:
        echo_json(RebuildAnswer(str(collection.name), conf, result))
        return 0
    open_console().print(
        (
            f"{pluralize(result.documents, 'document')} in "
            f"{pluralize(result.clusters, 'cluster')}, {result.unclustered:,} unclustered; "
            f"{result.caught_up:,} added during the rebuild. `fonds clusters "
            f"{collection.name}` shows them."
        ),
        markup=False,
    )
    return 0


def _build_passes(
    app: App, settings: Settings, name: CollectionName, conf: str, engine: str | None, workers: int
) -> RebuildPasses | None:
    """Return the functions with which a rebuild of clusters reads all documents on an engine.

    Returns None if no engine was chosen; the rebuild then runs in this process.
    """
    if engine is None:
        return None
    # Imported here because scikit-learn is slow to import.
    from fonds.wiring.grouping_jobs import build_rebuild_passes

    return build_rebuild_passes(name, conf, engine, app.home, settings, workers=workers)


class _ProgressReporter:
    """Prints a line when a stage of the rebuild begins, and every two seconds during the stage."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._stage = ""
        self._reported_s = 0.0

    def __call__(self, stage: str, done_count: int, total: int) -> None:
        now_s = time.monotonic()
        if self._quiet or (stage == self._stage and now_s - self._reported_s < REPORT_EVERY_S):
            return
        self._stage, self._reported_s = stage, now_s
        progress = (
            f" {done_count:,} of {total:,}"
            if done_count and total
            else f" {done_count:,}"
            if done_count
            else ""
        )
        sys.stderr.write(f"{stage}{progress}\n")
        sys.stderr.flush()
