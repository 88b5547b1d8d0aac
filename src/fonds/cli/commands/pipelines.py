"""`fonds pipelines`: which flavours there are, and pictures of them."""

from __future__ import annotations

import sys

import click
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, console, echo_json
from fonds.model.step import Pipeline


@command("pipelines")
@click.argument("names", nargs=-1, metavar="[PIPELINE]…")
@click.option("--svg", is_flag=True, help="Write one as SVG to standard output.")
def pipelines(app: App, names: tuple[str, ...], svg: bool) -> int:
    """List the pipelines, or draw some: which topic each stage reads and writes.

    `fonds ingest --pipeline NAME` takes something in by one; the setting `pipeline` chooses one for a
    home. Public topics, marked with an asterisk, are for others to read and write too.

    \b
    fonds pipelines
    fonds pipelines library archive-only
    fonds pipelines library --svg > library.svg
    """
    from fonds.pipelines import PIPELINES
    from fonds.pipelines.drawing import as_svg, as_text
    from fonds.wiring.backends import named_pipeline

    settings = app.settings()
    chosen = [named_pipeline(name, settings) for name in names or PIPELINES]
    if svg:
        if len(names) != 1:
            raise click.UsageError("--svg draws one pipeline: name it")
        sys.stdout.write(as_svg(chosen[0]))
    elif app.json:
        for one in chosen:
            echo_json(_as_json(one, one.name == settings.pipeline))
    elif names:
        console().print("\n\n".join(as_text(one) for one in chosen), markup=False)
    else:
        _print_list(app, chosen, settings.pipeline)
    return 0


def _as_json(pipeline: Pipeline, chosen: bool) -> dict[str, object]:
    return {
        "name": pipeline.name,
        "about": pipeline.about,
        "chosen": chosen,
        "entry": pipeline.entry.name,
        "stages": [
            {
                "stage": stage.name,
                "reads": stage.reads.name,
                "writes": [topic.name for topic in stage.writes],
                "omits": [f"{o.payload.__name__} {o.tag or ''}".strip() for o in stage.omits],
            }
            for stage in pipeline.stages
        ],
    }


def _print_list(app: App, chosen: list[Pipeline], own: str) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Pipeline", "Stages", "What it is for"):
        table.add_column(title)
    for one in chosen:
        name = f"{one.name} (this home's)" if one.name == own else one.name
        table.add_row(escape(name), str(len(one.stages)), escape(one.about))
    screen = console()
    screen.print(table)
    ingest = app.told("ingest --pipeline NAME PATH…")
    screen.print(f"\nNext: {app.told('pipelines NAME')}   or   {ingest}", markup=False)
