"""`fonds collection frequencies`: in how many documents of a collection each term stands."""

from __future__ import annotations

from heapq import nlargest

import click
from rich.markup import escape

from fonds.cli.collections.asking import there, usage
from fonds.cli.context import App, command, console, echo_json
from fonds.cli.stores.journal_table import engine_option, workers_option
from fonds.model.numbers import how_many
from fonds.wiring.recurring.collections import open_tables

SHOWN_MAX = 100_000


@command("frequencies")
@click.argument("name", metavar="COLLECTION")
@click.option("--conf", default="DEFAULT", show_default=True, help="Whose filters hold.")
@click.option(
    "--count",
    type=click.IntRange(1, SHOWN_MAX),
    default=50,
    show_default=True,
    help="How many terms are shown.",
)
@engine_option
@workers_option
def frequencies(app: App, name: str, conf: str, count: int, engine: str, workers: int) -> int:
    """Count in how many documents each term stands, those in most documents first.

    Terms are those grouping reads: folded words without function words. Near-duplicates count each.

    \b
    fonds collection frequencies news/floods
    fonds collection frequencies news/floods --count 1000 --json --engine spark://master:7077
    """
    from fonds.wiring.bulk.grouping import document_frequencies

    settings = app.settings()
    tables = open_tables(app.stores(), settings)
    one = there(tables, name)
    with usage():
        documents, counts = document_frequencies(
            tables, one.name, conf, engine, app.home, settings, workers=workers
        )
    found = list(counts)
    total, most = len(found), nlargest(count, found, key=lambda told: told[1])
    if app.json:
        shown = [{"term": term, "documents": met} for term, met in most]
        echo_json(
            {"collection": str(one.name), "documents": documents, "terms": total, "most": shown}
        )
        return 0
    screen = console()
    screen.print(
        f"{how_many(documents, 'document')}, {how_many(total, 'term')}; in most documents stand:"
    )
    for term, met in most:
        screen.print(f"{met:>12,}  {escape(term)}")
    return 0
