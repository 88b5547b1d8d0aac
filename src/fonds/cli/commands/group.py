"""`fonds group`: the clusters of a collection built anew."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from fonds.cli.collections.asking import there, usage
from fonds.cli.context import App, command, console, echo_json
from fonds.cli.stores.journal_table import workers_option
from fonds.model.numbers import how_many
from fonds.wiring.recurring.collections import collecting, open_changes, rebuild_threads

if TYPE_CHECKING:
    from fonds.collections.building.rebuilding import Passes
    from fonds.collections.names import Name
    from fonds.config import Settings

TOLD_EVERY_S = 2.0


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
    settings = app.settings()
    stores = app.stores()
    changes = open_changes(stores, settings)
    one = there(changes.tables, name)
    if one.query:
        collecting(stores, changes).run(one.name)
    from fonds.collections.building.rebuilding import rebuild

    told = _Told(quiet=app.quiet)
    with usage():
        passes = _passes(app, settings, one.name, conf, engine, workers)
        made = rebuild(
            changes,
            one.name,
            conf,
            threads=rebuild_threads(settings),
            progress=told,
            passes=passes,
        )
    if app.json:
        echo_json({"collection": str(one.name), "conf": conf, "rebuilt": made})
        return 0
    console().print(
        f"{how_many(made.documents, 'document')} in {how_many(made.clusters, 'cluster')},"
        f" {made.apart:,} in none; {made.caught_up:,} came meanwhile."
        f" `fonds clusters {one.name}` shows them.",
        markup=False,
    )
    return 0


def _passes(
    app: App, settings: Settings, name: Name, conf: str, engine: str | None, workers: int
) -> Passes | None:
    """The passes over all documents by the engine that was named; None for those made here."""
    if engine is None:
        return None
    from fonds.wiring.bulk.grouping import rebuild_passes

    return rebuild_passes(name, conf, engine, app.home, settings, workers=workers)


class _Told:
    """Tells of each stage as it begins, and how far it is every two seconds: a line each."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._stage = ""
        self._at_s = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now_s = time.monotonic()
        if self._quiet or (stage == self._stage and now_s - self._at_s < TOLD_EVERY_S):
            return
        self._stage, self._at_s = stage, now_s
        far = f" {done:,} of {total:,}" if done and total else f" {done:,}" if done else ""
        sys.stderr.write(f"{stage}{far}\n")
        sys.stderr.flush()
