"""`fonds group`: the clusters of a collection built anew."""

from __future__ import annotations

import sys
import time

import click

from fonds.cli.collections.asking import there, usage
from fonds.cli.context import App, command, console, echo_json
from fonds.wiring.recurring.collections import collecting, open_changes, rebuild_threads

TOLD_EVERY_S = 2.0


@command("group")
@click.argument("name", metavar="COLLECTION")
@click.option(
    "--conf",
    default="DEFAULT",
    show_default=True,
    help="The configuration; see `fonds configuration`.",
)
def group(app: App, name: str, conf: str) -> int:
    """Build the clusters of a collection anew, by a configuration. What is served stays until it is complete.

    What fits the collection's rule is taken in first. How far it is is told on standard error.

    \b
    fonds group news/floods
    fonds group news/floods --conf stories
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
        made = rebuild(changes, one.name, conf, threads=rebuild_threads(settings), progress=told)
    if app.json:
        echo_json({"collection": str(one.name), "conf": conf, "rebuilt": made})
        return 0
    console().print(
        f"{made.documents:,} documents in {made.clusters:,} clusters, {made.apart:,} in none;"
        f" {made.caught_up:,} came meanwhile. `fonds clusters {one.name}` shows them.",
        markup=False,
    )
    return 0


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
