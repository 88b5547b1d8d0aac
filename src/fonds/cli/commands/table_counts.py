"""`fonds table stats`: what a table holds, counted by the engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import click
import msgspec
from rich.markup import escape

from fonds.cli.context import App, command, console, echo_json
from fonds.cli.stores.journal_table import engine_option, opened, table_option, workers_option


@command("stats")
@table_option
@engine_option
@workers_option
@click.option("--large", is_flag=True, help="Read large cells too, to say who lacks them.")
def count_table(app: App, name: str | None, engine: str, workers: int, large: bool) -> int:
    """Count a table: rows and files, by type, by status code, without a column, captures of a file.

    \b
    fonds table stats
    fonds table stats --json --engine spark://master:7077
    """
    from fonds.wiring.bulk.jobs import counting_job, open_engine

    settings = app.settings()
    _, chosen, schema = opened(app, name)
    running = open_engine(engine, app.home, settings, workers=workers)
    job = counting_job(chosen, schema, app.home, settings, large, uuid.uuid4().hex[:16])
    found = _by_subject(running.run(job))
    if app.json:
        echo_json(found)
        return 0
    screen = console()
    for what, counts in found.items():
        if list(counts) == [""]:
            screen.print(f"{counts['']:>14,}  {what}")
            continue
        screen.print(f"[bold]{escape(what)}[/bold]")
        for value, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
            screen.print(f"{count:>14,}  {escape(value)}")
    return 0


def _by_subject(results: Iterator[bytes]) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for one in results:
        what, value, count = msgspec.json.decode(one)
        found.setdefault(what, {})[value] = count
    return found
